"""One page for the runs of one data set: is a metric right, do people agree, which systems does it favour,
and does aggregation matter; each metric on one row, with one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from metassay.metrics.labels import find_metric_labels
from metassay.reporting.aggregate_page import (
    build_aggregate_page,
    build_view,
    choose_average_rows,
    describe_aggregation,
)
from metassay.reporting.answer import answer
from metassay.reporting.charts.accuracy import accuracy_chart
from metassay.reporting.charts.against_people import both_chart
from metassay.reporting.depend_page import build_depend_page, describe_all_datasets
from metassay.reporting.depend_view import CurvesByDataset, DependView, find_unfair_metrics
from metassay.reporting.findings import Estimate, Findings, brief, find
from metassay.reporting.html import caveats, thinned
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Chart, Page, Section
from metassay.reporting.ranking_page import META_NAMES, best_sentence, ranking_doubts, ranking_page
from metassay.reporting.report_sections import ResultView
from metassay.reporting.sections.accuracy import overall_grid, thrifty_chart
from metassay.reporting.sections.methods import methods
from metassay.reporting.tables import Field, Grid, grid
from metassay.reporting.wording import in_labels, listing, named, number, plural
from metassay.results.aggregate import CORPUS, SEGMENT, AggregateContent, HumanAgreement
from metassay.results.depend import DependContent, MetricDependence

Row = Mapping[str, Any]
QUESTIONS = {
    "assay": "Is it right here?",
    "rank": "Do people agree?",
    "depend": "Which systems does it favour?",
    "aggregate": "Does aggregation matter?",
}
TITLE = "Which metric can you trust, here?"
FIELDS = (
    Field("metric", "metric", "name"),
    Field("said", "in a sentence", "prose"),
    Field("accuracy", "pairs told right", "text", "with the 95 % interval"),
    Field("lowest", "lowest in a context", "text"),
    Field("spa", "SPA", "score"),
    Field("acc_eq", "acc_eq", "score"),
    Field("other", "agreement", "score"),
    Field("cluster", "cluster", "count", "metrics of one cluster cannot be told apart"),
    Field("sysdep", "SysDep", "number"),
    Field("prefers", "favours, beyond shrinkage", "text"),
    Field("corpus", "corpus with people", "score", "Pearson of system scores"),
    Field("segment", "segments with people", "score", "Pearson of system scores"),
)
FRONTIER = "Accuracy by class of cost; ringed: no other metric is both more accurate and cheaper."
BOTH = "Each metric by the share of pairs told right and by agreement with people: better is up and right."


@dataclass(frozen=True)
class _Joined:
    """What each run says of each metric, under labels; a verb of which there is no run says nothing."""

    findings: Findings | None
    ranking: Row | None
    dependence: DependView | None
    aggregation: ResultView[AggregateContent] | None

    def metrics(self) -> list[str]:
        """Every metric that a run is about, those that were assayed first; no sentinels, no baselines."""
        assayed = self.findings.metrics if self.findings else ()
        ranked = [row["metric"] for one in self.rankings() for row in one["metrics"] if not row["baseline"]]
        known = [*self.dependent_metrics(), *self.aggregated_metrics()]
        return list(dict.fromkeys(map(str, [*assayed, *ranked, *known])))

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

    def rankings(self) -> list[Row]:
        """The rankings over all segments."""
        found = self.ranking["results"] if self.ranking else []
        return [one for one in found if one["context"] == "global"] or list(found)

    def by_people(self, metric: str, meta: str | None = None) -> Row | None:
        """The row of a metric under one meta-metric, or the first; of several data sets the average."""
        averages = (self.ranking or {}).get("average") or ()
        for one in (*averages, *self.rankings()):
            if meta is None or one["meta"] == meta:
                return next((row for row in one["metrics"] if row["metric"] == metric), None)
        return None

    @property
    def meta(self) -> str | None:
        """The meta-metric that is looked at first: SPA where it is there."""
        known = list(dict.fromkeys(one["meta"] for one in self.rankings()))
        return "spa" if "spa" in known else known[0] if known else None


def joined_page(
    results: Mapping[str, Row],
    dependence: DependContent | None = None,
    aggregation: AggregateContent | None = None,
    curves: CurvesByDataset | None = None,
) -> Page:
    """The page of several results: of assay and rank as JSON objects, of depend and aggregate as structs."""
    metric_labels = _label_all_metrics(results, dependence, aggregation)
    labels = metric_labels.single_labels
    depend_view = None if dependence is None else DependView(dependence, metric_labels, curves or {})
    aggregate_view = None if aggregation is None else build_view(aggregation, metric_labels)
    shown = {verb: in_labels(result, labels) for verb, result in results.items() if verb != "assay"}
    findings = find(results["assay"], labels) if "assay" in results else None
    known = _Joined(findings, shown.get("rank"), depend_view, aggregate_view)
    sections = [Section("Every metric, every question", charts=_both(known), grids=[_grid(known)])]
    sections += _assay_sections(findings) if findings else []
    pages: dict[str, Page] = {}
    if "rank" in results:
        pages["rank"] = ranking_page(results["rank"], labels)
    if depend_view is not None:
        pages["depend"] = build_depend_page(depend_view.result, depend_view.curves, depend_view.labels)
    if aggregate_view is not None:
        pages["aggregate"] = build_aggregate_page(aggregate_view.result, aggregate_view.labels)
    for verb, page in pages.items():
        sections += [replace(part, title=f"{QUESTIONS[verb]} {part.title}") for part in page.sections]
    notes = [str(note) for result in results.values() for note in result.get("notes") or ()]
    notes += dependence.notes if dependence is not None else []
    notes += aggregation.notes if aggregation is not None else []
    return Page("All runs of one data set", TITLE, _lead(known), sections, _doubts(known, results), notes)


def _label_all_metrics(
    results: Mapping[str, Row], dependence: DependContent | None, aggregation: AggregateContent | None
) -> MetricLabels:
    specs = {spec for result in results.values() for spec in find_metric_labels(result)}
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
    said += [best_sentence(one, known.ranking["human"]) for one in known.rankings() if known.ranking]
    if known.dependence:
        said += describe_all_datasets(known.dependence)
    return said + (describe_aggregation(known.aggregation) if known.aggregation else [])


def _together(known: _Joined) -> list[str]:
    """The choice of the assay as people and system dependence see it."""
    best = known.findings.best if known.findings else None
    if best is None or not (known.ranking or known.dependence):
        return []
    clauses = []
    if known.ranking and known.meta:
        clauses.append(_seen_by_people(known, best.metric, known.meta))
    if known.dependence:
        clauses.append(_fairness(known, best.metric))
    return [f"{best.metric} is the choice of the assay; {'; '.join(clauses)}."]


def _seen_by_people(known: _Joined, metric: str, meta: str) -> str:
    name, row = META_NAMES.get(meta, meta), known.by_people(metric, meta)
    if row is None or row["value"] is None:
        return "it was not ranked against people"
    if row.get("rank") is None:
        return f"its agreement with people is {name} {number(row['value'], digits=3)}"
    if row["rank"] == 1:
        return f"people ({name}) put it into the first cluster too"
    rivals = [str(r) for r in known.metrics() if (own := known.by_people(r, meta)) and own.get("rank") == 1]
    return f"people ({name}) put it into cluster {row['rank']}, behind {named(rivals, '')}"


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
    return grid("every metric", "Every metric under all questions", FIELDS, rows)


def _row(known: _Joined, metric: str) -> dict[str, Any]:
    overall = known.findings.overall.get(metric) if known.findings else None
    row: dict[str, Any] = {"metric": metric}
    if known.findings and overall is not None and overall.accuracy is not None:
        row |= {"accuracy": brief(overall), "lowest": _lowest(known.findings, metric)}
    for meta in dict.fromkeys(one["meta"] for one in known.rankings()):
        found = known.by_people(metric, meta)
        if found and found["value"] is not None:
            field = meta if meta in {"spa", "acc_eq"} else "other"
            row.setdefault(field, found["value"])
            row.setdefault("cluster", found.get("rank"))
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
    meta = known.meta
    if meta and (found := known.by_people(metric, meta)) and found["value"] is not None:
        cluster = f" (cluster {found['rank']})" if found.get("rank") is not None else ""
        name = META_NAMES.get(meta, meta)
        clauses.append(f"agrees with people at {name} {number(found['value'], digits=3)}{cluster}")
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
    if not known.findings or not known.meta:
        return []
    rows = [
        {"metric": metric, "accuracy": overall.accuracy, "people": found["value"]}
        for metric in known.metrics()
        if (overall := known.findings.overall.get(metric)) and overall.accuracy is not None
        if (found := known.by_people(metric, known.meta)) and found["value"] is not None
    ]
    return (
        [Chart("both", both_chart(rows, META_NAMES.get(known.meta, known.meta)), BOTH)]
        if len(rows) > 1
        else []
    )


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


def _doubts(known: _Joined, results: Mapping[str, Row]) -> list[str]:
    found = [str(caveat) for caveat in caveats(known.findings)] if known.findings else []
    found += [str(warning) for warning in results.get("assay", {}).get("warnings") or ()]
    found += [doubt for one in known.rankings() for doubt in ranking_doubts(one)]
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
        held.append({str(r["metric"]) for one in known.rankings() for r in one["metrics"]})
    if known.dependence:
        held.append(set(known.dependent_metrics()))
    if known.aggregation:
        held.append(set(known.aggregated_metrics()))
    return [name for name in known.metrics() if not all(name in own for own in held)]
