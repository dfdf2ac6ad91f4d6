"""Write and read the file that says how accurate each metric is on each item, or cluster of items such as a
document. `compare` needs it to compare two runs item by item.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from metassay.data.clusters import list_cluster_names
from metassay.meta.contexts.accuracy import sort_pairs_by_item
from metassay.meta.contexts.cluster_accuracy_sums import (
    ClusterAccuracySums,
    sum_accuracies_by_cluster,
)
from metassay.meta.contexts.pair_outcomes import put_all_pairs_in_one_context
from metassay.meta.contexts.run_comparison import ClusterSumsByContext
from metassay.workflows.pair_table import report_unreadable_file

if TYPE_CHECKING:
    from metassay.data.context import Context
    from metassay.data.dataset import Dataset
    from metassay.store.run_folder import RunFolder
    from metassay.workflows.pair_scoring import ScoredPairs

# One row per column, context and cluster; `credit/METRIC` and `weight/METRIC` as in `ClusterAccuracySums`.
CLUSTER_SUMS_FILE = "results/cluster_credits.parquet"
_ACCURACY = "credit/"
_WEIGHT = "weight/"


def tabulate_accuracies_by_cluster(
    dataset: Dataset, scored_pairs: ScoredPairs, contexts: Sequence[Context], metric_count: int, ties: str
) -> list[pl.DataFrame]:
    """Sum the accuracy of each metric over the items of each cluster, such as a document. Returns one table
    for each context, such as a domain.

    Each table has the sums of item accuracies (`credit/METRIC`) and of item weights (`weight/METRIC`) for the
    first `metric_count` metrics. The ratio of their totals is the accuracy of the metric.
    """
    metrics = np.arange(metric_count)
    sampled = scored_pairs.outcomes.select_metrics(metrics).select_pairs(scored_pairs.is_sampled)
    outcomes, columns = sort_pairs_by_item(
        sampled,
        [
            scored_pairs.assign_sampled_pairs_to_contexts(context).drop_empty_contexts()
            for context in contexts
        ],
    )
    cluster_names = list_cluster_names(dataset, scored_pairs.clusters)
    frames = []
    for column in (put_all_pairs_in_one_context(outcomes), *columns):
        for context, clusters in sum_accuracies_by_cluster(outcomes, column, ties=ties):
            series = [cluster_names.gather(clusters.clusters).alias("cluster")]
            series += [pl.Series(_ACCURACY + metric, row) for metric, row in clusters.accuracies.items()]
            series += [pl.Series(_WEIGHT + metric, row) for metric, row in clusters.weights.items()]
            labels = (pl.lit(column.column).alias("column"), pl.lit(context).alias("context"))
            frames.append(pl.DataFrame(series).select(*labels, pl.all()))
    return frames


def read_accuracy_sums_by_cluster(run_folder: RunFolder) -> ClusterSumsByContext:
    """Read from a run the accuracy of each metric, summed over the items of each cluster, such as a
    document.
    """
    file = run_folder.find_result_file(CLUSTER_SUMS_FILE)
    table: dict[tuple[str, str], ClusterAccuracySums] = {}
    with report_unreadable_file(file):
        frame = pl.read_parquet(file)
        metrics = [name.removeprefix(_ACCURACY) for name in frame.columns if name.startswith(_ACCURACY)]
        for (column, context), rows in frame.partition_by("column", "context", as_dict=True).items():
            table[column, context] = ClusterAccuracySums(
                clusters=rows["cluster"].to_numpy(),
                accuracies={metric: rows[_ACCURACY + metric].to_numpy() for metric in metrics},
                weights={metric: rows[_WEIGHT + metric].to_numpy() for metric in metrics},
            )
    return table
