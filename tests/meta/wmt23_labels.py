"""WMT23 with MQM labels on some items only, for tests of estimates and of the choice of items."""

from __future__ import annotations

import numpy as np
import polars as pl

from metassay.meta.decisions.labelled_scores import LabelledScores

NO_METRICS = ("lp", "system", "seg_id", "mqm")


def read_wmt23(path, metrics: list[str] | None = None) -> LabelledScores:
    """Read the rated items of one language pair, all of them labelled, with the complete metrics."""
    table = pl.read_parquet(path).sort("system", "seg_id")
    systems = tuple(table["system"].unique().sort())

    def arrange(column):
        return table[column].cast(pl.Float64).to_numpy().reshape(len(systems), -1)

    human = arrange("mqm")
    rated = ~np.isnan(human).any(axis=0)
    names = metrics or [name for name in table.columns if name not in NO_METRICS]
    scores = {name: arrange(name)[:, rated] for name in names}
    complete = {name: array for name, array in scores.items() if not np.isnan(array).any()}
    items = tuple(str(item) for item in np.flatnonzero(rated))
    return LabelledScores(systems, items, human[:, rated], complete, np.arange(len(items)))


def hide_labels(human, labelled_items):
    """Return the human scores with labels on these items only."""
    labels = np.full(human.shape, np.nan)
    labels[:, labelled_items] = human[:, labelled_items]
    return labels
