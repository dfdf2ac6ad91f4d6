"""`score`: score every output and every system, and test the differences between systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from metassay.data.clusters import find_cluster_column
from metassay.data.dataset import Dataset
from metassay.data.normalisation import choose_text_normalisation
from metassay.data.preparation import prepare_dataset_for_scoring
from metassay.data.reference_systems import find_systems_equal_to_references
from metassay.data.score_cube import ScoreCube
from metassay.data.summary import summarize_dataset
from metassay.data.test_sets import warn_of_systems_without_all_items
from metassay.errors import InputError, UnknownName
from metassay.meta.aggregation.system_comparison import (
    TESTS,
    compare_systems,
    get_statistics_and_score_function,
)
from metassay.meta.aggregation.system_scores import (
    ResamplingSettings,
    compute_bootstrap_scores,
    compute_corpus_scores,
    estimate_score_intervals,
)
from metassay.metrics.base import Metric, Scores, StatisticsMetric
from metassay.metrics.selection import choose_metrics
from metassay.options import replace_options_parameter_by_keywords
from metassay.reporting.labels import MetricLabels
from metassay.reporting.result_display import ResultDisplay
from metassay.reporting.score_page import (
    build_score_page,
    list_main_findings_on_score_differences,
    prepare_score_report,
)
from metassay.reporting.tables import format_rows
from metassay.reporting.terminal.blocks import Block
from metassay.reporting.terminal.score import (
    ScoreFormat,
    describe_scores,
    describe_scores_as_bare_numbers,
    name_unit_of_resampling,
)
from metassay.results.aggregate import AGGREGATIONS, BOOTSTRAP, CORPUS, SEGMENT
from metassay.results.base import none_if_nan
from metassay.results.official_score import OfficialScore
from metassay.results.score import DifferenceMeaning, ScoreContent, ScoredSystem, SystemComparison
from metassay.workflows.options import ScoreOptions, ScoreSettings
from metassay.workflows.output_scores import OutputScores, arrange_scores_by_system_and_item, score_outputs
from metassay.workflows.read import Source, read
from metassay.workflows.run_files import (
    check_output_file_is_writable,
    collect_warnings,
    write_result_to_run_folder,
    write_table_file,
)

if TYPE_CHECKING:
    from metassay.store.run_folder import RunFolder


class ScoreResult(ResultDisplay, ScoreContent, frozen=True, kw_only=True):
    """Result of `score`: the score of every system by every metric, and comparisons of the systems.

    `segments` is the table of segment scores, with the columns `item, system, metric, score`. It is not part
    of the JSON.
    """

    json_type = ScoreContent
    build_page = build_score_page

    segments: pl.DataFrame

    def to_frame(self) -> pl.DataFrame:
        """Return a table of system scores, with one row per system and metric."""
        rows = [_build_table_row_of_score(row) for row in self.systems]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_text(self, table_format: str) -> str:
        """Return the scores and comparisons of systems as a table in the format `csv`, `latex` or `markdown`.

        >>> rows = [{"seg_id": 1, "system": "a", "hyp": "a red fox", "ref": "the red fox"}]
        >>> score(rows, metrics="wer").to_text("csv").splitlines()[0]
        'system,metric,signature,corpus,segment,bootstrap,low,high'
        """
        systems = [_build_table_row_of_score(row) for row in self.systems]
        comparisons = [_build_table_row_of_score(row) for row in self.comparisons]
        if table_format != "csv":
            labels = MetricLabels(row.metric for row in self.systems)
            for row in (*systems, *comparisons):
                row["metric"] = labels[row["metric"]]
                row.pop("signature", None)  # too wide for a page
        tables = [systems, comparisons] if comparisons else [systems]
        return "\n".join(format_rows(rows, table_format) for rows in tables)

    def describe_result_for_terminal(
        self, settings: ScoreSettings, *, unit: str, decimals: int | None = None, bare: bool = False
    ) -> list[Block]:
        """Describe the scores in the lines, tables and notes that the command line prints.

        `unit` is what items are called. With `bare` there is only a number for each score.
        """
        score_format = ScoreFormat(
            settings.aggregate,
            settings.test,
            settings.resamples,
            unit,
            decimals,
            resampled_unit=name_unit_of_resampling(self, unit, settings.cluster),
        )
        if bare:
            return describe_scores_as_bare_numbers(self, score_format)
        return describe_scores(self, score_format)


def _build_table_row_of_score(system_or_comparison: ScoredSystem | SystemComparison) -> dict[str, Any]:
    """Build the table row of a system score or of a comparison of two systems."""
    row = msgspec.structs.asdict(system_or_comparison)
    row.pop("official", None)
    if row["group"] is None:
        del row["group"]
    return row


@replace_options_parameter_by_keywords(ScoreOptions)
def score(dataset: Dataset | Source, options: ScoreOptions) -> ScoreResult:
    """Score every output with every metric, and compute the score of every system.

    - `aggregate` names the kinds of system scores: `corpus`, `segment` (the mean segment score) and
      `bootstrap`. Intervals are those of the first of these.
    - `resamples` is the number of resamples of segments from which intervals are estimated.
    - `test` compares every two systems, by `"bootstrap"` or `"randomization"`, with `draws` draws.
    - `cluster` names a column such as `doc_id`. Segments with the same value are then resampled and exchanged
      together.
    - `meaning` names a run folder of `rank` with the analysis `thresholds`. It adds how often people agree
      with a difference of the size found.
    - `per_segment` names a file for the table of segment scores.
    - `out` is a folder for all results.

    >>> rows = [{"seg_id": 1, "system": "a", "hyp": "the red fox ran off", "ref": "the red fox ran away"}]
    >>> [system.corpus for system in score(rows, metrics="ter").systems]
    [20.0]
    """
    _check_score_options(options)
    data = prepare_dataset_for_scoring(
        read(dataset), normalize=options.normalize, keep_references=options.keep_references
    )
    if options.per_segment is not None:
        check_output_file_is_writable(options.per_segment, data.input_files)
    metrics = choose_metrics(data, options.metrics, choose_text_normalisation(data, options.normalize))
    run = _create_or_resume_run_folder(data, metrics, options)
    with collect_warnings() as metric_warnings:
        scores = score_outputs(data, metrics, workers=options.workers, progress=options.progress)
    segments = _build_table_of_segment_scores(data, metrics, scores)
    if options.per_segment is not None:
        write_table_file(segments, options.per_segment)
    cubes = arrange_scores_by_system_and_item(data, scores, options.cluster)
    meanings: list[DifferenceMeaning] = []
    if options.meaning is not None:
        # Imported only here, because it loads Numba.
        from metassay.workflows.score_meaning import predict_how_often_people_agree

        meanings = predict_how_often_people_agree(cubes, metrics, options.meaning)
    result = ScoreResult(
        systems=_compute_system_scores(cubes, metrics, data, options),
        comparisons=_test_differences_between_systems(cubes, metrics, options),
        meanings=meanings,
        notes=[
            *data.notes,
            *warn_of_systems_without_all_items(data),
            *_warn_if_system_outputs_are_references(data),
            *_warn_if_test_ignores_documents(data, options),
            *metric_warnings,
        ],
        segments=segments,
        data=summarize_dataset(data, {metric.spec: metric.higher_is_better for metric in metrics}),
    )
    result = msgspec.structs.replace(
        result, verdict=list_main_findings_on_score_differences(prepare_score_report(result))
    )
    if run is not None:
        files: dict[str, Any] = {"results/segments.parquet": segments}
        if result.comparisons:
            rows = [msgspec.to_builtins(comparison) for comparison in result.comparisons]
            files["results/comparisons.csv"] = pl.DataFrame(rows, infer_schema_length=None)
        write_result_to_run_folder(run, "score", result, files)
    return result


def _check_score_options(options: ScoreOptions) -> None:
    """Raise an error for unknown kinds of system scores, for an unknown test, and for a single resample."""
    for aggregation in options.aggregate:
        if aggregation not in AGGREGATIONS:
            raise UnknownName("aggregation", aggregation, AGGREGATIONS)
    if options.test is not None and options.test not in TESTS:
        raise UnknownName("test", options.test, TESTS)
    if options.resamples == 1:
        raise InputError(
            "one resample is too few for an interval.", remedy="Use at least 2, or 0 for no intervals."
        )


def _create_or_resume_run_folder(
    dataset: Dataset, metrics: Sequence[Metric], options: ScoreOptions
) -> RunFolder | None:
    """Create a run folder for the results where the user wants it, or resume the run that is already there.
    Returns None if the user named no folder.

    The options and the data identify the run.
    """
    if options.out is None:
        return None
    from metassay.store.run_folder import RunFolder

    configuration = options.to_dict(ScoreSettings)
    # A further output file does not change the result.
    del configuration["per_segment"]
    configuration["metrics"] = [metric.signature for metric in metrics]
    configuration["seed"] = options.seed
    identity = {"command": "score", "configuration": configuration, "input": dataset.content_hash}
    return RunFolder.open_for_writing(options.out, identity, data_fingerprint=dataset.fingerprint)


def _build_table_of_segment_scores(
    dataset: Dataset, metrics: Sequence[Metric], output_scores: OutputScores
) -> pl.DataFrame:
    """Build a table of segment scores with one row for each metric and output. Undefined scores are null."""
    keys = dataset.outputs.select("item", "system")
    tables = []
    for metric in metrics:
        # A list, because Polars imports numpy.ma for an array, which takes longer than scoring a small file.
        segment_scores = output_scores.segment_scores[metric.spec].tolist()
        values = pl.Series("score", segment_scores, dtype=pl.Float64).fill_nan(None)
        tables.append(keys.with_columns(pl.lit(metric.spec).alias("metric"), values))
    return pl.concat(tables)


def _compute_system_scores(
    score_cubes: Sequence[ScoreCube], metrics: Sequence[Metric], dataset: Dataset, options: ScoreOptions
) -> list[ScoredSystem]:
    """Compute the scores of all systems by every metric, in each test set."""
    rows: list[ScoredSystem] = []
    for metric in metrics:
        for cube in score_cubes:
            group = cube.dataset if len(score_cubes) > 1 else None
            rows += _compute_system_scores_in_test_set(cube, metric, dataset, options, group)
    return rows


def _compute_system_scores_in_test_set(
    score_cube: ScoreCube, metric: Metric, dataset: Dataset, options: ScoreOptions, group: str | None
) -> list[ScoredSystem]:
    """Compute the scores of the systems in one test set by one metric, with an interval for the first kind of
    score.
    """
    segment = [_compute_mean_of_defined_scores(scores) for scores in score_cube.metric_scores[metric.spec]]
    corpus: list[float | None] = [None] * len(score_cube.systems)
    bootstrap: list[float | None] = [None] * len(score_cube.systems)
    if dataset.task_definition.is_ranking:
        corpus = segment  # trec_eval prints the mean over judged topics as the score of `all`
    elif isinstance(metric, StatisticsMetric):
        corpus = [none_if_nan(value) for value in compute_corpus_scores(score_cube, metric)]
    if isinstance(metric, StatisticsMetric) and BOOTSTRAP in options.aggregate:
        bootstrap_scores = compute_bootstrap_scores(score_cube, metric, ResamplingSettings(seed=options.seed))
        bootstrap = [none_if_nan(value) for value in bootstrap_scores]
    low, high = _estimate_intervals_of_system_scores(score_cube, metric, options)
    return [
        ScoredSystem(
            group=group,
            system=system,
            metric=metric.spec,
            signature=metric.signature,
            corpus=corpus[position] if CORPUS in options.aggregate else None,
            segment=segment[position] if SEGMENT in options.aggregate else None,
            bootstrap=bootstrap[position],
            low=none_if_nan(low[position]),
            high=none_if_nan(high[position]),
            official=_build_sacrebleu_output(score_cube, metric, position, dataset),
        )
        for position, system in enumerate(score_cube.systems)
    ]


def _compute_mean_of_defined_scores(scores: Scores) -> float | None:
    """Return the mean of the scores that are not NaN, or None if there are none."""
    defined = scores[~np.isnan(scores)]
    return float(defined.mean()) if len(defined) else None


def _estimate_intervals_of_system_scores(
    score_cube: ScoreCube, metric: Metric, options: ScoreOptions
) -> tuple[Scores, Scores]:
    """Return the lower and upper bounds of the confidence intervals of all system scores. They are NaN if no
    intervals are requested.
    """
    first_aggregation = next(iter(options.aggregate), "")
    statistics, from_statistics = get_statistics_and_score_function(
        score_cube, metric, use_segment_means=first_aggregation == SEGMENT
    )
    if options.resamples == 0:
        return np.full(len(statistics), np.nan), np.full(len(statistics), np.nan)
    resampling = ResamplingSettings(options.resamples, seed=options.seed)
    clusters = None if options.cluster is None else score_cube.assign_items_to_clusters(options.cluster)
    return estimate_score_intervals(statistics, from_statistics, score_cube.dataset, resampling, clusters)


def _build_sacrebleu_output(
    score_cube: ScoreCube, metric: Metric, system_index: int, dataset: Dataset
) -> OfficialScore | None:
    """Return what sacreBLEU prints with the corpus score of a system, or None if sacreBLEU does not have this
    metric.
    """
    if not isinstance(metric, StatisticsMetric) or "references" not in dataset.outputs.columns:
        return None
    reference_counts = dataset.outputs["references"].list.len().unique()
    # sacrebleu has nrefs:var in its signature where segments have different numbers of references.
    reference_count = int(reference_counts[0]) if len(reference_counts) == 1 else -1
    sums = np.nansum(score_cube.statistics[metric.spec][system_index], axis=0)
    return metric.describe_score_like_sacrebleu(sums, reference_count)


def _test_differences_between_systems(
    score_cubes: Sequence[ScoreCube], metrics: Sequence[Metric], options: ScoreOptions
) -> list[SystemComparison]:
    """Test every two systems in each test set for a difference. Returns an empty list if the user requested
    no test.
    """
    if options.test is None:
        return []
    comparisons: list[SystemComparison] = []
    for metric in metrics:
        for cube in score_cubes:
            group = cube.dataset if len(score_cubes) > 1 else None
            comparisons += compare_systems(
                cube,
                metric,
                options.test,
                draws=options.draws,
                seed=options.seed,
                group=group,
                cluster_column=options.cluster,
            )
    return comparisons


def _warn_if_test_ignores_documents(dataset: Dataset, options: ScoreOptions) -> list[str]:
    """Return a warning if the requested test treats segments as independent although they belong to
    documents.
    """
    if options.test is None or options.cluster is not None:
        return []
    column = find_cluster_column(dataset)
    if column is None:
        return []
    note = (
        f"The test assumes that segments are independent, but several segments share one {column}. If systems"
        " do better on some of these than on others, the test finds too many differences. To resample or"
        f" exchange all segments of one {column} together: --cluster {column}"
    )
    return [note]


def _warn_if_system_outputs_are_references(dataset: Dataset) -> list[str]:
    """Return a warning if the outputs of some systems are the references themselves."""
    systems = find_systems_equal_to_references(dataset)
    if not systems:
        return []
    note = (
        f"Systems whose outputs are the reference are scored too: {', '.join(systems)}. To leave them "
        "out, add --drop-references."
    )
    return [note]
