"""`check` for tables without outputs: tables of metric scores, and of verdicts of judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields

import numpy as np
import polars as pl

from metassay.data.columns import (
    TEST_SET_COLUMNS,
    find_score_columns,
    list_possible_column_names,
    select_columns_by_name,
)
from metassay.data.readers.base import RawTable, ReaderOptions
from metassay.data.readers.files import is_pipe
from metassay.data.readers.registry import read_tables
from metassay.data.reading import Source
from metassay.data.score_cube import ScoreCube
from metassay.data.summary import summarize_verdicts
from metassay.data.verdicts import (
    QUESTION_COLUMNS,
    VERDICT_COLUMNS,
    VerdictTable,
    parse_verdicts,
)
from metassay.errors import InputError
from metassay.meta.judges.verdict_arrays import VerdictArrays
from metassay.options import TableReadOptions, split_comma_separated_names
from metassay.results.check import (
    PAIRS,
    SCORES,
    VERDICTS,
    CheckContent,
    CheckedJudge,
    CheckedTestSet,
    CheckedVerdicts,
    SystemCount,
)
from metassay.results.data_summary import DataSummary
from metassay.workflows.options import CheckOptions, RankOptions
from metassay.workflows.read_scores import read_human_and_metric_scores
from metassay.workflows.verdict_files import VerdictFrame, read_verdicts


def guess_kind_of_table_rows(data_source: Source, options: CheckOptions) -> str | None:
    """Guess what the rows of a table are if they are not single outputs: scores, verdicts of judges,
    or pairs of outputs. Returns None if this is not clear.
    """
    tables = _read_tables_to_guess_kind(data_source, options)
    chosen = options.columns or {}
    columns = [name for table in tables for name in table.frame.columns]
    if not tables or any(name not in columns for name in chosen.values()):
        return None
    if _has_columns_of_output_pairs(columns, chosen):
        return PAIRS
    # `judge` does not select systems, because a verdict may be about two.
    selects_systems = bool(options.systems or options.exclude_systems)
    if _has_columns_of_verdicts(columns, chosen) and not selects_systems:
        return VERDICTS
    if all(_has_columns_of_scores(table, options) for table in tables):
        return SCORES
    return None


def _read_tables_to_guess_kind(data_source: Source, options: CheckOptions) -> list[RawTable]:
    """Read the tables of the user to find out what the rows are. Returns an empty list if they cannot be
    read, or only once (a pipe).
    """
    paths = [data_source] if isinstance(data_source, str) else data_source
    if isinstance(paths, Sequence) and any(isinstance(path, str) and is_pipe(path) for path in paths):
        return []
    try:
        return read_tables(data_source, ReaderOptions(quoting=options.quoting))
    except InputError:
        return []


def _has_columns_of_output_pairs(column_names: Sequence[str], chosen_columns: Mapping[str, str]) -> bool:
    """Return whether a table with these columns has an output and a worse output in each row."""
    has_outputs = "output" in chosen_columns or select_columns_by_name(
        column_names, list_possible_column_names("output")
    )
    return bool(
        has_outputs and ("worse" in chosen_columns or select_columns_by_name(column_names, ("worse",)))
    )


def _has_columns_of_verdicts(column_names: Sequence[str], chosen_columns: Mapping[str, str]) -> bool:
    """Return whether a table with these columns has in each row the verdict of a judge, or two outputs that a
    judge can compare.

    A column `score` alone could be a human score or a metric, so that a column of judges is needed with it.
    """

    def has_column_or_synonym(standard_name: str) -> bool:
        """Return whether the user chose a column for a standard name, such as `winner`, or a column has this
        name or a synonym.
        """
        synonyms = VERDICT_COLUMNS[standard_name]
        return standard_name in chosen_columns or bool(select_columns_by_name(column_names, synonyms))

    if not has_column_or_synonym("item"):
        return False
    has_verdicts = has_column_or_synonym("winner") or has_column_or_synonym("score")
    has_two_systems = has_column_or_synonym("system_1") and has_column_or_synonym("system_2")
    has_two_outputs = has_column_or_synonym("output_1") and has_column_or_synonym("output_2")
    if has_column_or_synonym("judge") and has_verdicts:
        return True
    if has_column_or_synonym("winner") and (
        has_two_systems or has_two_outputs or has_column_or_synonym("better")
    ):
        return True
    return has_two_outputs and has_column_or_synonym("better")


def _has_columns_of_scores(raw_table: RawTable, options: CheckOptions) -> bool:
    """Return whether a table has columns for the item, the system and at least one human or metric score."""
    table = raw_table.frame
    names = {name.lower() for name in table.columns}
    chosen = options.columns or {}
    for role in ("item", "system"):
        if role not in chosen and not select_columns_by_name(table.columns, list_possible_column_names(role)):
            return False
    if {"metric", "score"} <= names:
        return True
    requested = split_comma_separated_names(options.human)
    human = [name for name in (*requested, *raw_table.human_columns) if name in table.columns]
    human_columns, metric_columns = find_score_columns(table, human, metadata_columns=[*chosen.values()])
    return bool(human_columns or metric_columns)


def describe_score_table(
    data_source: Source, options: CheckOptions
) -> tuple[CheckContent, Mapping[str, str]]:
    """Describe a table of human and metric scores without outputs. Returns the description and hashes of the
    scores.
    """
    reading = {field.name: getattr(options, field.name) for field in fields(TableReadOptions)}
    rank_options = RankOptions(**reading, human=options.human)
    scores = read_human_and_metric_scores(
        data_source, rank_options, needs_human_scores=False, needs_metric_scores=False
    )
    summary = scores.summary or DataSummary(outputs=0, items=0, systems=[])
    test_sets = _count_items_of_test_sets(scores.cubes)
    rated_items: Counter[str] = Counter()
    for test_set in test_sets:
        rated_items.update(test_set.rated_items)
    rated_outputs: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    for cube in scores.cubes:
        for name, array in cube.human_scores.items():
            rated_outputs[name] += int((~np.isnan(array)).sum())
        for name, array in {**cube.human_scores, **cube.metric_scores}.items():
            missing[name] += int(np.isnan(array).sum())
    metrics = list(dict.fromkeys(name for cube in scores.cubes for name in cube.metric_scores))
    content = CheckContent(
        kind=SCORES,
        items=sum(len(cube.items) for cube in scores.cubes),
        outputs=summary.outputs,
        systems=[SystemCount(system.system, system.outputs) for system in summary.systems],
        languages=_count_outputs_by_language(summary),
        human=dict(rated_outputs),
        contexts=_count_distinct_metadata_values(scores.cubes),
        metric_columns=metrics,
        rated_items=dict(rated_items),
        test_sets=test_sets if len(test_sets) > 1 else [],
        missing={name: count for name, count in missing.items() if count},
        left_out=dict(summary.left_out),
        notes=list(scores.notes),
        data=summary,
    )
    return content, scores.hashes


def _count_items_of_test_sets(score_cubes: Sequence[ScoreCube]) -> list[CheckedTestSet]:
    """Count the items of each test set, and how many of the items have human scores for every
    rated system.
    """
    names = {name for cube in score_cubes for name in cube.item_metadata if name.lower() in TEST_SET_COLUMNS}
    values = {name: {cube.item_metadata.get(name, ("",))[0] for cube in score_cubes} for name in names}
    differing = sorted(name for name in names if len(values[name]) > 1)
    test_sets = []
    for cube in score_cubes:
        columns = {name: str(cube.item_metadata[name][0]) for name in differing if name in cube.item_metadata}
        rated_items = {}
        for name, scores in cube.human_scores.items():
            has_score = ~np.isnan(scores)
            rated_systems = has_score.any(axis=1)
            rated_items[name] = int(has_score[rated_systems].all(axis=0).sum()) if rated_systems.any() else 0
        test_sets.append(CheckedTestSet(columns, len(cube.items), rated_items))
    return test_sets


def _count_outputs_by_language(data_summary: DataSummary) -> dict[str, int]:
    """Return the number of outputs by language if the data has a single language. With several languages, the
    result is empty, because it is not known which outputs are in which.
    """
    languages = {language for score in data_summary.scores for language in score.languages}
    return dict.fromkeys(languages, data_summary.outputs) if len(languages) == 1 else {}


def _count_distinct_metadata_values(score_cubes: Sequence[ScoreCube]) -> dict[str, int]:
    """Count the distinct systems, and the distinct values of each column of metadata."""
    values: dict[str, set[str | None]] = {
        "system": {system for cube in score_cubes for system in cube.systems}
    }
    for cube in score_cubes:
        for name, labels in cube.item_metadata.items():
            values.setdefault(name, set()).update(labels)
    return {name: len(labels) for name, labels in values.items()}


def describe_verdict_table(data_source: Source, options: CheckOptions) -> tuple[CheckContent, pl.DataFrame]:
    """Describe a table of verdicts of judges, or of pairs that a judge can compare. Returns the description
    and the rows of the table.
    """
    judge_column = (options.columns or {}).get("judge")
    table = read_verdicts(
        data_source,
        join=options.join,
        where=options.where,
        quoting=options.quoting,
        judge_column=judge_column,
    )
    human = next(iter(split_comma_separated_names(options.human)), None)
    columns = options.columns or {}
    has_verdicts = any(
        role in columns or select_columns_by_name(table.frame.columns, VERDICT_COLUMNS[role])
        for role in ("winner", "score")
    )
    if not has_verdicts:
        content = _describe_unjudged_pairs(table, columns, human)
        return content, table.frame
    parsed = parse_verdicts(table.frame, columns=options.columns, human=human, file=table.file)
    by_judge = parsed.frame.group_by("judge").agg(pl.len(), pl.col("value").null_count().alias("missing"))
    arrays = VerdictArrays(parsed)
    families = set(arrays.model_family_of_system.values())
    verdicts = CheckedVerdicts(
        kind=parsed.kind,
        judges=[CheckedJudge(*row) for row in by_judge.sort("judge").iter_rows()],
        questions=_count_judged_pairs_or_outputs(parsed.frame),
        human=parsed.gold,
        labelled=_count_judged_pairs_or_outputs(parsed.frame.drop_nulls("gold")),
        raters=list(parsed.raters),
        has_both_orders=parsed.frame["swapped"].n_unique() > 1,
        has_families=len(families) > 1 and not families.isdisjoint(arrays.model_family_of_judge.values()),
    )
    notes = [*table.notes, *parsed.notes]
    return _describe_table_of_judge_verdicts(parsed, table.frame, verdicts, notes), table.frame


def _describe_unjudged_pairs(
    verdict_frame: VerdictFrame, chosen_columns: Mapping[str, str], human_column: str | None
) -> CheckContent:
    """Describe pairs of which the better output is known, but which no judge has compared yet."""
    label_columns = select_columns_by_name(verdict_frame.frame.columns, VERDICT_COLUMNS["better"])
    labels = human_column or chosen_columns.get("better") or label_columns[0]
    # The human labels take the place of the verdicts.
    parsed = parse_verdicts(
        verdict_frame.frame, columns={**chosen_columns, "winner": labels}, file=verdict_frame.file
    )
    verdicts = CheckedVerdicts(
        kind=parsed.kind,
        judges=[],
        questions=_count_judged_pairs_or_outputs(parsed.frame),
        human=labels,
        labelled=_count_judged_pairs_or_outputs(parsed.frame.drop_nulls("value")),
        raters=[],
        has_both_orders=False,
        has_families=False,
    )
    return _describe_table_of_judge_verdicts(parsed, verdict_frame.frame, verdicts, verdict_frame.notes)


def _describe_table_of_judge_verdicts(
    parsed_verdicts: VerdictTable,
    input_table: pl.DataFrame,
    verdict_counts: CheckedVerdicts,
    notes: Sequence[str],
) -> CheckContent:
    """Describe a table of verdicts of judges: its items, systems, verdicts, contexts and missing values."""
    data = summarize_verdicts(parsed_verdicts, input_table)
    labelled = {} if verdict_counts.human is None else {verdict_counts.human: verdict_counts.labelled}
    return CheckContent(
        kind=VERDICTS,
        items=data.items,
        outputs=data.outputs,
        systems=[
            SystemCount(system, outputs) for system, outputs in _count_verdicts_by_system(parsed_verdicts)
        ],
        human=labelled,
        contexts={name: input_table[name].n_unique() for name in parsed_verdicts.metadata},
        verdicts=verdict_counts,
        missing={name: count for name in input_table.columns if (count := input_table[name].null_count())},
        notes=list(notes),
        data=data,
    )


def _count_judged_pairs_or_outputs(verdicts: pl.DataFrame) -> int:
    """Count the distinct pairs or outputs in a table of verdicts."""
    return int(verdicts.select([name for name in QUESTION_COLUMNS if name in verdicts.columns]).n_unique())


def _count_verdicts_by_system(verdict_table: VerdictTable) -> list[tuple[str, int]]:
    """Count the verdicts on each system's outputs. The result is sorted by system."""
    counts: Counter[str] = Counter()
    for name in ("system", "system_1", "system_2"):
        if name in verdict_table.frame.columns:
            counts.update(verdict_table.frame[name].drop_nulls().to_list())
    return sorted(counts.items())
