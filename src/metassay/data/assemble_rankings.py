"""Assemble a `Dataset` of ranked lists from TREC runs or tables of retrieved documents.

Errors name file and row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from metassay.data import cells
from metassay.data.columns import build_missing_column_error, check_chosen_columns, select_columns_by_name
from metassay.data.dataset import Dataset
from metassay.data.ranked_lists import sort_documents_into_ranked_lists
from metassay.data.readers.base import RawTable
from metassay.data.readers.files import get_file_stem
from metassay.errors import InputError, InputLocation, join_with_commas
from metassay.tasks import find_task
from metassay.tasks.base import Task
from metassay.tasks.ranking import TASK as RANKING

UNJUDGED_TOPIC_REASON = "topic without judgements"
MISSING_LIST_REASON = "judged topic without a list"
# Columns that hold the location of each retrieved document in the input, for errors.
_FILE = "_file"
_ROW = "_row"
_LINE = "line"
_RANK = "rank"
# A note counts the unjudged documents of runs in which at most this share of the documents is judged.
_FEW_JUDGED = 0.1
# Columns of runs without meaning; trec_eval ignores them too.
_IGNORED_COLUMNS = ("rank", "iteration", "q0", _LINE)


def combine_ranking_tables(
    tables: Sequence[RawTable],
    qrels: pl.DataFrame,
    *,
    task: str | Task = RANKING,
    chosen_columns: Mapping[str, str] | None = None,
    add_empty_lists: bool = True,
) -> Dataset:
    """Build a data set of ranked lists from tables of retrieved documents and relevance judgements.

    `qrels` has `item`, `document` and `grade`. Lists for topics without judgements are left out and counted.
    A judged topic for which a system has no list gets an empty one, so that every metric is 0 there (`-c` of
    trec_eval); with `add_empty_lists=False` it is left out.
    """
    task_definition = find_task(task)
    parts = [_build_table_of_retrieved_documents(table, task_definition, chosen_columns) for table in tables]
    documents = pl.concat(parts, how="diagonal_relaxed")
    _reject_repeated_documents(documents)
    documents, left_out, notes = _drop_unjudged_topics(documents, qrels)
    notes += _check_that_documents_are_judged(documents, qrels)
    notes += _warn_of_equal_scores(documents)
    if _RANK in documents.columns:
        notes += _warn_of_scores_that_increase_with_rank(documents)
        documents = documents.drop(_RANK)
    keys, lists = sort_documents_into_ranked_lists(documents, qrels)
    outputs = keys.with_columns(lists.to_series().cast(pl.List(pl.String)))
    missing = _build_empty_lists_for_missing_topics(keys, qrels)
    if missing.height:
        notes.append(_describe_missing_ranked_lists(missing, are_lists_added=add_empty_lists))
        if add_empty_lists:
            outputs = pl.concat([outputs, missing])
        else:
            left_out[MISSING_LIST_REASON] = missing.height
    outputs = _add_metadata_of_topics_and_systems(outputs, documents)
    return Dataset(
        task_definition.name,
        outputs,
        custom_task=task_definition,
        qrels=qrels,
        left_out=left_out,
        notes=tuple(notes),
    )


def _build_table_of_retrieved_documents(
    raw_table: RawTable, task: Task, chosen_columns: Mapping[str, str] | None
) -> pl.DataFrame:
    """Build a table with one row per retrieved document: system, item, document id, score, metadata and place
    in the input file.
    """
    frame = raw_table.frame
    file = raw_table.file
    roles = _find_ranking_columns(frame, task, chosen_columns, file)
    document_columns = {}
    for role, name in roles.items():
        if role != "score":
            document_columns[role] = cells.parse_id_column(frame[name], file)
    if "system" not in document_columns:
        document_columns["system"] = pl.Series([get_file_stem(file)]).new_from_index(0, frame.height)
    document_columns["score"] = cells.parse_score_column(frame[roles["score"]], file)
    rank_columns = select_columns_by_name(frame.columns, [_RANK])
    if rank_columns and rank_columns[0] not in roles.values():
        document_columns[_RANK] = frame[rank_columns[0]].cast(pl.Float64, strict=False)
    for name, dtype in frame.schema.items():
        is_used = name in roles.values() or name.lower() in _IGNORED_COLUMNS or name in document_columns
        if not is_used and not dtype.is_nested():
            document_columns[name] = frame[name]
    document_columns[_FILE] = pl.Series([file]).new_from_index(0, frame.height)
    if _LINE in frame.columns:
        document_columns[_LINE] = frame[_LINE]
    else:
        document_columns[_ROW] = pl.int_range(1, frame.height + 1, eager=True)
    documents = pl.DataFrame([column.alias(name) for name, column in document_columns.items()])
    if documents["score"].has_nulls():
        first = documents.filter(pl.col("score").is_null()).row(0, named=True)
        raise InputError(
            "the retrieval score is missing.", location=_get_file_location_of_document(first, roles["score"])
        )
    return documents


def _find_ranking_columns(
    frame: pl.DataFrame, task: Task, chosen_columns: Mapping[str, str] | None, file: str
) -> dict[str, str]:
    """Find the columns of a table that hold systems, items, documents and scores. Only the system column may
    be missing.
    """
    chosen = dict(chosen_columns or {})
    check_chosen_columns(chosen, set(task.column_names), frame.columns, file)
    roles = {}
    for role, names in task.column_names.items():
        present = select_columns_by_name(frame.columns, names)
        if role in chosen:
            roles[role] = chosen[role]
        elif present:
            roles[role] = present[0]
        elif role != "system":
            raise build_missing_column_error(role, names, frame.columns, file)
    return roles


def _get_file_location_of_document(
    document_row: Mapping[str, object], column: str | None = None
) -> InputLocation:
    """Return the file and the row or line of a retrieved document, for error messages."""
    line = document_row.get(_LINE)
    number = document_row.get(_ROW)
    return InputLocation(
        file=str(document_row[_FILE]),
        row=number if isinstance(number, int) else None,
        line=line if isinstance(line, int) else None,
        column=column,
    )


def _reject_repeated_documents(documents: pl.DataFrame) -> None:
    """Raise an error if a ranked list contains the same document twice."""
    key = ("system", "item", "document")
    is_first = documents.select(pl.struct(key).is_first_distinct())[key[0]]
    if is_first.all():
        return
    repeated = documents.filter(~is_first).row(0, named=True)
    has_same_key = pl.all_horizontal(pl.col(name) == repeated[name] for name in key)
    first_place = _get_file_location_of_document(documents.filter(has_same_key).row(0, named=True))
    raise InputError(
        f"document {repeated['document']} was already retrieved for topic {repeated['item']} by "
        f"{repeated['system']} ({first_place}).",
        location=_get_file_location_of_document(repeated),
        remedy="Remove one of the two, or give the runs different tags.",
    )


def _drop_unjudged_topics(
    documents: pl.DataFrame, qrels: pl.DataFrame
) -> tuple[pl.DataFrame, dict[str, int], list[str]]:
    """Drop documents that were retrieved for topics without relevance judgements. Also returns the number of
    dropped lists, and notes for the user.
    """
    is_judged = documents["item"].is_in(qrels["item"].unique().implode())
    if is_judged.all():
        return documents, {}, []
    unjudged = documents.filter(~is_judged)
    first = unjudged.row(0, named=True)
    message = f"topic {first['item']} has no relevance judgements"
    if not is_judged.any():
        raise InputError(
            f"{message}, and neither has any other of the {documents['item'].n_unique()} topics.",
            location=_get_file_location_of_document(first),
            remedy="Check that the judgements belong to these runs.",
        )
    lists = unjudged.select("system", "item").n_unique()
    topics = unjudged["item"].n_unique()
    note = (
        f"{_get_file_location_of_document(first)}: {message}. "
        f"Topics without judgements are left out: {topics} ({lists} lists)."
    )
    judged_systems = documents.filter(is_judged)["system"].unique()
    lost_systems = unjudged.filter(~pl.col("system").is_in(judged_systems.implode()))["system"].unique()
    if not lost_systems.is_empty():
        names = join_with_commas(lost_systems.sort().to_list())
        note += f" These runs have no other topic, so they are left out: {names}."
    return documents.filter(is_judged), {UNJUDGED_TOPIC_REASON: lists}, [note]


def _check_that_documents_are_judged(documents: pl.DataFrame, qrels: pl.DataFrame) -> list[str]:
    """Raise an error if no retrieved document has a relevance judgement. Otherwise return notes that name
    the runs without any judged document, or with few.
    """
    is_judged = documents["document"].is_in(qrels["document"].unique().implode())
    if not is_judged.any():
        raise InputError(
            f"no retrieved document has a relevance judgement. The runs contain {documents['document'][0]}, "
            f"the judgements {qrels['document'][0]}.",
            location=_get_file_location_of_document(documents.row(0, named=True)),
            remedy="Check that runs and judgements write document ids in the same way.",
        )
    judged_systems = documents.filter(is_judged)["system"].unique()
    has_judged_documents = pl.col("system").is_in(judged_systems.implode())
    notes = _warn_of_few_judged_documents(documents.filter(has_judged_documents), qrels)
    unjudged_systems = documents.filter(~has_judged_documents)["system"].unique()
    if unjudged_systems.is_empty():
        return notes
    names = ", ".join(unjudged_systems.sort())
    return [*notes, f"These runs get a score of 0 because none of their documents has a judgement: {names}."]


def _warn_of_few_judged_documents(documents: pl.DataFrame, qrels: pl.DataFrame) -> list[str]:
    """Return a note that names the runs in which few documents have a relevance judgement for their topic."""
    judged = qrels.select("item", "document", is_judged=True).unique()
    keys = documents.select("system", "item", "document").join(judged, on=("item", "document"), how="left")
    counts = keys.group_by("system").agg(documents=pl.len(), judged=pl.col("is_judged").count())
    few = counts.filter(pl.col("judged") <= _FEW_JUDGED * pl.col("documents")).sort("system")
    if few.is_empty():
        return []
    retrieved, judged_documents = few.select(pl.col("documents", "judged").sum()).row(0)
    unjudged = retrieved - judged_documents
    names = join_with_commas(few["system"].to_list())
    note = (
        f"{unjudged:,} of {retrieved:,} documents ({100 * unjudged // retrieved} %) that {names} retrieved"
        " have no relevance judgement. Most metrics count them as not relevant. If you expected more"
        " judgements, check that runs and judgements write document ids in the same way."
    )
    return [note]


def _warn_of_equal_scores(documents: pl.DataFrame) -> list[str]:
    """Return a note that names the runs in which most documents have the same score as another document of
    their list.
    """
    is_tied = pl.col("score").cast(pl.Float32).is_duplicated().over("system", "item")
    shares = documents.select("system", tied=is_tied).group_by("system").agg(pl.col("tied").mean())
    systems = shares.filter(pl.col("tied") > 0.5)["system"].sort().to_list()
    if not systems:
        return []
    note = (
        f"Most documents of a list have equal scores in {join_with_commas(systems)}. Such documents are"
        " sorted by their ids, as in trec_eval, whatever their rank in the file."
    )
    return [note]


def _warn_of_scores_that_increase_with_rank(documents: pl.DataFrame) -> list[str]:
    """Return a note that names the runs whose scores increase with the rank. Sorting by score, highest first,
    reverses such lists.
    """
    steps = (
        documents.lazy()
        .select("system", "item", _RANK, "score")
        .drop_nulls()
        .sort("system", "item", _RANK)
        .with_columns(step=pl.col("score").diff().over("system", "item"))
        .group_by("system")
        .agg(up=(pl.col("step") > 0).sum(), down=(pl.col("step") < 0).sum())
        .filter(pl.col("up") > pl.col("down"))
        .collect()
    )
    if steps.is_empty():
        return []
    names = ", ".join(steps["system"].sort())
    note = (
        f"Scores increase with rank in {names}. Documents are sorted by score, highest first, as in "
        "trec_eval, so these lists are reversed. If lower scores are better, change their sign in the file."
    )
    return [note]


def _build_empty_lists_for_missing_topics(existing_lists: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """Build an empty ranked list for each combination of a system and a judged topic that has no list."""
    systems = existing_lists.select(pl.col("system").unique().sort())
    topics = qrels.select(pl.col("item").unique().sort())
    missing = systems.join(topics, how="cross").join(existing_lists, on=("system", "item"), how="anti")
    return missing.with_columns(pl.lit([], dtype=pl.List(pl.String)).alias("output"))


def _describe_missing_ranked_lists(missing_lists: pl.DataFrame, *, are_lists_added: bool) -> str:
    """Return a note that says how many ranked lists are missing for judged topics, and what this means for
    the scores.
    """
    consequence = "They get a score of 0." if are_lists_added else "They are left out of the means."
    systems = missing_lists["system"].n_unique()
    return (
        f"Lists missing for judged topics: {missing_lists.height}, in {systems} of the runs "
        f"(such as topic {missing_lists['item'][0]} of {missing_lists['system'][0]}). {consequence}"
    )


def _add_metadata_of_topics_and_systems(outputs: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Add the input columns that describe topics or systems to the ranked lists. Such a column has a single
    value for each topic, or for each system.
    """
    used = {"system", "item", "document", "score", _FILE, _ROW, _LINE, _RANK}
    for name in documents.columns:
        if name in used:
            continue
        for key in ("item", "system"):
            values = documents.select(key, name).unique()
            if values.height == values[key].n_unique():
                outputs = outputs.join(values, on=key, how="left")
                break
    return outputs
