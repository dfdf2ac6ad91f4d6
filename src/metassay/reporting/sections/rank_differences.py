"""Section of the `rank` page: what a difference in the scores of a metric means to people."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.agreement_curves import (
    build_threshold_rows,
    describe_difference_people_agree_with,
)
from metassay.reporting.charts.agreement import build_agreement_chart
from metassay.reporting.pages import Chart, Section
from metassay.reporting.rank_report import RankReport
from metassay.reporting.tables import Field, build_grid
from metassay.results.rank import AgreementCurve

TITLE = "What does a difference mean?"
EXPLANATION = (
    "How often people prefer the same system, or the same output of an item, as the metric, by the size of "
    "the difference. Nothing is known about differences beyond the end of a curve."
)
CAPTION = "Share of pairs in which people agree, by difference; the band is the 95 % interval."
MOST_METRICS = 12
FIELDS = (
    Field("dataset", "data set", "name"),
    Field("context", "context", "name"),
    Field("between", "between", "text"),
    Field("metric", "metric", "name"),
    Field("pairs", "pairs", "count"),
    Field("accuracy", "right", "percent", "share of pairs that the metric orders as people do"),
    Field("d80", "80 % agree from", "decimal"),
    Field("d80_low", "95 % interval: low", "decimal"),
    Field("d80_high", "high", "decimal"),
    Field("d80_coverage", "coverage", "percent", "share of output pairs that differ at least so much"),
    Field("d90", "90 % agree from", "decimal"),
    Field("d90_coverage", "coverage", "percent"),
    Field("d95", "95 % agree from", "decimal"),
    Field("d95_coverage", "coverage", "percent"),
    Field("largest", "largest in the data", "decimal"),
)


def build_differences_section(rank_report: RankReport) -> Section | None:
    """Build the section on how often people agree with score differences of a metric. None if this was not
    requested.
    """
    curves = rank_report.result.analyses.thresholds
    if not curves:
        return None
    choices = []
    for metric, dataset in _list_charted_metrics(rank_report, curves):
        of_metric = [
            curve
            for curve in curves
            if (curve.metric, curve.dataset) == (metric, dataset) and curve.is_global
        ]
        choices.append(_build_agreement_curve_subsection(of_metric, rank_report))
    rows = build_threshold_rows(curves, rank_report.labels)
    table = build_grid("thresholds", "Differences with which people agree", FIELDS, rows)
    return Section(TITLE, [EXPLANATION], choices=choices, choice_noun="metric", folded=[table])


def _list_charted_metrics(rank_report: RankReport, curves: Sequence[AgreementCurve]) -> list[tuple[str, str]]:
    """List the metrics, with their data sets, for which the page draws how often people agree with score
    differences. The best metrics come first.
    """
    with_curve = {(curve.metric, curve.dataset) for curve in curves}
    charted: dict[tuple[str, str], None] = {}
    for ranking in rank_report.result.global_rankings:
        for metric in ranking.defined_metrics[:MOST_METRICS]:
            if (metric.metric, ranking.dataset) in with_curve:
                charted[metric.metric, ranking.dataset] = None
    return list(charted)


def _build_agreement_curve_subsection(curves: Sequence[AgreementCurve], rank_report: RankReport) -> Section:
    label = rank_report.labels[curves[0].metric]
    title = f"{label} on {curves[0].dataset}"
    sentences = [
        describe_difference_people_agree_with(curve, rank_report.result.human, rank_report.labels)
        for curve in curves
    ]
    charts = [
        Chart(f"agreement {title} {curve.between}", build_agreement_chart(curve, label), CAPTION)
        for curve in curves
    ]
    return Section(title, sentences, charts)
