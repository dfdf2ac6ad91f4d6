"""Find the target language of every output."""

from __future__ import annotations

import polars as pl

from metassay.text.languages import parse_language

TARGET_LANGUAGE_COLUMNS = ("tgt_lang", "target_lang", "target_language", "tgt", "target")
LANGUAGE_COLUMNS = ("language", "lang", "language_code", "lang_code")
"""Used only for data without a source, because otherwise the column may mean the language of the source."""


def find_target_languages(outputs: pl.DataFrame) -> list[str | None] | None:
    """Return the language code of each row, or None if no column names the language.

    The part of `lp` after the hyphen is the target language. Without `lp`, another column of languages is
    used if all of its values are languages.
    """
    columns = {name.lower(): name for name in reversed(outputs.columns)}
    if "lp" in columns:
        pairs = outputs[columns["lp"]].cast(pl.String)
        targets = {pair: _parse_target(pair) for pair in pairs.unique()}
        return [targets[pair] for pair in pairs]
    names = list(TARGET_LANGUAGE_COLUMNS)
    if "source" not in outputs.columns:
        names += LANGUAGE_COLUMNS
    for name in names:
        if name not in columns:
            continue
        values = outputs[columns[name]].cast(pl.String)
        codes = {value: parse_language(value) for value in values.drop_nulls().unique()}
        # A column `target` may also hold texts.
        if codes and None not in codes.values():
            return [codes.get(value) for value in values]
    return None


def _parse_target(language_pair: str | None) -> str | None:
    """Return the target of a language pair: `ja` for `en-ja_JP`, None for a pair without a hyphen."""
    if not language_pair or "-" not in language_pair:
        return None
    tag = language_pair.rpartition("-")[2].lower().replace("_", "-")
    return (parse_language(tag) or tag) if tag else None
