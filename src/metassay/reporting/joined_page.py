"""One page for several runs on one data set: assay, rank, depend and aggregate, each metric on one row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from metassay.meta.people.meta_metrics.registry import get_meta_metric_label
from metassay.reporting.aggregate_page import (
    AggregateReport,
    build_aggregate_page,
    list_correlations_with_human_scores,
    list_main_findings_on_aggregations,
    prepare_aggregate_report,
)
from metassay.reporting.assay_caveats import list_reasons_to_doubt_recommendation, list_remarks_on_data
from metassay.reporting.assay_report import AssayReport
from metassay.reporting.charts.accuracy import build_accuracy_chart
from metassay.reporting.charts.ranking import build_accuracy_agreement_chart
from metassay.reporting.depend_page import (
    build_system_dependence_page,
    list_main_findings_on_favoured_systems,
)
from metassay.reporting.depend_report import CurvesByDataset, DependReport, find_metrics_that_favour_systems
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Chart, Page, Section
from metassay.reporting.rank_page import build_rank_page
from metassay.reporting.rank_report import RankReport, list_ranked_metrics
from metassay.reporting.rank_sentences import describe_best_metric, list_reasons_to_doubt_ranking
from metassay.reporting.sections.assay_numbers import build_overall_accuracy_table
from metassay.reporting.sections.assay_perturbations import build_perturbations_chart
from metassay.reporting.tables import Field, Grid, build_grid
from metassay.reporting.wording import format_accuracy, format_number, format_plural, join_names, list_names
from metassay.results.aggregate import CORPUS, SEGMENT, AggregateContent
from metassay.results.assay import AssayContent, MetricAccuracy
from metassay.results.depend import DependContent, MetricDependence
from metassay.results.rank import AveragedMetric, AverageRanking, RankContent, RankedMetric, Ranking

QUESTIONS = {
    "assay": "Is it right here?",
    "rank": "Do people agree?",
    "depend": "Which systems does it favour?",
    "aggregate": "Does aggregation matter?",
}
TITLE = "Which metric can you trust, here?"
SPA = "spa"
ASSAY_FIELDS = (
    Field("metric", "metric", "name"),
    Field("summary", "in a sentence", "prose"),
    Field("accuracy", "pairs right", "text", "with the 95 % interval"),
    Field("lowest", "lowest in a context", "text"),
)
OTHER_FIELDS = (
    Field("cluster", "rank", "count", "metrics of one rank do not differ significantly (p ≤ .05)"),
    Field("sysdep", "SysDep", "number"),
    Field("prefers", "favours, beyond shrinkage", "text"),
    Field("corpus", "corpus with people", "score", "Pearson of system scores"),
    Field("segment", "segments with people", "score", "Pearson of system scores"),
)
AGREEMENT_CAPTION = (
    "The share of pairs that each metric gets right, and its agreement with people. The best metrics are at"
    " the top right."
)


@dataclass(frozen=True)
class JoinedReport:
    """The results of several commands on one data set, prepared for a common page. A result is None if its
    command was not run.
    """

    labels: MetricLabels
    assay: AssayReport | None
    ranking: RankReport | None
    dependence: DependReport | None
    aggregation: AggregateReport | None

    @cached_property
    def metrics_by_command(self) -> dict[str, list[str]]:
        """The metrics in the result of each command that was run."""
        metrics = {}
        if self.assay is not None:
            metrics["assay"] = self.assay.metrics
        if self.ranking is not None:
            metrics["rank"] = [row.metric for ranking in self.global_rankings for row in ranking.metrics]
        if self.dependence is not None:
            metrics["depend"] = [row.metric for row in self.dependence.result.metrics]
        if self.aggregation is not None:
            metrics["aggregate"] = [row.metric for row in self.aggregation.result.systems]
        return metrics

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics of all results, without baselines. Metrics of the assay come first."""
        rows = [row for ranking in self.global_rankings for row in ranking.metrics]
        baselines = {row.metric for row in rows if row.baseline}
        metrics = []
        for command, names in self.metrics_by_command.items():
            metrics += [name for name in names if command != "rank" or name not in baselines]
        return list(dict.fromkeys(metrics))

    @property
    def global_rankings(self) -> list[Ranking]:
        """The rankings of metrics over all items."""
        return [] if self.ranking is None else self.ranking.result.global_rankings

    @property
    def meta_metrics(self) -> list[str]:
        """The measures of agreement with human scores by which metrics were ranked, such as soft pairwise
        accuracy (SPA).
        """
        return list(dict.fromkeys(ranking.meta_metric for ranking in self.global_rankings))

    @property
    def main_meta_metric(self) -> str | None:
        """The measure of agreement with human scores that sentences and charts use: soft pairwise accuracy
        (SPA) if it was computed, or else the first one.
        """
        if SPA in self.meta_metrics:
            return SPA
        return next(iter(self.meta_metrics), None)

    def find_accuracy(self, metric: str) -> MetricAccuracy | None:
        """Find the accuracy of a metric over all outputs. None if the metric was not assayed."""
        row = None if self.assay is None else self.assay.overall_accuracy_by_metric.get(metric)
        return None if row is None or row.accuracy is None else row

    def find_human_agreement(
        self, metric: str, meta_metric: str | None
    ) -> AveragedMetric | RankedMetric | None:
        """Find how well a metric agrees with human scores by one measure: the average over data sets if there
        is one, or else the value on the first data set.
        """
        averages = [] if self.ranking is None else self.ranking.result.averages
        rankings: list[AverageRanking | Ranking] = [*averages, *self.global_rankings]
        for ranking in rankings:
            if ranking.meta_metric == meta_metric:
                return next((row for row in ranking.metrics if row.metric == metric), None)
        return None

    def find_system_dependences(self, metric: str) -> list[MetricDependence]:
        """Find how differently a metric treats systems (its system dependence) on each data set."""
        entries = [] if self.dependence is None else self.dependence.result.metrics
        return [entry for entry in entries if entry.metric == metric]


