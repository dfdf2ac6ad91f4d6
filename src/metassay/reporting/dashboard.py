"""The pages of `metassay serve`: all runs at a glance, and the pairs of one run, one by one.

Like the report's, they escape every text and allow nothing to run but their own small script, by its hash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from markupsafe import Markup

from metassay.metrics.labels import label_metrics
from metassay.reporting.charts.theme import SHAPES, SLOTS, Scheme, Spec, chart, data_uri, drawn, in_order
from metassay.reporting.pages import policy, program, stylesheet, templates
from metassay.reporting.sections.examples import pair_card
from metassay.reporting.wording import about, count, in_labels, interval, percent

Address = Callable[..., str]
"""From changes of a question to the address that asks it."""
View = Mapping[str, Any]

NO_ACCURACY = {"running": "not finished yet", "finished": "no assay"}
SAID = {"right": "right", "tie": "tie", "wrong": "wrong", "undefined": "undefined"}
ORDERS = {"": "as they come", "worst": "most wrong first", "best": "most right first"}
LISTED_CHANGES = 12
PAIRS_FROM = {"human": " that people told apart", "given": " brought along"}
WIDTHS = {"wide": 1080, "narrow": 330}
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
OPTIONS = 300
"""A list of more names than this is no pleasure to choose from: then the name is typed."""
_FILTERS = ("metric", "metric2", "context", "method", "system", "item", "text")


def _look() -> tuple[str, str]:
    """The stylesheet, the report's with a little more, and the script."""
    return stylesheet("report.css.j2", "dashboard.css.j2"), program("dashboard.js")


@cache
def dashboard_policy() -> str:
    """The content security policy of these pages: their own style and script, and forms that lead back."""
    style, script = _look()
    return policy(style, [script]).replace("form-action 'none'", "form-action 'self'")


def _page(name: str, **content: Any) -> str:
    style, script = _look()
    return (
        templates()
        .get_template(name)
        .render(
            policy=dashboard_policy(),
            style=Markup(style),  # noqa: S704 -- our own stylesheet, no user text
            program=Markup(script),  # noqa: S704 -- our own script, no user text
            **content,
        )
    )


def render_problem(title: str, text: str) -> str:
    """A page that says what went wrong."""
    first, _, rest = text.partition("\n")
    return _page("dashboard.html.j2", kind="problem", title=title, problem=first, remedy=rest)


def render_overview(result: View, links: Mapping[str, Mapping[str, str]]) -> str:
    """The page of an overview; `links` holds the addresses of each run's `explorer` and `report`, by name."""
    result = in_labels(result)
    changes = [entry for entry in reversed(result["comparisons"]) if entry["sentences"] or entry.get("error")]
    return _page(
        "dashboard.html.j2",
        kind="overview",
        title="Runs",
        runs=[_run(run, links.get(run["name"], {})) for run in result["runs"]],
        charts=_charts([run for run in result["runs"] if run["metrics"]]),
        changes=changes,
        listed=LISTED_CHANGES,
        unchanged=len(result["comparisons"]) - len(changes),
    )


def _charts(assays: Sequence[View]) -> list[dict[str, Any]]:
    """A picture per task and kind of pairs that has at least two assays."""
    kinds = sorted({(run["task"], run.get("pairs_from") or "") for run in assays})
    by_kind = {kind: [r for r in assays if (r["task"], r.get("pairs_from") or "") == kind] for kind in kinds}
    return [
        {
            "of": (known.output_noun_plural if (known := about(task)) else task) + PAIRS_FROM.get(pairs, ""),
            **{
                f"{size}_{scheme}": data_uri(drawn(history_chart(runs), width=width, scheme=scheme))
                for size, width in WIDTHS.items()
                for scheme in SCHEMES
            },
            "left_out": metrics_of(runs)[SLOTS:],
        }
        for (task, pairs), runs in by_kind.items()
        if len(runs) > 1
    ]


def _run(run: View, links: Mapping[str, str]) -> dict[str, Any]:
    numbers = [run.get(name) for name in ("items", "outputs", "pairs")]
    return {
        "name": run["name"],
        "links": {kind: links.get(kind) for kind in ("explorer", "report")},
        "task": known.output_noun_plural if (known := about(run["task"])) else run["command"],
        "numbers": [("", "") if number is None else (number, count(number)) for number in numbers],
        "answer": run["answer"] or NO_ACCURACY.get(run["state"], ""),
        "error": run.get("error"),
    }


def render_explorer(view: View, address: Address) -> str:
    """The page of the pairs of a run that fit a question; `view` is what `serve.views` puts together."""
    question = view["question"]
    labels = label_metrics([*view["metrics"], *view["other_metrics"]])
    shown = view["shown"]
    return _page(
        "explorer.html.j2",
        title=view["name"],
        view=view,
        question=question,
        address=address,
        labels=labels,
        shown=shown,
        saids=SAID,
        orders=ORDERS,
        many=OPTIONS,
        chips=_chips(question, labels, address),
        counts={name: count(view[name]) for name in ("total", "found", "listed", "page", "pages")},
        span=_span(view),
        searched=_searched(view),
        tallies=[_tally(name, labels, view, address) for name in shown if name in view["tallies"]],
        contexts=_contexts(view, shown, labels, address),
        cross=_cross(view, address),
        pairs=[pair_card(pair, view, shown, labels) for pair in view["pairs"]],
        percent=percent,
        number=count,
    )


