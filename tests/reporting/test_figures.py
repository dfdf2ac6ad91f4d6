"""Figures and tables for papers: their sizes, their colours, whole names, and stars that are true."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from metassay.errors import UnknownName
from metassay.reporting.charts.ranking import build_ranking_chart
from metassay.reporting.charts.theme import PRINTED, render_figure
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import render_paper_files
from metassay.reporting.tables import Field, build_grid, format_grid
from metassay.results.rank import RankedMetric, Ranking

LONG = "an-exceedingly-long-metric-name-without-any-space-of-any-kind-refA"
SEEN = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]
    ],
}  # fmt: skip
"""Linear RGB as people see it who lack one kind of cone (Machado, Oliveira and Fernandes, 2009)."""


def lab(colour: str, seen: list[list[float]]) -> np.ndarray:
    """CIE L*a*b* of a colour as it is seen."""
    rgb = np.array([int(colour[n : n + 2], 16) for n in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(np.array(seen) @ linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", SEEN)
def test_colours_stay_apart_for_people_who_see_fewer(sight):
    """A difference of 2.3 is just noticeable; here every two are 15 apart at least."""
    seen = [lab(colour, SEEN[sight]) for colour in PRINTED]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15


@pytest.fixture
def spec():
    metrics = [
        RankedMetric(metric=name, value=0.5, low=0.4, high=0.6, rank=rank, items=9, baseline=False)
        for rank, name in enumerate(("BLEU", LONG))
    ]
    ranking = Ranking(
        dataset="en-de",
        meta_metric="spa",
        context="global",
        context_column=None,
        systems=3,
        items=9,
        dropped_items=0,
        answers_for=None,
        method=None,
        metrics=metrics,
        comparisons=[],
    )
    return build_ranking_chart(ranking, MetricLabels(["BLEU", LONG]))


@pytest.mark.parametrize(("columns", "inches"), [("one", 7.7 / 2.54), ("two", 16 / 2.54)])
def test_figures_are_as_wide_as_the_column(spec, columns, inches):
    svg = render_figure(spec, "svg", columns).decode()
    assert float(re.search(r' width="(\d+)"', svg)[1]) / 96 == pytest.approx(inches, rel=0.01)
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+)", render_figure(spec, "pdf", columns))
    assert float(box[1]) / 72 == pytest.approx(inches, rel=0.01)
    png = render_figure(spec, "png", columns)
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") / 300 == pytest.approx(inches, rel=0.01)


@pytest.mark.parametrize("columns", ["one", "two"])
def test_long_names_are_whole(spec, columns):
    """Broken into lines, of which none is cut: together they are the name."""
    svg = render_figure(spec, "svg", columns).decode()
    pieces = re.findall(r">([^<>]*[a-z]-?[^<>]*)</t(?:span|ext)>", svg)
    assert LONG in "".join(pieces)
    assert "…" not in svg


def test_every_chart_and_table_of_an_assay_leaves_a_file(result):
    page = result.build_page()
    files = render_paper_files(page, "svg", "markdown")
    sections = page.list_all_sections()
    charts = sum(len(section.charts) for section in sections)
    tables = sum(len(section.grids) + len(section.folded) for section in sections)
    assert sum(name.startswith("figures/") for name in files) == 2 * charts > 6
    assert sum(name.startswith("tables/") for name in files) == tables > 5
    drawn = files["figures/accuracy-by-system-one.svg"].decode()
    assert all(f">{name}<" in drawn for name in ("BLEU", "chrF"))
    with pytest.raises(UnknownName):
        render_paper_files(page, "gif", None)
    with pytest.raises(UnknownName):
        render_paper_files(page, None, "word")


def test_stars_are_at_p_values_alone_and_explained():
    fields = [
        Field("metric", "metric", "name"),
        Field("p", "p", "probability"),
        Field("value", "value", "score"),
    ]
    values = (0.0004, 0.001, 0.01, 0.05, 0.0501, None)
    rows = [{"metric": f"m{n}", "p": p, "value": 0.001} for n, p in enumerate(values)]
    table = build_grid("t", "Caption & more", fields, rows)
    lines = format_grid(table, "latex").splitlines()
    cells = [line.split(" & ") for line in lines if line.startswith("m") and "metric" not in line]
    assert [cell[1] for cell in cells] == [
        r"\textless{} .001***",
        ".001***",
        ".010**",
        ".050*",
        ".050",
        "---",
    ]
    assert all("*" not in cell[2] for cell in cells)
    assert r"* p $\le$ .05" in lines[-2]
    assert r"\*\*\* p ≤ .001" in format_grid(table, "markdown")
    assert format_grid(table, "csv").splitlines()[1] == "m0,0.0004,0.001"
