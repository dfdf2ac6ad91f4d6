"""`rank`: measure how well metrics agree with human scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import polars as pl

from metassay.data.score_selection import SelectedScores
from metassay.errors import InputError, UnknownName
from metassay.meta.people.averages import average_rankings_over_datasets
from metassay.meta.people.context_cost import estimate_cost_of_one_metric_for_all_contexts
from metassay.meta.people.meta_metrics.base import MetaMetric
from metassay.meta.people.meta_metrics.comparison_settings import BOOTSTRAP, TESTS, ComparisonSettings
from metassay.meta.people.meta_metrics.registry import SPANS, parse_meta_metrics
from metassay.meta.people.ranking import MetricRanking, RankingPlan, rank_metrics
from metassay.meta.people.ranking_data import RankingData, prepare_ranking_data
from metassay.meta.people.span_ranking import SpanRanking, SpanRatings, rank_metrics_by_error_spans
from metassay.options import (
    get_single_human_name,
    replace_options_parameter_by_keywords,
    split_comma_separated_names,
)
from metassay.reporting.rank_caveats import list_caveats_as_notes
from metassay.reporting.rank_page import (
    build_rank_page,
    describe_rankings,
    render_comparison_and_chart_files,
)
from metassay.reporting.rank_report import prepare_rank_report
from metassay.reporting.rank_sentences import list_main_findings_on_metric_ranking
from metassay.reporting.result_display import ResultDisplay
from metassay.results.rank import RankContent
from metassay.store.run_folder import RunFolder
from metassay.workflows.options import RankOptions
from metassay.workflows.rank_analyses import ANALYSES, AnalysisInput, run_ranking_analyses
from metassay.workflows.rank_spans import read_marked_error_spans
from metassay.workflows.read import Source
from metassay.workflows.read_scores import mark_metrics_that_ignore_output_text, read_human_and_metric_scores
from metassay.workflows.run_files import write_result_to_run_folder

COMPLETE, PAIRWISE = "complete", "pairwise"
MISSING_SCORE_RULES = (COMPLETE, PAIRWISE)
# The name of the human score where people marked errors and gave no scores.
MARKED_ERRORS = "marked errors"
BOOTSTRAP_NOTE = (
    "The bootstrap test is conservative: at a level of 5 % it separates 1 % of metrics that are equally good."
)


class RankResult(ResultDisplay, RankContent, frozen=True, kw_only=True):
    """Result of `rank`: how well each metric agrees with human scores, by data set, meta-metric (measure of
    agreement) and context, such as a domain.
    """

    build_page = build_rank_page
    describe_result_for_terminal = describe_rankings

    def to_frame(self) -> pl.DataFrame:
        """Return the rankings as a table, with one row for each metric in each ranking."""
        rows: list[dict[str, Any]] = []
        for ranking in self.rankings:
            names = {"dataset": ranking.dataset, "meta": ranking.meta_metric, "context": ranking.context}
            rows += [names | msgspec.to_builtins(metric) for metric in ranking.metrics]
        return pl.DataFrame(rows, infer_schema_length=None)


@replace_options_parameter_by_keywords(RankOptions)
def rank(human_and_metric_scores: Source, options: RankOptions) -> RankResult:
    """Rank metrics by how well their scores agree with human scores.

    `human_and_metric_scores` is a table with one row per output and one column per metric, several such
    tables, a folder in the layout of mt-metrics-eval, or a data set. The keywords `join`, `columns`, `where`,
    `systems`, `exclude_systems`, `reference`, `keep_references` and `quoting` say how it is read.

    - `human` names the column of human scores. It is needed if there are several. Further names are columns
      of human scores that are not ranked as metrics.
    - `metrics` names the metrics to rank. A name that is not a column of the data is a metric that metassay
      computes from the texts.
    - `meta` names the meta-metrics, which measure the agreement with human scores, for example
      `"spa,pearson"`.
    - `lower_is_better` and `higher_is_better` name columns whose direction cannot be told from their names.
    - `context` names columns. The metrics are also ranked within each of their values that has at least
      `minimum_segments` items, and the same number of items is used for all values of a column.
    - `significance` is the test of differences between metrics, and `method` says how SPA computes p-values.
    - `cluster` names a column such as `doc_id`. The tests then permute and resample its values instead of
      items.
    - `missing="pairwise"` compares two systems (by SPA and PA) on all items that both have. By default, and
      in all tests, only items that every system has are used.
    - `spans` names a file of error spans for each metric, for the meta-metric `spans`, which compares the
      errors that metrics mark with those that people mark. The spans of people are read from
      `human_and_metric_scores`, or from the file that is named `human`.
    - `analysis` names further analyses, such as `"power"`, the number of items needed to tell systems apart.
    - `out` is a folder for the report page, the result as JSON and CSV, and the charts.

    >>> rows = [
    ...     {"seg_id": n, "system": system, "mqm": gap + n % 3, "M": gap * (1 + n % 5), "N": 3 * n % 4 - gap}
    ...     for n in range(30)
    ...     for system, gap in (("a", 0.0), ("b", -1.0), ("c", -3.0))
    ... ]
    >>> best = rank(rows, human="mqm", significance="none").rankings[0].metrics[0]
    >>> best.metric, best.value > 0.9
    ('M', True)
    """
    _check_rank_options(options)
    meta_metrics, has_spans = _parse_meta_metrics(options)
    scores = _read_human_and_metric_scores(human_and_metric_scores, options, meta_metrics)
    span_ratings = read_marked_error_spans(human_and_metric_scores, options) if has_spans else []
    datasets = _build_ranking_data_for_each_dataset(scores, options)
    run = _create_or_resume_run_folder(scores, span_ratings, options)
    plan = _build_ranking_settings(meta_metrics, options)
    rankings = rank_metrics(datasets, plan, options.progress) if meta_metrics else []
    span_rankings = _rank_metrics_by_error_spans(span_ratings, plan, options)
    analyses = run_ranking_analyses(
        split_comma_separated_names(options.analysis),
        AnalysisInput(
            human_and_metric_scores,
            scores.cubes,
            datasets,
            scores.human,
            meta_metrics,
            plan.settings,
            plan.context_columns,
            plan.fewest_items,
        ),
        options.progress,
    )
    results = [ranking.to_result() for ranking in rankings]
    results += [ranking.to_result() for ranking in span_rankings]
    result = RankResult(
        human=scores.human,
        rankings=results,
        averages=average_rankings_over_datasets(rankings),
        context_costs=estimate_cost_of_one_metric_for_all_contexts(rankings),
        analyses=analyses,
        notes=_collect_notes_for_user(scores, rankings, span_ratings, options),
        data=scores.summary,
    )
    result = msgspec.structs.replace(
        result, verdict=list_main_findings_on_metric_ranking(prepare_rank_report(result))
    )
    if run is not None:
        write_result_to_run_folder(run, "rank", result, render_comparison_and_chart_files(result))
    return result


def _check_rank_options(options: RankOptions) -> None:
    """Raise an error for unknown names of tests, analyses and rules for missing scores, before any data is
    read.
    """
    for name in split_comma_separated_names(options.analysis):
        if name not in ANALYSES:
            raise UnknownName("analysis", name, ANALYSES)
    if options.missing not in MISSING_SCORE_RULES:
        raise UnknownName("rule for missing scores", options.missing, MISSING_SCORE_RULES)
    if options.significance not in TESTS:
        raise UnknownName("test", options.significance, TESTS)


def _parse_meta_metrics(options: RankOptions) -> tuple[tuple[MetaMetric, ...], bool]:
    """Parse the requested meta-metrics, which measure agreement with human scores. Returns also whether
    `spans` is requested, which needs no scores.
    """
    requested = split_comma_separated_names(options.meta)
    names = [name for name in requested if name.strip().lower() != SPANS]
    has_spans = len(names) < len(requested)
    if names or not has_spans:
        return parse_meta_metrics(names), has_spans
    if split_comma_separated_names(options.analysis):
        raise InputError(
            "analyses need scores.", remedy="Name a meta-metric next to spans: --meta spa,spans."
        )
    return (), has_spans


def _read_human_and_metric_scores(
    data_source: Source, options: RankOptions, meta_metrics: Sequence[MetaMetric]
) -> SelectedScores:
    """Read human and metric scores. Nothing is read if no requested meta-metric needs them."""
    if meta_metrics:
        return read_human_and_metric_scores(data_source, options)
    # Marked errors need no column of scores, so that the name is only shown.
    human = get_single_human_name(options.human) or MARKED_ERRORS
    return SelectedScores(cubes=(), human=human, metrics=())


def _build_ranking_data_for_each_dataset(
    selected_scores: SelectedScores, options: RankOptions
) -> list[RankingData]:
    """Prepare the human and metric scores of each data set for ranking the metrics."""
    datasets = []
    for cube in selected_scores.cubes:
        chosen_cube, uninformed = mark_metrics_that_ignore_output_text(
            cube.select_metrics(selected_scores.metrics or None)
        )
        datasets.append(
            prepare_ranking_data(
                chosen_cube,
                human=selected_scores.human,
                uninformed=uninformed,
                cluster=options.cluster,
                pairwise=options.missing == PAIRWISE,
                seed=options.seed,
            )
        )
    return datasets


def _create_or_resume_run_folder(
    selected_scores: SelectedScores, span_ratings: Sequence[SpanRatings], options: RankOptions
) -> RunFolder | None:
    """Create a run folder for the results where the user wants it, or resume the run that is already there.
    Returns None if the user named no folder.

    The options and the data identify the run.
    """
    if options.out is None:
        return None
    configuration = {
        "human": selected_scores.human,
        "metrics": list(selected_scores.metrics) or None,
        "language": options.language,
        "cluster": options.cluster,
        "pairwise": options.missing == PAIRWISE,
        "meta": list(split_comma_separated_names(options.meta)),
        "contexts": list(split_comma_separated_names(options.context)),
        "holm": options.holm,
        "minimum_segments": options.minimum_segments,
        "lower_is_better": list(split_comma_separated_names(options.lower_is_better)),
        "analysis": list(split_comma_separated_names(options.analysis)),
        "test": options.significance,
        "method": options.method,
        "draws": options.draws,
        "permutations": options.permutations,
        "seed": options.seed,
    }
    span_hashes = {f"{SPANS} {ratings.dataset}": ratings.content_hash for ratings in span_ratings}
    inputs = {**selected_scores.hashes, **span_hashes}
    identity = {"command": "rank", "configuration": configuration, "inputs": inputs}
    return RunFolder.open_for_writing(options.out, identity, data_fingerprint=selected_scores.fingerprint)


def _build_ranking_settings(meta_metrics: tuple[MetaMetric, ...], options: RankOptions) -> RankingPlan:
    """Convert the options of `rank` to the settings of the ranking."""
    settings = ComparisonSettings(
        test=options.significance,
        method=options.method,
        draws=options.draws,
        permutations=options.permutations,
        seed=options.seed,
        workers=options.workers,
    )
    return RankingPlan(
        meta_metrics,
        settings,
        context_columns=tuple(split_comma_separated_names(options.context)),
        fewest_items=options.minimum_segments,
        holm=options.holm,
    )


def _rank_metrics_by_error_spans(
    span_ratings: Sequence[SpanRatings], ranking_plan: RankingPlan, options: RankOptions
) -> list[SpanRanking]:
    """Rank the metrics by how well the errors they mark agree with those that people mark."""
    rankings: list[SpanRanking] = []
    for ratings in span_ratings:
        rankings += rank_metrics_by_error_spans(
            ratings,
            ranking_plan.settings,
            context_columns=ranking_plan.context_columns,
            cluster=options.cluster,
            holm=ranking_plan.holm,
            fewest_items=ranking_plan.fewest_items,
        )
    return rankings


def _collect_notes_for_user(
    selected_scores: SelectedScores,
    rankings: Sequence[MetricRanking],
    span_ratings: Sequence[SpanRatings],
    options: RankOptions,
) -> list[str]:
    """Collect the notes on the data and on the tests, each once."""
    notes = list(selected_scores.notes)
    if options.significance == BOOTSTRAP:
        notes.append(BOOTSTRAP_NOTE)
    for ranking in rankings:
        notes += ranking.data.cube.notes
        notes += list_caveats_as_notes(ranking.data.cube.dataset, ranking.data.caveats, selected_scores.human)
    for ratings in span_ratings:
        notes += list_caveats_as_notes(ratings.dataset, ratings.caveats, selected_scores.human)
    return list(dict.fromkeys(notes))
