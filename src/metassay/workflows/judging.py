"""From a data set to judgements: make outputs worse, score both sides, see which side each metric prefers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.context import Context
from metassay.data.dataset import Dataset
from metassay.engine.batches import Rows
from metassay.engine.local import Parts, Progress, Scored, score_rows
from metassay.engine.rankings import score_lists
from metassay.errors import InputError
from metassay.meta.contexts.judgements import Contexts, Judgements, judge
from metassay.metrics.base import Metric
from metassay.perturbations.pairs import Pairs
from metassay.perturbations.ranking_pairs import RankedPairs
from metassay.workflows.preparing import clusters, scoring_rows

KEY = ["item", "system"]


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
    notes: tuple[str, ...] = ()

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
    cluster: str | None = None,
    weights: NDArray[np.float64] | None = None,
    workers: int | None = None,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> JudgedPairs:
    """Score every output that has pairs, and every worse copy, with every metric."""
    rows = _rows(dataset, pairs)
    if isinstance(pairs, RankedPairs):
        scored, better, worse = _score_ranked(dataset, pairs, metrics, workers)
    else:
        scored, better, worse = _score_texts(dataset, pairs, rows, metrics, workers, parts, progress)
    tolerance = np.array([metric.tie_tolerance for metric in metrics])
    methods = tuple(sorted(pairs.frame["perturbation"].unique()))
    cluster_codes, notes = clusters(dataset, cluster)
    judgements = Judgements(
        metrics=tuple(metric.spec for metric in metrics),
        methods=methods,
        outcome=judge(better, worse, tolerance),
        item=_item_codes(dataset)[rows],
        output=rows.astype(np.int32),
        cluster=cluster_codes[rows],
        method=np.searchsorted(np.array(methods), pairs.frame["perturbation"].to_numpy()).astype(np.int32),
        weights=None if weights is None else weights[rows],
    )
    return JudgedPairs(pairs, rows, better, worse, judgements, scored.seconds, notes)


def _score_texts(
    dataset: Dataset,
    pairs: Pairs,
    rows: NDArray[np.int64],
    metrics: Sequence[Metric],
    workers: int | None,
    parts: Parts | None,
    progress: Progress | None,
) -> tuple[Scored, NDArray[np.float64], NDArray[np.float64]]:
    """Scores of both sides, each output scored once: [metrics, pairs], higher is better."""
    scored_rows, position = np.unique(rows, return_inverse=True)
    both = _both_sides(dataset, pairs, rows)
    scored = score_rows(metrics, both, workers=workers, parts=parts, progress=progress)
    oriented = np.array([metric.oriented(scored.scores[metric.spec]) for metric in metrics])
    return scored, oriented[:, : len(scored_rows)][:, position], oriented[:, len(scored_rows) :]


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


def _item_codes(dataset: Dataset) -> NDArray[np.int32]:
    codes = {item: code for code, item in enumerate(dataset.items)}
    return np.array([codes[item] for item in dataset.outputs["item"]], dtype=np.int32)
