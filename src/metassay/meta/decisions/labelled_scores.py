"""`LabelledScores`: human labels on some items and metric scores on all items, for several systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metassay.data.clusters import CLUSTER_COLUMNS
from metassay.data.score_cube import ScoreCube
from metassay.stats.arrays import FloatArray, LongArray, convert_labels_to_integers

# The sampling unit where single items were chosen for labelling.
ITEM = "item"


@dataclass(frozen=True)
class LabelledScores:
    """Human labels of some items and metric scores of all items, where higher is better.

    A label is the human score of one output. Arrays are `[systems, items]`; `human` is NaN where an output
    has no label. Metric scores are complete.
    """

    systems: tuple[str, ...]
    items: tuple[str, ...]
    human: FloatArray
    metrics: Mapping[str, FloatArray]
    unit_of_item: LongArray
    """Number of the sampling unit of each item, from 0 without gaps."""
    unit: str = ITEM
    """`ITEM`, or the column of documents that were labelled as a whole."""
    probabilities: FloatArray | None = None
    """Probability of each item to be chosen for labelling; None for a simple random sample."""

    @property
    def labelled_items(self) -> NDArray[np.bool_]:
        """Boolean mask of the items with a human label for at least one output."""
        return np.asarray(~np.isnan(self.human).all(axis=0))

    @property
    def labelled_unit_count(self) -> int:
        """Number of labelled items, or of labelled documents if people labelled whole documents."""
        return len(np.unique(self.unit_of_item[self.labelled_items]))

    def restrict_to_items(self, is_selected: NDArray[np.bool_]) -> LabelledScores:
        """Return a copy that contains only the selected items."""
        probabilities = None if self.probabilities is None else self.probabilities[is_selected]
        return replace(
            self,
            items=tuple(self.items[position] for position in np.flatnonzero(is_selected)),
            human=self.human[:, is_selected],
            metrics={name: scores[:, is_selected] for name, scores in self.metrics.items()},
            unit_of_item=convert_labels_to_integers(self.unit_of_item[is_selected]),
            probabilities=probabilities,
        )


def detect_labelling_unit(score_cube: ScoreCube, labelled_items: NDArray[np.bool_]) -> str:
    """Detect whether people labelled single items or whole documents.

    Returns `ITEM` or the name of the document column. People often rate whole documents. The labels of a
    document are then one draw, not several. Documents are assumed if every document has labels for all of its
    items or for none, and items if there are no labels.
    """
    if not labelled_items.any():
        return ITEM
    columns = {name.lower(): name for name in reversed(list(score_cube.item_metadata))}
    for name in CLUSTER_COLUMNS:
        if name not in columns:
            continue
        documents = convert_labels_to_integers(score_cube.assign_items_to_clusters(columns[name]))
        sizes = np.bincount(documents)
        labelled_counts = np.bincount(documents, labelled_items)
        is_whole = (labelled_counts == 0) | (labelled_counts == sizes)
        if 1 < len(sizes) < len(documents) and is_whole.all():
            return columns[name]
    return ITEM
