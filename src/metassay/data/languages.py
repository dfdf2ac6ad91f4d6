"""Find the target language of every output."""

from __future__ import annotations

import polars as pl

from metassay.data.columns import select_columns_by_name
from metassay.text.languages import (
    find_target_language,
    get_base_language,
    parse_language,
    parse_target_language,
)

TARGET_LANGUAGE_COLUMNS = ("tgt_lang", "target_lang", "target_language", "tgt", "target")
# Used only for data without a source, because otherwise the column may mean the language of the source.
LANGUAGE_COLUMNS = ("language", "lang", "language_code", "lang_code")


def find_target_languages(outputs: pl.DataFrame) -> list[str | None] | None:
    """Find the language of each output in a table. Returns None if no column names languages.

    The target language of `lp` is used. Without `lp`, another column of languages is used if all of its
    values are languages.
    """
    language_pair_columns = select_columns_by_name(outputs.columns, ["lp"])
    if language_pair_columns:
        pairs = outputs[language_pair_columns[0]].cast(pl.String)
        targets = {pair: find_target_language(pair or "") for pair in pairs.unique()}
        return [targets[pair] for pair in pairs]
    names = list(TARGET_LANGUAGE_COLUMNS)
    if "source" not in outputs.columns:
        names += LANGUAGE_COLUMNS
    for column in select_columns_by_name(outputs.columns, names):
        values = outputs[column].cast(pl.String)
        codes = {value: parse_language(value) for value in values.drop_nulls().unique()}
        # A column `target` may also hold texts.
        if codes and None not in codes.values():
            return [codes.get(value) for value in values]
    return None


def warn_if_language_is_language_pair(requested_language: str | None) -> list[str]:
    """Return a note if the user gave a language pair such as `en-de` where a language is expected."""
    if requested_language is None or "-" not in requested_language:
        return []
    target = parse_target_language(requested_language)
    if get_base_language(requested_language) == get_base_language(target):
        return []
    note = (
        f"--language {requested_language} is read as a language pair, with outputs in {target}. "
        "If the second part is a region, write it in capitals, as in fr-CA."
    )
    return [note]
