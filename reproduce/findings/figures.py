"""Draw the figures of docs/findings.md and docs/paper.md as SVG."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import vl_convert
from reproduce.findings.questions import QUESTIONS
from reproduce.findings.worth import average_over_sets

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_CONFIG = {"view": {"stroke": "#ddd"}, "font": "sans-serif", "axis": {"grid": True, "gridColor": "#eee"}}
Rows = Sequence[Mapping[str, Any]]
LEAST_SPA = 0.8
"""Metrics below are not drawn: one of 42, prismSrc."""


def draw_figures(results: Mapping[str, Any], folder: Path) -> None:
    """Draw every figure from the results of `run.py`."""
    context_rows = [*results["contexts"], *results.get("lexical_contexts", [])]
    figures = {
        "findings-contexts": describe_context_figure(context_rows),
        "findings-simulation": describe_simulation_figure(
            [row for row in results["contexts"] if row["set"].startswith("wmt23")]
        ),
        "findings-worth": describe_worth_figure(results["labels_saved"]),
        "findings-dependence": describe_dependence_figure(results["dependence"]),
    }
    if "lexical_questions" in results:
        figures["findings-questions"] = describe_question_figure(results["lexical_questions"])
    for name, figure in figures.items():
        specification = {"$schema": _SCHEMA, "background": "white", "config": _CONFIG, **figure}
        svg = vl_convert.vegalite_to_svg(json.dumps(specification))
        (folder / f"{name}.svg").write_text(svg + "\n", encoding="utf-8")


def _describe_scale(title: str, field: str, **more: Any) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "title": title, **more}


def describe_context_figure(rows: Rows) -> dict[str, Any]:
    """Describe the observed agreement between contexts beside the range that chance gives."""
    values = [
        {
            "set": f"{row['set']}, ties half" if row["ties"] == "half" else row["set"],
            "column": f"by {row['column']}",
            "observed": row["tau_ap"],
            "low": row["chance_low"],
            "high": row["chance_high"],
        }
        for row in rows
    ]
    y = {"field": "set", "type": "nominal", "title": None, "sort": None}
    title = "agreement of metric rankings (τ_AP): observed (point), by chance (95 % range)"
    scale = {"zero": False}
    layers = [
        {
            "mark": {"type": "rule", "strokeWidth": 6, "color": "#bbb"},
            "encoding": {"y": y, "x": _describe_scale(title, "low", scale=scale), "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "color": "#00695c"},
            "encoding": {"y": y, "x": _describe_scale(title, "observed", scale=scale)},
        },
    ]
    return {
        "data": {"values": values},
        "facet": {"row": {"field": "column", "type": "nominal", "title": None}},
        "spec": {"width": 420, "layer": layers},
        "resolve": {"scale": {"y": "independent"}},
    }


def describe_simulation_figure(rows: Rows) -> dict[str, Any]:
    """Describe the simulated gain of a local choice by the size of the interaction."""
    values = []
    for row in rows:
        for point in row["simulation"]:
            value = {"set": row["set"], "column": f"by {row['column']}"}
            value |= {"interaction": point["interaction"], "gain": point["gain"]}
            values.append(value)
    lines = {
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": _describe_scale("interaction of metric and context (sd of accuracy)", "interaction"),
            "y": _describe_scale("gain of a local choice (accuracy)", "gain"),
            "color": {"field": "set", "type": "nominal", "title": None},
        },
    }
    zero = {"mark": {"type": "rule", "color": "#555"}, "encoding": {"y": {"datum": 0}}}
    return {
        "data": {"values": values},
        "facet": {"column": {"field": "column", "type": "nominal", "title": None}},
        "spec": {"width": 250, "height": 200, "layer": [lines, zero]},
    }


def describe_worth_figure(rows: Rows) -> dict[str, Any]:
    """Describe labels saved beside SPA for the metrics of WMT23."""
    newest = [row for row in rows if row["set"].startswith("wmt23")]
    values = [
        {name: row[name] for name in ("metric", "cost", "spa", "difference")}
        for row in average_over_sets(newest)
        if row["spa"] is not None and row["spa"] > LEAST_SPA
    ]
    x = _describe_scale("SPA", "spa", scale={"domain": [LEAST_SPA, 0.97], "nice": False})
    y = _describe_scale("labels saved for a difference", "difference", axis={"format": "%"})
    points = {
        "mark": {"type": "point", "filled": True, "size": 50},
        "encoding": {"x": x, "y": y, "color": {"field": "cost", "type": "nominal", "title": "needs"}},
    }
    named = ["XCOMET-Ensemble", "GEMBA-MQM", "COMET", "BLEU", "chrF", "MaTESe"]
    labels = {
        "transform": [{"filter": {"field": "metric", "oneOf": named}}],
        "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 9},
        "encoding": {"x": x, "y": y, "text": {"field": "metric"}},
    }
    return {"data": {"values": values}, "width": 420, "height": 280, "layer": [points, labels]}


def describe_dependence_figure(rows: Rows) -> dict[str, Any]:
    """Describe the correlation of accuracy with expected deviation under both rules."""
    labels = {"better": "for the better output", "both": "for both outputs"}
    values = [
        {"set": row["set"], "rule": label, **{name: row[rule][name] for name in ("r", "low", "high")}}
        for row in rows
        for rule, label in labels.items()
    ]
    y = {"field": "set", "type": "nominal", "title": None, "sort": None}
    offset = {"field": "rule", "type": "nominal"}
    color = {"field": "rule", "type": "nominal", "title": "a pair counts"}
    title = "correlation of accuracy and expected deviation"
    scale = {"domain": [-1, 1]}
    layers = [
        {
            "mark": {"type": "rule"},
            "encoding": {"x": _describe_scale(title, "low", scale=scale), "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 50},
            "encoding": {"x": _describe_scale(title, "r", scale=scale)},
        },
    ]
    return {
        "data": {"values": values},
        "width": 420,
        "height": {"step": 14},
        "encoding": {"y": y, "yOffset": offset, "color": color},
        "layer": layers,
    }


def describe_question_figure(rows: Rows) -> dict[str, Any]:
    """Describe how far perturbed pairs agree with questions about people, in three ways."""
    kinds = {
        "all": "29 variants",
        "blocked": "one per family",
        "corrected": "one per family, corrected",
    }
    values = []
    for row in rows:
        if row["first"] == "perturbed" and row["second"] != "perturbed_half":
            for kind, label in kinds.items():
                values.append({"question": QUESTIONS[row["second"]], "metrics": label, **row[kind]})
    y = {"field": "question", "type": "nominal", "title": None, "sort": None}
    offset = {"field": "metrics", "type": "nominal", "sort": list(kinds.values())}
    color = {"field": "metrics", "type": "nominal", "title": None, "sort": list(kinds.values())}
    title = "agreement with perturbed pairs (Kendall's τ)"
    layers = [
        {"mark": "rule", "encoding": {"x": _describe_scale(title, "low"), "x2": {"field": "high"}}},
        {
            "mark": {"type": "point", "filled": True, "size": 50},
            "encoding": {"x": _describe_scale(title, "mean")},
        },
    ]
    return {
        "data": {"values": values},
        "width": 420,
        "height": {"step": 13},
        "encoding": {"y": y, "yOffset": offset, "color": color},
        "layer": layers,
    }
