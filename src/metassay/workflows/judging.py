"""From pairs to judgements: score both sides, see which one each metric prefers, and show where it erred."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.context import Context
from metassay.data.dataset import Dataset
from metassay.data.preparation import Unit, clusters
from metassay.engine.batches import Rows
from metassay.engine.local import Parts, Progress, Scored, score_lists, score_rows
from metassay.errors import InputError
from metassay.meta.contexts.judgements import RIGHT, Contexts, Judgements, judge
from metassay.metrics.base import Metric
from metassay.metrics.judge import Judge
from metassay.perturbations.pairs import Pairs
from metassay.perturbations.ranking_pairs import RankedPairs
from metassay.workflows.read import scoring_rows

KEY = ["item", "system"]
PER_METRIC = 4
LONGEST = 400
"""Longer texts are no pleasure to compare by eye."""


@dataclass(frozen=True)
class JudgedPairs:
    """Pairs with the scores of both sides, oriented to higher is better: float64[metrics, pairs]."""

    pairs: Pairs
    rows: NDArray[np.int64]
    """For each pair, the row of its output in the data set."""
    better: NDArray[np.float64]
    worse: NDArray[np.float64]
    judgements: Judgements
    seconds: dict[str, float]
    unit: Unit
    notes: tuple[str, ...] = ()
    verdicts: pl.DataFrame | None = None
    """What judges that compare two outputs said in either order; None where there are none."""
    of_metrics: tuple[str, ...] = ()
    """What a reader of the metrics' scores must know."""

    def chosen(self, sample: Pairs) -> NDArray[np.bool_]:
        """Which of the pairs are in a sample of them."""
        if sample is self.pairs:
            return np.ones(len(self.rows), dtype=np.bool_)
        key = [*KEY, "perturbation"]
        marked = self.pairs.frame.select(key).join(
            sample.frame.select(key).with_columns(pl.lit(value=True).alias("chosen")),
            on=key,
            how="left",
            maintain_order="left",
        )
        return marked["chosen"].fill_null(value=False).to_numpy()

    def in_context(self, context: Context, chosen: NDArray[np.bool_]) -> Contexts:
        """The context of each chosen pair: that of its output."""
        return Contexts(context.name, context.values, context.codes[self.rows[chosen]])


