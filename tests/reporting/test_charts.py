"""Specifications, compiled by Vega-Lite itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest
import vl_convert

from metassay.reporting.charts import theme
from metassay.reporting.charts.accuracy import (
    build_accuracy_chart,
    choose_colour_slot,
    find_baselines_outside_chart_range,
)
from metassay.reporting.charts.heatmaps import build_rank_agreement_chart
from metassay.reporting.charts.theme import CATEGORY, SLOTS, TOKENS

NAME = "'\"]; name \u2028"


def _list_specs(result: Any) -> list[dict[str, Any]]:
    return [chart.spec for section in result.build_page().list_all_sections() for chart in section.charts]


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
    plain = results(text=lambda text: text + NAME)
    wide = results(text=lambda text: text + NAME, columns=many, metrics=("bleu", "chrf"))
    for spec in (*_list_specs(plain), *_list_specs(wide)):
        assert not [
            code for code in _code(vl_convert.vegalite_to_vega(spec)) if "name" in code and "\u2028" in code
        ]


def test_charts_draw_without_a_browser(result):
    for spec in _list_specs(result):
        assert vl_convert.vegalite_to_svg({**spec, "width": 600}).startswith("<svg")


def test_the_axis_includes_every_interval_and_hidden_sentinels_are_named(result):
    view = result.view()
    column = view.context_columns[0]
    spec = build_accuracy_chart(view, column)
    domains = [
        layer["encoding"]["y"]["scale"]["domain"]
        for layer in spec["layer"]
        if "scale" in layer.get("encoding", {}).get("y", {})
    ]
    low, high = domains[0]
    rows = [row for metric in view.metrics for row in column.list_accuracies_per_context(metric)]
    assert low <= min(row.low for row in rows)
    assert max(row.high for row in rows) <= high
    assert "constant" in find_baselines_outside_chart_range(view, column)


def test_sentinels_and_metrics_beyond_the_palette_share_the_muted_slot(results):
    view = results(metrics=("length", *(f"m{n}" for n in range(SLOTS + 3)))).view()
    assert [choose_colour_slot(view, metric) for metric in view.metrics] == [
        *range(SLOTS),
        SLOTS,
        SLOTS,
        SLOTS,
    ]
    assert choose_colour_slot(view, "length") == SLOTS


def test_too_many_contexts_for_a_heatmap_are_compared_with_global(results):
    result = results(columns={"topic": [f"t{n}" for n in range(120)]}, metrics=("bleu", "chrf"))
    agreement = result.content.contexts["topic"].h2
    assert agreement is not None
    assert len(build_rank_agreement_chart(agreement, "topic")["data"]["values"]) == 120


def test_charts_of_very_many_contexts_are_limited_evenly(results):
    view = results(columns={"topic": [str(n) for n in range(1000)]}, metrics=("bleu", "chrf")).view()
    kept = [int(context) for context in view.context_columns[0].sample_evenly_spaced_contexts().contexts]
    steps = {b - a for a, b in pairwise(kept)}
    assert (kept[0], kept[-1], len(kept)) == (0, 999, 150)
    assert steps == {6, 7}


def test_rows_without_an_interval_still_draw(result):
    contexts = {}
    for name, column in result.content.contexts.items():
        rows = [msgspec.structs.replace(row, low=None, high=None) for row in column.local_accuracy]
        contexts[name] = msgspec.structs.replace(column, local_accuracy=rows)
    view = result.change(contexts=contexts).view()
    assert build_accuracy_chart(view, view.context_columns[0])["data"]["values"][0]["low"] is None


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


def test_systems_named_like_properties_of_javascript_objects_have_their_bars() -> None:
    names = ["__proto__", "constructor", "toString", "plain"]
    spec = theme.build_chart(
        "bars",
        height=80,
        data={"values": [{"system": name, "value": number} for number, name in enumerate(names, start=1)]},
        mark="bar",
        encoding={
            "x": {"field": "value", "type": "quantitative"},
            "y": theme.build_ordered_channel("system", names),
        },
    )
    drawing = theme.render_svg(spec)
    assert len(re.findall(r'<path aria-label="value: [^"]*" role="graphics-symbol"', drawing)) == 4
    assert all(f">{name}" in drawing for name in names)
