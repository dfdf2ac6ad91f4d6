"""Tables of verdicts of judges on outputs or on pairs of outputs, with a row per verdict.

A table of preferences has the columns `item, judge, winner`, a table of scores `item, judge, score` and
usually `system`. Further known columns are `pair` (distinguishes several pairs of an item), `swapped` (the
second output was shown first), `repeat`, `better` or human scores, the two outputs, systems and families,
`judge_family` (the family that the judge itself belongs to), `cost` and `date`. Every other column can be a
context. A `winner` of 1 or 2 is an output, wherever it was shown; `first` and `second` are positions. The
order of rows never matters.
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

PAIRS = "pairs"
LABELS = "labels"
SCORES = "scores"
"""Kinds of verdicts: preferences between two outputs, good or bad, and numbers."""
QUESTION_COLUMNS = ("item", "pair", "system")
"""Columns that identify what a verdict is about, as far as a table has them."""
VERDICT_COLUMNS: dict[str, tuple[str, ...]] = {
    "item": ("item", "seg_id", "id", "pair_id", "question_id"),
    "pair": ("pair",),
    "judge": ("judge", "annotator", "evaluator"),
    "judge_family": ("judge_family",),
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
"""Accepted names of the column for each role, in lower case."""
FIRST_OUTPUT = ("1", "a", "[[a]]", "output_1", "output_a", "model_a", "response_1", "response_a", "1.0")
SECOND_OUTPUT = ("2", "b", "[[b]]", "output_2", "output_b", "model_b", "response_2", "response_b", "2.0")
TIE = ("0", "c", "[[c]]", "tie", "both", "draw", "equal", "0.5", "0.0", "tie (bothbad)")
POSITIONS = {"first": 1.0, "second": 0.0}
"""Accepted spellings of a winner, in lower case."""
TRUE = ("true", "1", "yes")
FALSE = ("false", "0", "no")


@dataclass(frozen=True)
class VerdictTable:
    """Verdicts of one kind, sorted, in columns with fixed names.

    `frame` has the columns `item, judge, repeat, date, swapped, value, gold`, and as far as they are known
    `pair`, `system`, `family` (`system_1`, `family_1` … for pairs), `longer` (1 if the first output is
    longer, 0 if the second is), `cost`, and a column for each of `raters`.

    The value of a pair is 1, 0 or ½ if the first, the second or neither output is preferred; that of a label
    is 1 (good) or 0 (bad); that of a score is any number. It is null where no verdict could be read.
    """

    kind: str
    frame: pl.DataFrame
    raters: tuple[str, ...]
    """Single people whose verdicts are known."""
    metadata: tuple[str, ...]
    """Columns that can be contexts."""
    gold: str | None
    """The column, or the raters, from which the column `gold` was made."""

    def has_columns(self, *names: str) -> bool:
        """Return whether the table has all these columns."""
        return all(name in self.frame.columns for name in names)


def parse_verdicts(
    frame: pl.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    human: str | None = None,
    raters: Sequence[str] = (),
    family: str | None = None,
    file: str = "",
) -> VerdictTable:
    """Convert a table of verdicts to columns with fixed names.

    `columns` maps roles to columns. `human` is the column of human labels. `raters` are columns or judges
    that are single people; by default columns such as `human:ann`. `family` is the column of model families.
    """
    roles = _assign_roles(frame, columns, family, file)
    if frame.is_empty():
        raise InputError("the table has no rows.", place=Place(file or None))
    are_pairs = "winner" in roles
    parse_values = _parse_preferences if are_pairs else _parse_numbers
    table = _build_verdict_columns(frame, roles, file)
    gold = human or roles.get("better") or _find_human_column(frame)
    if gold is not None:
        if gold not in frame.columns:
            raise UnknownName("column", gold, frame.columns)
        table = table.with_columns(parse_values(frame, gold, table, file).alias("gold"))
    raters = [*raters] or _find_rater_columns(frame)
    rater_columns = [name for name in raters if name in frame.columns]
    table = table.with_columns([parse_values(frame, name, table, file).alias(name) for name in rater_columns])
    table = _move_raters_to_columns(table, [name for name in raters if name not in frame.columns])
    if gold is None and raters:
        table = _add_consensus(table, raters, are_pairs=are_pairs)
        gold = f"the mean of {', '.join(raters)}"
    if "gold" not in table.columns:
        table = table.with_columns(gold=pl.lit(None, dtype=pl.Float64))
    human_columns = [name for name in frame.columns if name.lower() in HUMAN_SCORE_NAMES]
    used = {*roles.values(), gold, *raters, *human_columns}
    metadata = [name for name in frame.columns if name not in used and not frame[name].dtype.is_nested()]
    _check_unique(table, roles, file)
    _check_consistent_gold(table, file)
    return VerdictTable(
        kind=_determine_kind(table, are_pairs=are_pairs),
        frame=table.sort(_key_columns(table)),
        raters=tuple(raters),
        metadata=tuple(metadata),
        gold=gold,
    )


def _find_human_column(frame: pl.DataFrame) -> str | None:
    return next((name for name in frame.columns if name.lower() in HUMAN_SCORE_NAMES), None)


def _find_rater_columns(frame: pl.DataFrame) -> list[str]:
    """Find columns of single raters, such as `human:ann`."""
    return [
        name for name in frame.columns if ":" in name and name.partition(":")[0].lower() in HUMAN_SCORE_NAMES
    ]


def _assign_roles(
    frame: pl.DataFrame, choices: Mapping[str, str] | None, family: str | None, file: str
) -> dict[str, str]:
    """Return the column for each role that the table has; `choices` of the user come first."""
    choices = dict(choices or {})
    check_column_choices(choices, set(VERDICT_COLUMNS), frame.columns, file)
    by_lower_name = {name.lower(): name for name in reversed(frame.columns)}
    accepted_names = dict(VERDICT_COLUMNS)
    if family is not None:
        lower_family = family.lower()
        accepted_names["family"] = (lower_family,)
        accepted_names["family_1"] = (f"{lower_family}_1",)
        accepted_names["family_2"] = (f"{lower_family}_2",)
        if lower_family not in by_lower_name and f"{lower_family}_1" not in by_lower_name:
            raise UnknownName("column", family, frame.columns)
    roles: dict[str, str] = {}
    for role, names in accepted_names.items():
        matches = [by_lower_name[name] for name in names if name in by_lower_name]
        if matches:
            roles[role] = matches[0]
    roles |= choices
    for role in ("item", "judge"):
        if role not in roles:
            raise missing_column_error(role, VERDICT_COLUMNS[role], frame.columns, file)
    if "winner" not in roles and "score" not in roles:
        names = (*VERDICT_COLUMNS["winner"], *VERDICT_COLUMNS["score"])
        raise missing_column_error("winner", names, frame.columns, file)
    if "winner" in roles:
        roles.pop("score", None)
    return roles


def _build_verdict_columns(frame: pl.DataFrame, roles: Mapping[str, str], file: str) -> pl.DataFrame:
    """Add all columns of a verdict table but `gold`; the order of rows and other columns stay."""
    table = frame.with_columns(
        _build_item_ids(frame, roles["item"], file).alias("item"),
        cells.ids(frame[roles["judge"]], file).alias("judge"),
        _parse_swapped(frame, roles.get("swapped"), file).alias("swapped"),
    )
    for role in ("judge_family", "pair", "system", "family", "system_1", "system_2", "family_1", "family_2"):
        if role in roles:
            table = table.with_columns(frame[roles[role]].cast(pl.String).alias(role))
    if "cost" in roles:
        table = table.with_columns(cells.scores(frame[roles["cost"]], file).alias("cost"))
    if "output_1" in roles and "output_2" in roles:
        table = table.with_columns(_compare_lengths(frame, roles, file).alias("longer"))
    for role in ("repeat", "date"):
        values = pl.col(roles[role]).cast(pl.String) if role in roles else pl.lit("0")
        table = table.with_columns(values.alias(role))
    if "winner" in roles:
        value = _parse_preferences(frame, roles["winner"], table, file)
    else:
        value = cells.scores(frame[roles["score"]], file)
    return table.with_columns(value.alias("value"))


def _build_item_ids(frame: pl.DataFrame, item_column: str, file: str) -> pl.Series:
    """Join year, language pair and test set, as far as there are any, with the id of the item."""
    prefixes = [name for name in frame.columns if name.lower() in TEST_SET_COLUMNS and name != item_column]
    prefixes.sort(key=lambda name: TEST_SET_COLUMNS.index(name.lower()))
    parts = [
        cells.ids(frame[name], file).alias(str(position))
        for position, name in enumerate([*prefixes, item_column])
    ]
    return pl.DataFrame(parts).select(pl.concat_str(pl.all(), separator="/"))["0"]


def _parse_preferences(frame: pl.DataFrame, name: str, table: pl.DataFrame, file: str) -> pl.Series:
    """Parse a column of winners to 1, 0, ½ or null.

    A winner is an output, a position, or the name of one of the two systems.
    """
    winners = frame[name].cast(pl.String).str.strip_chars().str.to_lowercase()
    swapped = table["swapped"].fill_null(value=False)
    first_systems = _get_lower_case(table, "system_1")
    second_systems = _get_lower_case(table, "system_2")
    values: list[float | None] = []
    rows = zip(winners, swapped, first_systems, second_systems)
    for row, (winner, is_swapped, first_system, second_system) in enumerate(rows, start=1):
        if winner is None or winner in cells.MISSING_SCORES:
            values.append(None)
        elif winner in POSITIONS:
            values.append(abs(POSITIONS[winner] - is_swapped))
        elif winner in FIRST_OUTPUT or (winner == first_system != second_system):
            values.append(1.0)
        elif winner in SECOND_OUTPUT or (winner == second_system != first_system):
            values.append(0.0)
        elif winner in TIE:
            values.append(0.5)
        else:
            raise InputError(
                f"{frame[name][row - 1]!r} names no output.",
                place=Place(file or None, row, name),
                remedy="Write 1, 2 or tie; nothing where no verdict could be read.",
            )
    return pl.Series(name, values, dtype=pl.Float64)


def _get_lower_case(table: pl.DataFrame, name: str) -> Sequence[str | None]:
    """Return a column in lower case; all None if the table does not have it."""
    if name not in table.columns:
        return [None] * table.height
    return table[name].str.to_lowercase().to_list()


def _parse_numbers(frame: pl.DataFrame, name: str, _: pl.DataFrame, file: str) -> pl.Series:
    return cells.scores(frame[name], file)


def _parse_swapped(frame: pl.DataFrame, name: str | None, file: str) -> pl.Series:
    if name is None:
        return pl.Series("swapped", [False]).new_from_index(0, frame.height)
    text = frame[name].cast(pl.String).str.strip_chars().str.to_lowercase()
    is_invalid = ~text.is_in([*TRUE, *FALSE]).fill_null(value=False)
    if is_invalid.any():
        row = int(is_invalid.arg_max() or 0) + 1
        raise InputError("true or false was expected.", place=Place(file or None, row, name))
    return text.is_in(list(TRUE))


def _compare_lengths(frame: pl.DataFrame, roles: Mapping[str, str], file: str) -> pl.Series:
    """Return 1 where the first output has more characters, 0 where the second has, else null."""
    first = cells.texts(frame[roles["output_1"]], file).str.len_chars().cast(pl.Int64)
    second = cells.texts(frame[roles["output_2"]], file).str.len_chars().cast(pl.Int64)
    is_equal = (first == second).fill_null(value=False)
    return (first > second).cast(pl.Float64).set(is_equal, None)


def _move_raters_to_columns(table: pl.DataFrame, raters: Sequence[str]) -> pl.DataFrame:
    """Turn the verdicts of judges who are people into columns next to the verdicts of the other judges."""
    for rater in raters:
        if rater not in table["judge"].to_list():
            raise UnknownName("column or judge", rater, [*table.columns, *table["judge"].unique()])
    if not raters:
        return table
    question = _question_columns(table)
    is_rater = pl.col("judge").is_in(list(raters))
    means = (
        table.filter(is_rater).group_by([*question, "judge"], maintain_order=True).agg(pl.col("value").mean())
    )
    by_question = means.pivot("judge", index=question, values="value")
    return table.filter(~is_rater).join(by_question, on=question, how="left", maintain_order="left")


def _add_consensus(table: pl.DataFrame, raters: Sequence[str], *, are_pairs: bool) -> pl.DataFrame:
    """Add gold labels from several raters: the mean of their scores, or the output that most prefer."""
    mean = pl.mean_horizontal([pl.col(name) for name in raters])
    majority = pl.when(mean > 0.5).then(1.0).when(mean < 0.5).then(0.0).when(mean == 0.5).then(0.5)
    return table.with_columns(gold=majority if are_pairs else mean)


def _determine_kind(table: pl.DataFrame, *, are_pairs: bool) -> str:
    """Return `labels` if all values are 0 or 1 and some have a gold label, else `pairs` or `scores`."""
    if are_pairs:
        return PAIRS
    values = {*table["value"].drop_nulls().unique(), *table["gold"].drop_nulls().unique()}
    has_gold = table["gold"].null_count() < table.height
    return LABELS if has_gold and values <= {0.0, 1.0} else SCORES


def _question_columns(table: pl.DataFrame) -> list[str]:
    return [name for name in QUESTION_COLUMNS if name in table.columns]


def _key_columns(table: pl.DataFrame) -> list[str]:
    """Return the columns that identify a verdict."""
    names = ("judge", *QUESTION_COLUMNS, "date", "repeat", "swapped")
    return [name for name in names if name in table.columns]


def _check_unique(table: pl.DataFrame, roles: Mapping[str, str], file: str) -> None:
    is_repeated = table.select(_key_columns(table)).is_duplicated()
    if not is_repeated.any():
        return
    row = table.filter(is_repeated).row(0, named=True)
    remedy = "A column repeat numbers verdicts on one question; pair and system distinguish questions."
    if "repeat" in roles:
        remedy = "Give each verdict its own number in the column repeat."
    raise InputError(
        f"{row['judge']} has two verdicts on item {row['item']}, and nothing distinguishes them.",
        place=Place(file or None),
        remedy=remedy,
    )


def _check_consistent_gold(table: pl.DataFrame, file: str) -> None:
    has_several = pl.col("gold").drop_nulls().n_unique() > 1
    contradictions = table.group_by(_question_columns(table)).agg(has_several).filter(pl.col("gold"))
    if contradictions.height:
        item = min(contradictions["item"].to_list())
        raise InputError(f"the human labels of item {item} differ between rows.", place=Place(file or None))
