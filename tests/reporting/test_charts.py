"""Specifications, compiled by Vega-Lite itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import vl_convert

from metassay.reporting.charts.accuracy import accuracy_chart, frame, outside_frame, slot
from metassay.reporting.charts.heatmaps import agreement_chart
from metassay.reporting.charts.theme import CATEGORY, SLOTS, TOKENS
from metassay.reporting.findings import find
from metassay.reporting.html import summarize, thinned

NAME = "'\"]; name \u2028"


def _specs(summary: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for column in summary["columns"]:
        yield from (column[kind] for kind in ("chart", "agreement") if column[kind])
    yield summary["methods"]["chart"]


def _code(value: Any, key: str = "") -> Iterator[str]:
    """Every string in a compiled chart that Vega parses as an expression."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _code(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _code(inner, key)
    elif isinstance(value, str) and key in {"expr", "signal", "test", "update", "init", "as"}:
        yield value


def test_names_from_the_data_never_become_code(results):
    many = {"topic": [f"t{n}" for n in range(100)]}
    plain = summarize(results(text=lambda text: text + NAME))
    wide = summarize(results(text=lambda text: text + NAME, columns=many, metrics=("bleu", "chrf")))
    for spec in (*_specs(plain), *_specs(wide)):
        assert not [
            code for code in _code(vl_convert.vegalite_to_vega(spec)) if "name" in code and "\u2028" in code
        ]


def test_charts_draw_without_a_browser(result):
    for spec in _specs(summarize(result)):
        assert vl_convert.vegalite_to_svg({**spec, "width": 600}).startswith("<svg")


def test_the_frame_holds_every_interval_and_names_what_it_leaves_out(result):
    findings = find(result)
    column = findings.columns[0]
    low, high = frame(findings, column)
    inside = [end for name in findings.metrics for e in column.of(name) for end in (e.low, e.high)]
    assert low <= min(inside) <= max(inside) <= high
    assert "constant" in outside_frame(findings, column)


def test_sentinels_and_metrics_beyond_the_palette_share_the_muted_slot(results):
    findings = find(results(metrics=("length", *(f"m{n}" for n in range(SLOTS + 3)))))
    assert [slot(findings, name) for name in findings.metrics] == [*range(SLOTS), SLOTS, SLOTS, SLOTS]
    assert slot(findings, "length") == SLOTS


def test_too_many_contexts_for_a_heatmap_are_compared_with_global(results):
    findings = find(results(columns={"topic": [f"t{n}" for n in range(120)]}, metrics=("bleu", "chrf")))
    agreement = findings.columns[0].agreement
    assert agreement is not None
    assert len(agreement_chart(agreement, "topic")["data"]["values"]) == 120


def test_charts_of_very_many_contexts_are_thinned_evenly(results):
    findings = find(results(columns={"topic": [str(n) for n in range(1000)]}, metrics=("bleu", "chrf")))
    kept = [int(context) for context in thinned(findings.columns[0]).contexts]
    steps = {b - a for a, b in pairwise(kept)}
    assert (kept[0], kept[-1], len(kept)) == (0, 999, 150)
    assert steps == {6, 7}


def test_rows_without_an_interval_still_draw(result):
    for column in result["contexts"].values():
        for row in column["local_accuracy"]:
            row["low"] = row["high"] = None
    findings = find(result)
    assert accuracy_chart(findings, findings.columns[0])["data"]["values"][0]["low"] is None


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_lines_stand_out_from_the_paper(scheme):
    tokens = TOKENS[scheme]
    for surface in ("paper", "ground"):
        assert all(_contrast(tokens[name], tokens[surface]) >= 4.5 for name in ("ink", "quiet", "accent"))
    assert all(_contrast(colour, tokens["paper"]) >= 3 for colour in CATEGORY[scheme])
