"""System dependence on one page without scripts: the table, and every metric's charts as pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from metassay.reporting.charts.theme import data_uri
from metassay.reporting.labels import in_labels
from metassay.reporting.pages import plain_style, policy, templates
from metassay.reporting.wording import number, percent, probability
from metassay.stats.multiplicity import holm

FIELDS = ("metric", "SysDep", "95 %", "constant", "ratio", "residual", "p equal", "p fair", "inverted pairs")
CAPTIONS = {
    "curves": "Expected human score given the metric: all systems together (dashed), each system (grey), the"
    " most flattered and the most wronged one in colour, with 95 % bands.",
    "deviations": "Expected deviation of each system, best first, with 95 % intervals. Grey: shrinkage, which"
    " any noisy metric has. Colour: what goes beyond it.",
    "ranks": "Order of the systems by people, by the score read off the metric, and by the metric itself.",
}
SHOWN_PAIRS = 10


def render_dependence(
    result: Mapping[str, Any], drawings: Mapping[str, Mapping[str, Mapping[str, str]]]
) -> str:
    """The page of a `depend` result; `drawings` holds SVG by data set, metric and kind of chart.

    Pictures are embedded as images, in which nothing can run, and the page's policy allows no script at all.
    """
    style, result = plain_style(), in_labels(result)
    names = list(dict.fromkeys(entry["dataset"] for entry in result["metrics"]))
    parts = [
        _part(
            name, [entry for entry in result["metrics"] if entry["dataset"] == name], drawings.get(name, {})
        )
        for name in names
    ]
    page = templates().get_template("dependence.html.j2")
    return page.render(
        policy=policy(style),
        style=Markup(style),  # noqa: S704 -- our own stylesheet, no user text
        human=result["human"],
        by=result["by"],
        fields=FIELDS,
        datasets=parts,
        notes=result["notes"],
    )


def _part(
    name: str, entries: Sequence[Mapping[str, Any]], drawings: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    return {
        "name": name,
        "sentences": _sentences(entries),
        "rows": [_cells(entry) for entry in entries],
        "charts": [
            _chart(entry, own) for entry in entries if (own := drawings.get(entry["metric"].spec)) is not None
        ],
    }


def _sentences(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a colleague would say first."""
    least = min(entries, key=lambda entry: (entry["sysdep"], entry["metric"]))
    adjusted = holm([math.nan if entry["p_fair"] is None else entry["p_fair"] for entry in entries])
    unfair = [entry for entry, p in zip(entries, adjusted.tolist()) if p <= 0.05]
    first = f"{least['metric']} depends least: SysDep {number(least['sysdep'])}"
    if least["ratio"] is not None:
        first += f", {percent(least['ratio'])} of what a metric that knows nothing has"
    said = [f"{first}."]
    if unfair:
        worst = max(unfair, key=lambda entry: (entry["residual_range"], entry["metric"]))
        residual = worst["residual"]
        liked, wronged = (pick(residual, key=residual.__getitem__) for pick in (max, min))
        said.append(
            f"{len(unfair)} of {len(entries)} metrics prefer somebody beyond what even noise explains"
            f" (p fair ≤ .05, Holm over the metrics), {worst['metric']} the most: {liked} over {wronged},"
            f" by {number(worst['residual_range'])}."
        )
    return said


def _cells(entry: Mapping[str, Any]) -> list[str]:
    interval = "—" if entry["low"] is None else f"{number(entry['low'])}–{number(entry['high'])}"
    explained = sum(pair["explained"] for pair in entry["inversions"])
    return [
        entry["metric"],
        number(entry["sysdep"]),
        interval,
        number(entry["constant"]),
        percent(entry["ratio"]),
        number(entry["residual_range"]),
        probability(entry["p_equal"]),
        probability(entry["p_fair"]),
        f"{len(entry['inversions'])} ({explained} by ED)",
    ]


def _chart(entry: Mapping[str, Any], drawings: Mapping[str, str]) -> dict[str, Any]:
    pairs = entry["inversions"][:SHOWN_PAIRS]
    return {
        "name": entry["metric"],
        "figures": [
            {"source": data_uri(svg), "alt": f"{kind} of {entry['metric']}", "caption": CAPTIONS[kind]}
            for kind, svg in drawings.items()
        ],
        "inversions": [_inversion(pair) for pair in pairs],
    }


def _inversion(pair: Mapping[str, Any]) -> str:
    why = "the deviations explain it" if pair["explained"] else "from averaging on the metric's scale"
    return (
        f"{pair['better']} is better than {pair['worse']} by {number(pair['human_gap'])};"
        f" the metric says worse by {number(-pair['metric_gap'], digits=3)} ({why})"
    )
