"""What is done to a data set before anything is measured: speech normalised, own references left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from metassay.data.columns import KEY_PREFIXES
from metassay.data.dataset import Dataset
from metassay.errors import InputError
from metassay.text.normalize import differs_in_style, normalize

SHARE = 0.99
"""A system that equals the scoring reference in this share of its rows or more is that reference."""
REASON = "system is its own reference"


def own_references(dataset: Dataset) -> tuple[str, ...]:
    """The systems, as `system` or `group/system` where there are several test sets, that are references."""
    return tuple(sorted(_rows(dataset)["name"].unique()))


def only_references(dataset: Dataset) -> bool:
    """Whether every output is the reference itself."""
    return _rows(dataset).height == len(dataset)


def without_own_references(dataset: Dataset) -> Dataset:
    """The data set without systems that are their own reference, each named in a note.

    Judged per test set (year, language pair): a human translation that scores as a system against another
    reference stays.
    """
    rows = _rows(dataset)
    if rows.is_empty():
        return dataset
    if only_references(dataset):
        raise InputError(
            "every output is the reference itself, so there is nothing to compare.",
            remedy="Keep such systems with --keep-references.",
        )
    names = tuple(sorted(rows["name"].unique()))
    gone = pl.Series([False] * len(dataset)).scatter(rows["row"], True)
    kept = replace(dataset.where(~gone, reason=REASON), own_references=names)
    return kept.with_notes(
        f"Left out, since their outputs are the reference itself: {', '.join(names)}. "
        "Keep them with --keep-references."
    )


def _rows(dataset: Dataset) -> pl.DataFrame:
    """`row, name` of all outputs of such systems."""
    outputs = dataset.outputs
    if "references" not in outputs.columns or outputs["output"].dtype != pl.String:
        return pl.DataFrame(schema={"row": pl.UInt32, "name": pl.String})
    group = [name for name in outputs.columns if name.lower() in KEY_PREFIXES]
    several = outputs.select(group).n_unique() > 1 if group else False
    label = pl.concat_str([*group, "system"], separator="/") if several else pl.col("system")
    own = is_own_reference(outputs, "output", ["references"], by=[*group, "system"])
    return outputs.with_row_index("row").with_columns(label.alias("name")).filter(own).select("row", "name")


def is_own_reference(
    frame: pl.DataFrame, output: str, references: Sequence[str], *, by: Sequence[str]
) -> pl.Series:
    """Of each row, whether its system (`by`: with its test set) returns the reference itself.

    A reference is a column of texts or of lists of texts; equal to any one of them is equal.
    """
    same = [
        pl.col(name).list.contains(pl.col(output))
        if frame.schema[name].is_nested()
        else pl.col(name).cast(pl.String) == pl.col(output)
        for name in references
    ]
    equal = pl.any_horizontal([one.fill_null(value=False) for one in same]) if same else pl.lit(value=False)
    return frame.select((equal.mean().over(list(by)) >= SHARE).alias("own"))["own"]


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
