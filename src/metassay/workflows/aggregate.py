"""`aggregate`: compute corpus, segment and bootstrap scores of systems, and compare these scores with each
other and with human scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.directions import (
    REQUESTED,
    RequestedDirections,
    reverse_human_scores_if_lower_is_better,
    warn_of_scores_that_may_count_errors,
)
from metassay.data.preparation import prepare_dataset_for_scoring
from metassay.data.score_cautions import warn_of_metrics_that_contradict_humans
from metassay.data.score_cube import ScoreCube
from metassay.data.summary import summarize_dataset
from metassay.data.test_sets import warn_of_systems_without_all_items
from metassay.errors import InputError
from metassay.meta.aggregation.agreement import compare_ways_to_aggregate_scores
from metassay.meta.aggregation.system_scores import ResamplingSettings
from metassay.metrics.base import StatisticsMetric
from metassay.metrics.registry import MetricChoice
from metassay.metrics.selection import choose_metrics
from metassay.options import replace_options_parameter_by_keywords, split_comma_separated_names
from metassay.reporting.aggregate_page import (
    build_aggregate_page,
    describe_aggregate_result,
    list_main_findings_on_aggregations,
    prepare_aggregate_report,
)
from metassay.reporting.result_display import ResultDisplay
from metassay.results.aggregate import AggregateContent, AggregatedSystem
from metassay.results.data_summary import HIGHER
from metassay.store.run_folder import RunFolder
from metassay.workflows.options import AggregateOptions, AggregateSettings
from metassay.workflows.output_scores import arrange_scores_by_system_and_item, score_outputs
from metassay.workflows.read import Source, read
from metassay.workflows.run_files import collect_warnings, write_result_to_run_folder


class AggregateResult(ResultDisplay, AggregateContent, frozen=True, kw_only=True):
    """Result of `aggregate`: scores of systems computed in three ways, and how well these ways agree with
    each other and with people.
    """

    build_page = build_aggregate_page
    describe_result_for_terminal = describe_aggregate_result

    def to_frame(self) -> pl.DataFrame:
        """Return a table of system scores, with one row per test set, system and metric."""
        return pl.DataFrame(
            [_build_table_row_of_system_scores(system) for system in self.systems], infer_schema_length=None
        )


def _build_table_row_of_system_scores(system_scores: AggregatedSystem) -> dict[str, Any]:
    """Build the table row of a system. Its standard errors become columns such as `corpus_error`."""
    row = msgspec.structs.asdict(system_scores)
    standard_errors = msgspec.structs.asdict(row.pop("standard_errors"))
    return row | {f"{name}_error": error for name, error in standard_errors.items()}


@replace_options_parameter_by_keywords(AggregateOptions)
def aggregate(dataset: Dataset | Source, options: AggregateOptions) -> AggregateResult:
    """Compute the score of each system in three ways, and compare how well each way agrees with human scores.

    Corpus scores are computed from counts that are summed over all segments, segment scores are means over
    segments, and bootstrap scores are means of corpus scores over random samples of segments. Only metrics
    that are computed from such counts, as BLEU and WER are, can be used.

    - `resamples` is the number of random samples for bootstrap scores, and `size` the number of segments in
      each.
    - `repeats` is the number of random samples of 1, 10 and 100 segments, for the comparison on few segments.
    - `human` names the columns of human scores that are compared. By default, these are all human scores.
    - `lower_is_better` and `higher_is_better` name human scores, to say which direction is good.
    - `out` is a folder for the result and its report page.

    >>> rows = [
    ...     {"seg_id": n, "system": system, "hyp": f"{word} red fox {n}", "ref": f"the red fox {n}"}
    ...     for n in range(5)
    ...     for system, word in (("a", "that"), ("b", "no"))
    ... ]
    >>> first = aggregate(rows, metrics="ter", resamples=20, repeats=20).systems[0]
    >>> first.system, round(first.corpus, 1)
    ('a', 25.0)
    """
    data = _select_human_columns(read(dataset), split_comma_separated_names(options.human))
    data = _reverse_human_scores_if_lower_is_better(data, options)
    data = prepare_dataset_for_scoring(
        data, normalize=options.normalize, keep_references=options.keep_references
    )
    metrics = _choose_metrics_with_corpus_score(data, options.metrics)
    run = _create_or_resume_run_folder(data, metrics, options)
    with collect_warnings() as metric_warnings:
        scores = score_outputs(data, metrics, workers=options.workers, progress=options.progress)
    cubes = arrange_scores_by_system_and_item(data, scores)
    resampling = ResamplingSettings(options.resamples, options.size, options.repeats, seed=options.seed)
    comparison = compare_ways_to_aggregate_scores(cubes, metrics, resampling)
    result = AggregateResult(
        systems=comparison.systems,
        between=comparison.between,
        downsampled=comparison.downsampled,
        human=comparison.human,
        notes=[
            *data.notes,
            *warn_of_systems_without_all_items(data),
            *metric_warnings,
            *_warn_of_metrics_contrary_to_humans(cubes, metrics),
        ],
        data=summarize_dataset(data, {metric.spec: metric.higher_is_better for metric in metrics}),
    )
    result = msgspec.structs.replace(
        result, verdict=list_main_findings_on_aggregations(prepare_aggregate_report(result))
    )
    if run is not None:
        write_result_to_run_folder(run, "aggregate", result, _build_tables_of_score_correlations(result))
    return result


def _build_tables_of_score_correlations(result: AggregateContent) -> dict[str, pl.DataFrame]:
    """Build the tables that show how well the three kinds of system scores agree with each other and with
    human scores. Returns each table by the name of its file.
    """
    tables: dict[str, Sequence[msgspec.Struct]] = {
        "between": result.between,
        "downsampled": result.downsampled,
        "human": result.human,
    }
    files = {}
    for name, rows in tables.items():
        if rows:
            frame = pl.DataFrame([msgspec.structs.asdict(row) for row in rows], infer_schema_length=None)
            files[f"results/aggregate-{name}.csv"] = frame
    return files


def _select_human_columns(dataset: Dataset, column_names: Sequence[str]) -> Dataset:
    """Return the data set with only the named columns as human scores. Without names, all are kept."""
    if not column_names:
        return dataset
    for name in column_names:
        dataset = dataset.declare_human_column(name)
    requested = {name.lower() for name in column_names}
    return replace(dataset, human=tuple(name for name in dataset.human if name.lower() in requested))


def _reverse_human_scores_if_lower_is_better(dataset: Dataset, options: AggregateOptions) -> Dataset:
    """Reverse human scores for which lower is better, and add a warning if a human score seems to count
    errors.
    """
    requested = RequestedDirections.parse_direction_options(options.lower_is_better, options.higher_is_better)
    requested.check_score_names(dataset.human, "human score")
    oriented, _ = reverse_human_scores_if_lower_is_better(dataset, requested)
    notes = []
    for direction in oriented.directions:
        # If the user named the direction, it is not doubted.
        if direction.better == HIGHER and direction.why != REQUESTED:
            notes += warn_of_scores_that_may_count_errors(
                direction.score, oriented.outputs[direction.score].to_numpy()
            )
    return oriented.add_notes(*notes)


def _warn_of_metrics_contrary_to_humans(
    score_cubes: Sequence[ScoreCube], metrics: Sequence[StatisticsMetric]
) -> list[str]:
    """Return warnings of metrics that prefer outputs with lower human scores more often than by chance. For
    such a metric, lower scores may be better.
    """
    lower_is_better = frozenset(metric.spec for metric in metrics if not metric.higher_is_better)
    notes = []
    for cube in score_cubes:
        directed = replace(cube, lower_is_better=lower_is_better)
        for human in cube.human_scores:
            notes += warn_of_metrics_that_contradict_humans(directed, human)
    return list(dict.fromkeys(notes))


def _choose_metrics_with_corpus_score(
    dataset: Dataset, requested_metrics: MetricChoice
) -> tuple[StatisticsMetric, ...]:
    """Return the requested metrics, or by default those of the task. Raises an error if a metric has no
    corpus score.
    """
    default_metrics = dataset.task_definition.corpus_metrics
    if not default_metrics:
        raise InputError(f"aggregation needs texts, but the task of this data is {dataset.task}.")
    metrics = []
    for metric in choose_metrics(
        dataset, default_metrics if requested_metrics is None else requested_metrics
    ):
        if not isinstance(metric, StatisticsMetric):
            raise InputError(
                f"{metric} has no sufficient statistics, so it has no corpus or bootstrap score.",
                remedy="Choose metrics such as bleu, chrf, ter, nltk_bleu, wer or cer.",
            )
        metrics.append(metric)
    return tuple(metrics)


def _create_or_resume_run_folder(
    dataset: Dataset, metrics: Sequence[StatisticsMetric], options: AggregateOptions
) -> RunFolder | None:
    """Create a run folder for the results where the user wants it, or resume the run that is already there.
    Returns None if the user named no folder.

    The options and the data identify the run.
    """
    if options.out is None:
        return None
    configuration = {
        **options.to_dict(AggregateSettings),
        "metrics": [metric.signature for metric in metrics],
        "seed": options.seed,
    }
    identity = {"command": "aggregate", "configuration": configuration, "input": dataset.content_hash}
    return RunFolder.open_for_writing(options.out, identity, data_fingerprint=dataset.fingerprint)
