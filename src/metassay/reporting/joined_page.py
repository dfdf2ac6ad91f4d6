"""One page for the runs of one data set: is a metric right, do people agree, which systems does it favour,
and does aggregation matter; each metric on one row, with one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from metassay.meta.people.meta_metrics.registry import label_meta_metric
from metassay.metrics.labels import find_metric_labels
from metassay.reporting.aggregate_page import (
    build_aggregate_page,
    build_view,
    choose_average_rows,
    describe_aggregation,
)
from metassay.reporting.answer import answer
from metassay.reporting.charts.accuracy import accuracy_chart
from metassay.reporting.charts.ranking import MetricPoint, build_accuracy_agreement_chart
from metassay.reporting.depend_page import build_depend_page, describe_all_datasets
from metassay.reporting.depend_view import CurvesByDataset, DependView, find_unfair_metrics
from metassay.reporting.findings import Estimate, Findings, brief, find
from metassay.reporting.html import caveats, thinned
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Chart, Page, Section
from metassay.reporting.rank_page import build_rank_page
from metassay.reporting.rank_sentences import describe_best_metric, list_doubts
from metassay.reporting.rank_view import RankView, list_metrics
from metassay.reporting.report_sections import ResultView
from metassay.reporting.sections.accuracy import overall_grid, thrifty_chart
from metassay.reporting.sections.methods import methods
from metassay.reporting.tables import Field, Grid, grid
from metassay.reporting.wording import listing, named, number, plural
from metassay.results.aggregate import CORPUS, SEGMENT, AggregateContent, HumanAgreement
from metassay.results.depend import DependContent, MetricDependence
from metassay.results.rank import AveragedMetric, AverageRanking, RankContent, RankedMetric, Ranking

Row = Mapping[str, Any]
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
    Field("said", "in a sentence", "prose"),
    Field("accuracy", "pairs right", "text", "with the 95 % interval"),
    Field("lowest", "lowest in a context", "text"),
)
OTHER_FIELDS = (
    Field("cluster", "cluster", "count", "metrics of one cluster cannot be told apart"),
    Field("sysdep", "SysDep", "number"),
    Field("prefers", "favours, beyond shrinkage", "text"),
    Field("corpus", "corpus with people", "score", "Pearson of system scores"),
    Field("segment", "segments with people", "score", "Pearson of system scores"),
)
FRONTIER = "Accuracy by class of cost; ringed: no other metric is both more accurate and cheaper."
AGREEMENT_CAPTION = (
    "Each metric by the share of pairs it gets right and by agreement with people: better is up and right."
)


@dataclass(frozen=True)
class _Joined:
    """What each run says of each metric, under labels; a verb of which there is no run says nothing."""

    findings: Findings | None
    ranking: RankView | None
    dependence: DependView | None
    aggregation: ResultView[AggregateContent] | None

    def metrics(self) -> list[str]:
        """Every metric that a run is about, those that were assayed first; no sentinels, no baselines."""
        assayed = self.findings.metrics if self.findings else ()
        ranked = self.ranked_metrics(with_baselines=False)
        known = [*self.dependent_metrics(), *self.aggregated_metrics()]
        return list(dict.fromkeys(map(str, [*assayed, *ranked, *known])))

    def ranked_metrics(self, *, with_baselines: bool) -> list[str]:
        """Labels of the metrics that were ranked against people."""
        if self.ranking is None:
            return []
        return [
            self.ranking.labels[metric.metric]
            for ranking in self.rankings()
            for metric in ranking.metrics
            if with_baselines or not metric.baseline
        ]

    def dependent_metrics(self) -> list[str]:
        """Labels of the metrics whose system dependence was measured."""
        if self.dependence is None:
            return []
        return [self.dependence.labels[entry.metric] for entry in self.dependence.result.metrics]

    def aggregated_metrics(self) -> list[str]:
        """Labels of the metrics whose aggregations were compared."""
        if self.aggregation is None:
            return []
        return [self.aggregation.labels[row.metric] for row in self.aggregation.result.systems]

    def dependence_of(self, metric: str) -> list[MetricDependence]:
        """System dependence of the metric with this label, on every data set."""
        if self.dependence is None:
            return []
        labels = self.dependence.labels
        return [entry for entry in self.dependence.result.metrics if labels[entry.metric] == metric]

    def rankings(self) -> list[Ranking]:
        """The rankings over all items."""
        return [] if self.ranking is None else self.ranking.result.global_rankings

    def find_agreement(self, metric: str, meta_metric: str) -> AveragedMetric | RankedMetric | None:
        """Find the agreement of a metric with people; with several data sets the average."""
        if self.ranking is None:
            return None
        result = self.ranking.result
        rankings: list[AverageRanking | Ranking] = [*result.averages, *result.global_rankings]
        for ranking in rankings:
            if ranking.meta_metric == meta_metric:
                return next(
                    (row for row in ranking.metrics if self.ranking.labels[row.metric] == metric), None
                )
        return None

    @property
    def meta_metrics(self) -> list[str]:
        """The meta-metrics of the rankings."""
        return list(dict.fromkeys(ranking.meta_metric for ranking in self.rankings()))

    @property
    def main_meta_metric(self) -> str | None:
        """The meta-metric of sentences and charts: SPA if there is a ranking by it, else the first."""
        if SPA in self.meta_metrics:
            return SPA
        return next(iter(self.meta_metrics), None)


def joined_page(
    assay: Row | None = None,
    ranking: RankContent | None = None,
    dependence: DependContent | None = None,
    aggregation: AggregateContent | None = None,
    curves: CurvesByDataset | None = None,
) -> Page:
    """The page of several results: of assay as JSON object, of rank, depend and aggregate as structs."""
    metric_labels = _label_all_metrics(assay, ranking, dependence, aggregation)
    rank_view = None if ranking is None else RankView(ranking, metric_labels)
    depend_view = None if dependence is None else DependView(dependence, metric_labels, curves or {})
    aggregate_view = None if aggregation is None else build_view(aggregation, metric_labels)
    findings = None if assay is None else find(assay, metric_labels.single_labels)
    known = _Joined(findings, rank_view, depend_view, aggregate_view)
    sections = [Section("Every metric, every question", charts=_both(known), grids=[_grid(known)])]
    sections += _assay_sections(findings) if findings else []
    pages: dict[str, Page] = {}
    if rank_view is not None:
        pages["rank"] = build_rank_page(rank_view.result, rank_view.labels)
    if depend_view is not None:
        pages["depend"] = build_depend_page(depend_view.result, depend_view.curves, depend_view.labels)
    if aggregate_view is not None:
        pages["aggregate"] = build_aggregate_page(aggregate_view.result, aggregate_view.labels)
    for verb, page in pages.items():
        sections += [replace(part, title=f"{QUESTIONS[verb]} {part.title}") for part in page.sections]
    notes = list((assay or {}).get("notes") or ())
    notes += ranking.notes if ranking is not None else []
    notes += dependence.notes if dependence is not None else []
    notes += aggregation.notes if aggregation is not None else []
    return Page("All runs of one data set", TITLE, _lead(known), sections, _doubts(known, assay), notes)


def _label_all_metrics(
    assay: Row | None,
    ranking: RankContent | None,
    dependence: DependContent | None,
    aggregation: AggregateContent | None,
) -> MetricLabels:
    specs: set[str] = set()
    if assay is not None:
        specs |= set(find_metric_labels(assay))
    if ranking is not None:
        specs |= set(list_metrics(ranking))
    if dependence is not None:
        specs |= {entry.metric for entry in dependence.metrics}
    if aggregation is not None:
        specs |= {row.metric for row in aggregation.systems}
    return MetricLabels(specs)


def _lead(known: _Joined) -> list[str]:
    """The answers together first, then each by itself."""
    said = _together(known)
    if known.findings:
        said.append(str(answer(known.findings)[0]))
    if known.ranking:
        said += [describe_best_metric(ranking, known.ranking) for ranking in known.rankings()]
    if known.dependence:
        said += describe_all_datasets(known.dependence)
    return said + (describe_aggregation(known.aggregation) if known.aggregation else [])


def _together(known: _Joined) -> list[str]:
    """The choice of the assay as people and system dependence see it."""
    best = known.findings.best if known.findings else None
    if best is None or not (known.ranking or known.dependence):
        return []
    clauses = []
    if known.ranking and known.main_meta_metric:
        clauses.append(_describe_agreement(known, best.metric, known.main_meta_metric))
    if known.dependence:
        clauses.append(_fairness(known, best.metric))
    return [f"{best.metric} is the choice of the assay; {'; '.join(clauses)}."]


def _describe_agreement(known: _Joined, metric: str, meta_metric: str) -> str:
    """Say how well a metric agrees with people, in relation to the metrics of the first cluster."""
    label = label_meta_metric(meta_metric)
    row = known.find_agreement(metric, meta_metric)
    if row is None or row.value is None:
        return "it was not ranked against people"
    if row.rank is None:
        return f"its agreement with people is {label} {number(row.value, digits=3)}"
    if row.rank == 1:
        return f"it is in the first cluster by agreement with people ({label}), too"
    first_cluster = []
    for other in known.metrics():
        agreement = known.find_agreement(other, meta_metric)
        if agreement is not None and agreement.rank == 1:
            first_cluster.append(other)
    rivals = named(first_cluster, "")
    return f"it is in cluster {row.rank} by agreement with people ({label}), behind {rivals}"


def _fairness(known: _Joined, metric: str) -> str:
    entries = known.dependence_of(metric)
    if known.dependence is None or not entries:
        return "its system dependence was not measured"
    unfair = [
        entry
        for entry in entries
        if entry in find_unfair_metrics(known.dependence.get_entries(entry.dataset))
    ]
    if not unfair:
        return "it is not shown to favour any system beyond shrinkage"
    if len(entries) > 1:
        return f"it favours systems beyond shrinkage on {len(unfair)} of {plural(len(entries), 'data set')}"
    (entry,) = entries
    return (
        f"it favours {entry.most_favoured} over {entry.most_disadvantaged}"
        f" by {number(entry.residual_range)} beyond shrinkage"
    )


def _grid(known: _Joined) -> Grid:
    rows = [_row(known, metric) for metric in known.metrics()]
    meta_metric_fields = [Field(_key(name), label_meta_metric(name), "score") for name in known.meta_metrics]
    fields = [*ASSAY_FIELDS, *meta_metric_fields, *OTHER_FIELDS]
    return grid("every metric", "Every metric under all questions", fields, rows)


def _key(meta_metric: str) -> str:
    """The key of a meta-metric in the rows of the table."""
    return f"meta-metric {meta_metric}"


def _row(known: _Joined, metric: str) -> dict[str, Any]:
    overall = known.findings.overall.get(metric) if known.findings else None
    row: dict[str, Any] = {"metric": metric}
    if known.findings and overall is not None and overall.accuracy is not None:
        row |= {"accuracy": brief(overall), "lowest": _lowest(known.findings, metric)}
    for meta_metric in known.meta_metrics:
        found = known.find_agreement(metric, meta_metric)
        if found is not None and found.value is not None:
            row[_key(meta_metric)] = found.value
            row.setdefault("cluster", found.rank)
    entries = known.dependence_of(metric)
    if entries:
        row["sysdep"] = entries[0].sysdep if len(entries) == 1 else None
        row["prefers"] = _fairness(known, metric).removeprefix("it ")
    for agreement in _find_human_agreement(known, metric):
        row.setdefault(agreement.aggregation, agreement.pearson)
    return row | {"said": _sentence(known, metric, overall, row)}


def _find_human_agreement(known: _Joined, metric: str) -> list[HumanAgreement]:
    """Correlations of corpus and segment scores of a metric with human scores, averaged over test sets."""
    if known.aggregation is None:
        return []
    labels = known.aggregation.labels
    return [
        row
        for row in choose_average_rows(known.aggregation.result)
        if labels[row.metric] == metric and row.aggregation in {CORPUS, SEGMENT} and row.pearson is not None
    ]


def _lowest(findings: Findings, metric: str) -> str | None:
    """The context where a metric is right least often."""
    known = [e for column in findings.columns for e in column.of(metric) if e.accuracy is not None]
    if not known:
        return None
    least = min(known, key=lambda estimate: (estimate.accuracy, estimate.context))
    return f"{brief(least)} on {least.context}"


def _sentence(known: _Joined, metric: str, overall: Estimate | None, row: Row) -> str:
    """All that is known of a metric in one sentence."""
    clauses = []
    if overall is not None and overall.accuracy is not None and known.findings:
        clauses.append(f"is right in {brief(overall)} of {known.findings.pairs}")
    meta_metric = known.main_meta_metric
    agreement = None if meta_metric is None else known.find_agreement(metric, meta_metric)
    if meta_metric is not None and agreement is not None and agreement.value is not None:
        cluster = "" if agreement.rank is None else f" (cluster {agreement.rank})"
        value = f"{label_meta_metric(meta_metric)} {number(agreement.value, digits=3)}"
        clauses.append(f"agrees with people at {value}{cluster}")
    if "prefers" in row:
        clauses.append(row["prefers"])
    if row.get("corpus") is not None and row.get("segment") is not None:
        clauses.append(
            f"correlates with people over systems at {number(row['corpus'])} by corpus score, "
            f"{number(row['segment'])} by means of segments"
        )
    return f"{metric} {listing(clauses)}." if clauses else ""


def _both(known: _Joined) -> list[Chart]:
    """Accuracy against agreement with people, of metrics that have both; a line needs two points at least."""
    if not known.findings or not known.main_meta_metric:
        return []
    points = []
    for metric in known.metrics():
        overall = known.findings.overall.get(metric)
        agreement = known.find_agreement(metric, known.main_meta_metric)
        if overall and overall.accuracy is not None and agreement and agreement.value is not None:
            points.append(MetricPoint(metric, overall.accuracy, agreement.value))
    if len(points) < 2:
        return []
    spec = build_accuracy_agreement_chart(points, label_meta_metric(known.main_meta_metric))
    return [Chart("accuracy and agreement", spec, AGREEMENT_CAPTION)]


def _assay_sections(findings: Findings) -> list[Section]:
    charts = [
        Chart(f"accuracy by {column.name}", accuracy_chart(findings, thinned(column)), f"By {column.name}.")
        for column in findings.columns
        if column.contexts
    ]
    overlooked = methods(findings)
    if overlooked:
        charts.append(Chart("accuracy by method", overlooked["chart"], "Accuracy by perturbation method."))
    frontier = thrifty_chart(findings)
    if frontier:
        charts.append(Chart("accuracy and cost", frontier, FRONTIER))
    title = f"{QUESTIONS['assay']} Accuracy over contexts"
    return [Section(title, [str(each) for each in answer(findings)[1:]], charts, [overall_grid(findings)])]


def _doubts(known: _Joined, assay: Row | None) -> list[str]:
    found = [str(caveat) for caveat in caveats(known.findings)] if known.findings else []
    found += [str(warning) for warning in (assay or {}).get("warnings") or ()]
    if known.ranking:
        found += [doubt for ranking in known.rankings() for doubt in list_doubts(ranking, known.ranking)]
    missing = _not_everywhere(known)
    if missing:
        found.append(f"Not every run has {named(missing, '')}: their rows have gaps.")
    return list(dict.fromkeys(found))


def _not_everywhere(known: _Joined) -> list[str]:
    """Metrics that some run does not have."""
    held = []
    if known.findings:
        held.append(set(map(str, known.findings.metrics)))
    if known.ranking:
        held.append(set(known.ranked_metrics(with_baselines=True)))
    if known.dependence:
        held.append(set(known.dependent_metrics()))
    if known.aggregation:
        held.append(set(known.aggregated_metrics()))
    return [name for name in known.metrics() if not all(name in own for own in held)]
