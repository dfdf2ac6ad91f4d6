"""Sections of the `depend` page: all metrics, corrected scores, one metric at a time, and the method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from metassay.reporting.charts.dependence import (
    build_expected_deviation_chart,
    build_predicted_human_score_chart,
    build_rank_change_chart,
)
from metassay.reporting.charts.heatmaps import build_signed_heatmap
from metassay.reporting.charts.theme import Spec
from metassay.reporting.depend_report import DependReport
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Chart, Section
from metassay.reporting.tables import Field, Grid, build_grid, build_grid_from_rows
from metassay.reporting.wording import format_number, format_percent, format_plural
from metassay.results.depend import Correction, MetricDependence

FIELDS = (
    Field("metric", "metric", "name"),
    Field("sysdep", "SysDep", "number"),
    Field("low", "95 % interval: low", "number"),
    Field("high", "high", "number"),
    Field("constant", "constant", "number", "SysDep of a metric that gives every output the same score"),
    Field("ratio", "ratio", "percent", "SysDep divided by that of a constant metric"),
    Field("residual", "residual", "number", "the part beyond shrinkage"),
    Field("p_equal", "p equal", "probability"),
    Field("p_fair", "p fair", "probability"),
    Field("favoured", "most favoured", "text", "beyond shrinkage"),
    Field("disadvantaged", "most disadvantaged", "text", "beyond shrinkage"),
    Field("inverted", "inverted pairs", "count", "pairs that the metric orders differently"),
    Field("explained", "explained", "count", "inverted pairs that the expected deviations explain"),
)


def build_overview_section(dependence_report: DependReport) -> Section:
    """Build the section that shows for each data set how differently each metric treats systems (system
    dependence).
    """
    charts: list[Chart] = []
    grids: list[Grid] = []
    folded: list[Grid] = []
    for dataset in dependence_report.dataset_names:
        entries = dependence_report.get_metrics_of_dataset(dataset)
        charts += _build_heatmap_of_favoured_systems(dependence_report, dataset, entries)
        grids.append(_build_metrics_table(dependence_report, dataset, entries))
        folded += _build_local_and_sensitivity_tables(dependence_report, dataset, entries)
    title = f"Metrics and the {dependence_report.result.by}s they favour"
    return Section(title, charts=charts, grids=grids, folded=folded)


def _build_heatmap_of_favoured_systems(
    dependence_report: DependReport, dataset: str, metric_dependences: Sequence[MetricDependence]
) -> list[Chart]:
    """Draw a heatmap of how much each metric favours or disadvantages each system."""
    groups = _list_systems_by_human_mean(metric_dependences)
    if len(metric_dependences) < 2 or len(groups) < 2:
        return []
    labels = [dependence_report.labels[entry.metric] for entry in metric_dependences]
    cells: list[Spec] = []
    for entry, label in zip(metric_dependences, labels):
        for group in groups:
            if group in entry.residual:
                value = round(entry.residual[group], 4)
                cells.append({"row": label, "column": group, "value": value, "mark": ""})
    by = dependence_report.result.by
    spec = build_signed_heatmap(
        f"How much each of {format_plural(len(labels), 'metric')} favours or disadvantages each {by}.",
        cells,
        labels,
        groups,
        ("metric", by, "residual"),
    )
    suffix = dependence_report.get_dataset_caption_suffix(dataset)
    caption = (
        f"Which {by}s each metric favours (blue) and disadvantages (red), beyond shrinkage, in points of"
        f" {dependence_report.result.human}{suffix}. Metrics with the lowest SysDep come first."
    )
    return [Chart(f"residuals {dataset}", spec, caption)]


def _list_systems_by_human_mean(metric_dependences: Sequence[MetricDependence]) -> list[str]:
    """List the systems by mean human score, the highest first."""
    groups = {group for entry in metric_dependences for group in entry.residual}
    human_means = metric_dependences[0].human_means
    return sorted(groups, key=lambda group: (-human_means.get(group, 0), group))


def _build_metrics_table(
    dependence_report: DependReport, dataset: str, metric_dependences: Sequence[MetricDependence]
) -> Grid:
    rows = [build_system_dependence_row(entry, dependence_report.labels) for entry in metric_dependences]
    return build_grid(f"dependence {dataset}", f"System dependence of every metric, {dataset}", FIELDS, rows)


def build_system_dependence_row(
    metric_dependence: MetricDependence, metric_labels: MetricLabels
) -> dict[str, Any]:
    """Build the table row of one metric: its system dependence (SysDep), the tests, and the systems that it
    favours most and least.
    """
    names = ("sysdep", "low", "high", "constant", "ratio")
    return {
        "metric": metric_labels[metric_dependence.metric],
        **{name: getattr(metric_dependence, name) for name in names},
        "residual": metric_dependence.residual_range,
        "p_equal": metric_dependence.p_equal,
        "p_fair": metric_dependence.p_fair,
        "favoured": metric_dependence.most_favoured,
        "disadvantaged": metric_dependence.most_disadvantaged,
        "inverted": len(metric_dependence.inversions),
        "explained": sum(pair.explained for pair in metric_dependence.inversions),
    }


def list_local_and_sensitivity_rows(
    metric_dependences: Sequence[MetricDependence], metric_labels: MetricLabels
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return table rows on the system dependence of metrics in two lists: within contexts, such as domains,
    and with other samples or systems.
    """
    local_rows: list[dict[str, Any]] = []
    sensitivity_rows: list[dict[str, Any]] = []
    for entry in metric_dependences:
        label = metric_labels[entry.metric]
        local_rows += [{"metric": label, **msgspec.structs.asdict(row)} for row in entry.local]
        sensitivity_rows += [{"metric": label, **msgspec.structs.asdict(row)} for row in entry.sensitivity]
    return local_rows, sensitivity_rows


