"""Many runs on one page without scripts: what each says, how accuracies moved, what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from metassay.reporting.charts.accuracy import history_chart, metrics_of
from metassay.reporting.charts.theme import SLOTS, data_uri, drawn
from metassay.reporting.labels import in_labels
from metassay.reporting.pages import plain_style, policy, templates
from metassay.reporting.wording import about, count

NO_ACCURACY = {"running": "not finished yet", "finished": "no assay"}


def render_overview(result: Mapping[str, Any], links: Mapping[str, str]) -> str:
    """The page of an overview; `links` are the addresses of the runs that have a report, by folder."""
    style, result = plain_style(), in_labels(result)
    return (
        templates()
        .get_template("overview.html.j2")
        .render(
            policy=policy(style),
            style=Markup(style),  # noqa: S704 -- our own stylesheet, no user text
            runs=[_row(run, links.get(run["folder"])) for run in result["runs"]],
            charts=_charts([run for run in result["runs"] if run["metrics"]]),
            comparisons=[
                {"title": f"{entry['before']} → {entry['after']}", "sentences": entry["sentences"]}
                for entry in result["comparisons"]
            ],
        )
    )


def _charts(assays: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A picture per task that has at least two assays."""
    tasks = sorted({run["task"] for run in assays})
    by_task = {task: [run for run in assays if run["task"] == task] for task in tasks}
    return [
        {
            "of": known.many if (known := about(task)) else task,
            "source": data_uri(drawn(history_chart(runs), width=820)),
            "left_out": metrics_of(runs)[SLOTS:],
        }
        for task, runs in by_task.items()
        if len(runs) > 1
    ]


def _row(run: Mapping[str, Any], link: str | None) -> dict[str, Any]:
    numbers = [run.get(name) for name in ("items", "outputs", "pairs")]
    return {
        "name": run["name"],
        "link": link,
        "task": known.many if (known := about(run["task"])) else run["command"],
        "numbers": ["" if number is None else count(number) for number in numbers],
        "answer": run["answer"] or NO_ACCURACY.get(run["state"], ""),
    }
