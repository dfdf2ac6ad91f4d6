"""Lengths of outputs and references, by which a metric that knows only lengths is recognised."""

from __future__ import annotations

import polars as pl

from metassay.data.columns import find_reference_columns, list_possible_column_names, select_columns_by_name

WORDS = "words"
CHARACTERS = "characters"
BYTES = "bytes"
REFERENCE_WORDS = "reference words"
REFERENCE_CHARACTERS = "reference characters"
# Equal texts have equal ids.
TEXT_ID = "text id"


def measure_text_lengths(outputs: pl.Series, references: pl.Series | None = None) -> dict[str, pl.Series]:
    """Count the words, characters and bytes of each output, and the words and characters of the first
    reference.

    A ranked list of documents has a number of documents, which counts as its number of words.
    """
    if outputs.dtype == pl.String:
        measures = {
            TEXT_ID: outputs.rank("dense"),
            WORDS: outputs.str.count_matches(r"\S+"),
            CHARACTERS: outputs.str.len_chars(),
            BYTES: outputs.str.len_bytes(),
        }
    elif isinstance(outputs.dtype, pl.List):
        measures = {TEXT_ID: outputs.hash(), WORDS: outputs.list.len()}
    else:
        return {}
    if references is not None and isinstance(references.dtype, pl.List):
        references = references.list.first()
    if references is not None and references.dtype == pl.String and CHARACTERS in measures:
        measures[REFERENCE_WORDS] = references.str.count_matches(r"\S+")
        measures[REFERENCE_CHARACTERS] = references.str.len_chars()
    return measures


def measure_text_lengths_of_table(table: pl.DataFrame) -> dict[str, pl.Series]:
    """Count words, characters and bytes of the outputs and references in a table with a row per output.
    Returns an empty dictionary if the table has no outputs.
    """
    outputs = select_columns_by_name(table.columns, list_possible_column_names("output"))
    if not outputs:
        return {}
    references = find_reference_columns(table.columns)
    return measure_text_lengths(table[outputs[0]], table[references[0]] if references else None)
