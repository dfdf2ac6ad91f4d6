"""Assemble a `Dataset` of texts from tables: here a row of a file becomes an output.

Columns get the names of their roles, ids and texts are checked, incomplete and repeated rows are left out,
and references are compared. Errors name file and row.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from metassay.data import cells
from metassay.data.columns import (
    ROLE_COLUMN_NAMES,
    ColumnRoles,
    build_missing_column_error,
    check_chosen_columns,
    find_columns_by_role,
    find_unusable_columns,
    is_human_rating_criterion,
    is_numeric,
    is_row_number_column,
    is_unsupported_column_type,
    select_columns_by_name,
)
from metassay.data.dataset import Dataset
from metassay.data.languages import warn_if_language_is_language_pair
from metassay.data.memory import release_memory
from metassay.data.readers.base import RawTable
from metassay.data.readers.delimited import DELIMITERS
from metassay.data.readers.files import get_file_ending, get_file_stem
from metassay.data.readers.standard_input import STANDARD_INPUT
from metassay.data.similar_names import warn_of_similar_names
from metassay.errors import InputError, InputLocation
from metassay.tasks import find_task
from metassay.tasks.base import Task

# Columns of a table of pairs besides those of outputs: the worse text, and how it was made.
PAIR_COLUMNS = ("worse", "perturbation")
REFERENCE_RULES = ("per-item", "per-output")
# A list of texts written out in one cell, in JSON or Python notation.
_WRITTEN_LIST = r"""(?s)^\s*\[\s*["'].*(["']|null|None)\s*\]\s*$"""
# A text in Python notation, as in `['a' "b"]`. NumPy writes no commas between the texts of an array.
_PYTHON_TEXT = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_NUMPY_ARRAY = re.compile(rf"\s*\[\s*{_PYTHON_TEXT}(?:\s+{_PYTHON_TEXT})+\s*\]\s*", re.DOTALL)
# The first texts of a column decide whether it holds written lists such as ["a", "b"].
_LIST_SAMPLE = 100
# Columns that hold the location of each row in the input, for errors.
_FILE = "_file"
_ROW = "_row"
_UNNAMED_SYSTEM_REMEDY = (
    "The system was named after the file. If a column holds the system, add --column system=COLUMN."
)
_REPEATED_ITEM_REMEDY = (
    "A system has one output per item. If rows come from several test sets, name the test set in a column "
    "year, lp or testset."
)


@dataclass(frozen=True)
class _OutputTable:
    """An input table whose columns were renamed to those of a data set. Each row also has its file and row
    number in the input.
    """

    frame: pl.DataFrame
    human: tuple[str, ...]
    reference_columns: tuple[str, ...]
    ignored_columns: Mapping[str, str]


def combine_output_tables(
    tables: Sequence[RawTable],
    *,
    task: str | Task,
    chosen_columns: Mapping[str, str] | None = None,
    references_rule: str = "per-item",
    language: str | None = None,
    rows_are_pairs: bool = False,
) -> Dataset:
    """Combine tables of outputs, read from one or more files, into one data set of texts.

    `chosen_columns` has the columns that the user chose, by role. With `references_rule="per-item"`, all rows
    of an item must have the same references. With `rows_are_pairs`, each row is a pair, with the worse text
    in the column `worse`.
    """
    if references_rule not in REFERENCE_RULES:
        raise InputError(
            f"unknown rule for references {references_rule!r}.",
            remedy=f"Known: {', '.join(REFERENCE_RULES)}.",
        )
    task_definition = find_task(task)
    if rows_are_pairs:
        tables = [_rename_pair_columns(table, chosen_columns) for table in tables]
        chosen_columns = {
            role: name for role, name in (chosen_columns or {}).items() if role not in PAIR_COLUMNS
        }
    output_tables = [_rename_and_check_columns(table, task_definition, chosen_columns) for table in tables]
    outputs = _concatenate_tables([table.frame for table in output_tables])
    outputs, incomplete = _drop_incomplete_rows(outputs, rows_are_pairs=rows_are_pairs)
    left_out = Counter(incomplete)
    for table in tables:
        left_out.update(table.left_out)
    outputs, notes = _drop_repeated_rows(outputs, rows_are_pairs=rows_are_pairs)
    reference_columns = dict.fromkeys(name for table in output_tables for name in table.reference_columns)
    notes += _check_shared_references(outputs, references_rule, ", ".join(reference_columns))
    notes += _warn_of_lists_read_as_text(outputs)
    notes += warn_if_language_is_language_pair(language)
    notes += warn_of_similar_names(outputs["system"].unique())
    ignored_columns: dict[str, str] = {}
    for output_table in output_tables:
        ignored_columns.update(output_table.ignored_columns)
    release_memory()
    outputs = outputs.drop(_FILE, _ROW)
    if rows_are_pairs:
        outputs = _sort_pairs_by_all_columns(outputs)
    return Dataset(
        task_definition.name,
        outputs,
        human=tuple(dict.fromkeys(name for table in output_tables for name in table.human)),
        language=language,
        left_out=left_out,
        notes=tuple(notes),
        custom_task=task_definition,
        rows_are_pairs=rows_are_pairs,
        ignored_columns=ignored_columns,
        declared_metadata=tuple(dict.fromkeys(name for table in tables for name in table.metadata_columns)),
    )


def _rename_pair_columns(table: RawTable, chosen_columns: Mapping[str, str] | None) -> RawTable:
    """Rename the columns with worse versions of outputs, and with how these were made, to `worse` and
    `perturbation`.

    Raises an error if the worse versions are not texts.
    """
    chosen = {}
    for role in PAIR_COLUMNS:
        candidates = select_columns_by_name(table.frame.columns, [role])
        if chosen_columns and chosen_columns.get(role):
            candidates = [chosen_columns[role]]
        if candidates:
            chosen[role] = candidates[0]
    check_chosen_columns(chosen, PAIR_COLUMNS, table.frame.columns, table.file)
    if "worse" not in chosen:
        raise build_missing_column_error("worse", ("worse",), table.frame.columns, table.file)
    frame = table.frame.rename({name: role for role, name in chosen.items()})
    worse = cells.check_text_column(frame["worse"], table.file)
    if get_file_ending(table.file) in DELIMITERS:
        # A CSV file cannot distinguish an empty text from a missing one; other formats write null.
        worse = worse.replace("", None)
    frame = frame.with_columns(worse)
    if "perturbation" in frame.columns:
        frame = frame.with_columns(pl.col("perturbation").cast(pl.String))
    return replace(table, frame=frame)


def _sort_pairs_by_all_columns(pairs: pl.DataFrame) -> pl.DataFrame:
    """Sort pairs of an output and a worse version by all columns that can be sorted, so that the order of the
    input does not matter.
    """
    sortable = [name for name, dtype in pairs.schema.items() if not dtype.is_nested()]
    return pairs.sort(sorted(sortable, key=lambda name: (name != "perturbation", name)))


def _rename_and_check_columns(
    raw_table: RawTable, task: Task, chosen_columns: Mapping[str, str] | None
) -> _OutputTable:
    """Rename the columns of an input table to those of a data set, and check all ids, texts and scores."""
    frame = raw_table.frame
    file = raw_table.file
    chosen = dict(chosen_columns or {})
    declared = dict.fromkeys([*chosen.get("human", "").split(","), *raw_table.human_columns])
    declared_human = [name for name in declared if name]
    if declared_human:
        chosen["human"] = ",".join(declared_human)
    roles = find_columns_by_role(frame.columns, task=task, chosen_columns=chosen, file=file)
    # A column like `quality` with words instead of numbers is metadata, unless the user says otherwise.
    human = tuple(
        name
        for name in roles.human
        if name in declared_human or not is_human_rating_criterion(name) or is_numeric(frame[name])
    )
    output_columns: dict[str, pl.Series] = {
        "item": _build_item_ids(frame, roles, file),
        "system": _list_system_of_each_row(frame, roles, file),
        "output": cells.check_text_column(frame[roles.output], file),
    }
    if roles.source is not None:
        output_columns["source"] = cells.check_text_column(frame[roles.source], file)
    if roles.references:
        output_columns["references"] = _build_reference_lists(frame, roles.references, file)
    for name in human:
        output_columns[name] = cells.parse_score_column(frame[name], file)
    for name in _list_metadata_columns(frame, replace(roles, human=human)):
        output_columns.setdefault(name, frame[name])
    release_memory()
    output_columns[_FILE] = pl.Series([file], dtype=pl.Categorical).new_from_index(0, frame.height)
    output_columns[_ROW] = pl.int_range(1, frame.height + 1, dtype=pl.UInt32, eager=True)
    renamed = [column.alias(name) for name, column in output_columns.items()]
    without_role = [name for name in frame.columns if name not in roles.used_columns]
    ignored_columns = find_unusable_columns(frame.select(without_role))
    return _OutputTable(pl.DataFrame(renamed), human, tuple(roles.references), ignored_columns)


def _list_metadata_columns(frame: pl.DataFrame, column_roles: ColumnRoles) -> list[str]:
    """List the columns that describe outputs, such as `domain`. They hold neither ids, texts, scores nor
    nested values.
    """
    used = {*column_roles.used_columns, *ROLE_COLUMN_NAMES}
    metadata_columns = []
    for name, dtype in frame.schema.items():
        if name not in used and not is_unsupported_column_type(dtype) and not is_row_number_column(name):
            metadata_columns.append(name)
    return metadata_columns


def _build_item_ids(frame: pl.DataFrame, column_roles: ColumnRoles, file: str) -> pl.Series:
    """Build the id of the item of each row by joining test set and segment with `/`, as in
    `2022/en-de/17`.
    """
    if column_roles.item == column_roles.source:
        hashes = _hash_texts(cells.check_text_column(frame[column_roles.item], file))
        frame = frame.with_columns(hashes.alias(column_roles.item))
    return cells.join_id_columns(frame, [*column_roles.test_set, column_roles.item], file)


def _hash_texts(texts: pl.Series) -> pl.Series:
    """Hash each text. The hashes serve as ids of items that have no id."""
    if texts.has_nulls():
        raise InputError(
            "the row has neither an id nor a source, so its item cannot be identified.",
            location=InputLocation(row=int(texts.is_null().arg_max() or 0) + 1, column=texts.name),
        )
    ids = {text: hashlib.blake2b(text.encode(), digest_size=5).hexdigest() for text in texts.unique()}
    return texts.replace_strict(ids, return_dtype=pl.String)


def _list_system_of_each_row(frame: pl.DataFrame, column_roles: ColumnRoles, file: str) -> pl.Series:
    """Return the name of the system of each row, read from the system column or else from the name of the
    file.
    """
    if column_roles.system is not None:
        systems = frame[column_roles.system]
        if systems.dtype == pl.String:
            is_missing = (systems.is_null() | (systems == "")).fill_null(value=True)
            if is_missing.any():
                raise InputError(
                    "the system is missing.",
                    location=InputLocation(file, int(is_missing.arg_max() or 0) + 1, column_roles.system),
                    remedy="Fill in the system or delete the row.",
                )
        return cells.parse_id_column(systems, file)
    if file == STANDARD_INPUT:
        raise InputError(
            "there is no column of systems, and standard input has no file name to use instead.",
            location=InputLocation(file=file),
            remedy="Add a column system, or name one with --column system=COLUMN.",
        )
    return pl.Series([get_file_stem(file)]).new_from_index(0, frame.height)


def _build_reference_lists(frame: pl.DataFrame, reference_columns: Sequence[str], file: str) -> pl.Series:
    """Put the references of each row into a list, leaving out missing and blank references."""
    expressions = []
    has_gaps = False
    frame = frame.with_columns(_parse_column_of_lists(frame[name]) for name in reference_columns)
    for name in reference_columns:
        column = frame[name]
        if column.dtype == pl.List(pl.String):
            is_text = pl.element().str.strip_chars() != ""
            without_empty = pl.col(name).fill_null([]).list.eval(pl.element().filter(is_text))
            expressions.append(without_empty)
            has_gaps = True
            continue
        texts = cells.check_text_column(column, file)
        if texts.has_nulls() or (texts.str.strip_chars() == "").any():
            text = pl.col(name).cast(pl.String)
            expressions.append(pl.when(text.str.strip_chars() != "").then(text))
            has_gaps = True
        else:
            expressions.append(pl.col(name))
    if len(reference_columns) == 1 and not has_gaps:
        # Wraps the texts without copying them, which saves gigabytes for large data.
        return frame[reference_columns[0]].reshape((-1, 1)).arr.to_list()
    lists = pl.concat_list(expressions)
    if has_gaps:
        lists = lists.list.drop_nulls()
    return frame.select(lists.alias("references")).to_series()


def _parse_column_of_lists(column: pl.Series) -> pl.Series:
    """Convert a column of texts such as `["a", "b"]` to a column of lists. Other columns are returned
    unchanged.

    CSV files hold lists as JSON or, if pandas wrote them, as Python source or NumPy array.
    """
    if column.dtype != pl.String:
        return column
    first_texts = column.head(_LIST_SAMPLE).drop_nulls()
    if not first_texts.str.contains(_WRITTEN_LIST).any():
        return column
    lists: list[list[str]] = []
    for text in column:
        texts = _parse_list_of_texts(text or "[]")
        if texts is None:
            return column
        lists.append(texts)
    return pl.Series(column.name, lists, dtype=pl.List(pl.String))


def _parse_list_of_texts(text: str) -> list[str] | None:
    """Parse a text such as `["a", "b"]` as a list of texts, leaving out missing entries. Returns None if the
    text is no such list.

    The list may be written as JSON, as Python source or as NumPy array.
    """
    if _NUMPY_ARRAY.fullmatch(text):
        # As Python source, texts without commas between them would be one text.
        return [ast.literal_eval(entry) for entry in re.findall(_PYTHON_TEXT, text)]
    parsed: object = None
    for parse in (json.loads, ast.literal_eval):
        try:
            parsed = parse(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        break
    if not isinstance(parsed, list):
        return None
    entries = [entry for entry in parsed if entry is not None]
    return entries if all(isinstance(entry, str) for entry in entries) else None


def _warn_of_lists_read_as_text(outputs: pl.DataFrame) -> list[str]:
    """Return a note if some references look like lists, such as `["a", "b"]`, but were read as plain texts
    because others do not.
    """
    if "references" not in outputs.columns:
        return []
    lists = int(outputs["references"].list.first().str.contains(_WRITTEN_LIST).sum())
    if not lists:
        return []
    return [f"{lists} of the references look like lists, but others do not, so all were read as texts."]


def _concatenate_tables(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put the rows of several tables into one table. A column whose type differs between tables becomes
    text.
    """
    if len(tables) == 1:
        return tables[0]
    dtypes: dict[str, set[pl.DataType]] = {}
    for table in tables:
        for name, dtype in table.schema.items():
            dtypes.setdefault(name, set()).add(dtype)
    mixed = [name for name, types in dtypes.items() if len(types - {pl.Null()}) > 1]
    unified = []
    for table in tables:
        to_text = [name for name in mixed if name in table.columns]
        unified.append(table.with_columns(pl.col(to_text).cast(pl.String)))
    return pl.concat(unified, how="diagonal_relaxed")


def _drop_incomplete_rows(
    outputs: pl.DataFrame, *, rows_are_pairs: bool
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Drop rows that lack an output, a reference or, in a table of pairs, the worse version of the output.
    Also returns the number of dropped rows by reason.
    """
    requirements = {"no output": pl.col("output").is_not_null()}
    if rows_are_pairs:
        requirements["no worse text"] = pl.col("worse").is_not_null()
    if "references" in outputs.columns:
        requirements["no reference"] = pl.col("references").list.len().fill_null(0) > 0
    left_out: dict[str, int] = {}
    for reason, requirement in requirements.items():
        is_met = outputs.select(requirement).to_series()
        if not is_met.all():
            left_out[reason] = int((~is_met).sum())
            outputs = outputs.filter(is_met)
    return outputs, left_out


def _drop_repeated_rows(outputs: pl.DataFrame, *, rows_are_pairs: bool) -> tuple[pl.DataFrame, list[str]]:
    """Drop exact copies of other rows and return notes for the user. Different rows for the same item and
    system are an error.

    In a table of pairs, several rows may have the same item and system.
    """
    if (
        not rows_are_pairs
        and _count_distinct_values_by_hash(outputs.select(pl.struct("item", "system"))) == outputs.height
    ):
        return outputs, []
    content = [name for name in outputs.columns if name not in {_FILE, _ROW}]
    distinct = outputs.unique(content, keep="first", maintain_order=True)
    if not rows_are_pairs:
        _reject_several_outputs_per_item(distinct)
    repeats = outputs.height - distinct.height
    if not repeats:
        return distinct, []
    rows = "1 row is an exact copy" if repeats == 1 else f"{repeats} rows are exact copies"
    return distinct, [f"{rows} of another row and {'was' if repeats == 1 else 'were'} left out."]


def _count_distinct_values_by_hash(column_frame: pl.DataFrame) -> int:
    """Count the distinct hashes of the values in a table of one column. The count nearly always equals the
    number of distinct values, and never exceeds it.

    A set of the values themselves would take more memory. Two values rarely share a hash, and then the
    caller only takes the slow path.
    """
    hashes = column_frame.to_series().hash().sort()
    return int((hashes[1:] != hashes[:-1]).sum()) + 1


def _reject_several_outputs_per_item(outputs: pl.DataFrame) -> None:
    """Raise an error if a system has two outputs for the same item."""
    repeated = outputs.filter(pl.struct("item", "system").is_duplicated())
    if repeated.is_empty():
        return
    first = repeated.row(0, named=True)
    is_same_key = (pl.col("item") == first["item"]) & (pl.col("system") == first["system"])
    second = repeated.filter(is_same_key).row(1, named=True)
    other_file = "" if first[_FILE] == second[_FILE] else f" of {first[_FILE]}"
    is_named_after_file = first["system"] == get_file_stem(second[_FILE])
    raise InputError(
        f"item {first['item']} of system {first['system']} was already given in row "
        f"{first[_ROW]}{other_file}.",
        location=InputLocation(second[_FILE], second[_ROW]),
        remedy=_UNNAMED_SYSTEM_REMEDY if is_named_after_file else _REPEATED_ITEM_REMEDY,
    )


def _check_shared_references(outputs: pl.DataFrame, references_rule: str, column_name: str) -> list[str]:
    """Raise an error if rows of one item have different references, unless the rule `per-output` lets each
    row keep its own.

    Returns notes. Errors name the column of the input, `column_name`.
    """
    if "references" not in outputs.columns:
        return ["There are no references, so only metrics that need no reference can be used."]
    references = pl.col("references").list
    has_single_references = bool((outputs["references"].list.len() == 1).all())
    reference_key = (references.first() if has_single_references else references.join("\x1f")).alias("key")
    distinct_items = _count_distinct_values_by_hash(outputs.select("item"))
    if distinct_items == _count_distinct_values_by_hash(outputs.select(pl.struct("item", reference_key))):
        return []
    keys = outputs.select("item", _FILE, _ROW, reference_key)
    counts = keys.group_by("item").agg(pl.col("key").n_unique().alias("references"))
    varying = counts.filter(pl.col("references") > 1)
    if varying.is_empty():
        return []
    if references_rule == "per-output":
        items = "1 item" if varying.height == 1 else f"{varying.height} items"
        note = f"The references of {items} differ between rows. Each row keeps its references."
        return [note]
    item = varying["item"].sort()[0]
    rows = keys.filter(pl.col("item") == item)
    other = rows.filter(pl.col("key") != rows["key"][0]).row(0, named=True)
    noun = "item" if varying.height == 1 else "items"
    raise InputError(
        f"the reference of item {item} differs from the one in row {rows[_ROW][0]} "
        f"({varying.height} such {noun} in all).",
        location=InputLocation(other[_FILE], other[_ROW], column_name),
        remedy="If each row should keep its own reference, add --references per-output.",
    )
