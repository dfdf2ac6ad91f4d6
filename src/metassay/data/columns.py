"""Find out what the columns of a table mean, from the names that people use for them.

Names are compared without regard to case.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from metassay.data.cells import SEPARATED_NUMBER, find_missing_scores, holds_truth_values, parse_score_texts
from metassay.data.readers.delimited import PLAIN_TEXT_REMEDY
from metassay.errors import InputError, InputLocation, UnknownName, join_with_commas, shorten_text
from metassay.tasks import FALLBACK_TASK, list_human_criteria, load_tasks
from metassay.tasks.base import TEXT_COLUMNS, Task

# Columns that name the test set. Together with the segment they make an item unique over files.
TEST_SET_COLUMNS = ("year", "lp", "testset")
# Columns that describe an output. They are never metric scores, even if they hold numbers.
KNOWN_METADATA_COLUMNS = (
    *("domain", "doc_id", "doc", "document", "document_id", "speaker", "speaker_id", "rater", "is_human"),
    *("ref_name", "hyp_source", "position", "line", "rank", "split", "language", "gender", "accent", "age"),
)
# Names of human scores in all tasks.
HUMAN_SCORE_NAMES = ("mqm", "da", "da_sqm", "esa", "human")
# Column names of `Dataset`. A column of a file that has such a name without the role is dropped.
ROLE_COLUMN_NAMES = ("item", "system", "output", "source", "references")
# Other names that people use for roles of columns.
ROLE_ALIASES = {
    "ref": "references",
    "refs": "references",
    "reference": "references",
    "hyp": "output",
    "hypothesis": "output",
    "src": "source",
    "id": "item",
    "sys": "system",
    "model": "system",
}
# Share of numbers from which a column of texts is probably meant to be a score.
_MOSTLY_NUMBERS = 0.5
# Two numbers that together are meant to be one score, such as `63/150` or `0.5 ± 0.1`.
_TWO_NUMBERS = r"^\s*[+-]?\d+([.,]\d+)?\s*(/|of|out of|±|\+/-)\s*\d+([.,]\d+)?\s*$"
# If none of the first texts of a column is a number, the others are not parsed.
_NUMERIC_SAMPLE = 100
_HUMAN_SCORE = re.compile(rf"({'|'.join(HUMAN_SCORE_NAMES)})_?\d*|.+_human_?\d+")
_ROW_NUMBER = re.compile(r"__index_level_\d+__|Unnamed: \d+(\.\d+)?|")
_REFERENCE = re.compile(r"(ref|reference)\d*|references")


@dataclass(frozen=True)
class ColumnRoles:
    """The names of the columns of a table that hold items, outputs, systems, sources and so on. A column that
    the table does not have is None.
    """

    item: str
    output: str
    system: str | None
    source: str | None
    references: tuple[str, ...]
    test_set: tuple[str, ...]
    """Columns that name the test set."""
    human: tuple[str, ...]
    """Columns of human scores."""

    @property
    def used_columns(self) -> set[str | None]:
        """All columns that hold ids, texts or human scores, except those that name the test set.

        None is among them if there is no column of systems or sources.
        """
        return {self.item, self.output, self.system, self.source, *self.references, *self.human}


def find_columns_by_role(
    column_names: Sequence[str],
    *,
    task: Task = FALLBACK_TASK,
    chosen_columns: Mapping[str, str] | None = None,
    file: str = "",
) -> ColumnRoles:
    """Find which columns of a table hold items, systems, outputs, references, sources and scores.

    `chosen_columns` has the columns that the user chose, by role. Several columns are separated by commas.
    Without a column of ids, the source identifies the item.
    """
    chosen_columns = replace_short_role_names(chosen_columns)
    check_chosen_columns(chosen_columns, {*task.column_names, "references", "human"}, column_names, file)
    roles: dict[str, str | None] = {}
    for role, names in task.column_names.items():
        unused = [column for column in column_names if column not in roles.values()]
        roles[role] = chosen_columns.get(role) or next(iter(select_columns_by_name(unused, names)), None)
    item = roles["item"] or roles["source"]
    output = roles["output"]
    if item is None:
        raise build_missing_column_error("item", task.column_names["item"], column_names, file)
    if output is None:
        raise build_missing_column_error("output", task.column_names["output"], column_names, file)
    references = find_reference_columns(column_names)
    if "references" in chosen_columns:
        references = chosen_columns["references"].split(",")
    return ColumnRoles(
        item=item,
        output=output,
        system=roles["system"],
        source=roles["source"],
        references=tuple(references),
        test_set=tuple(select_columns_by_name(column_names, TEST_SET_COLUMNS)),
        human=_find_columns_of_human_scores(column_names, chosen_columns.get("human")),
    )


def select_columns_by_name(column_names: Iterable[str], accepted_names: Iterable[str]) -> list[str]:
    """Return the columns whose name is one of the accepted names, ignoring case, in the order of the accepted
    names.

    Of columns whose names differ only in case, the first counts.

    >>> select_columns_by_name(["lp", "Seg_ID", "seg_id"], ("item", "seg_id", "lp"))
    ['Seg_ID', 'lp']
    """
    by_lower_name = {name.lower(): name for name in reversed(list(column_names))}
    return [by_lower_name[name] for name in accepted_names if name in by_lower_name]


def replace_short_role_names(columns_by_role: Mapping[str, str] | None) -> dict[str, str]:
    """Replace short names that a user may write for the role of a column, such as `ref` and `hyp`, by the
    full names `references` and `output`.

    >>> replace_short_role_names({"hyp": "translation", "item": "n"})
    {'output': 'translation', 'item': 'n'}
    """
    return {ROLE_ALIASES.get(role, role): column for role, column in (columns_by_role or {}).items()}


def is_human_score_column(column_name: str, metric_names: Collection[str] = ()) -> bool:
    """Return whether a column seems to hold human scores, judged by its name, such as `mqm` or `esa-human2`.

    Human scores are `mqm`, `da` and so on, numbered ones (`mqm-human1`), scores of one rater (`mqm:NAME`),
    and criteria that people rate.

    >>> [is_human_score_column(name) for name in ("MQM", "esa-human2", "da:rater7", "coherence", "COMET")]
    [True, True, True, True, False]
    """
    base_name = column_name.lower().replace("-", "_").partition(":")[0]
    if _HUMAN_SCORE.fullmatch(base_name):
        return True
    return column_name not in metric_names and is_human_rating_criterion(base_name)


def is_human_rating_criterion(name: str) -> bool:
    """Return whether a name is a quality that people rate, such as `coherence` or `fluency_2`."""
    return name.lower().rstrip("_0123456789") in list_human_criteria()


def is_row_number_column(column_name: str) -> bool:
    """Return whether a column name is one that pandas gives to row numbers when it writes a file, such as
    `Unnamed: 0`.
    """
    return bool(_ROW_NUMBER.fullmatch(column_name))


def is_reserved_column(column_name: str) -> bool:
    """Return whether a column of this name is read as an id, a text or a score, and so cannot be metadata."""
    lower_name = column_name.lower()
    reserved = {*TEST_SET_COLUMNS, *KNOWN_METADATA_COLUMNS, *ROLE_COLUMN_NAMES}
    reserved |= {"score", "metric", "worse", "perturbation"}
    for task in load_tasks().values():
        if task.is_text:
            for names in task.column_names.values():
                reserved.update(names)
    if lower_name in reserved or _REFERENCE.fullmatch(lower_name):
        return True
    return is_human_score_column(column_name) or is_row_number_column(column_name)


def find_score_columns(
    table: pl.DataFrame,
    known_human_columns: Sequence[str] = (),
    known_metrics: Collection[str] = (),
    metadata_columns: Collection[str] = (),
) -> tuple[list[str], list[str]]:
    """Find the columns of human scores and the columns of metric scores in a table.

    Returns both lists of names. Every column of numbers is a metric, unless its name is known to be an id,
    metadata, a text or a human score. `known_human_columns` and `metadata_columns` name further columns of
    these kinds. `known_metrics` are metrics that are named like something that people rate, or that hold
    true and false.
    """
    for name in known_human_columns:
        if name not in table.columns:
            raise UnknownName("column", name, table.columns)
    other_names = {*TEST_SET_COLUMNS, *KNOWN_METADATA_COLUMNS, *TEXT_COLUMNS["source"]}
    for role in ("item", "system", "output"):
        other_names.update(list_possible_column_names(role))
    candidates = []
    for name in table.columns:
        is_id = name.lower() in other_names or name.lower().endswith("_id") or is_row_number_column(name)
        if not is_id and name not in metadata_columns:
            candidates.append(name)
    by_lower_name = {name.lower().replace("-", "_"): name for name in reversed(table.columns)}
    well_known = [by_lower_name[name] for name in HUMAN_SCORE_NAMES if name in by_lower_name]
    recognised = [
        name for name in candidates if is_human_score_column(name, known_metrics) and is_numeric(table[name])
    ]
    human_columns = list(dict.fromkeys([*known_human_columns, *well_known, *recognised]))
    if not human_columns and "score" in by_lower_name:
        human_columns = [by_lower_name["score"]]
    metric_columns = []
    for name in candidates:
        is_score = name not in human_columns and is_numeric(table[name])
        if is_score and (name in known_metrics or not holds_truth_values(table[name])):
            metric_columns.append(name)
    return human_columns, metric_columns


def is_numeric(column: pl.Series) -> bool:
    """Return whether a column holds numbers or truth values, or texts that are all one or the other, as in
    CSV files.
    """
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return True
    return column.dtype == pl.String and _compute_share_of_numbers(column) == 1


def find_unusable_columns(table: pl.DataFrame) -> dict[str, str]:
    """Find the columns that can be used neither as scores nor to group outputs. Returns the reason for each
    column.

    Texts that are mostly numbers, or that consist of two numbers, are probably scores that cannot be read as
    such.
    """
    ignored = {}
    for name, dtype in table.schema.items():
        if is_row_number_column(name):
            ignored[name or "without a name"] = "row numbers"
        elif is_unsupported_column_type(dtype) and not _REFERENCE.fullmatch(name.lower()):
            ignored[name] = "nested values" if dtype.is_nested() else f"values of type {dtype}"
        elif dtype == pl.String and _MOSTLY_NUMBERS <= _compute_share_of_numbers(table[name]) < 1:
            ignored[name] = f"not only numbers: {_find_first_non_number(table[name])!r}"
        elif dtype == pl.String and _has_thousands_separators(table[name]):
            ignored[name] = f"numbers with thousands separators: {table[name].drop_nulls()[0]!r}"
        elif dtype == pl.String and _has_two_numbers_per_cell(table[name]):
            ignored[name] = f"not numbers: {_find_first_non_number(table[name])!r}"
        elif _has_only_marks_of_missing_scores(table[name]):
            ignored[name] = "no score in any row"
    return ignored


def _has_thousands_separators(column: pl.Series) -> bool:
    """Return whether all texts of a column are numbers, some of them with thousands separators, as in
    `1,234.5`.
    """
    if not column.head(_NUMERIC_SAMPLE).str.contains(SEPARATED_NUMBER).any():
        return False
    present = column.filter(~find_missing_scores(column))
    is_number = parse_score_texts(present).is_not_null()
    return bool(not is_number.all() and (present.str.contains(SEPARATED_NUMBER) | is_number).all())


def _has_two_numbers_per_cell(column: pl.Series) -> bool:
    """Return whether all texts of a column consist of two numbers, such as `63/150`."""
    if not column.head(_NUMERIC_SAMPLE).str.contains(_TWO_NUMBERS).any():
        return False
    return bool((column.str.contains(_TWO_NUMBERS) | find_missing_scores(column)).all())


def _has_only_marks_of_missing_scores(column: pl.Series) -> bool:
    """Return whether a column has entries, all of which mark a missing score, such as NaN or `n.a.`."""
    present = column.drop_nulls()
    if present.is_empty():
        return False
    if present.dtype.is_float():
        return bool(present.is_nan().all())
    if present.dtype != pl.String or not find_missing_scores(present.head(_NUMERIC_SAMPLE)).all():
        return False
    return bool(find_missing_scores(present).all() and (present.str.strip_chars() != "").any())


def is_unsupported_column_type(dtype: pl.DataType) -> bool:
    """Return whether values of a type, such as lists, can be used neither as scores nor to group outputs."""
    return dtype.is_nested() or dtype in (pl.Binary, pl.Duration, pl.Object)


def _compute_share_of_numbers(column: pl.Series) -> float:
    """Compute the share of the texts in a column that are numbers, leaving out missing values."""
    sample = column.head(_NUMERIC_SAMPLE)
    # Columns of long texts are not converted as a whole.
    if (
        not sample.is_null().all()
        and not find_missing_scores(sample).all()
        and parse_score_texts(sample).is_null().all()
    ):
        return 0.0
    present = column.filter(~find_missing_scores(column))
    if present.is_empty():
        return 0.0
    return 1 - parse_score_texts(present).null_count() / len(present)


def _find_first_non_number(column: pl.Series) -> str:
    """Return the first text of a column, in sorted order, that is neither a number nor a mark of a missing
    score.
    """
    is_word = parse_score_texts(column).is_null() & ~find_missing_scores(column)
    return shorten_text(column.filter(is_word).sort()[0])


def list_possible_column_names(role: str) -> tuple[str, ...]:
    """Return all names that a column with a role, such as "item", may have in any task."""
    names = list(TEXT_COLUMNS.get(role, ()))
    for task in load_tasks().values():
        names += task.column_names.get(role, ())
    return tuple(dict.fromkeys(names))


def find_reference_columns(column_names: Sequence[str]) -> list[str]:
    """Find the columns of references, sorted: `ref` before `ref1` before `ref10`."""
    references = [name for name in column_names if _REFERENCE.fullmatch(name.lower())]
    return sorted(references, key=lambda name: (len(name), name))


def build_missing_column_error(
    role: str, accepted_names: Sequence[str], column_names: Sequence[str], file: str
) -> InputError:
    """Return the error for a table that has no column for a role, such as "item"."""
    remedy = f"Name it with --column {role}=COLUMN."
    if file.endswith(".txt"):
        remedy = f"{remedy} {PLAIN_TEXT_REMEDY}"
    return InputError(
        f"no column holds the {role} (looked for {join_with_commas(accepted_names, 120)}; "
        f"there are: {join_with_commas(column_names, 120) or 'none'}).",
        location=InputLocation(file=file or None),
        remedy=remedy,
    )


def check_chosen_columns(
    columns_by_role: Mapping[str, str], valid_roles: Collection[str], column_names: Sequence[str], file: str
) -> None:
    """Raise an error if the user chose a column for an unknown role, or a column that does not exist."""
    for role, names in columns_by_role.items():
        if role not in valid_roles:
            raise UnknownName("column role", role, valid_roles)
        for name in names.split(","):
            if name not in column_names:
                raise InputError(
                    f"there is no column {name!r} to be the {role}.",
                    location=InputLocation(file=file or None),
                    remedy=f"The columns are: {join_with_commas(column_names)}.",
                )


def _find_columns_of_human_scores(column_names: Sequence[str], chosen_names: str | None) -> tuple[str, ...]:
    """Find the columns of human scores: the chosen ones and those named like a human score, or else a column
    `score`.
    """
    chosen_columns = [] if chosen_names is None else chosen_names.split(",")
    recognised = [name for name in column_names if is_human_score_column(name) and name not in chosen_columns]
    if chosen_columns or recognised:
        return (*chosen_columns, *recognised)
    return tuple(name for name in column_names if name.lower() == "score")[:1]
