"""The first page of `metassay serve`: all runs, their accuracies over time, and what changed between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from metassay.metrics.labels import label_metrics
from metassay.reporting.charts.theme import (
    SHAPES,
    SLOTS,
    Scheme,
    Spec,
    build_chart,
    build_ordered_channel,
    encode_svg_as_data_uri,
    render_svg,
)
from metassay.reporting.dashboard_frame import render_dashboard_page
from metassay.reporting.labels import MetricLabels
from metassay.reporting.wording import find_task, format_count
from metassay.results.overview import OverviewContent, RunSummary

STATES_WITHOUT_ANSWER = {"running": "not finished yet", "finished": "no answer"}
PAIR_KINDS = {"human": " chosen by human scores", "given": " made elsewhere"}
# Changes between runs that are shown; earlier ones are folded away.
LISTED_CHANGES = 12
CHART_WIDTHS = {"wide": 1080, "narrow": 330}
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


@dataclass(frozen=True)
class RunRow:
    """A row in the table of runs on the dashboard."""

    name: str
    explorer_link: str | None
    report_link: str | None
    content: str
    """What the run is about: `translations`, or the command where it is no assay."""
    numbers: list[tuple[int | None, str]]
    """Items, outputs and pairs: the number to sort by, and as text."""
    answer: str
    error: str | None


@dataclass(frozen=True)
class HistoryChart:
    """A chart of accuracy from run to run, rendered in two widths and two colour schemes."""

    content: str
    images: dict[str, str]
    """Data addresses by width and scheme: `wide_light`, `narrow_dark` …"""
    metrics_left_out: list[str]


def render_overview(overview: OverviewContent, links: Mapping[str, Mapping[str, str]]) -> str:
    """Render the dashboard page that lists all runs; `links` leads to their explorers and reports."""
    labels = MetricLabels(row.metric for run in overview.runs for row in run.metrics)
    changes = []
    for change in reversed(overview.comparisons):
        if change.sentences or change.error is not None:
            sentences = [labels.replace_specs_by_labels(text) for text in change.sentences]
            changes.append(msgspec.structs.replace(change, sentences=sentences))
    return render_dashboard_page(
        "dashboard.html.j2",
        kind="overview",
        title="Runs",
        runs=[_build_run_row(run, links.get(run.name, {})) for run in overview.runs],
        charts=_build_history_charts(overview.runs),
        several_runs=overview.total > 1,
        changes=changes,
        listed=LISTED_CHANGES,
        page=overview.page,
        pages=overview.pages,
        total=format_count(overview.total),
        unchanged=len(overview.comparisons) - len(changes),
    )


def _build_run_row(run: RunSummary, links: Mapping[str, str]) -> RunRow:
    task = find_task(run.task)
    return RunRow(
        name=run.name,
        explorer_link=links.get("explorer"),
        report_link=links.get("report"),
        content=run.command if task is None else task.output_noun_plural,
        numbers=[
            (number, "" if number is None else format_count(number))
            for number in (run.items, run.outputs, run.pairs)
        ],
        answer=run.answer or STATES_WITHOUT_ANSWER.get(run.state, ""),
        error=run.error,
    )


def _build_history_charts(runs: Sequence[RunSummary]) -> list[HistoryChart]:
    """Draw a chart for each task and kind of pairs with at least two assays."""
    groups: dict[tuple[str, str], list[RunSummary]] = {}
    for run in runs:
        if run.metrics:
            groups.setdefault(run.comparison_group, []).append(run)
    charts: list[HistoryChart] = []
    for (task_name, pairs_from), group in sorted(groups.items()):
        if len(group) < 2:
            continue
        spec = build_history_chart(group)
        images = {}
        for size, width in CHART_WIDTHS.items():
            for scheme in SCHEMES:
                images[f"{size}_{scheme}"] = encode_svg_as_data_uri(
                    render_svg(spec, width=width, colour_scheme=scheme)
                )
        task = find_task(task_name)
        outputs = task_name if task is None else task.output_noun_plural
        charts.append(
            HistoryChart(
                content=outputs + PAIR_KINDS.get(pairs_from, ""),
                images=images,
                metrics_left_out=list(_build_labels_for_runs(group).values())[SLOTS:],
            )
        )
    return charts


def _build_labels_for_runs(runs: Sequence[RunSummary]) -> dict[str, str]:
    """Return the labels of all metrics of several runs, in the order of first appearance."""
    specs = dict.fromkeys(row.metric for run in runs for row in run.metrics)
    labels = label_metrics(list(specs))
    return {spec: labels[spec] for spec in specs}


def build_history_chart(runs: Sequence[RunSummary]) -> Spec:
    """Draw the accuracy of each metric from run to run, oldest first.

    Only as many metrics are drawn as there are colours.
    """
    labels = dict(list(_build_labels_for_runs(runs).items())[:SLOTS])
    points = []
    for run in runs:
        for row in run.metrics:
            if row.metric in labels and row.accuracy is not None:
                point = {"accuracy": row.accuracy, "low": row.low, "high": row.high}
                points.append({"run": run.name, "metric": labels[row.metric], **point})
    names = list(labels.values())
    x = {**build_ordered_channel("run", [run.name for run in runs]), "axis": {"title": None, "labelAngle": 0}}
    y = {
        "field": "accuracy",
        "type": "quantitative",
        "scale": {"zero": False},
        "axis": {"format": ".0%", "title": "pairs ordered correctly", "domain": False},
    }
    legend = {"legend": {"title": None, "orient": "top", "columnPadding": 28}}
    colour = build_ordered_channel("metric", names)
    shape = build_ordered_channel("metric", names, range=list(SHAPES))
    line = {"type": "line", "strokeWidth": 1, "opacity": 0.4}
    rule = {"type": "rule", "strokeWidth": 2, "opacity": 0.5}
    point_mark = {"type": "point", "filled": True, "size": 60, "opacity": 1}
    return build_chart(
        f"Accuracy of {len(names)} metrics in {len(runs)} runs.",
        height=260,
        data={"values": points},
        encoding={"x": x, "xOffset": build_ordered_channel("metric", names), "color": {**colour, **legend}},
        layer=[
            {"mark": line, "encoding": {"y": y}},
            {"mark": rule, "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}}},
            {"mark": point_mark, "encoding": {"y": y, "shape": {**shape, **legend}}},
        ],
    )
