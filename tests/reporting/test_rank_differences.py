"""The section of the `rank` page about what a difference means."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from metassay import rank
from metassay.reporting.pages import render_page


@pytest.fixture(scope="module")
def result():
    generator = np.random.default_rng(0)
    human = np.arange(6)[:, None] * 0.3 + generator.normal(size=(6, 120))
    table = pl.DataFrame(
        {
            "system": np.repeat([f"s{system}" for system in range(6)], 120),
            "seg_id": np.tile(np.arange(120), 6),
            "domain": np.tile(np.where(np.arange(120) < 60, "news", "chat"), 6),
            "mqm": human.ravel(),
            "M": (human + generator.normal(size=human.shape)).ravel(),
        }
    )
    return rank(table, human="mqm", context="domain", draws=20, analysis="thresholds")


def test_there_are_curves_for_all_items_and_for_each_context(result) -> None:
    curves = [(curve.context, curve.between) for curve in result.analyses.thresholds]
    assert curves == [
        ("global", "systems"),
        ("global", "outputs"),
        ("chat", "systems"),
        ("chat", "outputs"),
        ("news", "systems"),
        ("news", "outputs"),
    ]


def test_the_page_draws_the_curves_and_says_from_which_difference_people_agree(result) -> None:
    section = next(
        part for part in result.build_page().sections if part.title == "What does a difference mean?"
    )
    (choice,) = section.choices
    systems, outputs = choice.charts
    first_layer = systems.spec["layer"][1]["encoding"]
    assert first_layer["x"]["field"] == "difference"
    assert first_layer["y"]["field"] == "probability"
    assert outputs.spec["data"]["values"][0].keys() == {"difference", "probability", "low", "high"}
    threshold = result.analyses.thresholds[0].thresholds[0]
    assert (
        f"agree with a difference of {threshold.difference:.3g} in M between systems" in choice.sentences[0]
    )
    assert "of all pairs differ at least so much" in choice.sentences[1]
    assert "What does a difference mean?" in render_page(result.build_page())


def test_the_screen_shows_thresholds_of_all_items_only(result) -> None:
    tables = [block for block in result.describe_result_for_terminal() if getattr(block, "title", None)]
    table = next(block for block in tables if block.title.startswith("The difference from which on"))
    assert [row["between"] for row in table.rows] == ["systems", "outputs"]
