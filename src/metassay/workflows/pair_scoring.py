"""From pairs to judgements: score both sides, and see which one each metric prefers."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.clusters import Clusters, find_clusters
from metassay.data.context import Context
from metassay.data.dataset import Dataset
from metassay.engine.batches import OutputRows
from metassay.engine.ranking_scores import score_lists
from metassay.engine.ray_cluster import RayCluster
from metassay.engine.score_store import ScoreStore
from metassay.engine.scoring import SelectedBatches, score_rows, store_selected_batches
from metassay.errors import InputError
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes, compare_scores
from metassay.metrics.base import Metric
from metassay.metrics.judge import Judge
from metassay.options import Progress
from metassay.perturbations.pairs import Pairs
from metassay.perturbations.ranking_pairs import RankedPairs
from metassay.workflows.pair_files import Aside
from metassay.workflows.pair_verdicts import build_verdict_table, compare_pairs
from metassay.workflows.scoring_rows import build_scoring_rows

KEY = ["item", "system"]
_NONE: NDArray[np.int64] = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class JudgedPairs:
    """Pairs with the scores of both sides, oriented to higher is better: float64[metrics, pairs]."""

    pairs: Pairs
    rows: NDArray[np.int64]
    """For each pair, the row of its output in the data set."""
    better: NDArray[np.float64]
    worse: NDArray[np.float64]
    outcomes: PairOutcomes
    seconds: dict[str, float]
    unit: Clusters
    sampled: NDArray[np.bool_]
    """The pairs that count in the results; the others tell only how methods differ."""
    notes: tuple[str, ...] = ()
    verdicts: pl.DataFrame | None = None
    """What judges said of the sampled pairs, in every order that they were asked in; None without judges."""
    of_metrics: tuple[str, ...] = ()
    """What a reader of the metrics' scores must know."""
    outputs: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    """Scores of the outputs, [metrics, outputs]; NaN where one was not scored. Empty for rankings."""
    parts: int = 0
    """The batches that metrics which see one text at a time scored them in."""
    aside: Aside | None = None
    """What was put away of pairs that were judged shard by shard; `better` and `worse` are empty then."""

    def in_context(self, context: Context) -> PairContexts:
        """The context of each sampled pair: that of its output."""
        rows = self.rows if self.sampled.all() else self.rows[self.sampled]
        worse_codes = None
        if self.pairs.worse_rows is not None:
            worse_codes = context.codes[self.pairs.worse_rows[self.sampled]]
        return PairContexts(context.name, context.values, context.codes[rows], worse_codes)


def judge_pairs(
    dataset: Dataset,
    pairs: Pairs,
    metrics: Sequence[Metric],
    *,
    sample: Pairs | None = None,
    unit: Clusters | None = None,
    weights: NDArray[np.float64] | None = None,
    workers: int | None = None,
    parts: ScoreStore | None = None,
    first: int = 0,
    cluster: RayCluster | None = None,
    progress: Progress | None = None,
    also: NDArray[np.int64] | None = None,
) -> JudgedPairs:
    """Score every output that has pairs, and every worse copy, with every metric.

    Language models are asked about the pairs in `sample` (None: all) alone, since each question costs. `also`
    are rows of further outputs that the other metrics score. Batches are numbered from `first`.
    """
    rows = _rows(dataset, pairs)
    outputs = np.full((len(metrics), 0 if dataset.task_definition.is_ranking else len(dataset)), np.nan)
    sampled = _in_sample(pairs, sample)
    names = tuple(metric.spec for metric in metrics)
    verdicts: list[pl.DataFrame] = []
    counted: list[int] = []
    if isinstance(pairs, RankedPairs):
        seconds, better, worse = _score_ranked(dataset, pairs, metrics, workers)
    else:
        how = _How(workers, parts, first, cluster, progress, _NONE if also is None else also, counted)
        seconds, better, worse = _score_texts(dataset, pairs, sampled, metrics, how, verdicts, outputs)
    of_metrics = tuple(note for metric in metrics for note in metric.notes())
    tolerance = np.array([metric.tie_tolerance for metric in metrics])
    made_by = pairs.frame["perturbation"]
    methods = tuple(sorted(made_by.unique()))
    unit = unit or find_clusters(dataset, None)
    outcomes = PairOutcomes(
        metrics=names,
        perturbation_names=methods,
        outcomes=compare_scores(better, worse, tolerance),
        items=unit.items[rows],
        outputs=rows.astype(np.int32),
        clusters=unit.codes[rows],
        perturbations=made_by.replace_strict(methods, range(len(methods)), return_dtype=pl.Int32).to_numpy(),
        weights=None if weights is None else weights[rows],
        worse_outputs=None if pairs.worse_rows is None else pairs.worse_rows.astype(np.int32),
    )
    said = pl.concat(verdicts) if verdicts else None
    of_outputs = said, of_metrics, outputs, sum(counted)
    return JudgedPairs(pairs, rows, better, worse, outcomes, seconds, unit, sampled, unit.notes, *of_outputs)


