"""Which column of a table means what: names people already use, case-insensitive, one table per task."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from metassay.data.cells import MISSING_SCORES
from metassay.errors import InputError, Place, UnknownName

TEXT_NAMES: dict[str, tuple[str, ...]] = {
    "item": ("seg_id", "item", "id", "segment", "utt_id", "utterance"),
    "output": ("output", "hyp", "hypothesis", "mt", "translation"),
    "source": ("src", "source"),
    "system": ("system",),
}
RANKING_NAMES: dict[str, tuple[str, ...]] = {
    "system": ("run", "system", "tag"),
    "item": ("topic", "query", "qid", "user"),
    "document": ("docid", "document", "item_id"),
    "score": ("score",),
}
KEY_PREFIXES = ("year", "lp", "testset")
"""Columns that, with the segment, make an item unique over files."""
METADATA = (
    *("domain", "doc_id", "doc", "document", "document_id", "speaker", "speaker_id", "rater", "is_human"),
    *("ref_name", "hyp_source", "position", "line", "rank", "split", "language", "gender", "accent", "age"),
)
"""Columns that describe an output and measure nothing."""
HUMAN = ("mqm", "da", "da_sqm", "esa", "human")
CRITERIA = (
    *("coherence", "relevance", "fluency", "consistency", "adequacy", "faithfulness", "informativeness"),
    *("overall", "quality", "helpfulness", "factuality", "naturalness", "engagingness", "grammaticality"),
)
"""What people are asked to rate: columns of such names are human scores unless a metric is called so."""
FIXED_TEXT = ("item", "system", "output", "source", "references")
"""Our own column names: a raw column of that name without that role is not carried along."""
_HUMAN = re.compile(rf"({'|'.join(HUMAN)})_?\d*|.+_human_?\d+")
_CRITERION = re.compile(rf"({'|'.join(CRITERIA)})_?\d*")
_INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+(\.\d+)?|")
_REFERENCE = re.compile(r"(ref|reference)\d*|references")


@dataclass(frozen=True)
class Roles:
    """The column that plays each role; None where the table has none."""

    item: str
    output: str
    system: str | None
    source: str | None
    references: tuple[str, ...]
    key_prefixes: tuple[str, ...]
    human: tuple[str, ...]


def recognise(columns: Sequence[str], *, given: Mapping[str, str] | None = None, file: str = "") -> Roles:
    """Roles of the columns of a translation or speech table; `given` maps a role to a column and wins."""
    given = dict(given or {})
    check_given(given, {*TEXT_NAMES, "references", "human"}, columns, file)
    lower = {name.lower(): name for name in reversed(columns)}
    taken = {role: given.get(role) or _first(names, lower) for role, names in TEXT_NAMES.items()}
    for role in ("item", "output"):
        if taken[role] is None:
            raise missing_column(role, TEXT_NAMES[role], columns, file)
    references = given["references"].split(",") if "references" in given else _references(columns)
    return Roles(
        item=str(taken["item"]),
        output=str(taken["output"]),
        system=taken["system"],
        source=taken["source"],
        references=tuple(references),
        key_prefixes=tuple(lower[name] for name in KEY_PREFIXES if name in lower),
        human=_human(lower, given.get("human")),
    )


def is_human(name: str, metrics: Collection[str] = ()) -> bool:
    """Whether a column of this name holds human scores; `metrics` are names that are known to be metrics.

    Human are mqm, da and the like, numbered ones (`mqm-human1`), one rater's (`mqm:NAME`), and criteria.

    >>> [is_human(name) for name in ("MQM", "esa-human2", "da:rater7", "coherence", "COMET")]
    [True, True, True, True, False]
    """
    plain = name.lower().replace("-", "_").partition(":")[0]
    return bool(_HUMAN.fullmatch(plain)) or (name not in metrics and bool(_CRITERION.fullmatch(plain)))


def is_index(name: str) -> bool:
    """Whether a column is the row number that pandas wrote into a file: neither metric nor context."""
    return bool(_INDEX.fullmatch(name))


def score_columns(
    frame: pl.DataFrame, human: Sequence[str] = (), metrics: Collection[str] = ()
) -> tuple[list[str], list[str]]:
    """The columns of human scores and those of metrics.

    Known id, metadata, text and human columns are never metrics; every other column of numbers is, under its
    exact name. `human` declares further human columns; `metrics` are as in `is_human`.
    """
    for name in human:
        if name not in frame.columns:
            raise UnknownName("column", name, frame.columns)
    lower = {name.lower().replace("-", "_"): name for name in reversed(frame.columns)}
    texts = {name for names in TEXT_NAMES.values() for name in names}
    known = {*KEY_PREFIXES, *METADATA, *texts}
    measured = [name for name in frame.columns if name.lower() not in known and not is_index(name)]
    usual = [lower[name] for name in HUMAN if name in lower]
    rated = [name for name in measured if is_human(name, metrics) and _is_number(frame[name])]
    people = list(dict.fromkeys([*human, *usual, *rated]))
    if not people and "score" in lower:
        people = [lower["score"]]
    return people, [name for name in measured if name not in people and _is_number(frame[name])]


def _is_number(column: pl.Series) -> bool:
    """Whether a column holds numbers, or text that is numbers throughout, as in CSV files."""
    if column.dtype.is_numeric():
        return True
    if column.dtype != pl.String:
        return False
    filled = column.drop_nulls()
    filled = filled.filter(~filled.str.strip_chars().str.to_lowercase().is_in(list(MISSING_SCORES)))
    return len(filled) > 0 and filled.cast(pl.Float64, strict=False).is_not_null().all()


def missing_column(role: str, names: Sequence[str], columns: Sequence[str], file: str) -> InputError:
    """The error for a table in which no column plays a role that it needs."""
    listing = ", ".join(columns) or "none"
    return InputError(
        f"no column holds the {role} (looked for {', '.join(names)}; there are: {listing}).",
        place=Place(file=file or None),
        remedy=f"Name it with --column {role}=COLUMN.",
    )


def check_given(given: Mapping[str, str], roles: set[str], columns: Sequence[str], file: str) -> None:
    """Refuse `--column` choices with a role or a column that does not exist."""
    for role, column in given.items():
        if role not in roles:
            raise UnknownName("column role", role, roles)
        for part in column.split(","):
            if part not in columns:
                listing = ", ".join(columns)
                raise InputError(
                    f"there is no column {part!r} to be the {role}.",
                    place=Place(file=file or None),
                    remedy=f"The columns are: {listing}.",
                )


def _first(names: Sequence[str], lower: Mapping[str, str]) -> str | None:
    return next((lower[name] for name in names if name in lower), None)


def _references(columns: Sequence[str]) -> list[str]:
    found = [name for name in columns if _REFERENCE.fullmatch(name.lower())]
    return sorted(found, key=lambda name: (len(name), name))


def _human(lower: Mapping[str, str], given: str | None) -> tuple[str, ...]:
    if given is not None:
        return tuple(given.split(","))
    named = tuple(lower[name] for name in HUMAN if name in lower)
    return named or ((lower["score"],) if "score" in lower else ())