def build_joined_page(
    assay: AssayContent | None = None,
    ranking: RankContent | None = None,
    dependence: DependContent | None = None,
    aggregation: AggregateContent | None = None,
    curves: CurvesByDataset | None = None,
) -> Page:
    """Build one report page from the results of several commands on one data set."""
    labels = _label_metrics_of_all_results(assay, ranking, dependence, aggregation)
    joined_report = JoinedReport(
        labels,
        None if assay is None else AssayReport(assay, labels),
        None if ranking is None else RankReport(ranking, labels),
        None if dependence is None else DependReport(dependence, labels, curves or {}),
        None if aggregation is None else prepare_aggregate_report(aggregation, labels),
    )
    pages: dict[str, Page] = {}
    if ranking is not None:
        pages["rank"] = build_rank_page(ranking, labels)
    if dependence is not None:
        pages["depend"] = build_system_dependence_page(dependence, curves, labels)
    if aggregation is not None:
        pages["aggregate"] = build_aggregate_page(aggregation, labels)
    overview = Section(
        "Every metric, every question",
        charts=_build_agreement_charts(joined_report),
        grids=[_build_table_of_all_metrics(joined_report)],
    )
    sections = [overview]
    if joined_report.assay is not None:
        sections.append(_build_assay_section(joined_report.assay))
    for verb, page in pages.items():
        sections += [
            replace(section, title=f"{QUESTIONS[verb]} {section.title}") for section in page.sections
        ]
    notes = [] if joined_report.assay is None else list_remarks_on_data(joined_report.assay)
    for result in (ranking, dependence, aggregation):
        notes += [] if result is None else result.notes
    return Page(
        kicker="All runs of one data set",
        title=TITLE,
        lead=_write_joined_lead_sentences(joined_report),
        sections=sections,
        doubts=_list_reasons_to_doubt_results(joined_report),
        notes=notes,
    )


def _label_metrics_of_all_results(
    assay: AssayContent | None,
    ranking: RankContent | None,
    dependence: DependContent | None,
    aggregation: AggregateContent | None,
) -> MetricLabels:
    specs: list[str] = []
    if assay is not None:
        specs += [row.metric for row in [*assay.overall, *assay.sentinels]]
    if ranking is not None:
        specs += list_ranked_metrics(ranking)
    if dependence is not None:
        specs += [entry.metric for entry in dependence.metrics]
    if aggregation is not None:
        specs += [row.metric for row in aggregation.systems]
    return MetricLabels(specs)


def _write_joined_lead_sentences(joined_report: JoinedReport) -> list[str]:
    """Write the sentences at the top of the page: which metric to use, then the main statements of each
    result.
    """
    sentences = []
    if joined_report.assay is not None:
        sentences.append(joined_report.assay.result.verdict[0].sentence)
    sentences += _describe_recommended_metric_elsewhere(joined_report)
    if joined_report.ranking is not None:
        for ranking in joined_report.global_rankings:
            sentences.append(describe_best_metric(ranking, joined_report.ranking))
    if joined_report.dependence is not None:
        claims = list_main_findings_on_favoured_systems(joined_report.dependence)
        sentences += [claim.sentence for claim in claims if claim.kind != "answer"]
    if joined_report.aggregation is not None:
        sentences.append(list_main_findings_on_aggregations(joined_report.aggregation)[0].sentence)
    return sentences