def _in_sample(pairs: Pairs, sample: Pairs | None) -> NDArray[np.bool_]:
    """Which of the pairs are in a sample of them."""
    if sample is None or sample is pairs:
        return np.ones(pairs.frame.height, dtype=np.bool_)
    key = [*KEY, "perturbation"]
    marked = pairs.frame.select(key).join(
        sample.frame.select(key).with_columns(pl.lit(value=True).alias("chosen")),
        on=key,
        how="left",
        maintain_order="left",
    )
    return marked["chosen"].fill_null(value=False).to_numpy()


@dataclass(frozen=True)
class _How:
    workers: int | None
    parts: ScoreStore | None
    first: int
    cluster: RayCluster | None
    progress: Progress | None
    also: NDArray[np.int64]
    counted: list[int]
    """How many batches each call of the engine took."""


Sides = tuple[dict[str, float], NDArray[np.float64], NDArray[np.float64]]
"""Seconds by metric, and the scores of both sides, [metrics, pairs], higher is better."""


def _score_texts(
    dataset: Dataset,
    pairs: Pairs,
    sampled: NDArray[np.bool_],
    metrics: Sequence[Metric],
    how: _How,
    verdicts: list[pl.DataFrame],
    outputs: NDArray[np.float64],
) -> Sides:
    """Scores of both sides; those of a language model are NaN where the pair is not in the sample.

    The score of a side by a judge that compares is its verdict. What judges said is left in `verdicts`, and
    scores of outputs in `outputs`.
    """
    better, worse = (np.full((len(metrics), pairs.frame.height), np.nan) for _ in range(2))
    seconds: dict[str, float] = {}
    few = pairs.filter_rows(sampled)
    asked = np.array([isinstance(metric, Judge) for metric in metrics], dtype=np.bool_)
    for own, kept, where in ((~asked, pairs, slice(None)), (asked, few, sampled)):
        single = [m for m in np.flatnonzero(own).tolist() if not _compares(metrics[m])]
        scoring = replace(how, also=_NONE) if own is asked else how
        scored, better_side, worse_side = _score_single(dataset, kept, [metrics[m] for m in single], scoring)
        seconds |= scored[0]
        outputs[np.array(single, dtype=np.int64)[:, None], scored[1]] = scored[2]
        for place, one, two in zip(single, better_side, worse_side):
            better[place, where], worse[place, where] = one, two
    for place, metric in enumerate(metrics):
        if not isinstance(metric, Judge):
            continue
        if metric.pairwise:
            started = time.perf_counter()
            found = compare_pairs(metric, build_scoring_rows(dataset).frame[_rows(dataset, few)], few.frame)
            better[place, sampled], worse[place, sampled] = found.verdict, 1 - found.verdict
            verdicts.append(build_verdict_table(metric, few.frame, found.by_order))
            seconds[metric.spec] = time.perf_counter() - started
        else:
            said = (np.sign(better[place, sampled] - worse[place, sampled]) + 1) / 2
            verdicts.append(build_verdict_table(metric, few.frame, said[None]))
    return seconds, better, worse


