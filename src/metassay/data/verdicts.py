"""`VerdictTable`: what judges said of outputs or of pairs of them, read from tables with a row per asking.

A table of preferences has `item, judge, winner`, one of scores `item, judge, score` and mostly `system`.
Known beside them: `pair` (tells questions about one item apart), `swapped` (the second output was shown
first), `repeat`, `better` or people's scores, the two outputs, systems and families, `cost`, `date`; every
other column can be a context. `winner` names an output (1 or 2), wherever it was shown; `first` and `second`
name a place. The order of rows never matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from metassay.data import cells
from metassay.data.columns import (
    HUMAN_SCORE_NAMES,
    TEST_SET_COLUMNS,
    check_column_choices,
    missing_column_error,
)
from metassay.errors import InputError, Place, UnknownName

PAIRS, LABELS, SCORES = "pairs", "labels", "scores"
QUESTION_COLUMNS = ("item", "pair", "system")
"""What a judge is asked about: the columns, of those that there are, that tell questions apart."""
VERDICT_COLUMNS: dict[str, tuple[str, ...]] = {
    "item": ("item", "seg_id", "id", "pair_id", "question_id"),
    "pair": ("pair",),
    "judge": ("judge", "annotator", "evaluator"),
    "winner": ("winner", "verdict", "preference", "preferred"),
    "score": ("score", "rating"),
    "better": ("better", "gold", "human_winner"),
    "swapped": ("swapped",),
    "repeat": ("repeat",),
    "system": ("system",),
    "family": ("family",),
    "output_1": ("output_1", "output_a", "response_1", "response_a", "answer_1", "answer_a"),
    "output_2": ("output_2", "output_b", "response_2", "response_b", "answer_2", "answer_b"),
    "system_1": ("system_1", "system_a", "model_a"),
    "system_2": ("system_2", "system_b", "model_b"),
    "family_1": ("family_1", "family_a"),
    "family_2": ("family_2", "family_b"),
    "cost": ("cost",),
    "date": ("date",),
}
"""Which column plays which role, case-insensitive."""
FIRST = ("1", "a", "[[a]]", "output_1", "output_a", "model_a", "response_1", "response_a", "1.0")
SECOND = ("2", "b", "[[b]]", "output_2", "output_b", "model_b", "response_2", "response_b", "2.0")
TIE = ("0", "c", "[[c]]", "tie", "both", "draw", "equal", "0.5", "0.0", "tie (bothbad)")
PLACES = {"first": 1.0, "second": 0.0}
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


@dataclass(frozen=True)
class VerdictTable:
    """Askings, sorted, under our own names.

    `frame` has `item, judge, repeat, date, swapped, value, gold`; of `pairs` the value is 1, 0 or ½ for the
    first, the second or neither output, of `labels` 1 or 0, of `scores` any number; null where none could be
    read. Where known also `system`, `family` (with _1 and _2 for pairs), `longer` (1 or 0: whether the first
    output is the longer), `cost`, the columns of single people (`people`), and what may serve as context
    (`labels`).
    """

    kind: str
    frame: pl.DataFrame
    people: tuple[str, ...]
    labels: tuple[str, ...]
    gold: str | None
    """The column, or the people, that gold comes from."""

    def has(self, *names: str) -> bool:
        """Whether the table has all these columns."""
        return all(name in self.frame.columns for name in names)


def parse_verdicts(
    frame: pl.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    human: str | None = None,
    people: Sequence[str] = (),
    family: str | None = None,
    file: str = "",
) -> VerdictTable:
    """The table of askings in a frame; `people` are columns, or judges, that are people who rated."""
    roles = _roles(frame, columns, family, file)
    if frame.is_empty():
        raise InputError("the table has no rows.", place=Place(file or None))
    table = _askings(frame, roles, file)
    gold = (
        human
        or roles.get("better")
        or next((n for n in frame.columns if n.lower() in HUMAN_SCORE_NAMES), None)
    )
    if gold is not None and gold not in frame.columns:
        raise UnknownName("column", gold, frame.columns)
    parse = _preferences if "winner" in roles else _numbers
    if gold is not None:
        table = table.with_columns(parse(frame, gold, table, file).alias("gold"))
    named = [*people] or [
        name for name in frame.columns if name.partition(":")[0].lower() in HUMAN_SCORE_NAMES and ":" in name
    ]
    table = table.with_columns(
        [parse(frame, name, table, file).alias(name) for name in named if name in frame.columns]
    )
    table = _rows_of_people(table, [name for name in named if name not in frame.columns])
    if gold is None and named:
        table, gold = _consensus(table, named, pairs="winner" in roles), f"the mean of {', '.join(named)}"
    if "gold" not in table.columns:
        table = table.with_columns(gold=pl.lit(None, dtype=pl.Float64))
    used = {*roles.values(), gold, *named, *(n for n in frame.columns if n.lower() in HUMAN_SCORE_NAMES)}
    labels = [n for n in frame.columns if n not in used and not frame[n].dtype.is_nested()]
    return VerdictTable(_kind(table, roles), _sorted(table, roles, file), tuple(named), tuple(labels), gold)


def _roles(
    frame: pl.DataFrame, given: Mapping[str, str] | None, family: str | None, file: str
) -> dict[str, str]:
    given = dict(given or {})
    check_column_choices(given, set(VERDICT_COLUMNS), frame.columns, file)
    lower = {name.lower(): name for name in reversed(frame.columns)}
    names = dict(VERDICT_COLUMNS)
    if family is not None:
        names |= {"family": (family.lower(),), **{f"family_{i}": (f"{family.lower()}_{i}",) for i in (1, 2)}}
        if not any(name in lower for role in ("family", "family_1") for name in names[role]):
            raise UnknownName("column", family, frame.columns)
    found = {role: next((lower[n] for n in options if n in lower), None) for role, options in names.items()}
    roles = {role: name for role, name in (found | given).items() if name is not None}
    for role in ("item", "judge"):
        if role not in roles:
            raise missing_column_error(role, VERDICT_COLUMNS[role], frame.columns, file)
    if "winner" not in roles and "score" not in roles:
        raise missing_column_error(
            "winner", (*VERDICT_COLUMNS["winner"], *VERDICT_COLUMNS["score"]), frame.columns, file
        )
    if "winner" in roles:
        roles.pop("score", None)
    return roles


def _askings(frame: pl.DataFrame, roles: Mapping[str, str], file: str) -> pl.DataFrame:
    """The columns that every reading needs, in the order of the frame, with contexts as they are."""
    prefixes = [n for n in frame.columns if n.lower() in TEST_SET_COLUMNS and n != roles["item"]]
    prefixes.sort(key=lambda name: TEST_SET_COLUMNS.index(name.lower()))
    parts = [cells.ids(frame[name], file).alias(str(i)) for i, name in enumerate([*prefixes, roles["item"]])]
    made = frame.with_columns(
        pl.DataFrame(parts).select(pl.concat_str(pl.all(), separator="/"))["0"].alias("item"),
        cells.ids(frame[roles["judge"]], file).alias("judge"),
        _swapped(frame, roles.get("swapped"), file).alias("swapped"),
    )
    for role in ("pair", "system", "family", "system_1", "system_2", "family_1", "family_2"):
        if role in roles:
            made = made.with_columns(frame[roles[role]].cast(pl.String).alias(role))
    if "cost" in roles:
        made = made.with_columns(cells.scores(frame[roles["cost"]], file).alias("cost"))
    if "output_1" in roles and "output_2" in roles:
        made = made.with_columns(_longer(frame, roles, file).alias("longer"))
    once = pl.lit("0")
    made = made.with_columns(
        (pl.col(roles[role]).cast(pl.String) if role in roles else once).alias(role)
        for role in ("repeat", "date")
    )
    value = (
        _preferences(frame, roles["winner"], made, file)
        if "winner" in roles
        else cells.scores(frame[roles["score"]], file)
    )
    return made.with_columns(value.alias("value"))


def _preferences(frame: pl.DataFrame, name: str, askings: pl.DataFrame, file: str) -> pl.Series:
    """A column of winners as 1, 0, ½ or null; names of the two systems and places are understood too."""
    text = frame[name].cast(pl.String).str.strip_chars().str.to_lowercase()
    places = askings["swapped"].fill_null(value=False)
    systems = [
        askings[role].str.to_lowercase() if role in askings.columns else pl.Series([None], dtype=pl.String)
        for role in ("system_1", "system_2")
    ]
    firsts, seconds = (own if len(own) == len(text) else own.new_from_index(0, len(text)) for own in systems)
    found: list[float | None] = []
    for row, (cell, swapped, one, two) in enumerate(zip(text, places, firsts, seconds), start=1):
        if cell is None or cell in cells.MISSING_SCORES:
            found.append(None)
        elif cell in PLACES:
            found.append(abs(PLACES[cell] - swapped))
        elif cell in FIRST or (cell == one != two):
            found.append(1.0)
        elif cell in SECOND or (cell == two != one):
            found.append(0.0)
        elif cell in TIE:
            found.append(0.5)
        else:
            raise InputError(
                f"{frame[name][row - 1]!r} names no output.",
                place=Place(file or None, row, name),
                remedy="Write 1, 2 or tie; nothing where no verdict could be read.",
            )
    return pl.Series(name, found, dtype=pl.Float64)


def _numbers(frame: pl.DataFrame, name: str, _: pl.DataFrame, file: str) -> pl.Series:
    return cells.scores(frame[name], file)


def _swapped(frame: pl.DataFrame, name: str | None, file: str) -> pl.Series:
    if name is None:
        return pl.Series("swapped", [False]).new_from_index(0, frame.height)
    text = frame[name].cast(pl.String).str.strip_chars().str.to_lowercase()
    wrong = ~text.is_in([*_TRUE, *_FALSE]).fill_null(value=False)
    if wrong.any():
        raise InputError(
            "true or false was expected.", place=Place(file or None, int(wrong.arg_max() or 0) + 1, name)
        )
    return text.is_in(list(_TRUE))


def _longer(frame: pl.DataFrame, roles: Mapping[str, str], file: str) -> pl.Series:
    """1 where the first output has more characters, 0 where the second has; null where both have as many."""
    one, two = (cells.texts(frame[roles[f"output_{i}"]], file).str.len_chars().cast(pl.Int64) for i in (1, 2))
    return (one > two).cast(pl.Float64).set((one == two).fill_null(value=False), None)


def _rows_of_people(table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Judges who are people, as columns beside the others' askings of the same item (and system)."""
    for name in names:
        if name not in table["judge"].to_list():
            raise UnknownName("column or judge", name, [*table.columns, *table["judge"].unique()])
    if not names:
        return table
    key = [n for n in QUESTION_COLUMNS if n in table.columns]
    rows = table.filter(pl.col("judge").is_in(list(names)))
    wide = (
        rows.group_by([*key, "judge"], maintain_order=True)
        .agg(pl.col("value").mean())
        .pivot("judge", index=key, values="value")
    )
    return table.filter(~pl.col("judge").is_in(list(names))).join(
        wide, on=key, how="left", maintain_order="left"
    )


