"""Clusters: items that belong together, such as the segments of a document, and are resampled together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.cells import build_natural_sort_key
from metassay.data.columns import TEST_SET_COLUMNS, select_columns_by_name
from metassay.data.dataset import Dataset
from metassay.errors import UnknownName

# Columns that may name clusters. The first that groups items is the default.
CLUSTER_COLUMNS = ("doc_id", "document", "chapter_id", "speaker_id", "session_id")
# Items whose sort keys are built at a time: the keys are longer than the ids, and Python texts.
_BATCH_ITEMS = 2**16


@dataclass(frozen=True)
class Clusters:
    """Groups of outputs that are not independent of each other, because they come from one document or
    speaker.
    """

    codes: NDArray[np.int32]
    """Number of the cluster of each output."""
    items: NDArray[np.int32]
    """Number of the item of each output, in sorted order of the items."""
    column: str
    """The column that names the clusters; `item` if every item is its own cluster."""
    why: str
    """Why this column was chosen."""
    notes: tuple[str, ...] = ()


def assign_outputs_to_clusters(dataset: Dataset, cluster_column: str | None) -> Clusters:
    """Assign each output to a cluster of similar items, such as the document it comes from.

    Clusters are the values of `cluster_column`. Without it, the first of `CLUSTER_COLUMNS` that groups items
    is used, or else the items themselves. Equal values in different test sets are different clusters. An
    output without a value belongs to the cluster of its item; a note counts such outputs.
    """
    outputs = dataset.outputs
    items = _encode_labels_as_integers(outputs["item"])
    requested = cluster_column is not None
    if cluster_column is None:
        cluster_column = find_cluster_column(dataset)
    if cluster_column is None or cluster_column == "item":
        why = "no column names a document, chapter, speaker or session that holds several items"
        return Clusters(items, items, "item", "asked for" if requested else why)
    if cluster_column not in outputs.columns:
        raise UnknownName("cluster column", cluster_column, ("item", *dataset.metadata))
    codes = _encode_labels_as_integers(_build_cluster_labels(outputs, cluster_column))
    why = (
        f"{len(dataset.items)} items belong to {len(np.unique(codes))} of them, and items of one are similar"
    )
    notes: tuple[str, ...] = ()
    missing = outputs[cluster_column].null_count()
    if missing:
        notes = (f"{missing} outputs have no {cluster_column}. Each of them is in the cluster of its item.",)
    return Clusters(codes, items, cluster_column, "asked for" if requested else why, notes)


def list_cluster_names(dataset: Dataset, clusters: Clusters) -> pl.Series:
    """List the names of all clusters of items, such as documents, in sorted order.

    The name of cluster number i is at position i.
    """
    labels = dataset.outputs["item"]
    if clusters.column != "item":
        labels = _build_cluster_labels(dataset.outputs, clusters.column)
    return labels.unique().sort()


def find_sort_order_of_items(dataset: Dataset) -> NDArray[np.int64]:
    """Return the order that sorts items by id, comparing numbers inside ids by size: `talk-2` before
    `talk-10`.
    """
    items = dataset.outputs["item"].unique().sort()
    # In batches, because the texts of millions of keys would fill memory.
    keys = []
    for start in range(0, len(items), _BATCH_ITEMS):
        batch = items[start : start + _BATCH_ITEMS]
        keys.append(pl.Series([build_natural_sort_key(item) for item in batch]))
    return pl.concat(keys).arg_sort().cast(pl.Int64).to_numpy()


def _build_cluster_labels(outputs: pl.DataFrame, cluster_column: str) -> pl.Series:
    """Label each output with its cluster, such as its document. Equal values in different test sets are
    different clusters.
    """
    test_set = [
        name for name in outputs.columns if name.lower() in TEST_SET_COLUMNS and name != cluster_column
    ]
    cluster = pl.concat_str([*test_set, cluster_column], separator="/").cast(pl.String)
    has_no_cluster = pl.col(cluster_column).is_null()
    label = pl.when(has_no_cluster).then("item:" + pl.col("item")).otherwise("cluster:" + cluster)
    return outputs.select(label.alias("label"))["label"]


def find_cluster_column(dataset: Dataset) -> str | None:
    """Find the first column that groups items, such as a column of document ids. Returns None if there is
    none.
    """
    for column in select_columns_by_name(dataset.metadata, CLUSTER_COLUMNS):
        labels = _build_cluster_labels(dataset.outputs, column)
        item_clusters = pl.DataFrame({"item": dataset.outputs["item"], "cluster": labels})
        each_item_in_one = item_clusters.unique().height == len(dataset.items)
        if each_item_in_one and 1 < item_clusters["cluster"].n_unique() < len(dataset.items):
            return column
    return None


def _encode_labels_as_integers(labels: pl.Series) -> NDArray[np.int32]:
    """Replace each label by its position in the sorted list of labels."""
    return labels.rank("dense").cast(pl.Int32).to_numpy() - np.int32(1)