def _build_local_and_sensitivity_tables(
    dependence_report: DependReport, dataset: str, metric_dependences: Sequence[MetricDependence]
) -> list[Grid]:
    local_rows, sensitivity_rows = list_local_and_sensitivity_rows(
        metric_dependences, dependence_report.labels
    )
    suffix = dependence_report.get_dataset_caption_suffix(dataset)
    tables = []
    if local_rows:
        caption = f"Within contexts{suffix}"
        tables.append(build_grid_from_rows(caption, caption, local_rows))
    if sensitivity_rows:
        caption = f"SysDep with other resamples, sample sizes and systems{suffix}"
        tables.append(build_grid_from_rows(caption, caption, sensitivity_rows))
    return tables


MAPPINGS = {
    "f_G": "With f_G",
    "f_G unseen": "With an f_G that was fitted without both systems of a pair",
    "f_k": "With the f_k of each system",
}
CORRECTION_COLUMNS = (
    "metric",
    "mapping",
    "spa",
    "spa_gain",
    "spa_low",
    "spa_high",
    "pa",
    "pa_gain",
    "kendall_item",
    "tied",
    "sysdep",
)


def build_predicted_human_scores_section(dependence_report: DependReport) -> Section | None:
    """Build the section on metric scores that were converted to predicted human scores. None if this was not
    requested.
    """
    sentences: list[str] = []
    tables: list[Grid] = []
    for dataset in dependence_report.dataset_names:
        corrections = [row for row in dependence_report.result.corrections if row.dataset == dataset]
        if not corrections:
            continue
        statements = describe_gains_of_conversion(
            corrections, dependence_report.result.human, dependence_report.labels
        )
        sentences += [
            dependence_report.get_sentence_opening_for_dataset(dataset) + statement
            for statement in statements
        ]
        tables.append(_build_prediction_table(dependence_report, dataset, corrections))
    if not sentences:
        return None
    return Section("Metric scores converted to predicted human scores", sentences, folded=tables)


def describe_gains_of_conversion(
    score_predictions: Sequence[Correction], human_score: str, metric_labels: MetricLabels
) -> list[str]:
    """Say whether metric scores agree better with people after they are converted to predicted human
    scores.
    """
    by_mapping: dict[str, list[Correction]] = {}
    for mapping in MAPPINGS:
        rows = [row for row in score_predictions if row.mapping == mapping and not row.baseline]
        if not rows:
            return ["No metric has complete scores for the rated systems: no correction was tested."]
        by_mapping[mapping] = rows
    sentences = [
        _describe_gain_of_conversion(phrase, by_mapping[mapping], human_score, metric_labels)
        for mapping, phrase in MAPPINGS.items()
    ]
    sentences += _compare_with_constant_metric(score_predictions, by_mapping["f_k"])
    sentences += _describe_ties_after_conversion(by_mapping["f_G"])
    return sentences