def _describe_recommended_metric_elsewhere(joined_report: JoinedReport) -> list[str]:
    """Say how well the metric that the command `assay` recommends does in the results of `rank` and
    `depend`.
    """
    best = None if joined_report.assay is None else joined_report.assay.best_metric
    if best is None or not (joined_report.ranking or joined_report.dependence):
        return []
    clauses = []
    if joined_report.ranking and joined_report.main_meta_metric:
        clauses.append(
            _describe_agreement_with_people(joined_report, best.metric, joined_report.main_meta_metric)
        )
    if joined_report.dependence:
        clauses.append(_describe_favoured_systems(joined_report, best.metric))
    return [f"{joined_report.labels[best.metric]} in the other results: {'; '.join(clauses)}."]


def _describe_agreement_with_people(joined_report: JoinedReport, metric: str, meta_metric: str) -> str:
    """Say how well a metric agrees with people. If its rank is not the first, name the metrics with the first
    rank.
    """
    label = get_meta_metric_label(meta_metric)
    row = joined_report.find_human_agreement(metric, meta_metric)
    if row is None or row.value is None:
        return "it was not ranked against people"
    rankings = [each for each in joined_report.global_rankings if each.meta_metric == meta_metric]
    constants = [ranking.constant_value for ranking in rankings if ranking.constant_value is not None]
    if constants and row.value <= min(constants):
        return f"its agreement with people ({label}) is not above that of a constant score"
    if row.rank is None:
        return f"its agreement with people is {label} {format_number(row.value, digits=3)}"
    if row.rank == 1:
        return f"it is also first or tied by agreement with people ({label})"
    first_cluster = []
    for other in joined_report.metrics:
        agreement = joined_report.find_human_agreement(other, meta_metric)
        if agreement is not None and agreement.rank == 1:
            first_cluster.append(joined_report.labels[other])
    rivals = list_names(first_cluster, "")
    return f"it has rank {row.rank} by agreement with people ({label}), behind {rivals}"


def _describe_favoured_systems(joined_report: JoinedReport, metric: str) -> str:
    """Say which system a metric favours over another, or that it is not shown to favour any."""
    entries = joined_report.find_system_dependences(metric)
    if joined_report.dependence is None or not entries:
        return "its system dependence was not measured"
    unfair = []
    for entry in entries:
        if entry in find_metrics_that_favour_systems(
            joined_report.dependence.get_metrics_of_dataset(entry.dataset)
        ):
            unfair.append(entry)
    if not unfair:
        return "it is not shown to favour any system beyond shrinkage"
    if len(entries) > 1:
        return (
            f"it favours systems beyond shrinkage on {len(unfair)} of"
            f" {format_plural(len(entries), 'data set')}"
        )
    entry = entries[0]
    return (
        f"it favours {entry.most_favoured} over {entry.most_disadvantaged}"
        f" by {format_number(entry.residual_range)} beyond shrinkage"
    )


def _build_table_of_all_metrics(joined_report: JoinedReport) -> Grid:
    rows = [_build_row_of_all_results(joined_report, metric) for metric in joined_report.metrics]
    meta_metric_fields = [
        Field(f"meta-metric {name}", get_meta_metric_label(name), "score")
        for name in joined_report.meta_metrics
    ]
    fields = [*ASSAY_FIELDS, *meta_metric_fields, *OTHER_FIELDS]
    return build_grid("every metric", "Every metric under all questions", fields, rows)


def _build_row_of_all_results(joined_report: JoinedReport, metric: str) -> dict[str, Any]:
    row: dict[str, Any] = {"metric": joined_report.labels[metric]}
    accuracy = joined_report.find_accuracy(metric)
    if joined_report.assay is not None and accuracy is not None:
        row |= {
            "accuracy": format_accuracy(accuracy),
            "lowest": _describe_lowest_accuracy(joined_report.assay, metric),
        }
    for meta_metric in joined_report.meta_metrics:
        agreement = joined_report.find_human_agreement(metric, meta_metric)
        if agreement is not None and agreement.value is not None:
            row[f"meta-metric {meta_metric}"] = agreement.value
            row.setdefault("cluster", agreement.rank)
    entries = joined_report.find_system_dependences(metric)
    if entries:
        # SysDep is in points of the human score, which may have another scale in each data set.
        row["sysdep"] = entries[0].sysdep if len(entries) == 1 else None
        row["prefers"] = _describe_favoured_systems(joined_report, metric).removeprefix("it ")
    if joined_report.aggregation is not None:
        for correlation in list_correlations_with_human_scores(joined_report.aggregation.result):
            if correlation.metric == metric and correlation.pearson is not None:
                row.setdefault(correlation.aggregation, correlation.pearson)
    row["summary"] = _summarize_results_of_metric(joined_report, metric, row)
    return row


