"""`LabelledScores`: human labels on some items and metric scores on all items, for several systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metassay.data.clusters import CLUSTER_COLUMNS
from metassay.data.score_cube import ScoreCube
from metassay.stats.arrays import FloatArray, LongArray

ITEM = "item"
"""The sampling unit where single items were chosen for labelling."""


@dataclass(frozen=True)
class LabelledScores:
    """Human labels on some items and metric scores on all items, higher is better.

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
        """Whether an item has a label for any system."""
        return np.asarray(~np.isnan(self.human).all(axis=0))

    @property
    def labelled_unit_count(self) -> int:
        """The number of sampling units with a label."""
        return len(np.unique(self.unit_of_item[self.labelled_items]))

    def restrict_to_items(self, is_kept: NDArray[np.bool_]) -> LabelledScores:
        """Keep the items for which the mask is true."""
        probabilities = None if self.probabilities is None else self.probabilities[is_kept]
        return replace(
            self,
            items=tuple(self.items[position] for position in np.flatnonzero(is_kept)),
            human=self.human[:, is_kept],
            metrics={name: scores[:, is_kept] for name, scores in self.metrics.items()},
            unit_of_item=number_without_gaps(self.unit_of_item[is_kept]),
            probabilities=probabilities,
        )


def number_without_gaps(codes: LongArray) -> LongArray:
    """Renumber codes from 0 without gaps."""
    return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.int64)


def find_sampling_unit(cube: ScoreCube, labelled_items: NDArray[np.bool_]) -> str:
    """Return the column of documents if each is labelled as a whole or not at all, else `ITEM`.

    People often rate whole documents. The labels of a document are then one draw, not several. Without any
    label, the unit is the item.
    """
    if not labelled_items.any():
        return ITEM
    columns = {name.lower(): name for name in reversed(list(cube.item_metadata))}
    for name in CLUSTER_COLUMNS:
        if name not in columns:
            continue
        documents = number_without_gaps(cube.cluster_codes(columns[name]))
        sizes = np.bincount(documents)
        labelled_counts = np.bincount(documents, labelled_items)
        is_whole = (labelled_counts == 0) | (labelled_counts == sizes)
        if 1 < len(sizes) < len(documents) and is_whole.all():
            return columns[name]
    return ITEM
