"""`depend`: measure which systems each metric favours or disadvantages, compared with human scores."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

import msgspec
import numpy as np
import polars as pl

from metassay.data.score_cube import ScoreCube
from metassay.data.score_selection import SelectedScores
from metassay.engine.workers import choose_worker_count
from metassay.errors import InputError
from metassay.meta.dependence.analysis import (
    PANEL,
    DependenceAnalysis,
    SamplingSettings,
    analyze_metric_bias_between_systems,
    analyze_metric_bias_without_human_scores,
)
from metassay.meta.dependence.correction import CorrectedScores, convert_to_human_scale
from metassay.meta.dependence.grouped_outputs import SYSTEM, GroupingColumns, assign_outputs_to_groups
from metassay.meta.dependence.null_hypotheses import DRAWS, choose_number_of_draws
from metassay.meta.people.mapping_evaluation import MappingEvaluator
from metassay.meta.people.ranking_data import CONSTANT
from metassay.options import replace_options_parameter_by_keywords, split_comma_separated_names
from metassay.reporting.depend_notes import list_notes_on_metrics_with_missing_data
from metassay.reporting.depend_page import (
    build_system_dependence_page,
    describe_system_dependence_result,
    list_main_findings_on_favoured_systems,
    prepare_system_dependence_report,
    render_curve_and_chart_files,
)
from metassay.reporting.pages import Page
from metassay.reporting.result_display import ResultDisplay
from metassay.results.depend import (
    Correction,
    DependContent,
    DependenceComparison,
    MetricCurves,
    MetricDependence,
)
from metassay.stats.arrays import FloatArray
from metassay.store.run_folder import RunFolder
from metassay.workflows.options import DependOptions
from metassay.workflows.read import Source
from metassay.workflows.read_scores import mark_metrics_that_ignore_output_text, read_human_and_metric_scores
from metassay.workflows.run_files import (
    check_output_file_is_writable,
    write_result_to_run_folder,
    write_table_file,
)

TABLE_COLUMNS: dict[str, type[pl.DataType]] = {
    "dataset": pl.String,
    "metric": pl.String,
    "sysdep": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "constant": pl.Float64,
    "ratio": pl.Float64,
    "residual_range": pl.Float64,
    "p_equal": pl.Float64,
    "p_fair": pl.Float64,
    "most_favoured": pl.String,
    "most_disadvantaged": pl.String,
    "inversions": pl.Int64,
    "explained": pl.Int64,
}


class DependResult(ResultDisplay, DependContent, frozen=True, kw_only=True):
    """Result of `depend`: how much each metric favours some systems over others, on each data set.

    `analyses` are the measurements behind the result, by data set. They are not part of the JSON.
    """

    json_type = DependContent
    describe_result_for_terminal = describe_system_dependence_result

    analyses: dict[str, DependenceAnalysis] = msgspec.field(default_factory=dict)

    @property
    def curves(self) -> dict[str, dict[str, MetricCurves]]:
        """The fitted curves that predict human scores from metric scores, by data set and metric. Empty if
        metrics were compared with each other instead of human scores.
        """
        if self.human == PANEL:
            return {}  # the charts of curves are labelled as human scores
        return {dataset: analysis.predicted_human_score_curves for dataset, analysis in self.analyses.items()}

    def to_frame(self) -> pl.DataFrame:
        """Return a table of how much metrics favour systems, with one row per data set and metric."""
        rows = [_build_table_row_of_metric(entry) for entry in self.metrics]
        return pl.DataFrame(rows, schema=TABLE_COLUMNS, orient="row")

    def build_page(self) -> Page:
        """Build the report page."""
        return build_system_dependence_page(self, self.curves)


def _build_table_row_of_metric(metric_result: MetricDependence) -> list[Any]:
    """Build the table row of one metric on one data set."""
    explained = sum(pair.explained for pair in metric_result.inversions)
    counts = {"inversions": len(metric_result.inversions), "explained": explained}
    return [counts[name] if name in counts else getattr(metric_result, name) for name in TABLE_COLUMNS]


@replace_options_parameter_by_keywords(DependOptions)
def depend(human_and_metric_scores: Source, options: DependOptions) -> DependResult:
    """Measure whether metrics favour some systems over others of the same human score (system dependence).

    The expected deviation of a system says by how much a metric overrates it, in points of the human score.
    System dependence (SysDep) is the difference between the largest and the smallest expected deviation.

    `human_and_metric_scores` is a table with one row per output and one column per metric, several such
    tables, a folder in the layout of mt-metrics-eval, or a data set. The keywords `join`, `columns`, `where`,
    `systems`, `exclude_systems`, `reference`, `keep_references` and `quoting` say how it is read.

    - `by` names a column to use in place of the system, to find out which of its values a metric favours.
    - `context` names columns within whose values the analysis is repeated. By default it is the domain.
    - `cluster` names the column of documents that are resampled as a whole.
    - `weight` names a column of weights of the segments.
    - `bootstraps` is the number of resamples from which intervals are estimated, and `draws` the number of
      draws of each test.
    - `analysis=True` adds how SysDep depends on the number of resamples, the number of items and the systems.
    - `panel=True` needs no human scores: it compares each metric with the mean of all other metrics.
    - `correct` names a file to write. It gets the metric scores converted to predicted human scores, which
      are tested on segments that were not used to fit the conversion.
    - `out` is a folder for the report page, the result as JSON and CSV, and the charts.

    >>> rows = [
    ...     {"seg_id": n, "system": system, "mqm": gap + n % 3, "M": n % 3 + 0.1 * gap}
    ...     for n in range(30)
    ...     for system, gap in (("a", 0.0), ("b", -1.0), ("c", -3.0))
    ... ]
    >>> result = depend(rows, human="mqm", bootstraps=5, draws=9)
    >>> deviations = result.metrics[0].deviations
    >>> max(deviations, key=deviations.get)
    'c'
    """
    _check_depend_options(human_and_metric_scores, options)
    scores = _read_human_and_metric_scores(human_and_metric_scores, options)
    human = PANEL if options.panel else scores.human
    grouping = GroupingColumns(
        by=options.by,
        metrics=scores.metrics,
        contexts=None if options.context is None else split_comma_separated_names(options.context),
        cluster=options.cluster,
        weight=options.weight,
    )
    sampling = SamplingSettings(
        bootstraps=options.bootstraps,
        draws=options.draws or choose_number_of_draws(_count_metrics(scores)),
        seed=options.seed,
        sensitivity=options.analysis,
    )
    run = _create_or_resume_run_folder(scores, human, grouping, sampling, options)
    cubes, uninformed = _mark_metrics_that_ignore_output_text(scores)
    scores = replace(scores, cubes=cubes)
    analyses = _measure_metric_bias_towards_systems(scores, grouping, sampling, options)
    corrections = _write_predicted_human_scores(scores, options)
    metrics = []
    comparisons: list[DependenceComparison] = []
    for dataset, analysis in analyses.items():
        for entry in analysis.metrics:
            is_uninformed = entry.metric in uninformed[dataset]
            metrics.append(msgspec.structs.replace(entry, uninformed=is_uninformed))
        comparisons += analysis.comparisons
    result = DependResult(
        human=human,
        by=options.by,
        metrics=metrics,
        comparisons=comparisons,
        corrections=corrections,
        notes=_collect_notes_on_scores_and_analyses(scores, analyses, human),
        data=scores.summary,
        analyses=analyses,
    )
    result = msgspec.structs.replace(
        result, verdict=list_main_findings_on_favoured_systems(prepare_system_dependence_report(result))
    )
    if run is not None:
        write_result_to_run_folder(run, "depend", result, render_curve_and_chart_files(result, result.curves))
    return result


def _count_metrics(scores: SelectedScores) -> int:
    """Return the largest number of metrics that one data set has."""
    return max(len(cube.check_metric_names(scores.metrics or None)) for cube in scores.cubes)


def _check_depend_options(data_source: Source, options: DependOptions) -> None:
    """Raise an error if options contradict each other."""
    if options.panel and options.human is not None:
        raise InputError(
            "--panel replaces the human score, so the two cannot be combined.",
            remedy="Leave out --panel or --human.",
        )
    if options.correct is None:
        return
    if options.panel or options.by != SYSTEM:
        raise InputError(
            "a correction needs human scores of systems.", remedy="Leave out --panel and --by, or --correct."
        )
    sources = data_source if isinstance(data_source, list | tuple) else [data_source]
    files = [str(source) for source in sources if isinstance(source, str | os.PathLike)]
    check_output_file_is_writable(options.correct, files)


def _read_human_and_metric_scores(data_source: Source, options: DependOptions) -> SelectedScores:
    """Read human and metric scores. Human scores may be missing if each metric is compared with the mean of
    the other metrics.
    """
    weight_columns = () if options.weight is None else (options.weight,)
    scores = read_human_and_metric_scores(
        data_source, options, further_columns=weight_columns, needs_human_scores=not options.panel
    )
    return scores if options.panel else scores.select_datasets_with_human_score(scores.human)


def _create_or_resume_run_folder(
    selected_scores: SelectedScores,
    human_column: str,
    grouping_columns: GroupingColumns,
    sampling_settings: SamplingSettings,
    options: DependOptions,
) -> RunFolder | None:
    """Create a run folder for the results where the user wants it, or resume the run that is already there.
    Returns None if the user named no folder.

    The options and the data identify the run.
    """
    if options.out is None:
        return None
    configuration: dict[str, Any] = {
        "human": human_column,
        "lower_is_better": split_comma_separated_names(options.lower_is_better),
        **asdict(grouping_columns),
        **asdict(sampling_settings),
    }
    if options.correct is not None:
        # Added only where it applies, so that other runs keep their identity.
        configuration["corrected"] = True
    identity = {"command": "depend", "configuration": configuration, "inputs": dict(selected_scores.hashes)}
    return RunFolder.open_for_writing(options.out, identity, data_fingerprint=selected_scores.fingerprint)


def _mark_metrics_that_ignore_output_text(
    selected_scores: SelectedScores,
) -> tuple[tuple[ScoreCube, ...], dict[str, frozenset[str]]]:
    """Find the metrics whose scores do not depend on what an output says. Returns the data sets with notes on
    these metrics, and the names of the metrics by data set.
    """
    cubes = []
    uninformed = {}
    for cube in selected_scores.cubes:
        marked_cube, uninformed[cube.dataset] = mark_metrics_that_ignore_output_text(cube)
        cubes.append(marked_cube)
    return tuple(cubes), uninformed


def _measure_metric_bias_towards_systems(
    selected_scores: SelectedScores,
    grouping_columns: GroupingColumns,
    sampling_settings: SamplingSettings,
    options: DependOptions,
) -> dict[str, DependenceAnalysis]:
    """Measure how much each metric favours some systems over others. Returns one analysis for
    each data set.
    """
    workers = choose_worker_count(options.workers)
    analyses: dict[str, DependenceAnalysis] = {}
    for cube in selected_scores.cubes:
        if options.panel:
            analysis = analyze_metric_bias_without_human_scores(
                cube, grouping_columns, sampling_settings, progress=options.progress
            )
        else:
            outputs = assign_outputs_to_groups(cube, selected_scores.human, grouping_columns)
            analysis = analyze_metric_bias_between_systems(
                outputs, sampling_settings, workers=workers, progress=options.progress
            )
        analyses[cube.dataset] = analysis
    return analyses


def _collect_notes_on_scores_and_analyses(
    selected_scores: SelectedScores, analyses: Mapping[str, DependenceAnalysis], human: str
) -> list[str]:
    """Collect the notes on the data and on the analyses, without repetition."""
    notes = list(selected_scores.notes)
    for cube in selected_scores.cubes:
        notes += cube.notes
    notes += list_notes_on_metrics_with_missing_data(analyses, human)
    return list(dict.fromkeys(notes))


def _write_predicted_human_scores(
    selected_scores: SelectedScores, options: DependOptions
) -> list[Correction]:
    """Convert metric scores to predicted human scores and write the predictions to a file. Returns how well
    they agree with the true human scores.
    """
    if options.correct is None:
        return []
    tables: list[pl.DataFrame] = []
    corrections: list[Correction] = []
    for cube in selected_scores.cubes:
        cube_tables, cube_corrections = _predict_human_scores_of_dataset(cube, selected_scores, options)
        tables += cube_tables
        corrections += cube_corrections
    write_table_file(pl.concat(tables), options.correct)
    return corrections


def _predict_human_scores_of_dataset(
    score_cube: ScoreCube, selected_scores: SelectedScores, options: DependOptions
) -> tuple[list[pl.DataFrame], list[Correction]]:
    """Convert the scores of each metric on one data set to predicted human scores, and evaluate the
    predictions. A constant metric is evaluated for comparison.
    """
    human = score_cube.get_higher_is_better_scores(selected_scores.human)
    clusters = (
        np.arange(human.shape[1])
        if options.cluster is None
        else score_cube.assign_items_to_clusters(options.cluster)
    )
    names = [
        name
        for name in score_cube.check_metric_names(selected_scores.metrics or None)
        if name != options.weight
    ]
    metrics = {name: score_cube.get_higher_is_better_scores(name) for name in names}
    # A correction of a constant shows what the mean human score of each system alone predicts.
    metrics[CONSTANT] = np.zeros(human.shape)
    evaluator = MappingEvaluator(human, clusters, draws=options.draws or DRAWS, seed=options.seed)

    def predict_human_scores_from_metric(metric_name: str) -> tuple[CorrectedScores, list[Correction]]:
        """Convert the scores of one metric to predicted human scores, and evaluate the predictions."""
        corrected = convert_to_human_scale(
            human, metrics[metric_name], clusters, bootstraps=options.bootstraps, seed=options.seed
        )
        evaluations = evaluator.evaluate_score_conversions(
            metrics[metric_name],
            **vars(corrected),
            dataset=score_cube.dataset,
            metric=metric_name,
            is_baseline=metric_name == CONSTANT,
        )
        return corrected, evaluations

    tables: list[pl.DataFrame] = []
    corrections: list[Correction] = []
    with ThreadPoolExecutor(choose_worker_count(options.workers)) as pool:
        results = zip(metrics, pool.map(predict_human_scores_from_metric, metrics))
        for done, (name, (corrected, evaluations)) in enumerate(results, start=1):
            corrections += evaluations
            if name != CONSTANT:
                tables += [
                    _build_table_of_predicted_scores(score_cube, name, metrics[name]),
                    _build_table_of_predicted_scores(score_cube, f"f_G({name})", corrected.pooled_scores),
                    _build_table_of_predicted_scores(score_cube, f"f_k({name})", corrected.system_scores),
                ]
            if options.progress is not None:
                options.progress("correcting", done, len(metrics))
    return tables, corrections


def _build_table_of_predicted_scores(
    score_cube: ScoreCube, metric_name: str, predicted_scores: FloatArray
) -> pl.DataFrame:
    """Build a table of the predicted scores of one metric, with one row per system and item."""
    items = score_cube.qualified_items
    return pl.DataFrame(
        {
            "item": np.repeat(items, len(score_cube.systems)),
            "system": np.tile(score_cube.systems, len(items)),
            "metric": metric_name,
            # Items first: the order of `repeat` and `tile` above.
            "score": pl.Series(predicted_scores.T.ravel()).fill_nan(None),
        }
    )