def _describe_lowest_accuracy(assay: AssayReport, metric: str) -> str | None:
    """Write the lowest accuracy of a metric in any context, such as a domain, and the name of this
    context.
    """
    rows = [row for column in assay.context_columns for row in column.list_accuracies_per_context(metric)]
    if not rows:
        return None
    lowest = min(rows, key=lambda row: (row.accuracy, row.context))
    return f"{format_accuracy(lowest)} on {lowest.context}"


def _summarize_results_of_metric(joined_report: JoinedReport, metric: str, row: dict[str, Any]) -> str:
    """Summarise the results of all commands for one metric in a sentence."""
    clauses = []
    if joined_report.assay is not None and "accuracy" in row:
        clauses.append(f"is right in {row['accuracy']} of {joined_report.assay.kind_of_pairs}")
    meta_metric = joined_report.main_meta_metric
    agreement = joined_report.find_human_agreement(metric, meta_metric)
    if meta_metric is not None and agreement is not None and agreement.value is not None:
        cluster = "" if agreement.rank is None else f" (rank {agreement.rank})"
        value = f"{get_meta_metric_label(meta_metric)} {format_number(agreement.value, digits=3)}"
        clauses.append(f"agrees with people at {value}{cluster}")
    if "prefers" in row:
        clauses.append(row["prefers"])
    if row.get(CORPUS) is not None and row.get(SEGMENT) is not None:
        clauses.append(
            f"correlates with people over systems at {format_number(row[CORPUS])} by corpus score, "
            f"{format_number(row[SEGMENT])} by means of segments"
        )
    return f"{joined_report.labels[metric]} {join_names(clauses)}." if clauses else ""


def _build_agreement_charts(joined_report: JoinedReport) -> list[Chart]:
    """Draw the accuracy of each metric on pairs against its agreement with people, if at least two metrics
    have both.
    """
    if joined_report.assay is None or joined_report.main_meta_metric is None:
        return []
    points = []
    for metric in joined_report.metrics:
        row = joined_report.find_accuracy(metric)
        agreement = joined_report.find_human_agreement(metric, joined_report.main_meta_metric)
        accuracy = None if row is None else row.accuracy
        if accuracy is not None and agreement is not None and agreement.value is not None:
            points.append(
                {
                    "metric": joined_report.labels[metric],
                    "accuracy": accuracy,
                    "agreement": agreement.value,
                }
            )
    if len(points) < 2:
        return []
    spec = build_accuracy_agreement_chart(points, get_meta_metric_label(joined_report.main_meta_metric))
    return [Chart("accuracy and agreement", spec, AGREEMENT_CAPTION)]


def _build_assay_section(assay: AssayReport) -> Section:
    charts = []
    for column in assay.context_columns:
        if column.contexts:
            spec = build_accuracy_chart(assay, column.sample_evenly_spaced_contexts())
            charts.append(
                Chart(
                    f"accuracy by {column.name}",
                    spec,
                    f"Share of pairs that each metric gets right, by {column.name}.",
                )
            )
    perturbations_chart = build_perturbations_chart(assay)
    if perturbations_chart is not None:
        charts.append(perturbations_chart)
    return Section(
        f"{QUESTIONS['assay']} Accuracy over contexts",
        [claim.sentence for claim in assay.result.verdict if claim.kind == "answer"],
        charts,
        [build_overall_accuracy_table(assay)],
    )


def _list_reasons_to_doubt_results(joined_report: JoinedReport) -> list[str]:
    doubts = []
    if joined_report.assay is not None:
        doubts += [str(caveat) for caveat in list_reasons_to_doubt_recommendation(joined_report.assay)]
        doubts += joined_report.assay.result.warnings
    if joined_report.ranking is not None:
        for ranking in joined_report.global_rankings:
            doubts += list_reasons_to_doubt_ranking(ranking, joined_report.ranking)
    missing = []
    for metric in joined_report.metrics:
        if not all(metric in metrics for metrics in joined_report.metrics_by_command.values()):
            missing.append(joined_report.labels[metric])
    if missing:
        doubts.append(f"Not every run has {list_names(missing, '')}: their rows have gaps.")
    return list(dict.fromkeys(doubts))