def judge_pairs(
    dataset: Dataset,
    pairs: Pairs,
    metrics: Sequence[Metric],
    *,
    unit: Unit | None = None,
    weights: NDArray[np.float64] | None = None,
    workers: int | None = None,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> JudgedPairs:
    """Score every output that has pairs, and every worse copy, with every metric."""
    rows = _rows(dataset, pairs)
    names = tuple(metric.spec for metric in metrics)
    verdicts: list[pl.DataFrame] = []
    if isinstance(pairs, RankedPairs):
        scored, better, worse = _score_ranked(dataset, pairs, metrics, workers)
    else:
        scored, better, worse = _score_texts(
            dataset, pairs, rows, metrics, workers, parts, progress, verdicts
        )
    of_metrics = [note for metric in metrics for note in metric.notes()]
    tolerance = np.array([metric.tie_tolerance for metric in metrics])
    methods = tuple(sorted(pairs.frame["perturbation"].unique()))
    unit = unit or clusters(dataset, None)
    judgements = Judgements(
        metrics=names,
        methods=methods,
        outcome=judge(better, worse, tolerance),
        item=unit.items[rows],
        output=rows.astype(np.int32),
        cluster=unit.codes[rows],
        method=np.searchsorted(np.array(methods), pairs.frame["perturbation"].to_numpy()).astype(np.int32),
        weights=None if weights is None else weights[rows],
    )
    said = pl.concat(verdicts) if verdicts else None
    found = JudgedPairs(pairs, rows, better, worse, judgements, scored.seconds, unit, unit.notes, said)
    return replace(found, of_metrics=tuple(of_metrics))


def _score_texts(
    dataset: Dataset,
    pairs: Pairs,
    rows: NDArray[np.int64],
    metrics: Sequence[Metric],
    workers: int | None,
    parts: Parts | None,
    progress: Progress | None,
    verdicts: list[pl.DataFrame],
) -> tuple[Scored, NDArray[np.float64], NDArray[np.float64]]:
    """Scores of both sides, each output scored once: [metrics, pairs], higher is better.

    Judges that compare two outputs leave what they said in `verdicts`; their score of a side is its verdict.
    """
    scored_rows, position = np.unique(rows, return_inverse=True)
    both = _both_sides(dataset, pairs, rows)
    copies = both.frame[len(scored_rows) :]
    single = [metric for metric in metrics if not _compares(metric)]
    scored = score_rows(single, both, workers=workers, parts=parts, progress=progress)
    better, worse = np.empty((len(metrics), len(rows))), np.empty((len(metrics), len(rows)))
    seconds = dict(scored.seconds)
    firsts = scoring_rows(dataset).frame[rows].with_columns(pairs.frame["output"])
    for place, metric in enumerate(metrics):
        if _compares(metric):
            started = time.perf_counter()
            verdict, said = _compared(metric, Rows(firsts), Rows(copies), pairs)
            better[place], worse[place] = verdict, 1 - verdict
            verdicts.append(said)
            seconds[metric.spec] = time.perf_counter() - started
        else:
            scores = metric.oriented(scored.scores[metric.spec])
            better[place], worse[place] = scores[: len(scored_rows)][position], scores[len(scored_rows) :]
    return replace(scored, seconds=seconds), better, worse


def scored_texts(dataset: Dataset, pairs: Pairs) -> pl.DataFrame:
    """What metrics may read of every text that the pairs ask them to score."""
    return _both_sides(dataset, pairs, _rows(dataset, pairs)).frame


def _both_sides(dataset: Dataset, pairs: Pairs, rows: NDArray[np.int64]) -> Rows:
    """Every output that has pairs, once, and then the worse side of each pair."""
    scored_rows, position = np.unique(rows, return_inverse=True)
    base = scoring_rows(dataset)
    outputs = base.frame[scored_rows].with_columns(_first_output(pairs, position, len(scored_rows)))
    copies = base.frame[rows].with_columns(pairs.frame["worse"].alias("output"))
    if "worse_system" in pairs.frame.columns:
        copies = copies.with_columns(pairs.frame["worse_system"].alias("system"))
    return Rows(pl.concat([outputs, copies]), base.qrels)


def _compares(metric: Metric) -> bool:
    return isinstance(metric, Judge) and metric.pairwise


def _compared(
    judge: Metric, firsts: Rows, copies: Rows, pairs: Pairs
) -> tuple[NDArray[np.float64], pl.DataFrame]:
    """Which side of every pair a judge prefers, and a table of what it said: the output is number 1."""
    assert isinstance(judge, Judge)
    reads = judge.needs | judge.optional
    found = [
        judge.prefer(one.batch(reads), two.batch(reads)) for one, two in zip(firsts.cuts(), copies.cuts())
    ]
    verdict = np.concatenate([part.verdict for part in found])
    asked = np.concatenate([part.asked for part in found], axis=1)
    keys = pairs.frame.select(
        pl.concat_str("item", "system", "perturbation", separator="/").alias("item"), "system", "perturbation"
    )
    said = [
        keys.with_columns(
            pl.lit(judge.spec).alias("judge"),
            pl.lit(value=bool(swapped)).alias("swapped"),
            pl.Series("winner", asked[swapped]).replace_strict(
                {1.0: "1", 0.0: "2", 0.5: "tie"}, default=None
            ),
            pl.lit(1).alias("better"),
            pairs.frame["output"].alias("output_1"),
            pairs.frame["worse"].alias("output_2"),
        )
        for swapped in (0, 1)
    ]
    return verdict, pl.concat(said)


def _score_ranked(
    dataset: Dataset, pairs: RankedPairs, metrics: Sequence[Metric], workers: int | None
) -> tuple[Scored, NDArray[np.float64], NDArray[np.float64]]:
    """The same for rankings, from grades alone: nothing is worth keeping that takes seconds to score."""
    if dataset.qrels is None:
        raise InputError("rankings cannot be scored without relevance judgements.", remedy="Pass --qrels.")
    lists = score_lists(metrics, pairs.lists, dataset.outputs, dataset.qrels, workers=workers)
    copies = score_lists(metrics, pairs.copies, pairs.frame, dataset.qrels, workers=workers)
    better, worse = (
        np.array([metric.oriented(side.scores[metric.spec]) for metric in metrics])
        for side in (lists, copies)
    )
    return copies, better[:, pairs.rows], worse


def _rows(dataset: Dataset, pairs: Pairs) -> NDArray[np.int64]:
    """The row of each pair's output in the data set."""
    if pairs.rows is not None:
        return pairs.rows
    index = dataset.outputs.select(KEY).with_row_index("row")
    joined = pairs.frame.select(KEY).join(index, on=KEY, how="left", maintain_order="left")
    return joined["row"].cast(pl.Int64).to_numpy()


def _first_output(pairs: Pairs, position: NDArray[np.int64], count: int) -> pl.Series:
    """The text of each output as it is scored: after preprocessing."""
    first = np.zeros(count, dtype=np.int64)
    first[position[::-1]] = np.arange(len(position))[::-1]
    return pairs.frame["output"][first].alias("output")


def wrong_pairs(dataset: Dataset, metrics: tuple[Metric, ...], judged: JudgedPairs) -> list[dict[str, Any]]:
    """For each metric a few pairs where it preferred the worse copy, widest margin first, then ties.

    One pair per item and perturbation, so that the examples differ.
    """
    if dataset.kind.ranked:
        return []
    found = []
    for index, metric in enumerate(metrics):
        margin = judged.worse[index] - judged.better[index]
        wrong = np.flatnonzero((judged.judgements.outcome[index] < RIGHT) & ~np.isnan(margin))
        order = wrong[np.argsort(-margin[wrong], kind="stable")]
        found += _readable(dataset, metric, index, judged, order)
    return found


def _readable(
    dataset: Dataset, metric: Metric, index: int, judged: JudgedPairs, order: np.ndarray
) -> list[dict[str, Any]]:
    """The first few of the ordered pairs: short ones, no item and no perturbation twice."""
    sign = 1.0 if metric.higher_is_better else -1.0
    items: set[str] = set()
    methods: set[str] = set()
    examples: list[dict[str, Any]] = []
    for pair in order.tolist():
        row = judged.pairs.frame.row(pair, named=True)
        too_long = max(len(row["output"]), len(row["worse"])) > LONGEST
        if too_long or row["item"] in items or row["perturbation"] in methods:
            continue
        items.add(row["item"])
        methods.add(row["perturbation"])
        output = dataset.outputs.row(int(judged.rows[pair]), named=True)
        examples.append(
            {
                "metric": metric.spec,
                **row,
                "source": output.get("source"),
                "references": output.get("references") or [],
                "score": sign * float(judged.better[index, pair]),
                "score_worse": sign * float(judged.worse[index, pair]),
            }
        )
        if len(examples) == PER_METRIC:
            break
    return examples
