"""What is done to a data set before anything is measured: speech normalised, own references left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.columns import KEY_PREFIXES
from metassay.data.dataset import Dataset
from metassay.data.directions import looks_like_penalties
from metassay.errors import InputError, UnknownName
from metassay.text.normalize import normalize
from metassay.text.words import is_spaceless

if TYPE_CHECKING:
    from metassay.data.cube import Cube

REFERENCE_SHARE = 0.99
"""A system that equals the scoring reference in this share of its rows or more is that reference."""
REFERENCE_SYSTEM_REASON = "system is its own reference"
CLUSTER_COLUMNS = ("doc_id", "document", "chapter_id", "speaker_id", "session_id")
"""Columns that name the independent unit, in the order in which they are taken for it."""
_NUMBERS = re.compile(r"([0-9]{1,15})")
_SAMPLE = 1000
_STYLE_SAMPLE = 2_000


def find_reference_systems(dataset: Dataset) -> tuple[str, ...]:
    """The systems, as `system` or `group/system` where there are several test sets, that are references."""
    return tuple(sorted(_rows(dataset)["name"].unique()))


def has_only_references(dataset: Dataset) -> bool:
    """Whether every output is the reference itself."""
    return _rows(dataset).height == len(dataset)


def drop_reference_systems(dataset: Dataset) -> Dataset:
    """The data set without systems that are their own reference, each named in a note.

    Judged per test set (year, language pair): a human translation that scores as a system against another
    reference stays.
    """
    rows = _rows(dataset)
    if rows.is_empty():
        return dataset
    if has_only_references(dataset):
        raise InputError(
            "every output is the reference itself, so there is nothing to compare.",
            remedy="Keep such systems with --keep-references.",
        )
    names = tuple(sorted(rows["name"].unique()))
    gone = pl.Series([False] * len(dataset)).scatter(rows["row"], True)
    kept = replace(dataset.filter_rows(~gone, reason=REFERENCE_SYSTEM_REASON), reference_systems=names)
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
    own = mark_reference_rows(outputs, "output", ["references"], by=[*group, "system"])
    return outputs.with_row_index("row").with_columns(label.alias("name")).filter(own).select("row", "name")


def mark_reference_rows(
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
    return frame.select((equal.mean().over(list(by)) >= REFERENCE_SHARE).alias("own"))["own"]


def normalise_texts(dataset: Dataset, scheme: str | None = None) -> Dataset:
    """Outputs and references under a scheme of `text.normalize`: by default that of the task."""
    scheme = scheme or dataset.task_definition.normalisation
    outputs = dataset.outputs
    if dataset.task_definition.is_ranking:
        return dataset
    if scheme == "none":
        return _warned(dataset)
    sides = ["output", "worse"] if dataset.rows_are_pairs else ["output"]
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
    if (
        not dataset.task_definition.ignores_case_and_punctuation
        or "references" not in dataset.outputs.columns
    ):
        return dataset
    references = [own[0] for own in dataset.outputs["references"]]
    difference = describe_style_difference(dataset.outputs["output"].to_list(), references)
    return dataset if difference is None else dataset.with_notes(difference)


def describe_style_difference(outputs: Sequence[str], references: Sequence[str]) -> str | None:
    """A sentence for the user when one side has case or punctuation that the other lacks; else None.

    Looks at the first few thousand texts of each side. Such a mismatch makes every word an error that has
    nothing to do with recognition.
    """
    own, other = _style(outputs), _style(references)
    clashes = []
    if _clash(own["upper"], other["upper"]):
        clashes.append(f"{_percent(own['upper'])} of the letters in outputs are upper case, "
                       f"{_percent(other['upper'])} in references")  # fmt: skip
    if _clash(own["punctuated"], other["punctuated"]):
        clashes.append(f"{_percent(own['punctuated'])} of the outputs have punctuation, "
                       f"{_percent(other['punctuated'])} of the references")  # fmt: skip
    if not clashes:
        return None
    return f"outputs and references are written differently: {'; '.join(clashes)}."


def _style(texts: Iterable[str]) -> dict[str, float]:
    upper = letters = punctuated = count = 0
    for text in islice(texts, _STYLE_SAMPLE):
        count += 1
        upper += sum(map(str.isupper, text))
        letters += sum(map(str.isalpha, text))
        punctuated += any(mark in text for mark in '.,;:!?"')
    return {"upper": upper / max(letters, 1), "punctuated": punctuated / max(count, 1)}


def _clash(one: float, other: float) -> bool:
    """Far apart: more than two percentage points, and one at least five times the other."""
    low, high = sorted((one, other))
    return high - low > 0.02 and high >= 5 * low


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def prepare_dataset(dataset: Dataset, *, normalize: str | None, keep_references: bool) -> Dataset:
    """Speech normalised on both sides; systems that are their own reference left out."""
    dataset = dataset if keep_references else drop_reference_systems(dataset)
    return normalise_texts(dataset, normalize).with_notes(*note_unknown_language(dataset))


def note_unknown_language(dataset: Dataset) -> list[str]:
    """A note where texts are written without spaces and no language says so, on which tokenisers depend."""
    if dataset.task_definition.is_ranking or None not in dataset.languages:
        return []
    texts = dataset.outputs["output"].head(_SAMPLE).drop_nulls().to_list()
    if 2 * sum(map(is_spaceless, texts)) <= len(texts):
        return []
    said = "Most texts are written without spaces, and their language is not known"
    return [f"{said}, so that metrics split them at spaces all the same: name it with --language."]


def choose_normalisation(dataset: Dataset, normalize: str | None) -> str:
    """The scheme that `prepare_dataset` uses."""
    return normalize or dataset.task_definition.normalisation


@dataclass(frozen=True)
class Clusters:
    """The independent unit of every output: codes, the column that names it, and why it is that one."""

    codes: NDArray[np.int32]
    items: NDArray[np.int32]
    """The item of every output, as its place among the sorted items."""
    column: str
    why: str
    notes: tuple[str, ...] = ()


def find_clusters(dataset: Dataset, column: str | None) -> Clusters:
    """Find the requested clusters, by default the first of `CLUSTER_COLUMNS` that groups items, or the items.

    A column counts within its test set. Outputs without a value of it are their item's cluster; a note says
    for how many.
    """
    outputs = dataset.outputs
    items = _codes(outputs["item"])
    asked = "asked for" if column is not None else ""
    column = _holding(dataset) if column is None else column
    if column is None or column == "item":
        why = asked or "no column names a document, chapter, speaker or session that holds several items"
        return Clusters(items, items, "item", why)
    if column not in outputs.columns:
        raise UnknownName("cluster column", column, ("item", *dataset.metadata))
    codes = _codes(_cluster_labels(outputs, column))
    missing = outputs[column].null_count()
    note = f"{missing} outputs have no {column}: for them the item is the independent unit."
    why = (
        asked
        or f"{len(dataset.items)} items lie in {len(np.unique(codes))} of them, and items of one go together"
    )
    return Clusters(codes, items, column, why, (note,) if missing else ())


def _cluster_labels(outputs: pl.DataFrame, column: str) -> pl.Series:
    prefixes = [name for name in outputs.columns if name.lower() in KEY_PREFIXES and name != column]
    joined = pl.concat_str([*prefixes, column], separator="/").cast(pl.String)
    alone = pl.col(column).is_null()
    label = pl.when(alone).then("item:" + pl.col("item")).otherwise("cluster:" + joined)
    return outputs.select(label.alias("label"))["label"]


def _holding(dataset: Dataset) -> str | None:
    """The column that names a unit larger than the item: every item lies in one of it, some share one."""
    known = {name.lower(): name for name in reversed(dataset.metadata)}
    for column in (known[name] for name in CLUSTER_COLUMNS if name in known):
        units = pl.DataFrame(
            {"item": dataset.outputs["item"], "of": _cluster_labels(dataset.outputs, column)}
        )
        single = units.unique().height == len(dataset.items)
        if single and 1 < units["of"].n_unique() < len(dataset.items):
            return column
    return None


def sort_items_naturally(dataset: Dataset) -> NDArray[np.int64]:
    """Places of the items in the order their names count: `talk-2` before `talk-10`."""

    def key(item: str) -> str:
        return _NUMBERS.sub(lambda found: f"\0{int(found[0]):015d}\0{found[0]}\0", item)

    items = dataset.outputs["item"].unique().sort()
    keys = [pl.Series(map(key, items[start : start + 2**16])) for start in range(0, len(items), 2**16)]
    return pl.concat(keys).arg_sort().cast(pl.Int64).to_numpy()


def _codes(labels: pl.Series) -> NDArray[np.int32]:
    return labels.rank("dense").cast(pl.Int32).to_numpy() - np.int32(1)


def doubts(cubes: Iterable[Cube], human: str, *, clustered: bool) -> list[str]:
    """What a reader of comparisons with people should doubt: the direction of their scores, and the unit."""
    rated = [cube for cube in cubes if human in cube.human]
    return [*dict.fromkeys(note for cube in rated for note in _doubted(cube, human, clustered=clustered))]


def _doubted(cube: Cube, human: str, *, clustered: bool) -> list[str]:
    found = []
    if human not in cube.lower and looks_like_penalties(human, cube.human[human]):
        found.append(
            f"{human} is never negative, and higher is taken for better. If it counts errors, say so: "
            f"--lower-is-better {human}."
        )
    known = {name.lower(): name for name in reversed(list(cube.labels))}
    for column in () if clustered else (known[name] for name in CLUSTER_COLUMNS if name in known):
        units = len(np.unique(cube.units(column)))
        if 1 < units < len(cube.segments):
            found.append(
                f"Segments are taken as independent of each other, though several lie in one {column}. Where "
                f"those go together, intervals and tests need it as their unit: --cluster {column}."
            )
            break
    return found