def _chips(question: View, labels: Mapping[str, str], address: Address) -> list[dict[str, str]]:
    """What was asked, each with the address of the same question without it."""
    chips = []
    for name in _FILTERS:
        value = question[name]
        if not value:
            continue
        text, without = value, {name: ""}
        if name in {"metric", "metric2"}:
            said = "said" if name == "metric" else "said2"
            run = question["run"] if name == "metric2" else ""
            verdict = f" {SAID[question[said]]}" if question[said] else ""
            text = f"{labels.get(value, value)}{verdict}{f' in {run}' if run else ''}"
            without |= {said: ""} | ({"order": ""} if name == "metric" else {})
        elif name == "context":
            if not question["column"]:
                continue
            text = f"{question['column']}: {value}"
        elif name == "text":
            text = f"“{value}”"
        chips.append({"kind": "" if name in {"metric", "metric2", "context", "text"} else name,
                      "text": text, "without": address(**without, part=1)})  # fmt: skip
    if question["run"] and not question["metric2"]:
        chips.append({"kind": "also in", "text": question["run"], "without": address(run="")})
    return chips


def _span(view: View) -> str:
    if not view["listed"]:
        return ""
    first = (view["page"] - 1) * view["per_page"] + 1
    return f"{count(first)}–{count(min(first + view['per_page'] - 1, view['listed']))}"


def _searched(view: View) -> dict[str, Any] | None:
    """How far a search looked, where it did not look at every pair."""
    if view["searched"] is None or view["parts"] == 1:
        return None
    first, last = view["searched"]
    return {
        "first": count(first + 1),
        "last": count(last + 1),
        "part": view["question"]["part"],
        "parts": view["parts"],
    }


def _tally(metric: str, labels: Mapping[str, str], view: View, address: Address) -> dict[str, Any]:
    counts = view["tallies"][metric]
    total = max(1, sum(counts.values()))
    shares = {said: counts[said] / total for said in SAID}
    places, start = {}, 0.0
    for said in ("right", "tie", "wrong"):
        places[said] = (round(100 * start, 3), round(100 * shares[said], 3))
        start += shares[said]
    return {
        "metric": labels[metric],
        "sentinel": metric not in view["assayed"],
        "places": places,
        "cells": {
            said: {"text": percent(shares[said], digits=1), "count": count(counts[said]),
                   "value": counts[said], "link": address(metric=metric, said=said, part=1)}
            for said in SAID
        },
    }  # fmt: skip


def _contexts(
    view: View, shown: Sequence[str], labels: Mapping[str, str], address: Address
) -> dict[str, Any] | None:
    """Accuracy in each context of the chosen column, as the assay has it; every cell leads to its errors."""
    column, rows = view["question"]["column"], view["accuracies"]
    metrics = [name for name in shown if any(row["metric"] == name for row in rows)]
    if not metrics:
        return None
    table: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        table.setdefault(row["context"], {})[row["metric"]] = row
    asked = {"column": column, "said": "wrong", "part": 1}
    return {
        "column": column,
        "metrics": [labels[name] for name in metrics],
        "rows": [
            {
                "context": context,
                "link": address(column=column, context=context, part=1),
                "cells": [
                    _cell(found.get(name), address(context=context, metric=name, **asked)) for name in metrics
                ],
            }
            for context, found in table.items()
        ],
    }


def _cell(row: View | None, link: str) -> dict[str, Any]:
    if row is None or row["accuracy"] is None:
        return {"text": "—", "range": "", "value": "", "link": None}
    return {
        "text": percent(row["accuracy"]),
        "range": interval(row["low"], row["high"]),
        "value": row["accuracy"],
        "link": link,
    }


def _cross(view: View, address: Address) -> dict[str, Any] | None:
    """What the two metrics said, one against the other."""
    if not view["cross"]:
        return None
    sides = [[said for said in SAID if any(n and key[place] == said for key, n in view["cross"].items())]
             for place in (0, 1)]  # fmt: skip
    cells = [
        (one, [{"text": count(view["cross"][one, two]), "value": view["cross"][one, two],
                "same": one == two, "link": address(said=one, said2=two, part=1)} for two in sides[1]])
        for one in sides[0]
    ]  # fmt: skip
    return {"columns": sides[1], "rows": cells, "total": count(sum(view["cross"].values()))}


def metrics_of(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The metrics of these runs as they come; the chart has room for the first `SLOTS`."""
    return list(dict.fromkeys(row["metric"] for run in runs for row in run["metrics"]))


def history_chart(runs: Sequence[Mapping[str, Any]]) -> Spec:
    """The accuracy over all contexts of each metric, run by run; metrics beyond the palette are left out.

    `runs` are the finished assays of an overview, oldest first.
    """
    names = metrics_of(runs)[:SLOTS]
    rows = [
        {"run": run["name"], **row}
        for run in runs
        for row in run["metrics"]
        if row["metric"] in names and row["accuracy"] is not None
    ]
    x = {**in_order("run", [run["name"] for run in runs]), "axis": {"title": None, "labelAngle": 0}}
    y = {
        "field": "accuracy",
        "type": "quantitative",
        "scale": {"zero": False},
        "axis": {"format": ".0%", "title": "pairs told right", "domain": False},
    }
    legend = {"legend": {"title": None, "orient": "top", "columnPadding": 28}}
    colour, shape = in_order("metric", names), in_order("metric", names, range=list(SHAPES))
    return chart(
        f"Accuracy of {len(names)} metrics in {len(runs)} runs.",
        height=260,
        data={"values": rows},
        encoding={"x": x, "xOffset": in_order("metric", names), "color": {**colour, **legend}},
        layer=[
            {"mark": {"type": "line", "strokeWidth": 1, "opacity": 0.4}, "encoding": {"y": y}},
            {"mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5},
             "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
             "encoding": {"y": y, "shape": {**shape, **legend}}},
        ],
    )  # fmt: skip
