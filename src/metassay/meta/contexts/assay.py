"""Contextual meta-evaluation of metrics: from judgements of pairs to the metric to trust in each context."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from metassay.meta.contexts.accuracy import sort_pairs, whole
from metassay.meta.contexts.agreement_prediction import AgreementPrediction, Metadata, known_metadata
from metassay.meta.contexts.choice import PAIRS, Evidence, cost_rank
from metassay.meta.contexts.claims import Settled, answer_entry, settled
from metassay.meta.contexts.column_analysis import (
    Column,
    Method,
    Whole,
    column_evidence,
    study_column,
    study_whole,
)
from metassay.meta.contexts.confounding import Confounding, confounding
from metassay.meta.contexts.human_pairs import People, PeopleSide, beside_people
from metassay.meta.contexts.pair_outcomes import (
    Contexts,
    Judgements,
    check_pairs,
    phi_coefficients,
    same_decisions,
)
from metassay.meta.contexts.soft_pairwise_accuracy import SoftAccuracy, soft_accuracy
from metassay.meta.contexts.tables import (
    Row,
    accuracy_rows,
    choice_entries,
    claim_entry,
    h2_entry,
    method_mix,
    pareto_entry,
    people_entry,
    prediction,
    robustness_rows,
    trend_entry,
    trend_p_entry,
)
from metassay.stats import random
from metassay.stats.arrays import FloatArray, to_json_values
from metassay.stats.bootstrap import ClusterBootstrap, ClusterHalves

_SPLITS = 100
_AT_ONCE = 2**22
"""Of more pairs one thing is studied after the other, to hold less in memory."""
_MOST_CONFOUNDING_CONTEXTS = 300


@dataclass(frozen=True)
class ContextualResult:
    """What `assay_pairs` found; `to_dict` gives it as plain values, None where something is undefined."""

    metrics: tuple[str, ...]
    ranked: tuple[int, ...]
    methods: tuple[str, ...]
    whole: Whole
    columns: Mapping[str, Column]
    evidence: Mapping[str, Evidence]
    confounding: Confounding
    phi: FloatArray
    metadata: Mapping[str, Metadata]
    minimum_items: int
    pairs_from: str = ""
    same_decisions: tuple[tuple[str, ...], ...] = ()
    uninformed: frozenset[str] = frozenset()
    people: People | None = None

    def to_dict(self) -> Row:
        """`contexts`, `global`, `confounding`, `recommendation` and more, ready for JSON."""
        with threadpool_limits(1):  # least squares in one thread: the same bytes on any machine's cores
            return self._to_dict()

    def _to_dict(self) -> Row:
        sentinels = [m for m in range(len(self.metrics)) if m not in self.ranked]
        names = [self.metrics[m] for m in self.ranked]
        confounded = self.confounding.rows()
        for row, entry in enumerate(confounded):
            entry["sentinel"] = row in sentinels
        claims, first, beside = self._claims, names[self.whole.first], self.people
        recommendation = {name: choice_entries(found) for name, found in self.settled_evidence.items()}
        accurate = self._accurate
        details: Row = to_json_values(
            {
                "confounding": confounded,
                "answer": answer_entry(recommendation, claims, self._followed or Settled(first), accurate)
                if accurate
                else None,
                "people": None if beside is None else people_entry(beside, claims, first, accurate),
                "recommendation": recommendation,
                "cost_class": dict(next(iter(self.evidence.values())).cost) if self.evidence else {},
                "same_decisions": self.same_decisions,
                "pareto": pareto_entry(next(iter(self.evidence.values()), None)),
                "phi": {"metrics": [self.metrics[m] for m in self.ranked], "matrix": self.phi},
                "claims": claims,
                "pairs_from": self.pairs_from,
            }
        )
        return {
            "contexts": {name: self._column(name, sentinels) for name in self.columns},
            "global": self._whole(self.ranked),
            "sentinels": self._whole(sentinels),
            **details,
        }

    @cached_property
    def _claims(self) -> Row:
        names = [self.metrics[m] for m in self.ranked]
        families = [] if self.people is None else [self.people.family()]
        return claim_entry(self.columns, self.whole, self._predictions, self.confounding, names, families)

    @cached_property
    def _accurate(self) -> list[str]:
        """The metrics that may be chosen: those with an accuracy that know something of quality."""
        names = [self.metrics[m] for m in self.ranked]
        known = ~np.isnan(self.whole.estimates.accuracy[list(self.ranked), 0])
        aside = self.uninformed - {names[self.whole.first]}
        return [name for name, scored in zip(names, known) if scored and name not in aside]

    @cached_property
    def _followed(self) -> Settled | None:
        """The choice by people, where it takes the place of the first one; else None."""
        first = self.metrics[self.ranked[self.whole.first]]
        return None if self.people is None else self.people.followed(self._claims, first, self._accurate)

    @cached_property
    def settled_evidence(self) -> dict[str, Evidence]:
        """By column, what its choices rest on, with the choice of the run."""
        first = self.metrics[self.ranked[self.whole.first]]
        return {
            name: replace(
                evidence,
                settled=self._followed or settled(self._claims, name, first, self._accurate, self.uninformed),
            )
            for name, evidence in self.evidence.items()
        }

    @cached_property
    def _predictions(self) -> dict[str, AgreementPrediction | None]:
        return {name: prediction(column, self.metadata[name]) for name, column in self.columns.items()}

    def _whole(self, rows: Sequence[int]) -> list[Row]:
        found = self.whole
        return accuracy_rows(self.metrics, rows, found.estimates, found.standardised, [found.finding])

    def _column(self, name: str, sentinels: Sequence[int]) -> Row:
        column, evidence, h1 = self.columns[name], self.evidence[name], self.columns[name].h1
        accuracies = (column.estimates, column.standardised, column.findings)
        details: Row = to_json_values(
            {
                "h1": None if h1 is None else h1.rows(),
                "h1_exchanges": None if h1 is None else h1.exchanges,
                "h2": h2_entry(column, evidence, self._predictions[name]),
                "method_mix": method_mix(column, self.methods),
                "robustness": robustness_rows(column, evidence, self.ranked),
                "trend": trend_entry(column, self.metrics, self.ranked),
                "trend_p": trend_p_entry(column, self.metrics, self.ranked),
            }
        )
        return {
            "local_accuracy": accuracy_rows(self.metrics, self.ranked, *accuracies),
            **details,
            "sentinels": accuracy_rows(self.metrics, sentinels, *accuracies),
        }


def assay_pairs(
    judgements: Judgements,
    contexts: Sequence[Contexts],
    *,
    ties: str = "strict",
    agreement: str = "tau_ap_b",
    seed: int = 0,
    resamples: int = 1000,
    permutations: int = 999,
    confounding: Judgements | None = None,
    costs: Mapping[str, str] | None = None,
    criteria: Mapping[str, Mapping[str, float]] | None = None,
    sentinels: Collection[str] = (),
    uninformed: Collection[str] = (),
    metadata: Mapping[str, Metadata] | None = None,
    minimum_items: int = 20,
    radius: float = 0.1,
    workers: int = 1,
    pairs_from: str = "",
    people: PeopleSide | None = None,
) -> ContextualResult:
    """Local accuracy, both hypotheses, confounding and a recommendation for every column of contexts.

    `confounding`: judgements with all applicable methods of every output, with the same metrics and codes of
    outputs; else `judgements` serve. `costs` (classes of `COST_CLASSES`) and `criteria` (numbers per metric,
    higher is better) only order a top group. `sentinels` are metrics that check the assay: reported, but
    neither ranked nor recommended; `uninformed` ones are ranked, as was asked, but never the first choice.
    `metadata` says more about the contexts of a column, {column: {field:
    values in the order of the contexts}}; columns that enclose its contexts are added. Contexts below
    `minimum_items` are named and take no part in claims or in the test of H1. `radius` bounds the shift of
    the mix of contexts in the robust accuracy. `pairs_from` says where the pairs come from: rule, model or
    people; `people` is what people said of the same outputs, metrics in the same order. Results depend on
    `seed`, never on `workers` or the order of the pairs.
    """
    check_pairs(judgements, contexts, agreement, sentinels)
    ranked = _competing(judgements, sentinels)
    method = Method(
        ties,
        agreement,
        permutations,
        workers,
        ranked,
        *_resampling(seed, resamples),
        minimum_items,
        np.array([cost_rank((costs or {}).get(judgements.metrics[m])) for m in ranked]),
        np.array([judgements.metrics[m] in uninformed for m in ranked], dtype=np.bool_),
    )
    pairs, columns = sort_pairs(judgements, [each.occupied() for each in contexts])
    rng = random.make_named_generator(seed, "combinations")
    others = workers if pairs.pairs <= _AT_ONCE else 1
    with threadpool_limits(1), _meanwhile(others) as begin:  # one thread of BLAS: the same bytes anywhere
        of_systems = begin(_soft, people, method, seed)
        confounded = begin(_confounding, confounding, pairs, columns, method, rng)
        overall, found = _study(pairs, columns, method, seed)
        soft, confounding_found = of_systems(), confounded()
        beside = None if people is None else beside_people(people, overall, found, method, soft)
    judged = [pairs] if people is None else [pairs, people.pairs]
    same = same_decisions([each.select(ranked) for each in judged])
    known = {"radius": radius, "cost": costs or {}, "criteria": criteria or {}, "same": same}
    known["pairs"] = PAIRS.get(pairs_from, "pairs")
    evidence = {
        name: column_evidence(pairs.metrics, overall, column, method, **known)
        for name, column in found.items()
    }
    return ContextualResult(
        metrics=judgements.metrics,
        ranked=tuple(ranked.tolist()),
        methods=judgements.methods,
        whole=overall,
        columns=found,
        evidence=evidence,
        confounding=confounding_found,
        phi=phi_coefficients(pairs.select(ranked)),
        metadata=known_metadata(contexts, columns, metadata or {}),
        minimum_items=minimum_items,
        pairs_from=pairs_from,
        same_decisions=same,
        uninformed=frozenset(uninformed),
        people=beside,
    )


@contextmanager
def _meanwhile(workers: int) -> Iterator[Callable[..., Callable[[], Any]]]:
    """Begins what other threads do meanwhile, where there are any; what it returns has the result."""
    if workers == 1:
        yield partial
        return
    with ThreadPoolExecutor(workers) as pool:
        yield lambda function, *given: pool.submit(function, *given).result


def _soft(people: PeopleSide | None, method: Method, seed: int) -> SoftAccuracy | None:
    """How well metrics tell systems apart as people do, where people scored several."""
    return soft_accuracy(people.systems, method, seed) if people is not None and people.systems else None


def _competing(judgements: Judgements, sentinels: Collection[str]) -> NDArray[np.int64]:
    """The places of the metrics that are not sentinels."""
    return np.array([m for m, name in enumerate(judgements.metrics) if name not in sentinels], dtype=np.int64)


def _resampling(seed: int, resamples: int) -> tuple[ClusterBootstrap, ClusterHalves, ClusterHalves]:
    bootstrap = ClusterBootstrap(random.make_named_generator(seed, "bootstrap"), resamples)
    halves = ClusterHalves(random.make_named_generator(seed, "halves"), _SPLITS)
    return bootstrap, halves, ClusterHalves(random.make_named_generator(seed, "signs"), resamples)


def _study(
    pairs: Judgements, columns: Sequence[Contexts], method: Method, seed: int
) -> tuple[Whole, dict[str, Column]]:
    """The whole, and every column."""
    overall = study_whole(pairs, whole(pairs), method)
    return overall, {
        each.name: study_column(
            pairs, each, overall, method, random.make_named_generator(seed, "exchange", each.name)
        )
        for each in columns
    }


def _confounding(
    every_method: Judgements | None,
    pairs: Judgements,
    columns: Sequence[Contexts],
    method: Method,
    rng: np.random.Generator,
) -> Confounding:
    """Confounding, averaged over the first column's contexts if they are not too many, else on the whole."""
    few = bool(columns) and 1 < len(columns[0].values) <= _MOST_CONFOUNDING_CONTEXTS
    contexts = columns[0] if few else whole(pairs)
    if every_method is not None and every_method is not pairs:
        size = 1 + max(int(pairs.output.max()), int(every_method.output.max()))
        context_of = np.full(size, -1, dtype=np.int32)
        context_of[pairs.output] = contexts.codes
        contexts = Contexts(contexts.name, contexts.values, context_of[every_method.output])
        pairs, (contexts,) = sort_pairs(every_method, [contexts])
    return confounding(
        pairs, contexts, ties=method.ties, bootstrap=method.bootstrap, rng=rng, workers=method.workers
    )
