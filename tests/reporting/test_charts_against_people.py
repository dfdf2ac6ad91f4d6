"""Charts of system dependence, compiled by Vega-Lite itself."""

from __future__ import annotations

import numpy as np
import pytest
import vl_convert

from metassay.data.score_cube import ScoreCube
from metassay.meta.dependence.analysis import depend_on_systems
from metassay.meta.dependence.scored_outputs import outputs_of
from metassay.reporting.charts.against_people import (
    FLATTERED,
    WRONGED,
    curves_chart,
    deviations_chart,
    rank_flow_chart,
)
from metassay.reporting.charts.theme import SLOTS
from metassay.reporting.dependence_page import dependence_page
from metassay.reporting.pages import render_page

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
    (entry,) = depend_on_systems(outputs_of(cube, "mqm"), bootstraps=20, draws=19).metrics
    return entry.to_dict(), entry.curves(points=20).to_dict()


@pytest.fixture
def specs(entry_and_curves):
    entry, curves = entry_and_curves
    return {
        "curves": curves_chart(entry, curves),
        "deviations": deviations_chart(entry),
        "ranks": rank_flow_chart(entry),
    }


def code(value, key=""):
    """Every string in a compiled chart that Vega parses as an expression."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from code(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from code(inner, key)
    elif isinstance(value, str) and key in {"expr", "signal", "test", "update", "init", "as"}:
        yield value


@pytest.mark.parametrize("kind", ["curves", "deviations", "ranks"])
def test_charts_draw_and_names_never_become_code(specs, kind):
    assert vl_convert.vegalite_to_svg({**specs[kind], "width": 500}).startswith("<svg")
    assert not [text for text in code(vl_convert.vegalite_to_vega(specs[kind])) if "alert" in text]


def test_the_ends_of_the_deviations_are_in_colour(specs, entry_and_curves):
    entry, _ = entry_and_curves
    slots = {row["group"]: row["slot"] for row in specs["curves"]["data"]["values"]}
    by_deviation = sorted(entry["deviations"], key=entry["deviations"].__getitem__)
    assert slots[by_deviation[-1]] == FLATTERED
    assert slots[by_deviation[0]] == WRONGED
    assert {slots[name] for name in by_deviation[1:-1]} == {SLOTS}


def test_the_two_bars_add_up_to_the_dot(specs):
    for row in specs["deviations"]["data"]["values"]:
        assert row["shrinkage"] + row["residual"] == pytest.approx(row["deviation"])
        assert row["low"] <= row["deviation"] <= row["high"]


def test_the_flow_holds_every_order_and_marks_who_was_passed(specs, entry_and_curves):
    entry, _ = entry_and_curves
    rows = specs["ranks"]["data"]["values"]
    for order in ("human", "remapped", "metric"):
        flow = sorted((row["rank"], row["group"]) for row in rows if row["order"] == order)
        assert [name for _, name in flow] == entry["rankings"][order]
    passing = {row["group"] for row in rows if row["slot"] == FLATTERED}
    assert passing == {pair["worse"] for pair in entry["inversions"]} != set()


def test_without_bootstrap_the_forest_still_draws(entry_and_curves):
    entry, _ = entry_and_curves
    bare = entry | {"deviations_low": dict.fromkeys(entry["deviations"])}
    bare |= {"deviations_high": dict.fromkeys(entry["deviations"])}
    assert vl_convert.vegalite_to_svg({**deviations_chart(bare), "width": 500}).startswith("<svg")


def test_the_page_escapes_names_and_says_the_main_thing(entry_and_curves):
    entry, curves = entry_and_curves
    entry |= {"dataset": f"all{HOSTILE}"}
    result = {"human": "mqm", "by": "system", "metrics": [entry], "notes": [HOSTILE]}
    page = render_page(dependence_page(result, {entry["dataset"]: {entry["metric"]: curves}}))
    assert HOSTILE not in page
    assert "&lt;/script&gt;" in page
    assert "depends least: SysDep" in page
    assert page.count('<figure class="chart"') == 3
    assert "default-src &#39;none&#39;" in page
