"""All about every metric: the report agrees with its parts, whatever the order, the workers, or the gaps."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from metassay.data.score_cube import ScoreCube
from metassay.data.score_grid import ScoreGrid
from metassay.errors import InputError, UnknownName
from metassay.meta.dependence.analysis import depend_on_systems
from metassay.meta.dependence.deviations import system_dependence
from metassay.meta.dependence.scored_outputs import outputs_of

SYSTEMS, ITEMS = 5, 40
QUICK = {"bootstraps": 20, "draws": 19}
REQUIRED = {
    "metric",
    "sysdep",
    "low",
    "high",
    "constant",
    "residual_range",
    "p_equal",
    "p_fair",
    "deviations",
    "shrinkage",
    "residual",
    "inversions",
}


@pytest.fixture
def columns():
    rng = np.random.default_rng(0)
    human = rng.normal(size=(SYSTEMS, ITEMS)) + np.linspace(-1, 1, SYSTEMS)[:, None]
    system, item = (axis.ravel() for axis in np.indices(human.shape))
    return {
        "human": human.ravel(),
        "metrics": {
            "good": (human + 0.3 * rng.normal(size=human.shape)).ravel(),
            "poor": (human + 2 * rng.normal(size=human.shape)).ravel(),
        },
        "system": [f"s{k}" for k in system],
        "item": [f"{i:02}" for i in item],
        "contexts": {"domain": np.where(item < 15, "news", "chat"), "genre": np.full(len(item), "one")},
    }


def shuffled(columns, order):
    return {
        name: {key: np.asarray(value)[order] for key, value in part.items()}
        if isinstance(part, dict)
        else np.asarray(part)[order]
        for name, part in columns.items()
    }


def scored(columns, **options):
    """Columns with a row per output as a cube, read output by output."""
    item = np.asarray(columns["item"])
    grid = ScoreGrid.from_rows(pl.Series(np.asarray(columns["system"])), pl.Series(item))
    labels = {name: dict(zip(item, map(str, values))) for name, values in columns["contexts"].items()}
    cube = ScoreCube(
        "all",
        grid.systems,
        grid.items,
        {"mqm": grid.arrange(np.asarray(columns["human"]))},
        {name: grid.arrange(np.asarray(scores)) for name, scores in columns["metrics"].items()},
        {name: tuple(own[segment] for segment in grid.items) for name, own in labels.items()},
    )
    return outputs_of(cube, "mqm", contexts=list(labels), **options)


def test_the_report_says_what_the_array_function_says(columns):
    report = depend_on_systems(scored(columns), **QUICK)
    as_dict = report.to_dict()
    assert list(as_dict)[:4] == ["schema_version", "human", "by", "metrics"]
    assert (as_dict["schema_version"], as_dict["human"], as_dict["by"]) == (1, "mqm", "system")
    assert [entry["metric"] for entry in as_dict["metrics"]] == ["good", "poor"]
    for entry in as_dict["metrics"]:
        assert entry.keys() >= REQUIRED
        alone = system_dependence(
            columns["human"].reshape(SYSTEMS, ITEMS),
            columns["metrics"][entry["metric"]].reshape(SYSTEMS, ITEMS),
            bootstraps=20,
        )
        assert entry["sysdep"] == pytest.approx(alone.sysdep, abs=1e-12)
        assert (entry["low"], entry["high"]) == pytest.approx((alone.low, alone.high))
        assert list(entry["deviations"]) == [f"s{k}" for k in range(SYSTEMS)]
        np.testing.assert_allclose(list(entry["deviations"].values()), alone.deviations, atol=1e-12)
        parts = [entry["shrinkage"][s] + entry["residual"][s] for s in entry["deviations"]]
        np.testing.assert_allclose(parts, list(entry["deviations"].values()), atol=1e-12)
        assert 0.05 <= entry["p_equal"] <= 1
        for pair in entry["inversions"]:
            assert pair["human_gap"] > 0 > pair["metric_gap"]


def test_neither_row_order_nor_workers_nor_other_metrics_change_a_byte(columns):
    first = json.dumps(depend_on_systems(scored(columns), **QUICK).to_dict(), allow_nan=False)
    order = np.random.default_rng(1).permutation(SYSTEMS * ITEMS)
    mixed = scored(shuffled(columns, order))
    assert json.dumps(depend_on_systems(mixed, **QUICK, workers=3).to_dict()) == first
    alone = columns | {"metrics": {"poor": columns["metrics"]["poor"]}}
    entry = depend_on_systems(scored(alone), **QUICK).to_dict()["metrics"][0]
    assert entry == json.loads(first)["metrics"][1]


def test_a_metric_s_gaps_are_its_own(columns):
    whole = depend_on_systems(scored(columns), **QUICK)
    columns["metrics"]["good"][3] = np.nan
    columns["metrics"]["empty"] = np.full(SYSTEMS * ITEMS, np.nan)
    gaps = depend_on_systems(scored(columns), **QUICK)
    assert gaps["poor"].to_dict() == whole["poor"].to_dict()
    assert len(gaps["good"].cells.human) == SYSTEMS * ITEMS - 1
    assert gaps.left_out == {"empty": "no output has both scores"}
    (comparison,) = gaps.comparisons
    both = np.delete(np.arange(SYSTEMS * ITEMS), 3)
    alone = depend_on_systems(scored(shuffled(columns, both)), **QUICK)
    assert comparison.difference.difference == pytest.approx(alone.comparisons[0].difference.difference)


def test_local_dependence_is_measured_where_a_column_varies(columns):
    report = depend_on_systems(scored(columns), **QUICK)
    local = {entry.context: entry for entry in report["good"].local}
    assert set(local) == {"news", "chat"}
    news = columns["contexts"]["domain"].reshape(SYSTEMS, ITEMS)[0] == "news"
    human, metric = (
        scores.reshape(SYSTEMS, ITEMS)[:, news] for scores in (columns["human"], columns["metrics"]["good"])
    )
    alone = system_dependence(human, metric, bootstraps=0)
    np.testing.assert_allclose(local["news"].dependence.single, alone.deviations, atol=1e-12)
    assert local["news"].outputs == news.sum() * SYSTEMS


def test_any_column_can_be_the_grouping(columns):
    domain = columns["contexts"]["domain"]
    report = depend_on_systems(scored(columns, by="domain"), **QUICK)
    assert report.by == "domain"
    entry = report["good"]
    assert entry.cells.names == ("chat", "news")
    assert entry.p_fair is None
    expected = [columns["human"][domain == name].mean() for name in ("chat", "news")]
    np.testing.assert_allclose(entry.cells.human_means, expected, atol=1e-12)
    assert entry.constant == pytest.approx(abs(expected[0] - expected[1]))


def test_the_table_has_a_row_per_metric(columns):
    frame = depend_on_systems(scored(columns), **QUICK).to_frame()
    assert frame["metric"].to_list() == ["good", "poor"]
    assert (frame["explained"] <= frame["inversions"]).all()
    assert (frame["flattered"] != frame["wronged"]).all()


def test_without_bootstrap_there_are_no_intervals_and_no_comparisons(columns):
    report = depend_on_systems(scored(columns), bootstraps=0, draws=19)
    entry = report.to_dict()["metrics"][0]
    assert (entry["low"], entry["high"], report.comparisons) == (None, None, ())
    assert set(entry["deviations_low"].values()) == {None}


def test_curves_and_sensitivity_come_on_request(columns):
    report = depend_on_systems(scored(columns), **QUICK, analysis=True)
    assert len(report["good"].curves().own) == SYSTEMS
    assert report.to_dict()["metrics"][0]["sensitivity"][0]["change"] == "bootstraps"


def test_bad_tables_are_named(columns):
    negative = columns | {"metrics": {**columns["metrics"], "w": -np.ones(SYSTEMS * ITEMS)}}
    with pytest.raises(InputError, match="not negative"):
        scored(negative, weight="w")
    with pytest.raises(InputError, match="a score of good is infinite"):
        scored(columns | {"metrics": {"good": np.full(SYSTEMS * ITEMS, np.inf)}})
    with pytest.raises(InputError, match="no metric has scores"):
        depend_on_systems(scored(columns | {"human": np.full(SYSTEMS * ITEMS, np.nan)}))
    with pytest.raises(UnknownName, match="Did you mean good"):
        depend_on_systems(scored(columns), **QUICK)["goof"]