def _consensus(table: pl.DataFrame, people: Sequence[str], *, pairs: bool) -> pl.DataFrame:
    """Gold from several people: the mean of their scores, or whom most of them prefer."""
    mean = pl.mean_horizontal([pl.col(name) for name in people])
    most = pl.when(mean > 0.5).then(1.0).when(mean < 0.5).then(0.0).when(mean == 0.5).then(0.5)
    return table.with_columns(gold=most if pairs else mean)


def _kind(table: pl.DataFrame, roles: Mapping[str, str]) -> str:
    if "winner" in roles:
        return PAIRS
    said = {*table["value"].drop_nulls().unique(), *table["gold"].drop_nulls().unique()}
    return LABELS if said <= {0.0, 1.0} and table["gold"].null_count() < table.height else SCORES


def _sorted(table: pl.DataFrame, roles: Mapping[str, str], file: str) -> pl.DataFrame:
    key = [n for n in ("judge", *QUESTION_COLUMNS, "date", "repeat", "swapped") if n in table.columns]
    repeated = table.select(key).is_duplicated()
    if repeated.any():
        row = table.filter(repeated).row(0, named=True)
        raise InputError(
            f"{row['judge']} has two verdicts on item {row['item']}, and nothing tells them apart.",
            place=Place(file or None),
            remedy="Give each asking its own number in the column repeat."
            if "repeat" in roles
            else "A column repeat numbers askings of one question; pair and system tell questions apart.",
        )
    about = [n for n in QUESTION_COLUMNS if n in table.columns]
    torn = table.group_by(about).agg(pl.col("gold").drop_nulls().n_unique() > 1).filter(pl.col("gold"))
    if torn.height:
        item = min(torn["item"].to_list())
        raise InputError(
            f"people say different things of item {item} in different rows.", place=Place(file or None)
        )
    return table.sort(key)
