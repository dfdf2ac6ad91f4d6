"""Charts of system dependence, compiled by Vega-Lite itself."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import vl_convert

from metassay.data.score_cube import ScoreCube
from metassay.meta.dependence.analysis import SamplingSettings, analyze_metric_bias_between_systems
from metassay.meta.dependence.grouped_outputs import assign_outputs_to_groups
from metassay.reporting.charts.dependence import (
    DISADVANTAGED,
    FAVOURED,
    NEUTRAL,
    build_expected_deviation_chart,
    build_predicted_human_score_chart,
    build_rank_change_chart,
)
from metassay.reporting.depend_page import (
    build_system_dependence_page,
    list_main_findings_on_favoured_systems,
    prepare_system_dependence_report,
)
from metassay.reporting.pages import render_page
from metassay.results.depend import DependContent

HOSTILE = "'\"]; alert(1) \u2028</script>"


@pytest.fixture
def entry_and_curves():
    rng = np.random.default_rng(0)
    human = rng.normal(size=(5, 60)) + np.arange(5)[:, None] / 3
    names = tuple(f"s{k}{HOSTILE}" for k in range(5))
    metric = human + rng.normal(size=human.shape)
    metric[0] += 3
    cube = ScoreCube(
        "all", names, tuple(f"{i:03}" for i in range(60)), {"mqm": human}, {f"m{HOSTILE}": metric}
    )
    analysis = analyze_metric_bias_between_systems(
        assign_outputs_to_groups(cube, "mqm"), SamplingSettings(bootstraps=20, draws=19)
    )
    (entry,) = analysis.metrics
    return entry, analysis.predicted_human_score_curves[entry.metric]


@pytest.fixture
def specs(entry_and_curves):
    entry, curves = entry_and_curves
    return {
        "curves": build_predicted_human_score_chart(entry, entry.metric, curves),
        "deviations": build_expected_deviation_chart(entry, entry.metric),
        "ranks": build_rank_change_chart(entry, entry.metric),
    }


def find_expressions(value, key=""):
    """Yield every string in a compiled chart that Vega parses as an expression."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from find_expressions(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from find_expressions(inner, key)
    elif isinstance(value, str) and key in {"expr", "signal", "test", "update", "init", "as"}:
        yield value


@pytest.mark.parametrize("kind", ["curves", "deviations", "ranks"])
def test_charts_are_drawn_and_names_never_become_code(specs, kind):
    assert vl_convert.vegalite_to_svg({**specs[kind], "width": 500}).startswith("<svg")
    assert not [
        text for text in find_expressions(vl_convert.vegalite_to_vega(specs[kind])) if "alert" in text
    ]


def test_systems_with_highest_and_lowest_deviation_are_coloured(specs, entry_and_curves):
    entry, _ = entry_and_curves
    slots = {row["group"]: row["slot"] for row in specs["curves"]["data"]["values"]}
    by_deviation = sorted(entry.deviations, key=entry.deviations.__getitem__)
    assert slots[by_deviation[-1]] == FAVOURED
    assert slots[by_deviation[0]] == DISADVANTAGED
    assert {slots[name] for name in by_deviation[1:-1]} == {NEUTRAL}


def test_bars_of_shrinkage_and_residual_add_up_to_the_deviation(specs):
    for row in specs["deviations"]["data"]["values"]:
        assert row["shrinkage"] + row["residual"] == pytest.approx(row["deviation"])
        assert row["low"] <= row["deviation"] <= row["high"]


def test_rankings_chart_has_every_order_and_marks_inverted_systems(specs, entry_and_curves):
    entry, _ = entry_and_curves
    rows = specs["ranks"]["data"]["values"]
    for order in ("human", "remapped", "metric"):
        ranked = sorted((row["rank"], row["group"]) for row in rows if row["order"] == order)
        assert [name for _, name in ranked] == getattr(entry.rankings, order)
    coloured = {row["group"] for row in rows if row["slot"] == FAVOURED}
    assert coloured == {pair.worse for pair in entry.inversions} != set()


def test_deviations_are_drawn_without_intervals_too(entry_and_curves):
    entry, _ = entry_and_curves
    no_ends = dict.fromkeys(entry.deviations)
    without_intervals = msgspec.structs.replace(entry, deviations_low=no_ends, deviations_high=no_ends)
    spec = build_expected_deviation_chart(without_intervals, entry.metric)
    assert vl_convert.vegalite_to_svg({**spec, "width": 500}).startswith("<svg")


def test_page_escapes_names_and_begins_with_the_main_statement(entry_and_curves):
    entry, curves = entry_and_curves
    entry = msgspec.structs.replace(entry, dataset=f"all{HOSTILE}")
    content = DependContent(human="mqm", by="system", metrics=[entry], comparisons=[], notes=[HOSTILE])
    verdict = list_main_findings_on_favoured_systems(prepare_system_dependence_report(content))
    content = msgspec.structs.replace(content, verdict=verdict)
    page = render_page(build_system_dependence_page(content, {entry.dataset: {entry.metric: curves}}))
    assert HOSTILE not in page
    assert "&lt;/script&gt;" in page
    assert "has the lowest system dependence (SysDep): " in page
    assert page.count('<figure class="chart"') == 3
    assert "default-src &#39;none&#39;" in page
