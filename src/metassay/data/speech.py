"""Speech text: the same normalisation on both sides before anything is measured."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from metassay.data.dataset import Dataset
from metassay.text.normalize import differs_in_style, normalize


def normalised(dataset: Dataset, scheme: str | None = None) -> Dataset:
    """Outputs and references under a scheme of `text.normalize`: by default that of the task."""
    scheme = scheme or dataset.kind.normalisation
    outputs = dataset.outputs
    if dataset.kind.ranked:
        return dataset
    if scheme == "none":
        return _warned(dataset)
    sides = ["output", "worse"] if dataset.paired else ["output"]
    columns = [outputs[side].rename("text") for side in sides]
    if "references" in outputs.columns:
        columns.append(outputs["references"].explode().rename("text"))
    distinct = pl.concat(columns).unique()
    table = {text: normalize(text, scheme) for text in distinct if text is not None}
    changed = [pl.Series(side, [table[text] for text in outputs[side]], dtype=pl.String) for side in sides]
    if "references" in outputs.columns:
        lists = [[table[text] for text in own] for own in outputs["references"]]
        changed.append(pl.Series("references", lists, dtype=pl.List(pl.String)))
    return replace(dataset, outputs=outputs.with_columns(changed))


def _warned(dataset: Dataset) -> Dataset:
    """A note where the two sides are written in different styles, which makes errors of every word."""
    if not dataset.kind.written_alike or "references" not in dataset.outputs.columns:
        return dataset
    references = [own[0] for own in dataset.outputs["references"]]
    difference = differs_in_style(dataset.outputs["output"].to_list(), references)
    return dataset if difference is None else dataset.with_notes(difference)
