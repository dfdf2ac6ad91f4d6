"""Samples that evaluation harnesses log, and lm-eval's `samples_*.jsonl` among them.

A row per sample: its id, the model as system, the input as source, what the model returned, the target as
reference, a column per scorer, and metadata. Scores that harnesses write as letters are numbers here: C
(correct) 1, P (partial) 0.5, I (incorrect) and N (no answer) 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.data.columns import is_reserved
from metassay.data.readers.files import ending, opening, plain_name, read_text
from metassay.data.readers.jsonlines import parse_object
from metassay.errors import InputError, Place

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
LM_EVAL = ('"doc_id"', '"resps"', '"filtered_resps"')
_SHORT = 60
"""Longer fields of a document are texts, which nobody groups by."""
Told = tuple[pl.DataFrame, tuple[str, ...], tuple[str, ...]]
"""A table, the columns in it that are metadata, and notes."""


def is_lm_eval(path: str) -> bool:
    """Whether a file has the samples that lm-eval logs with `--log_samples`."""
    head = next(iter(opening(path)), "") if ending(path) == ".jsonl" else ""
    return all(key in head for key in LM_EVAL)


def read_lm_eval(path: str) -> Told:
    """A row per document: its folder names the model, its file the task; filters have metrics apart.

    Of tasks with choices the output is the choice of the highest likelihood, and a target that is a number
    the choice it names.
    """
    rows: dict[str, dict[str, Any]] = {}
    documents: dict[str, dict[str, Any]] = {}
    scores: dict[str, dict[str, float | None]] = {}
    lines = read_text(path).split("\n")
    records = [
        parse_object(line, Place(path, line=number))
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    filters = {str(record.get("filter", "none")) for record in records}
    for row, record in enumerate(records, start=1):
        own, place = str(record.get("doc_id")), Place(path, row)
        rows.setdefault(own, _document(record, path, place))
        document = record.get("doc")
        documents.setdefault(own, flat(document if isinstance(document, Mapping) else None, _SHORT))
        suffix = f":{record.get('filter')}" if len(filters) > 1 else ""
        for name in record.get("metrics") or ():
            scores.setdefault(own, {})[f"{name}{suffix}"] = number(record.get(name), place)
    frame = pl.DataFrame(list(rows.values()), infer_schema_length=None)
    measured = columns([scores.get(own, {}) for own in rows], frame.columns, "score_")
    told = columns(list(documents.values()), [*frame.columns, *measured.columns], "metadata_")
    return pl.concat([frame, measured, told], how="horizontal"), tuple(told.columns), ()


def _document(record: Mapping[str, Any], path: str, place: Place) -> dict[str, Any]:
    name = re.sub(r"^samples_|_\d{4}-\d\d-\d\dT[\d.:-]+$", "", plain_name(path))
    asked = [own for own in (record.get("arguments") or {}).values() if isinstance(own, Mapping)]
    if not asked:
        raise InputError("a sample of lm-eval has no arguments.", place=place)
    output, target = _chosen(record, asked)
    return {
        "testset": name,
        "seg_id": str(record.get("doc_id")),
        "system": Path(path).resolve().parent.name.replace("__", "/"),
        "src": str(asked[0].get("arg_0", "")),
        "hyp": output,
        "ref": target,
    }


def _chosen(record: Mapping[str, Any], asked: Sequence[Mapping[str, Any]]) -> tuple[str | None, str | None]:
    """Output and target: as generated, or the likeliest of the choices and the one that the target names."""
    answers, target = record.get("resps") or [], record.get("target")
    first = answers[0][0] if answers and answers[0] else None
    written = None if target is None else str(target)
    if not isinstance(first, list):
        return (first if isinstance(first, str) else None), written
    choices = [str(one.get("arg_1", "")).strip() for one in asked]
    likelihoods = [float(own[0][0]) for own in answers if own and own[0]]
    output = choices[int(np.argmax(likelihoods))] if len(likelihoods) == len(choices) else None
    numbered = written is not None and written.isdigit() and int(written) < len(choices)
    return output, choices[int(written)] if numbered and written is not None else written


def number(value: Any, place: Place) -> float | None:
    """A score as number; null where it is none (an explanation, a list)."""
    if isinstance(value, str):
        if value in LETTERS:
            return LETTERS[value]
        try:
            value = float(value)
        except ValueError:
            return None
    if not isinstance(value, bool | int | float) or value != value:  # noqa: PLR0124 - NaN
        return None
    if abs(value) == float("inf"):
        raise InputError("a score is infinite.", place=place)
    return float(value)


def flat(values: Any, longest: int | None = None) -> dict[str, Any]:
    """What can be a context: no nested value, and no long text where a limit is given."""
    pairs = values.items() if isinstance(values, Mapping) else ()
    return {
        str(name): value
        for name, value in pairs
        if isinstance(value, str | bool | int | float)
        and (longest is None or not isinstance(value, str) or len(value) <= longest)
    }


def free_name(name: str, taken: Iterable[str], prefix: str) -> str:
    """The name, or with a prefix where it is taken or means something else in a table."""
    return f"{prefix}{name}" if name in taken or is_reserved(name) else name


def columns(rows: Sequence[Mapping[str, Any]], taken: Iterable[str], prefix: str) -> pl.DataFrame:
    """A column per name, null where a row lacks it; values of different types become text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    made = []
    for name in names:
        values = [row.get(name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 and not kinds <= {int, float}:
            values = [None if value is None else str(value) for value in values]
        made.append(pl.Series(free_name(name, taken, prefix), values, strict=False))
    return pl.DataFrame(made)
