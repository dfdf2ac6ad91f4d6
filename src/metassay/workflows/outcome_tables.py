"""Build tables of pairs for the run folder: whether each metric ordered each pair correctly, and what the
dashboard shows of the pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from metassay.meta.contexts.pair_outcomes import MISSING
from metassay.workflows.pair_table import PAIR_KEY

if TYPE_CHECKING:
    from metassay.data.context import Context
    from metassay.data.dataset import Dataset
    from metassay.metrics.base import Metric
    from metassay.perturbations.pairs import Pairs
    from metassay.workflows.pair_scoring import ScoredPairs

_NAME_COLUMNS = ("system", "perturbation", "worse_system")


@dataclass(frozen=True)
class ShardPosition:
    """Where a slice (shard) of a data set begins, and the names of all systems and perturbations in the whole
    data set.
    """

    first_row: int
    systems: Sequence[str]
    perturbations: Sequence[str]


def build_pair_outcome_table(scored_pairs: ScoredPairs) -> pl.DataFrame:
    """Build a table that says for each pair and metric whether the metric ordered the pair correctly. The
    values are 1 (right), 0 (tie), −1 (wrong) and null (undefined).
    """
    columns = [pl.Series("sampled", scored_pairs.is_sampled)]
    for metric, outcomes in zip(scored_pairs.outcomes.metrics, scored_pairs.outcomes.outcomes):
        columns.append(pl.Series(metric, outcomes).cast(pl.Int8).replace(MISSING, None))
    return scored_pairs.pairs.frame.select(PAIR_KEY).with_columns(*columns)


def build_pair_search_table(
    dataset: Dataset,
    sampled_pairs: Pairs,
    scored_pairs: ScoredPairs,
    contexts: Sequence[Context],
    metrics: Sequence[Metric],
    shard_position: ShardPosition | None = None,
) -> pl.DataFrame:
    """Build the table in which users of the dashboard search pairs. It has contexts (such as the domain),
    human scores and metric scores.

    `shard_position` is given where the data set is a shard of a larger one.
    """
    rows = scored_pairs.rows[scored_pairs.is_sampled]
    first_row = 0 if shard_position is None else shard_position.first_row
    columns = [sampled_pairs.frame["item"]]
    columns += [
        _encode_names_as_enum(sampled_pairs.frame[name], shard_position)
        for name in sampled_pairs.frame.columns
        if name in _NAME_COLUMNS
    ]
    columns.append(pl.Series("output", (rows + first_row).astype(np.uint32)))
    for context in contexts:
        labels = pl.Series(context.values, dtype=pl.Enum(context.values))
        codes = pl.Series(context.codes[rows])
        # Code -1 means no context. Gathering by null gives null.
        columns.append(labels.gather(codes.set(codes < 0, None)).alias(f"context/{context.name}"))
    for name in dataset.human:
        columns.append(dataset.outputs[name].gather(rows).cast(pl.Float64).alias(f"human/{name}"))
        if "worse_system" in sampled_pairs.frame.columns:
            columns.append(_find_human_scores_of_worse_outputs(sampled_pairs.frame, dataset.outputs, name))
    lower_is_better = {metric.spec for metric in metrics if not metric.higher_is_better}
    for m, metric in enumerate(scored_pairs.outcomes.metrics):
        # Scores in memory are oriented to higher is better. Readers know them as the metric prints them.
        sign = -1.0 if metric in lower_is_better else 1.0
        columns += _build_score_columns_of_metric(scored_pairs, m, metric, sign)
    return pl.DataFrame(columns)


def _build_score_columns_of_metric(
    scored_pairs: ScoredPairs, metric_index: int, metric_name: str, score_sign: float
) -> list[pl.Series]:
    """Build four columns for one metric: whether it ordered each pair correctly, its scores of both outputs,
    and the difference of the scores (margin).

    The margin is positive if the metric prefers the better output.
    """
    better = scored_pairs.better[metric_index, scored_pairs.is_sampled]
    worse = scored_pairs.worse[metric_index, scored_pairs.is_sampled]
    outcomes = pl.Series(
        f"outcome/{metric_name}",
        scored_pairs.outcomes.outcomes[metric_index, scored_pairs.is_sampled].astype(np.int8),
    )
    numbers = {"score": score_sign * better, "worse_score": score_sign * worse, "margin": better - worse}
    columns = [outcomes.set(outcomes == MISSING, None)]
    for kind, values in numbers.items():
        columns.append(pl.Series(f"{kind}/{metric_name}", values).fill_nan(None))
    return columns


def _encode_names_as_enum(names: pl.Series, shard_position: ShardPosition | None) -> pl.Series:
    """Encode a column of names as a Polars Enum with the names that occur in the whole data set."""
    if shard_position is None:
        return names.cast(pl.Enum(names.unique().drop_nulls().sort()))
    categories = shard_position.perturbations if names.name == "perturbation" else shard_position.systems
    # The tables of all shards are joined, for which their Enums must be equal.
    return names.cast(pl.Enum(categories))


def _find_human_scores_of_worse_outputs(
    pairs: pl.DataFrame, outputs: pl.DataFrame, human_column: str
) -> pl.Series:
    """Return the human score of the worse output of each pair, if the outputs of a pair come from two
    systems.
    """
    worse_outputs = pairs.select("item", pl.col("worse_system").cast(pl.String).alias("system"))
    scores = outputs.select("item", "system", pl.col(human_column).cast(pl.Float64))
    joined = worse_outputs.join(scores, on=["item", "system"], how="left", maintain_order="left")
    return joined[human_column].alias(f"human_worse/{human_column}")