def _score_single(
    dataset: Dataset, pairs: Pairs, metrics: Sequence[Metric], how: _How
) -> tuple[tuple[dict[str, float], NDArray[np.int64], NDArray[np.float64]], NDArray[Any], NDArray[Any]]:
    """Scores of both sides by metrics that see one text at a time, each output scored once.

    First come seconds, the rows of the outputs, and their scores.
    """
    if not metrics:
        nothing = np.empty((0, pairs.frame.height))
        return ({}, _NONE, np.empty((0, 0))), nothing, nothing
    rows = _rows(dataset, pairs)
    outputs = np.union1d(rows, how.also)
    both = _both_sides(dataset, pairs, rows, how.also)
    scored = score_rows(
        metrics,
        both,
        workers=how.workers,
        store=how.parts,
        first_batch=how.first,
        cluster=how.cluster,
        progress=how.progress,
    )
    how.counted.append(scored.batch_count)
    scores = np.stack([metric.orient_scores(scored.scores[metric.spec]) for metric in metrics])
    own = scores[:, : len(outputs)]
    found = scored.seconds, outputs, own
    return found, own[:, np.searchsorted(outputs, rows)], scores[:, len(outputs) :]


def score_selected_parts(
    dataset: Dataset,
    pairs: Pairs,
    metrics: Sequence[Metric],
    selected: Collection[int],
    *,
    store: ScoreStore | None,
    workers: int | None = None,
    first_part: int = 0,
    also: NDArray[np.int64] | None = None,
    progress: Progress | None = None,
) -> SelectedBatches:
    """Score and store the selected parts of what `judge_pairs` scores, except for language models."""
    if store is None:
        raise InputError("parts are stored in a run folder.", remedy="Pass --out.")
    rows = _both_sides(dataset, pairs, _rows(dataset, pairs), _NONE if also is None else also)
    return store_selected_batches(
        [metric for metric in metrics if not isinstance(metric, Judge)],
        rows,
        selected,
        store=store,
        workers=workers,
        first_batch=first_part,
        progress=progress,
    )


def scored_texts(dataset: Dataset, pairs: Pairs) -> pl.DataFrame:
    """What metrics may read of every text that the pairs ask them to score."""
    return _both_sides(dataset, pairs, _rows(dataset, pairs), _NONE).frame


def _both_sides(
    dataset: Dataset, pairs: Pairs, rows: NDArray[np.int64], also: NDArray[np.int64]
) -> OutputRows:
    """Every output that has pairs, and those in `also`, once, and then the worse side of each pair."""
    scored_rows = np.union1d(rows, also)
    base = build_scoring_rows(dataset)
    outputs = base.frame[scored_rows]
    outputs = outputs.with_columns(_as_scored(outputs["output"], pairs, np.searchsorted(scored_rows, rows)))
    copies = base.frame[rows].with_columns(pairs.frame["worse"].alias("output"))
    if "worse_system" in pairs.frame.columns:
        copies = copies.with_columns(pairs.frame["worse_system"].alias("system"))
    return OutputRows(pl.concat([outputs, copies]), base.qrels)


def _compares(metric: Metric) -> bool:
    return isinstance(metric, Judge) and metric.pairwise


def _score_ranked(
    dataset: Dataset, pairs: RankedPairs, metrics: Sequence[Metric], workers: int | None
) -> Sides:
    """The same for rankings, from grades alone: nothing is worth keeping that takes seconds to score."""
    if dataset.qrels is None:
        raise InputError("rankings cannot be scored without relevance judgements.", remedy="Pass --qrels.")
    lists = score_lists(metrics, pairs.lists, dataset.outputs, dataset.qrels, workers=workers)
    copies = score_lists(metrics, pairs.copies, pairs.frame, dataset.qrels, workers=workers)
    better, worse = (
        np.array([metric.orient_scores(side.scores[metric.spec]) for metric in metrics])
        for side in (lists, copies)
    )
    return copies.seconds, better[:, pairs.rows], worse


def _rows(dataset: Dataset, pairs: Pairs) -> NDArray[np.int64]:
    """The row of each pair's output in the data set."""
    if pairs.rows is not None:
        return pairs.rows
    index = dataset.outputs.select(KEY).with_row_index("row")
    joined = pairs.frame.select(KEY).join(index, on=KEY, how="left", maintain_order="left")
    return joined["row"].cast(pl.Int64).to_numpy()


def _as_scored(texts: pl.Series, pairs: Pairs, position: NDArray[np.int64]) -> pl.Series:
    """The text of each output as it is scored: after preprocessing, where it has a pair at `position`."""
    known, first = np.unique(position, return_index=True)
    return texts.scatter(known, pairs.frame["output"][first]).alias("output")
