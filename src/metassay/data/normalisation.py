"""Normalise outputs and references, and describe differences in style between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import polars as pl

from metassay.data.dataset import Dataset
from metassay.text.normalize import normalize_text

# Number of texts of each side that are compared for style.
_STYLE_SAMPLE = 2_000


def choose_text_normalisation(dataset: Dataset, requested_scheme: str | None) -> str:
    """Return the name of the text normalisation that the user requested, or else the default of the task."""
    return requested_scheme or dataset.task_definition.normalisation


def normalise_texts(dataset: Dataset, normalisation_scheme: str) -> Dataset:
    """Return the data set with outputs and references normalised, for example in lower case without
    punctuation.

    With the scheme "none", speech gets a note if outputs and references differ in case or punctuation.
    """
    if dataset.task_definition.is_ranking:
        return dataset
    if normalisation_scheme == "none":
        return _note_case_and_punctuation_differences(dataset)
    outputs = dataset.outputs
    text_columns = ["output", "worse"] if dataset.rows_are_pairs else ["output"]
    texts = [outputs[name].alias("text") for name in text_columns]
    if "references" in outputs.columns:
        texts.append(outputs["references"].explode().alias("text"))
    # Many outputs share their reference: each distinct text is normalised once.
    distinct = pl.concat(texts).drop_nulls().unique()
    normalised = {text: normalize_text(text, normalisation_scheme) for text in distinct}
    columns = []
    for name in text_columns:
        columns.append(pl.Series(name, [normalised[text] for text in outputs[name]], dtype=pl.String))
    if "references" in outputs.columns:
        lists = [[normalised[text] for text in references] for references in outputs["references"]]
        columns.append(pl.Series("references", lists, dtype=pl.List(pl.String)))
    return replace(dataset, outputs=outputs.with_columns(columns))


def _note_case_and_punctuation_differences(dataset: Dataset) -> Dataset:
    """Add a note to speech data if outputs and references differ in case or punctuation, because nearly every
    word would count as an error.
    """
    if not dataset.task_definition.ignores_case_and_punctuation:
        return dataset
    if "references" not in dataset.outputs.columns:
        return dataset
    references = [references[0] for references in dataset.outputs["references"]]
    difference = describe_case_and_punctuation_differences(dataset.outputs["output"].to_list(), references)
    if difference is None:
        return dataset
    return dataset.add_notes(difference)


def describe_case_and_punctuation_differences(
    outputs: Sequence[str], references: Sequence[str]
) -> str | None:
    """Describe how outputs and references differ in case and punctuation. Returns None if they do not differ.

    Looks only at the first texts of each side.
    """
    output_style = _measure_case_and_punctuation(outputs)
    reference_style = _measure_case_and_punctuation(references)
    differences = []
    if _do_shares_differ_clearly(output_style.upper_case, reference_style.upper_case):
        differences.append(
            f"{_format_percent(output_style.upper_case)} of the letters in outputs are upper case, "
            f"{_format_percent(reference_style.upper_case)} in references"
        )
    if _do_shares_differ_clearly(output_style.punctuated, reference_style.punctuated):
        differences.append(
            f"{_format_percent(output_style.punctuated)} of the outputs have punctuation, "
            f"{_format_percent(reference_style.punctuated)} of the references"
        )
    if not differences:
        return None
    return f"outputs and references are written differently: {'; '.join(differences)}."


@dataclass(frozen=True)
class _TextStyle:
    """The style of some texts: the share of upper-case letters and the share of texts with punctuation."""

    upper_case: float
    """Share of letters that are upper case."""
    punctuated: float
    """Share of texts that have punctuation."""


def _measure_case_and_punctuation(texts: Iterable[str]) -> _TextStyle:
    """Measure the shares of upper-case letters and of texts with punctuation."""
    upper_case = 0
    letters = 0
    punctuated = 0
    count = 0
    for text in islice(texts, _STYLE_SAMPLE):
        count += 1
        upper_case += sum(map(str.isupper, text))
        letters += sum(map(str.isalpha, text))
        punctuated += any(mark in text for mark in '.,;:!?"')
    return _TextStyle(upper_case / max(letters, 1), punctuated / max(count, 1))


def _do_shares_differ_clearly(share: float, other_share: float) -> bool:
    """Return whether two shares differ by more than two percentage points and at least fivefold."""
    low, high = sorted((share, other_share))
    return high - low > 0.02 and high >= 5 * low


def _format_percent(share: float) -> str:
    """Format a share as a percentage."""
    return f"{100 * share:.0f} %"
