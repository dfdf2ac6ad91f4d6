"""Tables of verdicts of judges on outputs or on pairs of outputs, with a row per verdict.

A table of preferences has the columns `item, judge, winner`, a table of scores `item, judge, score` and
usually `system`. Further known columns are `pair` (distinguishes several pairs of an item), `swapped` (the
second output was shown first), `repeat`, `better` or human scores, the two outputs, systems and families,
`judge_family` (the family that the judge itself belongs to), `cost` and `date`. Every other column can be a
context. A `winner` of 1 or 2 is an output, wherever it was shown; `first` and `second` are positions. The
order of rows never matters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from metassay.data import cells
from metassay.data.columns import (
    HUMAN_SCORE_NAMES,
    TEST_SET_COLUMNS,
    build_missing_column_error,
    check_chosen_columns,
    select_columns_by_name,
)
from metassay.data.directions import (
    RequestedDirections,
    ScoreDirection,
    decide_if_higher_is_better,
    warn_of_negated_scores,
)
from metassay.data.score_cautions import warn_of_values_that_may_mean_missing
from metassay.data.similar_names import warn_of_similar_names
from metassay.data.verdict_types import (
    GRADE,
    LABEL,
    PAIRWISE,
    check_verdict_type,
    do_ratings_look_like_grades,
    is_text_column,
    map_labels_to_numbers,
    normalize_labels,
)
from metassay.data.winners import (
    AUTO,
    OUTPUT,
    POSITION,
    check_meaning_of_a_and_b,
    do_codes_mean_screen_positions,
    does_column_contain_winners,
    parse_winners,
)
from metassay.errors import InputError, InputLocation, UnknownName
from metassay.results.data_summary import HUMAN_SCORE, LOWER, METRIC_SCORE

# Columns that identify what a verdict is about, as far as a table has them.
QUESTION_COLUMNS = ("item", "pair", "system")
# Accepted names of the column for each role, in lower case.
VERDICT_COLUMNS: dict[str, tuple[str, ...]] = {
    "item": ("item", "seg_id", "id", "pair_id", "question_id", "prompt_id"),
    "pair": ("pair",),
    "judge": ("judge", "annotator", "evaluator"),
    "judge_family": ("judge_family",),
    "winner": ("winner", "verdict", "preference", "preferred"),
    "score": ("score", "rating", "judge_score", "judge_rating", "label", "judge_label"),
    "better": ("better", "gold", "human_winner"),
    "swapped": ("swapped", "is_swapped", "swap", "flipped", "is_flipped", "reversed", "order"),
    "repeat": ("repeat",),
    "system": ("system", "model"),
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
# Spellings of whether the second output was shown first, also as the order of the two.
ORDER_OF_SWAPPED = ("ba", "b,a", "b-a", "b/a", "swapped", "reverse", "reversed", "flipped")
USUAL_ORDER = ("ab", "a,b", "a-b", "a/b", "original", "forward", "unswapped")
TRUE = ("true", "t", "1", "1.0", "yes", "y", "21", *ORDER_OF_SWAPPED)
FALSE = ("false", "f", "0", "0.0", "no", "n", "12", *USUAL_ORDER)
# Names of columns of human labels, in lower case.
HUMAN_NAMES = (*HUMAN_SCORE_NAMES, "human_score", "human_rating", "human_label")
# Those of them that are always grades.
GRADE_NAMES = ("mqm", "da", "da_sqm", "esa")
# Name of the judge in a table that does not name any.
ONLY_JUDGE = "judge"


@dataclass(frozen=True)
class VerdictTable:
    """Verdicts of LLM judges and of people on the same outputs, as a sorted table whose columns always have
    the same names.

    `frame` has the columns `item, judge, repeat, date, swapped, value, gold`, and as far as they are known
    `pair`, `system`, `family` (`system_1`, `family_1` … for pairs), `longer` (1 if the first output is
    longer, 0 if the second is), `cost`, and a column for each of `raters`.

    The value of a pairwise verdict is 1, 0 or ½ if the first, the second or neither output is preferred; that
    of a label is its code, 1 (good) or 0 (bad) where there are only these; that of a grade is any number,
    higher is better. It is null where no verdict could be read.
    """

    kind: str
    """`PAIRWISE`, `LABEL` or `GRADE`."""
    frame: pl.DataFrame
    raters: tuple[str, ...]
    """Single people whose verdicts are known."""
    metadata: tuple[str, ...]
    """Columns that can be contexts."""
    gold: str | None
    """The column, or the raters, from which the column `gold` was made."""
    notes: tuple[str, ...] = ()
    """What a user should know about how the table was read."""
    directions: tuple[ScoreDirection, ...] = ()
    """Whether higher or lower grades are better, for each column of grades."""

    def has_columns(self, *names: str) -> bool:
        """Return whether the table has all columns of these names."""
        return all(name in self.frame.columns for name in names)


def parse_verdicts(
    frame: pl.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    human: str | None = None,
    raters: Sequence[str] = (),
    family: str | None = None,
    verdict_type: str | None = None,
    letters: str = AUTO,
    directions: RequestedDirections | None = None,
    file: str = "",
) -> VerdictTable:
    """Convert a table with one verdict of a judge per row to a `VerdictTable`, which has fixed column names.

    `columns` maps roles to columns. `human` is the column of human labels. `raters` are columns or judges
    that are single people; by default columns such as `human:ann`. `family` is the column of model families.
    `verdict_type` is `pairwise`, `grade` or `label`; by default it follows from the table. `letters` says
    whether A and B are outputs or positions. `directions` are requests of the user for grades.
    """
    check_verdict_type(verdict_type)
    check_meaning_of_a_and_b(letters)
    if frame.is_empty():
        raise InputError("the table has no rows.", location=InputLocation(file or None))
    roles = _find_column_of_each_role(frame, columns, family, file)
    if human is not None and human not in frame.columns:
        raise UnknownName("column", human, frame.columns)
    gold = human or roles.get("better") or _find_column_of_human_verdicts(frame)
    raters = [*raters] or _find_columns_of_single_raters(frame)
    if gold is not None and raters and frame[gold].null_count() == frame.height:
        gold = None  # the column is empty: the raters are the human labels
    rater_columns = [name for name in raters if name in frame.columns]
    verdict_column = roles["winner"] if "winner" in roles else roles["score"]
    human_columns = [name for name in (gold, *rater_columns) if name is not None]
    table = _add_item_and_judge_columns(frame, roles, file)
    _check_raters_exist(table, raters)
    ratings = _RatingColumns(frame, table, verdict_column, human_columns, tuple(raters))
    directions = directions or RequestedDirections()
    kind, type_notes = _choose_verdict_type(ratings, roles, verdict_type, directions)
    parsed = _convert_verdicts_to_numbers(ratings, kind, letters, directions, file)
    table = table.with_columns(parsed.columns["value"].alias("value"))
    table = table.with_columns([parsed.columns[name].alias(name) for name in rater_columns])
    if gold is not None:
        table = table.with_columns(parsed.columns[gold].alias("gold"))
    table = _move_raters_to_columns(table, [name for name in raters if name not in frame.columns])
    if gold is None and raters:
        table = _add_consensus_of_raters(table, raters, kind)
        gold = f"the {'mean' if kind == GRADE else 'majority'} of {', '.join(raters)}"
    if "gold" not in table.columns:
        table = table.with_columns(gold=pl.lit(None, dtype=pl.Float64))
    known_human_columns = [name for name in frame.columns if name.lower() in HUMAN_NAMES]
    used = {*roles.values(), gold, *raters, *known_human_columns}
    metadata = [name for name in frame.columns if name not in used and not frame[name].dtype.is_nested()]
    table = _renumber_repeated_verdicts(table)
    _check_unique_verdicts(table, roles, file)
    _check_consistent_human_verdicts(table, file)
    return VerdictTable(
        kind=kind,
        frame=table.sort(_list_columns_that_identify_verdicts(table)),
        raters=tuple(raters),
        metadata=tuple(metadata),
        gold=gold,
        notes=(*type_notes, *parsed.notes, *warn_of_similar_names(table["judge"].unique(), "judges")),
        directions=tuple(parsed.directions),
    )


@dataclass(frozen=True)
class _RatingColumns:
    """The columns of an input table that hold verdicts of judges and of people, before they are parsed."""

    frame: pl.DataFrame
    table: pl.DataFrame
    """The same rows with the columns of fixed names that identify questions."""
    verdict_column: str
    human_columns: Sequence[str]
    raters: tuple[str, ...]
    """Columns, or judges, that are single people."""

    @property
    def verdict_columns(self) -> list[pl.Series]:
        """All input columns that hold verdicts of judges or of people, each once."""
        return [self.frame[name] for name in dict.fromkeys([self.verdict_column, *self.human_columns])]

    @property
    def has_human_verdicts(self) -> bool:
        """Return whether the table has human verdicts with which judges can be compared."""
        return bool(self.human_columns or self.raters)

    def do_numbers_look_like_grades(self) -> bool:
        """Return whether the numbers in these columns are grades on a scale. They are if two raters who
        disagree still give numbers that are close.
        """
        question = _list_columns_that_identify_questions(self.table)
        verdicts = self.table.select(
            *question, source="judge", value=_convert_to_floats(self.frame[self.verdict_column])
        )
        tables = [verdicts.with_columns(is_human=pl.col("source").is_in(list(self.raters)))]
        for name in self.human_columns:
            column = self.table.select(*question, value=_convert_to_floats(self.frame[name]))
            tables.append(column.with_columns(source=pl.lit(f"column {name}"), is_human=pl.lit(value=True)))
        # A row per number, with the question and the judge or column that it comes from.
        ratings = pl.concat(tables, how="diagonal").drop_nulls("value").unique([*question, "source"])
        # Of several people, the agreement with each other counts; of one person, that with the judges.
        human_ratings = ratings.filter("is_human")
        if human_ratings["source"].n_unique() > 1:
            ratings = human_ratings
        pairs = ratings.join(ratings, on=question, suffix="_other", nulls_equal=True)
        pairs = pairs.filter(
            pl.col("source") < pl.col("source_other"), pl.col("is_human") | pl.col("is_human_other")
        )
        return do_ratings_look_like_grades(pairs["value"].to_list(), pairs["value_other"].to_list())


def _convert_to_floats(column: pl.Series) -> pl.Series:
    """Convert a column to floats, with null for each value that is not a finite number."""
    numbers = cells.parse_number_column(column.cast(pl.String))
    return numbers.set(~numbers.is_finite(), None)


def _check_raters_exist(table: pl.DataFrame, rater_names: Sequence[str]) -> None:
    """Raise an error if a rater that the user named is neither a column nor a judge of the table."""
    judges = {*table["judge"]}
    for rater in rater_names:
        if rater not in table.columns and rater not in judges:
            raise UnknownName("column or judge", rater, [*table.columns, *sorted(judges)])


_WINNERS_READ_AS_LABELS = (
    "The winners name no output, so they are compared as labels without an order. For verdicts on pairs of"
    " outputs, write 1, 2 or tie. If they are labels, add --verdict-type label."
)


def _choose_verdict_type(
    rating_columns: _RatingColumns,
    role_columns: Mapping[str, str],
    requested_type: str | None,
    directions: RequestedDirections,
) -> tuple[str, list[str]]:
    """Choose the type of the verdicts: pairwise, grade or label. Also returns notes for the user if the type
    was guessed. Numbers are grades if the user said in which direction they count.
    """
    if requested_type is not None:
        return requested_type, []
    systems = [
        rating_columns.table[name]
        for name in ("system_1", "system_2")
        if name in rating_columns.table.columns
    ]
    if "winner" in role_columns and does_column_contain_winners(
        rating_columns.frame[rating_columns.verdict_column], systems
    ):
        return PAIRWISE, []
    if any(is_text_column(column) for column in rating_columns.verdict_columns):
        return LABEL, [_WINNERS_READ_AS_LABELS] if "winner" in role_columns else []
    values = {
        value
        for column in rating_columns.verdict_columns
        for value in _convert_to_floats(column).drop_nulls().unique()
    }
    has_direction = bool(directions.named_scores)
    if rating_columns.has_human_verdicts and values <= {0.0, 1.0} and not has_direction:
        return LABEL, []
    are_whole = all(value == round(value) for value in values)
    is_named_grade = any(name.lower() in GRADE_NAMES for name in rating_columns.human_columns)
    are_grades = not rating_columns.has_human_verdicts or not are_whole or is_named_grade
    if has_direction or are_grades or rating_columns.do_numbers_look_like_grades():
        return GRADE, []
    note = (
        "The verdicts are whole numbers and are read as labels without an order, because the data does not"
        " show that raters who disagree choose close numbers. If they are grades, add --verdict-type grade."
    )
    return LABEL, [note]


@dataclass(frozen=True)
class _ParsedRatings:
    """Verdicts of judges and of people, converted to numbers.

    The column `value` has the verdicts of judges; every column of human verdicts keeps its name.
    """

    columns: dict[str, pl.Series]
    notes: list[str]
    directions: Sequence[ScoreDirection] = ()


def _convert_verdicts_to_numbers(
    rating_columns: _RatingColumns,
    verdict_type: str,
    meaning_of_a_and_b: str,
    directions: RequestedDirections,
    file: str,
) -> _ParsedRatings:
    """Convert the verdicts of judges and people to numbers, depending on whether they are winners of pairs,
    grades or labels.
    """
    directions.check_score_names(
        [rating_columns.verdict_column, *rating_columns.human_columns], "column of grades"
    )
    if verdict_type == GRADE:
        return _convert_grades_to_numbers(rating_columns, directions, file)
    if directions.named_scores:
        column = directions.named_scores[0]
        raise InputError(
            f"{column} holds verdicts of type {verdict_type}, and only grades have a direction.",
            remedy="If they are grades, add --verdict-type grade.",
        )
    if verdict_type == PAIRWISE:
        return _convert_winners_to_numbers(rating_columns, meaning_of_a_and_b, file)
    codes = map_labels_to_numbers(rating_columns.verdict_columns)
    columns = {}
    for role, name in _get_column_of_each_rating(rating_columns).items():
        labels = normalize_labels(rating_columns.frame[name])
        columns[role] = labels.replace_strict(codes, return_dtype=pl.Float64)
    _reject_labels_that_never_agree(rating_columns, columns, file)
    return _ParsedRatings(columns, [])


def _reject_labels_that_never_agree(
    rating_columns: _RatingColumns, codes_by_role: Mapping[str, pl.Series], file: str
) -> None:
    """Raise an error if judges and people use no label in common, so that no verdict could ever be right."""
    labels = {role: {*codes.drop_nulls()} for role, codes in codes_by_role.items()}
    for name in rating_columns.human_columns:
        if labels["value"] and labels[name] and not labels["value"] & labels[name]:
            judge_label = rating_columns.frame[rating_columns.verdict_column].drop_nulls()[0]
            human_label = rating_columns.frame[name].drop_nulls()[0]
            raise InputError(
                f"the labels of the judges ({judge_label!r} …) and of people ({name}: {human_label!r} …) have"
                " no value in common.",
                location=InputLocation(file or None, column=rating_columns.verdict_column),
                remedy="Write both in the same way. Grades must be numbers.",
            )


def _get_column_of_each_rating(rating_columns: _RatingColumns) -> dict[str, str]:
    """Map each column of parsed verdicts to the input column that it comes from.

    The column `value` comes from the verdicts of judges, and each human column from itself.
    """
    return {"value": rating_columns.verdict_column} | {name: name for name in rating_columns.human_columns}


def _convert_grades_to_numbers(
    rating_columns: _RatingColumns, directions: RequestedDirections, file: str
) -> _ParsedRatings:
    """Convert grades to numbers, negated where lower is better, so that higher is always better."""
    columns = {}
    grade_directions = []
    notes = []
    for role, name in _get_column_of_each_rating(rating_columns).items():
        grades = cells.parse_score_column(rating_columns.frame[name], file)
        kind = METRIC_SCORE if role == "value" else HUMAN_SCORE
        direction = decide_if_higher_is_better(
            name, grades.to_numpy(), score_kind=kind, requested_directions=directions
        )
        grade_directions.append(direction)
        columns[role] = -grades if direction.better == LOWER else grades
        notes += warn_of_values_that_may_mean_missing(name, grades.to_numpy())
    notes += warn_of_negated_scores(grade_directions)
    return _ParsedRatings(columns, notes, grade_directions)


def _convert_winners_to_numbers(
    rating_columns: _RatingColumns, meaning_of_a_and_b: str, file: str
) -> _ParsedRatings:
    """Convert the winners of pairs to numbers. The letters A and B may name the outputs themselves or their
    positions on the screen.
    """
    winners = {}
    for role, name in _get_column_of_each_rating(rating_columns).items():
        winners[role] = parse_winners(rating_columns.frame, name, rating_columns.table, file)
    notes = [parsed.note for parsed in winners.values() if parsed.note is not None]
    columns = {role: parsed.values for role, parsed in winners.items()}
    swapped = rating_columns.table["swapped"]
    verdicts = winners["value"]
    gold = columns[rating_columns.human_columns[0]] if rating_columns.human_columns else None
    are_positions = meaning_of_a_and_b == POSITION
    if meaning_of_a_and_b == AUTO and bool((verdicts.is_letter & swapped).any()):
        are_positions = gold is not None and do_codes_mean_screen_positions(
            verdicts.values, gold, swapped, verdicts.is_letter
        )
        meaning = "the position shown" if are_positions else "the output, in whichever position it was shown"
        notes.append(
            f"A and B in {rating_columns.verdict_column} are read as {meaning}. If that is wrong, add"
            f" --letters {OUTPUT if are_positions else POSITION}."
        )
    if (
        meaning_of_a_and_b == AUTO
        and gold is not None
        and do_codes_mean_screen_positions(verdicts.values, gold, swapped, verdicts.is_numbered)
    ):
        notes.append(
            f"The winners in {rating_columns.verdict_column} contradict the human labels where the outputs"
            f" were swapped, and agree elsewhere. If they are positions, add --letters {POSITION}."
        )
    if are_positions:
        is_reversed = (verdicts.is_letter | verdicts.is_numbered) & swapped
        columns["value"] = pl.select(
            pl.when(is_reversed).then(1 - verdicts.values).otherwise(verdicts.values)
        ).to_series()
    return _ParsedRatings(columns, notes)


def _find_column_of_human_verdicts(frame: pl.DataFrame) -> str | None:
    """Find the first column of human verdicts. Returns None if there is none."""
    return next((name for name in frame.columns if name.lower() in HUMAN_NAMES), None)


def _find_columns_of_single_raters(frame: pl.DataFrame) -> list[str]:
    """Find the columns that have the verdicts of a single rater, such as `human:ann`."""
    return [
        name for name in frame.columns if ":" in name and name.partition(":")[0].lower() in HUMAN_SCORE_NAMES
    ]


def _find_column_of_each_role(
    frame: pl.DataFrame, chosen_columns: Mapping[str, str] | None, family_column: str | None, file: str
) -> dict[str, str]:
    """Find which column of a table holds items, judges, winners and so on. Columns that the user chose take
    precedence over those with a known name.
    """
    chosen_columns = dict(chosen_columns or {})
    check_chosen_columns(chosen_columns, set(VERDICT_COLUMNS), frame.columns, file)
    accepted_names = dict(VERDICT_COLUMNS)
    if family_column is not None:
        lower_family = family_column.lower()
        accepted_names["family"] = (lower_family,)
        accepted_names["family_1"] = (f"{lower_family}_1",)
        accepted_names["family_2"] = (f"{lower_family}_2",)
        if not select_columns_by_name(frame.columns, (lower_family, f"{lower_family}_1")):
            raise UnknownName("column", family_column, frame.columns)
    roles: dict[str, str] = {}
    for role, names in accepted_names.items():
        matches = select_columns_by_name(frame.columns, names)
        if matches:
            roles[role] = matches[0]
    roles |= chosen_columns
    if "item" not in roles:
        raise build_missing_column_error("item", VERDICT_COLUMNS["item"], frame.columns, file)
    if "winner" not in roles and "score" not in roles:
        names = (*VERDICT_COLUMNS["winner"], *VERDICT_COLUMNS["score"])
        raise build_missing_column_error("winner", names, frame.columns, file)
    # a column `order` that does not hold orders is something else
    if roles.get("swapped", "").lower() == "order" and not _has_only_words(
        frame[roles["swapped"]], [*TRUE, *FALSE]
    ):
        del roles["swapped"]
    if (
        "swapped" not in roles
        and "repeat" in roles
        and _has_only_words(frame[roles["repeat"]], [*ORDER_OF_SWAPPED, *USUAL_ORDER])
    ):
        roles["swapped"] = roles.pop("repeat")
    if "winner" in roles:
        roles.pop("score", None)
    return roles


def _has_only_words(column: pl.Series, words: Collection[str]) -> bool:
    """Return whether every value of a column is one of the given words, ignoring case."""
    return bool(column.cast(pl.String).str.strip_chars().str.to_lowercase().is_in(words).all())


def _add_item_and_judge_columns(
    frame: pl.DataFrame, role_columns: Mapping[str, str], file: str
) -> pl.DataFrame:
    """Add columns with fixed names that say what each verdict is about, such as `item`, `judge` and
    `system`.
    """
    judges = pl.lit(ONLY_JUDGE)
    if "judge" in role_columns:
        judges = pl.lit(cells.parse_id_column(frame[role_columns["judge"]], file))
    table = frame.with_columns(
        _build_item_ids(frame, role_columns["item"], file).alias("item"),
        judges.alias("judge"),
        _parse_swapped_column(frame, role_columns.get("swapped"), file).alias("swapped"),
    )
    for role in ("judge_family", "pair", "system", "family", "system_1", "system_2", "family_1", "family_2"):
        if role in role_columns:
            table = table.with_columns(frame[role_columns[role]].cast(pl.String).alias(role))
    if "cost" in role_columns:
        table = table.with_columns(cells.parse_score_column(frame[role_columns["cost"]], file).alias("cost"))
    if "output_1" in role_columns and "output_2" in role_columns:
        table = table.with_columns(_find_longer_outputs(frame, role_columns, file).alias("longer"))
    for role in ("repeat", "date"):
        values = pl.col(role_columns[role]).cast(pl.String) if role in role_columns else pl.lit("0")
        table = table.with_columns(values.alias(role))
    if (
        "pair" not in role_columns
        and "winner" in role_columns
        and "system_1" in role_columns
        and "system_2" in role_columns
    ):
        # an item may have a pair for every two systems
        table = table.with_columns(
            pair=pl.concat_str("system_1", "system_2", separator=" and ", ignore_nulls=True)
        )
    return table


def _build_item_ids(frame: pl.DataFrame, item_column: str, file: str) -> pl.Series:
    """Build the id of the item of each row. Year, language pair and test set, if the table has them, are put
    in front.
    """
    test_set = [
        name for name in select_columns_by_name(frame.columns, TEST_SET_COLUMNS) if name != item_column
    ]
    return cells.join_id_columns(frame, [*test_set, item_column], file)


def _parse_swapped_column(frame: pl.DataFrame, column_name: str | None, file: str) -> pl.Series:
    """Parse the column that says whether the two outputs of a row were shown in swapped order. Without such a
    column, no row is swapped.
    """
    if column_name is None:
        return pl.Series("swapped", [False]).new_from_index(0, frame.height)
    text = frame[column_name].cast(pl.String).str.strip_chars().str.to_lowercase()
    is_invalid = ~text.is_in([*TRUE, *FALSE]).fill_null(value=False)
    if is_invalid.any():
        row = int(is_invalid.arg_max() or 0) + 1
        raise InputError(
            "true or false was expected.", location=InputLocation(file or None, row, column_name)
        )
    return text.is_in(list(TRUE))


def _find_longer_outputs(frame: pl.DataFrame, role_columns: Mapping[str, str], file: str) -> pl.Series:
    """Find the longer output of each pair: 1 for the first, 0 for the second, null if both are equally long
    or one is missing.
    """
    first = cells.check_text_column(frame[role_columns["output_1"]], file).str.len_chars().cast(pl.Int64)
    second = cells.check_text_column(frame[role_columns["output_2"]], file).str.len_chars().cast(pl.Int64)
    is_equal = (first == second).fill_null(value=False)
    return (first > second).cast(pl.Float64).set(is_equal, None)


def _move_raters_to_columns(table: pl.DataFrame, human_judges: Sequence[str]) -> pl.DataFrame:
    """Move the verdicts of people from rows to columns, next to the verdicts of LLM judges on the same
    outputs.
    """
    if not human_judges:
        return table
    question = _list_columns_that_identify_questions(table)
    is_rater = pl.col("judge").is_in(list(human_judges))
    means = (
        table.filter(is_rater).group_by([*question, "judge"], maintain_order=True).agg(pl.col("value").mean())
    )
    by_question = means.pivot("judge", index=question, values="value")
    return table.filter(~is_rater).join(
        by_question, on=question, how="left", maintain_order="left", nulls_equal=True
    )


def _add_consensus_of_raters(
    table: pl.DataFrame, rater_columns: Sequence[str], verdict_type: str
) -> pl.DataFrame:
    """Add a column with the common verdict of several raters: the mean of all grades, or the most frequent
    verdict.

    Raters that are divided equally make a tie of a pair, and give an output no label.
    """
    mean = pl.mean_horizontal([pl.col(name) for name in rater_columns])
    if verdict_type == GRADE:
        return table.with_columns(gold=mean)
    if verdict_type == PAIRWISE:
        majority = pl.when(mean > 0.5).then(1.0).when(mean < 0.5).then(0.0).when(mean == 0.5).then(0.5)
        return table.with_columns(gold=majority)
    modes = (
        pl.concat_list([pl.col(name) for name in rater_columns])
        .list.drop_nulls()
        .list.eval(pl.element().mode())
    )
    label = pl.when(modes.list.len() == 1).then(modes.list.first())
    return table.with_columns(gold=label)


def _renumber_repeated_verdicts(table: pl.DataFrame) -> pl.DataFrame:
    """Number repeated verdicts from 1 for each order in which two outputs were shown, if both orders share
    one sequence of numbers.

    Otherwise no repetition of a question would have both orders, although the question has.
    """
    question = ["judge", *_list_columns_that_identify_questions(table), "date"]
    by_repeat = table.group_by([*question, "repeat"]).agg(pl.col("swapped").n_unique())
    by_question = table.group_by(question).agg(pl.col("swapped").n_unique())
    if by_repeat["swapped"].max() != 1 or by_question["swapped"].max() != 2:
        return table
    number = pl.col("repeat").rank("dense").over([*question, "swapped"])
    return table.with_columns(repeat=number.cast(pl.String))


def _list_columns_that_identify_questions(table: pl.DataFrame) -> list[str]:
    """List the columns that identify what a judge was asked, such as item and system, as far as the table has
    them.
    """
    return [name for name in QUESTION_COLUMNS if name in table.columns]


def _list_columns_that_identify_verdicts(table: pl.DataFrame) -> list[str]:
    """List the columns that together identify one verdict, as far as the table has them."""
    names = ("judge", *QUESTION_COLUMNS, "date", "repeat", "swapped")
    return [name for name in names if name in table.columns]


def _check_unique_verdicts(table: pl.DataFrame, role_columns: Mapping[str, str], file: str) -> None:
    """Raise an error if a judge has two verdicts on the same question and no column, such as `repeat`,
    distinguishes them.
    """
    is_repeated = table.select(_list_columns_that_identify_verdicts(table)).is_duplicated()
    if not is_repeated.any():
        return
    row = table.filter(is_repeated).row(0, named=True)
    remedy = "Number repeated verdicts in a column repeat; distinguish questions by columns pair and system."
    if "judge" not in role_columns:
        remedy = "If several judges gave them, name the judge of each in a column judge."
    elif "repeat" in role_columns:
        remedy = "Give each verdict its own number in the column repeat."
    raise InputError(
        f"{row['judge']} has two verdicts on item {row['item']}, and nothing distinguishes them.",
        location=InputLocation(file or None),
        remedy=remedy,
    )


def _check_consistent_human_verdicts(table: pl.DataFrame, file: str) -> None:
    """Raise an error if rows about the same outputs have different human verdicts."""
    has_several = pl.col("gold").drop_nulls().n_unique() > 1
    contradictions = (
        table.group_by(_list_columns_that_identify_questions(table)).agg(has_several).filter(pl.col("gold"))
    )
    if contradictions.height:
        item = min(contradictions["item"].to_list())
        raise InputError(
            f"the human labels of item {item} differ between rows.", location=InputLocation(file or None)
        )