def _describe_gain_of_conversion(
    sentence_start: str,
    score_predictions: Sequence[Correction],
    human_score: str,
    metric_labels: MetricLabels,
) -> str:
    higher = sum(row.spa_low is not None and row.spa_low > 0 for row in score_predictions)
    lower = sum(row.spa_high is not None and row.spa_high < 0 for row in score_predictions)
    largest = max(score_predictions, key=lambda row: float(row.spa_gain or 0.0))
    return (
        f"{sentence_start}, SPA with {human_score} on segments that were not used for fitting is higher"
        f" for {higher} of {format_plural(len(score_predictions), 'metric')} and lower for {lower} (95 %"
        " intervals, not corrected for several metrics). The largest gain is"
        f" {format_number(largest.spa_gain, digits=3)}, of {metric_labels[largest.metric]}."
    )


def _compare_with_constant_metric(
    score_predictions: Sequence[Correction], predictions_by_system_curve: Sequence[Correction]
) -> list[str]:
    """Compare converted metric scores with those of a constant metric, whose conversion only repeats the mean
    human score of each system.
    """
    (constant,) = [row for row in score_predictions if row.baseline and row.mapping == "f_k"]
    spa = sorted(row.spa for row in predictions_by_system_curve if row.spa is not None)
    if not spa:
        return []
    sentence = (
        f"A constant metric has SPA {format_number(constant.spa, digits=3)} with f_k, these metrics"
        f" {format_number(spa[0], digits=3)} to {format_number(spa[-1], digits=3)}: f_k mostly repeats the"
        " human scores of the same system on other segments, and needs human scores of every system."
    )
    return [sentence]


