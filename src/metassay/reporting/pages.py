"""The page of system dependence, without scripts, and what all pages share: templates and policy.

Templates escape every text, and the policy lets nothing run but what the page was made with.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from metassay.reporting.charts.against_people import (
    curves_chart,
    deviations_chart,
    rank_flow_chart,
)
from metassay.reporting.charts.theme import FONT, TOKENS, Spec, data_uri, drawn, file_name
from metassay.reporting.wording import in_labels, number, percent, probability
from metassay.stats.multiplicity import holm

DEPENDENCE_WIDTH = 720
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.6 %(font)s; color: %(ink)s; background: %(ground)s; }
main { max-width: 62rem; margin: 0 auto; padding: 1.2rem; }
a { color: %(accent)s; }
.wordmark, .quiet, figcaption { color: %(quiet)s; font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid %(line)s; text-align: right; white-space: nowrap; }
th:first-child, .words { text-align: left; }
dt { font-weight: 600; }
td.words { white-space: normal; min-width: 18rem; }
summary { cursor: pointer; font-weight: 600; padding: .5rem 0; }
figure { margin: 1rem 0; }
img { max-width: 100%%; background: #ffffff; border-radius: 4px; }
@media (prefers-color-scheme: dark) {
  body { color: %(dark_ink)s; background: %(dark_ground)s; }
  a { color: %(dark_accent)s; }
  .wordmark, .quiet, figcaption { color: %(dark_quiet)s; }
  th, td { border-bottom-color: %(dark_line)s; }
}
"""
FIELDS = ("metric", "SysDep", "95 %", "constant", "ratio", "residual", "p equal", "p fair", "inverted pairs")
CAPTIONS = {
    "curves": "Expected human score given the metric: all systems together (dashed), each system (grey), the"
    " most flattered and the most wronged one in colour, with 95 % bands.",
    "deviations": "Expected deviation of each system, best first, with 95 % intervals. Grey: shrinkage, which"
    " any noisy metric has. Colour: what goes beyond it.",
    "ranks": "Order of the systems by people, by the score read off the metric, and by the metric itself.",
}
SHOWN_PAIRS = 10


@cache
def plain_style() -> str:
    """The stylesheet of pages without scripts."""
    dark = {f"dark_{name}": value for name, value in TOKENS["dark"].items()}
    return STYLE % {**TOKENS["light"], **dark, "font": FONT}


@cache
def templates() -> Environment:
    """The templates, in which every value is escaped and none may be missing."""
    environment = Environment(
        loader=PackageLoader("metassay.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["data_block"] = data_block
    return environment


def policy(style: str, scripts: Sequence[str] = ()) -> str:
    """The content security policy that allows exactly this style and these scripts, by their hashes."""
    allowed = " ".join(_hash(script) for script in scripts if script)
    return "; ".join(
        [
            "default-src 'none'",
            *([f"script-src {allowed}"] if allowed else []),
            f"style-src {_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def data_block(value: Any) -> Markup:
    """JSON for a `<script type="application/json">`: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return Markup(text)  # noqa: S704 -- every character that HTML gives a meaning is escaped above


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def dependence_files(
    result: Mapping[str, Any],
    frame: pl.DataFrame,
    curves: Mapping[str, Mapping[str, Any]],
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """What `depend` leaves: the result as JSON and CSV, every chart, and the page; `curves` by data set and
    metric, of those that are drawn.
    """
    drawings: dict[str, dict[str, dict[str, str]]] = {dataset: {} for dataset in curves}
    for entry in in_labels(result, labels)["metrics"]:
        spec = getattr(entry["metric"], "spec", entry["metric"])
        if spec in curves.get(entry["dataset"], {}):
            charts = dependence_charts(entry, curves[entry["dataset"]][spec])
            drawings[entry["dataset"]][spec] = {
                kind: drawn(chart, width=DEPENDENCE_WIDTH) for kind, chart in charts.items()
            }
    files: dict[str, Any] = {"results/depend.json": result, "results/depend.csv": frame.write_csv()}
    for dataset, by_metric in drawings.items():
        for metric, by_kind in by_metric.items():
            for kind, drawing in by_kind.items():
                files[f"charts/{file_name(dataset)}/{file_name(metric)}-{kind}.svg"] = drawing
    files["report.html"] = render_dependence(result, drawings, labels)
    return files


def dependence_charts(entry: Mapping[str, Any], curves: Mapping[str, Any]) -> dict[str, Spec]:
    """The three charts of one metric, its entry in labels: curves, deviations, ranks."""
    return {
        "curves": curves_chart(entry, curves),
        "deviations": deviations_chart(entry),
        "ranks": rank_flow_chart(entry),
    }


def render_dependence(
    result: Mapping[str, Any],
    drawings: Mapping[str, Mapping[str, Mapping[str, str]]],
    labels: Mapping[str, str] | None = None,
) -> str:
    """The page of a `depend` result; `drawings` holds SVG by data set, metric and kind of chart.

    Pictures are embedded as images, in which nothing can run, and the page's policy allows no script at all.
    """
    from metassay.reporting.score_pages import (
        correction_sentences,
        correction_table,
    )  # it stands on this module

    style, result = plain_style(), in_labels(result, labels)
    names = list(dict.fromkeys(entry["dataset"] for entry in result["metrics"]))
    parts = [
        _part(
            name, [entry for entry in result["metrics"] if entry["dataset"] == name], drawings.get(name, {})
        )
        for name in names
    ]
    for part in parts:
        tried = [row for row in result.get("corrections", ()) if row["dataset"] == part["name"]]
        if tried:
            part["correction"] = correction_sentences(tried, result["human"]), correction_table(tried)
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
