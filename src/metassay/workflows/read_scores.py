"""Read the human and metric scores that `rank`, `depend`, `estimate` and `annotate` compare.

Metrics that are not in the data are computed from its texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from metassay.data.cells import holds_truth_values, parse_score_column
from metassay.data.columns import (
    find_score_columns,
    is_numeric,
    list_possible_column_names,
    select_columns_by_name,
)
from metassay.data.directions import RequestedDirections
from metassay.data.languages import find_target_languages
from metassay.data.normalisation import choose_text_normalisation
from metassay.data.preparation import prepare_dataset_for_scoring
from metassay.data.reading import Source, read
from metassay.data.score_cube import ScoreCube
from metassay.data.score_selection import ScoreRequest, SelectedScores, select_score_cubes
from metassay.data.score_table_reading import (
    ScoreTable,
    find_ignored_score_columns,
    read_score_table,
)
from metassay.data.score_tables import build_score_cubes
from metassay.data.summary import summarize_score_cubes
from metassay.data.uninformed_scores import find_metrics_that_ignore_output_text
from metassay.engine.batches import build_table_of_outputs_to_score
from metassay.engine.scoring import score_rows
from metassay.errors import InputError, InputLocation, UnknownName, join_with_commas
from metassay.metrics.registry import look_up_score_directions
from metassay.metrics.selection import choose_metrics
from metassay.metrics.sentinels import SENTINELS
from metassay.options import get_single_human_name, split_comma_separated_names
from metassay.reporting.assay_sentences import (
    explain_why_metric_ignores_quality,
    explain_why_sentinel_is_not_recommended,
)
from metassay.specs import split_metric_names
from metassay.workflows.options import AnnotateOptions, DependOptions, EstimateOptions, RankOptions

_ROW = "_scored_row"
_SENTINEL_NAMES = frozenset(sentinel.name for sentinel in SENTINELS)

WITHOUT_TEXTS_NOTE = (
    "The data has no texts, so metrics that depend only on the length of outputs are not recognised."
)

# Options of the commands that compare metric scores with human scores.
ComparisonOptions = RankOptions | DependOptions | EstimateOptions | AnnotateOptions


def read_human_and_metric_scores(
    source: Source,
    options: ComparisonOptions,
    *,
    further_columns: Sequence[str] = (),
    needs_human_scores: bool = True,
    needs_metric_scores: bool = True,
) -> SelectedScores:
    """Read the human and metric scores of one or more data sets.

    The options `human` and `metrics` decide what kind of score a column is. A requested metric that is no
    column is computed from the texts. Scores of metrics for which lower is better (`ter`, `wer`) are
    reversed, with a note; `lower_is_better` and `higher_is_better` name exceptions. `further_columns` are
    columns that are neither metrics of ours nor human scores.
    """
    # Only `check`, which needs no scores, describes several human scores.
    if needs_human_scores or needs_metric_scores:
        get_single_human_name(options.human)
    directions = RequestedDirections.parse_direction_options(
        options.lower_is_better, options.higher_is_better
    )
    request = ScoreRequest(
        split_comma_separated_names(options.human), directions, has_clusters=options.cluster is not None
    )
    metrics = split_metric_names(options.metrics or [])
    cubes = _list_score_cubes_in_source(source)
    if cubes:
        names = [str(metric) for metric in metrics]
        return select_score_cubes(
            cubes,
            request,
            names,
            needs_human_scores=needs_human_scores,
            needs_metric_scores=needs_metric_scores,
        )
    score_table = read_score_table(
        source,
        options,
        references=options.reference,
        human=request.human,
        metrics=[metric for metric in metrics if isinstance(metric, str)],
    )
    metrics = [_find_column_ignoring_case(metric, score_table.frame) for metric in metrics]
    # A column that divides the data, such as true or false, is no metric.
    contexts = None if isinstance(options, AnnotateOptions) else options.context
    dividing_columns = [options.cluster, *split_comma_separated_names(contexts)]
    score_table = score_table.add_metadata_columns(
        name for name in dividing_columns if name is not None and name not in metrics
    )
    _check_that_columns_hold_scores(metrics, score_table)
    human_columns = list(dict.fromkeys([*request.human, *score_table.human_columns]))
    scored = _add_missing_metrics(score_table, metrics, human_columns, further_columns, options)
    is_higher_better = look_up_score_directions(scored.table.columns)
    cubes = build_score_cubes(
        scored.table,
        human=human_columns,
        metrics=[*is_higher_better, *scored.metrics, *further_columns],
        metadata=score_table.metadata_columns,
        lower_is_better_metrics=[name for name, higher in is_higher_better.items() if not higher],
        requested_directions=request.directions,
        file=score_table.file,
        keep_references=options.keep_references,
    )
    languages = find_target_languages(scored.table) or []
    language_notes = _warn_of_languages_compared_together(scored.table, languages)
    truth_value_notes = []
    if not metrics:
        truth_value_notes = _name_columns_of_truth_values(score_table, human_columns)
    selected = select_score_cubes(
        cubes,
        request,
        scored.metrics,
        [*score_table.notes, *scored.notes, *language_notes, *truth_value_notes],
        needs_human_scores=needs_human_scores,
        needs_metric_scores=needs_metric_scores,
    )
    summary = summarize_score_cubes(
        selected.cubes,
        selected.human or None,
        left_out=_count_left_out_rows(score_table, cubes),
        ignored_columns=find_ignored_score_columns(scored.table),
        languages=[language for language in languages if language is not None],
    )
    return replace(selected, summary=summary)


def _find_column_ignoring_case(metric: Any, table: pl.DataFrame) -> Any:
    """Return the column of numbers that a requested metric names in other case, such as `BLEU-refA` for
    `bleu-refa`. If there is no such column, or several, the metric is returned unchanged.
    """
    if not isinstance(metric, str) or metric in table.columns:
        return metric
    columns = [name for name in table.columns if name.lower() == metric.lower() and is_numeric(table[name])]
    return columns[0] if len(columns) == 1 else metric


def _check_that_columns_hold_scores(metrics: Sequence[Any], score_table: ScoreTable) -> None:
    """Raise an error that says why, if a requested metric is a column that cannot be used as a score."""
    table = score_table.frame
    for metric in metrics:
        if not isinstance(metric, str) or metric not in table.columns or is_numeric(table[metric]):
            continue
        scores = parse_score_column(table[metric], score_table.file)
        if scores.is_null().all():
            raise InputError("no row has a score.", location=InputLocation(score_table.file, column=metric))


@dataclass(frozen=True)
class _ScoredTable:
    """A table in which every requested metric has a column of scores, with notes for the user."""

    table: pl.DataFrame
    metrics: list[str]
    """Empty if all columns of metric scores are meant."""
    notes: list[str]


def _add_missing_metrics(
    score_table: ScoreTable,
    metrics: Sequence[Any],
    human_columns: Sequence[str],
    further_columns: Sequence[str],
    options: ComparisonOptions,
) -> _ScoredTable:
    """Compute the requested metrics that have no column in the table, and add their scores. If none is
    requested and the table has no metrics, those of the task are computed.
    """
    table = score_table.frame
    missing = [metric for metric in metrics if not (isinstance(metric, str) and metric in table.columns)]
    if missing:
        computed = _compute_missing_metrics(options, table, missing)
        computed_names = iter(computed.metrics)
        # Computed metrics get their canonical names, in the order of the request.
        names = [next(computed_names) if metric in missing else str(metric) for metric in metrics]
        return replace(computed, metrics=names)
    if not metrics:
        _, metric_columns = find_score_columns(
            table, human_columns, metadata_columns=score_table.metadata_columns
        )
        if all(name in further_columns for name in metric_columns):
            return _compute_missing_metrics(options, table, [])
    return _ScoredTable(table, [str(metric) for metric in metrics], [])


def _count_left_out_rows(score_table: ScoreTable, score_cubes: Sequence[ScoreCube]) -> dict[str, int]:
    """Count the rows of the table that were not used, by reason."""
    left_out = Counter(score_table.left_out)
    for cube in score_cubes:
        left_out.update(cube.left_out)
    return dict(left_out)


def mark_metrics_that_ignore_output_text(score_cube: ScoreCube) -> tuple[ScoreCube, frozenset[str]]:
    """Find the metrics whose scores do not depend on what an output says, such as a constant, and add a note
    about each.

    These are sentinels, and metrics whose scores depend on the system, the item or the length of the output
    alone. Lengths are unknown if the data has no outputs, which a note says.
    """
    properties = find_metrics_that_ignore_output_text(score_cube)
    sentinels = {
        name for name in score_cube.metric_scores if name.partition("(")[0].lower() in _SENTINEL_NAMES
    }
    notes = [
        explain_why_metric_ignores_quality(metric, determining_property)
        for metric, determining_property in properties.items()
        if metric not in sentinels
    ]
    notes += [explain_why_sentinel_is_not_recommended(metric) for metric in sorted(sentinels)]
    if not score_cube.text_measures:
        notes.append(WITHOUT_TEXTS_NOTE)
    return score_cube.add_notes(*notes), frozenset(properties) | sentinels


def _list_score_cubes_in_source(source: Source) -> list[ScoreCube]:
    """Return the tables of scores that the user passed as `ScoreCube` objects. Returns an empty list if the
    user passed something else.
    """
    parts = [source] if isinstance(source, ScoreCube) else source
    if not isinstance(parts, Sequence):
        return []
    cubes = [part for part in parts if isinstance(part, ScoreCube)]
    # A list with anything else is left to the reader of tables.
    return cubes if len(cubes) == len(parts) else []


def _compute_missing_metrics(
    options: ComparisonOptions, table: pl.DataFrame, missing_metrics: Sequence[Any]
) -> _ScoredTable:
    """Compute metrics from the texts in a table, and add their scores as columns.

    The result has a column for each of these metrics, and notes on how they were computed.
    """
    column_names = {name.lower() for name in table.columns}
    if not column_names & {*list_possible_column_names("output")}:
        if not missing_metrics:
            return _ScoredTable(table, [], [])
        possible = [name for name in table.columns if name not in list_possible_column_names("item")]
        raise UnknownName("metric", str(missing_metrics[0]), possible)
    # Reading may drop rows or change their order. The number brings scores back to their rows.
    numbered = table.with_row_index(_ROW)
    data = read(numbered, task=options.task, language=options.language, references="per-output")
    data = prepare_dataset_for_scoring(data, normalize=None, keep_references=True)
    try:
        metrics = choose_metrics(data, missing_metrics or None, choose_text_normalisation(data, None))
        scores = score_rows(metrics, build_table_of_outputs_to_score(data)).scores
    except UnknownName as error:
        # The user may have meant a column of scores, such as XCOMET-refA for XCOMET.
        score_columns = [name for name, dtype in table.schema.items() if dtype.is_numeric()]
        raise UnknownName(error.kind, error.name, [*error.valid_names, *score_columns]) from error
    except InputError as error:
        similar_columns = _find_columns_of_metrics_with_reference(missing_metrics, table)
        if similar_columns:
            remedy = (
                f"To use the scores in the data, name their columns: {join_with_commas(similar_columns)}."
            )
            raise InputError(error.message, location=error.location, remedy=remedy) from error
        raise
    columns = [pl.Series(spec, values).fill_nan(None) for spec, values in scores.items()]
    computed = data.outputs.select(_ROW).with_columns(columns)
    scored = numbered.join(computed, on=_ROW, how="left", maintain_order="left").drop(_ROW)
    notes = [f"Computed from the texts: {', '.join(metric.spec for metric in metrics)}."]
    return _ScoredTable(scored, [metric.spec for metric in metrics], [*notes, *data.notes])


def _name_columns_of_truth_values(score_table: ScoreTable, human_columns: Sequence[str]) -> list[str]:
    """Return a note on columns of true and false, which are metrics only if the user names them."""
    table = score_table.frame
    numeric = [name for name in table.columns if is_numeric(table[name])]
    truth_values = [name for name in numeric if holds_truth_values(table[name])]
    _, metric_columns = find_score_columns(
        table, human_columns, truth_values, metadata_columns=score_table.metadata_columns
    )
    names = [name for name in metric_columns if name in truth_values]
    if not names:
        return []
    return [f"Columns of true and false are metrics only if --metrics names them: {join_with_commas(names)}."]


def _warn_of_languages_compared_together(table: pl.DataFrame, languages: Sequence[str | None]) -> list[str]:
    """Return a note if outputs in several languages are compared with each other, because no column names the
    language pair.
    """
    distinct = sorted({language for language in languages if language is not None})
    if len(distinct) < 2 or select_columns_by_name(table.columns, ["lp"]):
        return []
    note = (
        f"Outputs in several languages ({join_with_commas(distinct)}) are compared together, although people"
        " may use other scales for each. To compare each by itself, name the column of languages lp."
    )
    return [note]


def _find_columns_of_metrics_with_reference(metrics: Sequence[Any], table: pl.DataFrame) -> list[str]:
    """Find columns that are named like a metric with a reference, such as `COMET-refA` for `comet`."""
    names = [metric.partition("(")[0].lower() for metric in metrics if isinstance(metric, str)]
    prefixes = tuple(f"{name}-" for name in names)
    return [name for name in table.columns if name.lower().startswith(prefixes) and is_numeric(table[name])]