def _describe_ties_after_conversion(
    predictions_by_common_curve: Sequence[Correction],
) -> list[str]:
    shares = sorted(row.tied for row in predictions_by_common_curve if row.tied is not None)
    if not shares:
        return []
    median = shares[len(shares) // 2]
    sentence = (
        f"The cost of f_G: {format_percent(median, digits=1)} of the pairs of outputs of a segment to which a"
        " metric gives different scores become equal (median over metrics; at most"
        f" {format_percent(shares[-1], digits=1)})."
    )
    return [sentence]


def _build_prediction_table(
    dependence_report: DependReport, dataset: str, score_predictions: Sequence[Correction]
) -> Grid:
    rows = [
        {**msgspec.structs.asdict(correction), "metric": dependence_report.labels[correction.metric]}
        for correction in score_predictions
    ]
    caption = (
        "Agreement with human scores on segments that were not used for fitting"
        + dependence_report.get_dataset_caption_suffix(dataset)
    )
    return build_grid_from_rows(f"corrections {dataset}", caption, rows, CORRECTION_COLUMNS)


CAPTIONS = {
    "curves": "Expected human score given the metric score: all systems together (dashed), each system"
    " (grey), and in colour those with the highest and the lowest expected deviation, with 95 % bands.",
    "deviations": "Expected deviation of each system, best system first, with 95 % intervals. Grey:"
    " shrinkage, which any noisy metric shows. Colour: the residual beyond it.",
    "ranks": "Order of the systems by human score, by human score predicted from the metric, and by the"
    " metric itself.",
}


def build_single_metrics_section(dependence_report: DependReport) -> Section | None:
    """Build the section in which readers select a metric to see its charts. None if the run has no fitted
    curves.
    """
    choices = []
    for entry in dependence_report.result.metrics:
        if dependence_report.get_curves(entry):
            choices.append(_build_metric_subsection(dependence_report, entry))
    if not choices:
        return None
    return Section("One metric at a time", choices=choices)


def build_charts_of_favoured_systems(
    dependence_report: DependReport, metric_dependence: MetricDependence
) -> dict[str, Spec]:
    """Build the charts that show how one metric treats systems. There are none if the run has no fitted
    curves.
    """
    curves = dependence_report.get_curves(metric_dependence)
    if curves is None:
        return {}
    label = dependence_report.labels[metric_dependence.metric]
    return {
        "curves": build_predicted_human_score_chart(metric_dependence, label, curves),
        "deviations": build_expected_deviation_chart(metric_dependence, label),
        "ranks": build_rank_change_chart(metric_dependence, label),
    }


def _build_metric_subsection(dependence_report: DependReport, metric_dependence: MetricDependence) -> Section:
    suffix = dependence_report.get_dataset_caption_suffix(metric_dependence.dataset)
    title = f"{dependence_report.labels[metric_dependence.metric]}{suffix}"
    charts = [
        Chart(f"{title} {kind}", spec, CAPTIONS[kind])
        for kind, spec in build_charts_of_favoured_systems(dependence_report, metric_dependence).items()
    ]
    return Section(title, charts=charts, grids=_build_misordered_pairs_table(title, metric_dependence))


def _build_misordered_pairs_table(title: str, metric_dependence: MetricDependence) -> list[Grid]:
    if not metric_dependence.inversions:
        return []
    rows = []
    for pair in metric_dependence.inversions:
        row = {
            "better": pair.better,
            "worse": pair.worse,
            "human difference": pair.human_gap,
            "metric difference": pair.metric_gap,
            "explained by": "expected deviations" if pair.explained else "averaging on the metric's scale",
        }
        rows.append(row)
    return [
        build_grid_from_rows(
            f"inversions {title}", "Pairs of systems that humans and metric order differently", rows
        )
    ]


def build_method_section(dependence_report: DependReport) -> Section:
    """Build the section that explains system dependence (SysDep) and its tests."""
    return Section(
        "How it was measured",
        explain_terms_of_system_dependence(dependence_report.result.by, dependence_report.result.human),
    )


def explain_expected_deviation_of_systems(group: str, human_score: str) -> str:
    """Explain the expected deviation of a system, and SysDep, which is the range of these deviations."""
    return (
        f"The expected deviation of a {group} says how much too high its {human_score} is if it is predicted"
        f" from the metric. SysDep is the highest expected deviation of a {group} minus the lowest, in"
        f" points of {human_score}. SysDep also contains shrinkage, which any noisy metric shows."
    )


def explain_test_for_favoured_systems(group: str) -> str:
    """Explain when a metric is said to favour some systems."""
    return f"A metric is shown to favour some {group}s if p fair is at most .05 after Holm's correction."


def explain_terms_of_system_dependence(group: str, human_score: str) -> list[str]:
    """Explain the terms of the report: SysDep, shrinkage, residual and two p-values. `group` says what is
    compared, such as systems.
    """
    shrinkage = (
        f"A noisy metric predicts values close to the mean for every {group}, which favours each bad {group}"
        " and disadvantages each good one. This part of the deviation is called shrinkage, and the rest is"
        " called residual. On this page, favoured and disadvantaged always refer to the residual. The"
        " column constant is the SysDep of a metric that gives every output the same score."
    )
    p_equal = (
        "The test “p equal” asks whether outputs with the same metric score have the same expected"
        f" {human_score} for every {group}. It assumes that {human_score} varies equally around this"
        f" expectation everywhere. If one {group} is three times as noisy as the others, the test rejects in"
        " 12 % of cases instead of 5 %."
    )
    p_fair = (
        f"The test “p fair” asks whether the metric is {human_score} plus noise that favours no {group}. It"
        " assumes that the noise has the same size everywhere. A metric that notices only large errors is"
        f" therefore rejected more often, even if it treats every {group} alike."
    )
    return [
        explain_expected_deviation_of_systems(group, human_score),
        shrinkage,
        p_equal,
        p_fair,
        explain_test_for_favoured_systems(group),
    ]


# In the order of the page. Sections of plug-ins come between or after them, by their position.
DEPEND_SECTIONS = {
    10: build_overview_section,
    20: build_predicted_human_scores_section,
    30: build_single_metrics_section,
    90: build_method_section,
}
