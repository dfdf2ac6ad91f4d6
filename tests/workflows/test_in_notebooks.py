"""What a notebook shows of data and results: two lines, a table and charts, without style or script."""

from __future__ import annotations

import re

import polars as pl
import pytest
import vl_convert

import metassay
from metassay.errors import InputError, UnknownName

ATTACK = "<script>alert(1)</script>"
WORDS = ["the", "cat", "sat", "on", "a", "mat", "with", "two", "red", "birds"]


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    rows = [
        {"seg_id": n, "system": f"{s}{ATTACK}", "hyp": " ".join(WORDS[(n + k) % 4 :][:5]) + ATTACK,
         "ref": " ".join(WORDS[n % 4 :][:6]), "mqm": -float((3 * n + k) % 5), "m1": float((n * k + n) % 7), "m2": float(k)}
        for n in range(10) for k, s in enumerate("ab")
    ]  # fmt: skip
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def shown(frame: pl.DataFrame) -> dict[str, object]:
    """A data set, and a result of every command that takes one."""
    data = metassay.read(frame.drop("m1", "m2"), task="mt")
    few = {"resamples": 20, "permutations": 19}
    return {
        "data": data,
        "check": metassay.check(data),
        "assay": metassay.assay(data, metrics="bleu,chrf", perturbations="removal,swapping", **few),
        "score": metassay.score(data, metrics="bleu,chrf", test="bootstrap", draws=50),
        "aggregate": metassay.aggregate(data, metrics="bleu,chrf", resamples=20, repeats=20),
        "rank": metassay.rank(frame, metrics="m1,m2", draws=39),
        "depend": metassay.depend(frame, metrics="m1,m2", draws=19, bootstraps=10),
        "perturb": metassay.perturb(data, perturbations="removal"),
    }


def test_notebook_view_has_two_lines_and_a_table_without_style_or_script(shown):
    for name, one in shown.items():
        first, second = repr(one).split("\n")
        assert first.startswith(type(one).__name__), name
        assert second.strip(), name
        html = one._repr_html_()
        assert "<table" in html, name
        assert ATTACK not in html, name
        if name != "data":  # polars brings a style of its own for its table
            assert "<style" not in html, name
        if name != "data":
            assert isinstance(one.to_frame(), pl.DataFrame), name


def test_charts_are_valid_vega_lite(shown):
    for name in ("assay", "score", "aggregate", "rank", "depend"):
        result = shown[name]
        for chart in result.charts().values():
            bundle = chart._repr_mimebundle_()
            spec = bundle["application/vnd.vegalite.v6+json"]
            assert re.search(r"/v6\.json$", spec["$schema"])
            assert vl_convert.vegalite_to_vega(spec)["marks"], (name, chart.name)
            assert bundle["image/svg+xml"].startswith("<svg")
            assert ATTACK not in bundle["image/svg+xml"]
        assert result.plot() is not None
    with pytest.raises(UnknownName, match="unknown chart 'nothing'"):
        shown["rank"].plot("nothing")
    with pytest.raises(InputError, match="this result has no chart"):
        shown["perturb"].plot()


def test_chart_of_an_assay_has_a_legend_of_metrics(shown):
    chart = shown["assay"].plot()
    assert chart.name == "accuracy by system"
    picture = chart._repr_mimebundle_()["image/svg+xml"]
    assert "BLEU" in picture
    assert "chrF" in picture
