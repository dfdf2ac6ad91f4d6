"""Analysis of all metrics: equal to single measurements, for any order of rows, workers and gaps."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl
import pytest

from metassay.data.score_cube import ScoreCube
from metassay.data.score_grid import ScoreGrid
from metassay.errors import InputError
from metassay.meta.dependence.analysis import (
    MissingScores,
    SamplingSettings,
    analyze_metric_bias_between_systems,
)
from metassay.meta.dependence.deviations import system_dependence
from metassay.meta.dependence.grouped_outputs import GroupingColumns, assign_outputs_to_groups

SYSTEMS, ITEMS = 5, 40
QUICK = SamplingSettings(bootstraps=20, draws=19)


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


def select_rows(columns, rows):
    """The same columns with these rows in this order."""
    selected = {}
    for name, values in columns.items():
        if isinstance(values, dict):
            selected[name] = {key: np.asarray(inner)[rows] for key, inner in values.items()}
        else:
            selected[name] = np.asarray(values)[rows]
    return selected


def group_columns(columns, **grouping):
    """Columns with a row per output as grouped outputs of a cube."""
    items = np.asarray(columns["item"])
    grid = ScoreGrid.from_rows(pl.Series(np.asarray(columns["system"])), pl.Series(items))
    labels = {name: dict(zip(items, map(str, values))) for name, values in columns["contexts"].items()}
    cube = ScoreCube(
        "all",
        grid.systems,
        grid.items,
        {"mqm": grid.arrange_as_system_by_item_matrix(np.asarray(columns["human"]))},
        {
            name: grid.arrange_as_system_by_item_matrix(np.asarray(scores))
            for name, scores in columns["metrics"].items()
        },
        {name: tuple(by_item[item] for item in grid.items) for name, by_item in labels.items()},
    )
    return assign_outputs_to_groups(cube, "mqm", GroupingColumns(contexts=list(labels), **grouping))


def by_metric(analysis):
    return {entry.metric: entry for entry in analysis.metrics}


def test_every_entry_equals_the_array_function(columns):
    analysis = analyze_metric_bias_between_systems(group_columns(columns), QUICK)
    assert [entry.metric for entry in analysis.metrics] == ["good", "poor"]
    for entry in analysis.metrics:
        expected = system_dependence(
            columns["human"].reshape(SYSTEMS, ITEMS),
            columns["metrics"][entry.metric].reshape(SYSTEMS, ITEMS),
            bootstraps=20,
        )
        assert entry.sysdep == pytest.approx(expected.sysdep, abs=1e-12)
        assert (entry.low, entry.high) == pytest.approx((expected.low, expected.high))
        assert list(entry.deviations) == [f"s{k}" for k in range(SYSTEMS)]
        np.testing.assert_allclose(list(entry.deviations.values()), expected.deviations, atol=1e-12)
        for system, deviation in entry.deviations.items():
            assert entry.shrinkage[system] + entry.residual[system] == pytest.approx(deviation, abs=1e-12)
        assert 0.05 <= entry.p_equal <= 1
        for pair in entry.inversions:
            assert pair.human_gap > 0 > pair.metric_gap


def test_row_order_workers_and_other_metrics_change_nothing(columns):
    analysis = analyze_metric_bias_between_systems(group_columns(columns), QUICK)
    order = np.random.default_rng(1).permutation(SYSTEMS * ITEMS)
    shuffled = analyze_metric_bias_between_systems(
        group_columns(select_rows(columns, order)), QUICK, workers=3
    )
    assert msgspec.json.encode(shuffled.metrics) == msgspec.json.encode(analysis.metrics)
    assert shuffled.comparisons == analysis.comparisons
    only_poor = columns | {"metrics": {"poor": columns["metrics"]["poor"]}}
    (entry,) = analyze_metric_bias_between_systems(group_columns(only_poor), QUICK).metrics
    assert entry == by_metric(analysis)["poor"]


def test_missing_scores_of_a_metric_affect_only_this_metric(columns):
    complete = analyze_metric_bias_between_systems(group_columns(columns), QUICK)
    columns["metrics"]["good"][3] = np.nan
    columns["metrics"]["empty"] = np.full(SYSTEMS * ITEMS, np.nan)
    incomplete = analyze_metric_bias_between_systems(group_columns(columns), QUICK)
    assert by_metric(incomplete)["poor"] == by_metric(complete)["poor"]
    assert by_metric(incomplete)["good"].outputs == SYSTEMS * ITEMS - 1
    assert incomplete.left_out == {"empty": MissingScores.ALL_OUTPUTS}
    (comparison,) = incomplete.comparisons
    shared_rows = np.delete(np.arange(SYSTEMS * ITEMS), 3)
    shared = analyze_metric_bias_between_systems(group_columns(select_rows(columns, shared_rows)), QUICK)
    assert comparison.difference == pytest.approx(shared.comparisons[0].difference)


def test_local_dependence_equals_a_measurement_within_the_context(columns):
    analysis = analyze_metric_bias_between_systems(
        group_columns(columns), SamplingSettings(bootstraps=0, draws=19)
    )
    local = {entry.context: entry for entry in by_metric(analysis)["good"].local}
    assert set(local) == {"news", "chat"}  # the column genre has only one value
    is_news = columns["contexts"]["domain"].reshape(SYSTEMS, ITEMS)[0] == "news"
    human = columns["human"].reshape(SYSTEMS, ITEMS)[:, is_news]
    metric = columns["metrics"]["good"].reshape(SYSTEMS, ITEMS)[:, is_news]
    expected = system_dependence(human, metric, bootstraps=0)
    assert local["news"].sysdep == pytest.approx(expected.sysdep, abs=1e-12)
    assert local["news"].outputs == is_news.sum() * SYSTEMS


def test_outputs_can_be_grouped_by_any_column(columns):
    domain = columns["contexts"]["domain"]
    entry = by_metric(analyze_metric_bias_between_systems(group_columns(columns, by="domain"), QUICK))["good"]
    assert list(entry.deviations) == ["chat", "news"]
    assert entry.p_fair is None
    expected = [columns["human"][domain == name].mean() for name in ("chat", "news")]
    np.testing.assert_allclose(list(entry.human_means.values()), expected, atol=1e-12)
    assert entry.constant == pytest.approx(abs(expected[0] - expected[1]))


def test_without_bootstrap_there_are_no_intervals_and_no_comparisons(columns):
    analysis = analyze_metric_bias_between_systems(
        group_columns(columns), SamplingSettings(bootstraps=0, draws=19)
    )
    entry = analysis.metrics[0]
    assert (entry.low, entry.high, analysis.comparisons) == (None, None, [])
    assert set(entry.deviations_low.values()) == {None}


def test_curves_and_sensitivity_are_available(columns):
    sampling = SamplingSettings(bootstraps=20, draws=19, sensitivity=True)
    analysis = analyze_metric_bias_between_systems(group_columns(columns), sampling)
    assert len(analysis.predicted_human_score_curves["good"].groups) == SYSTEMS
    assert analysis.metrics[0].sensitivity[0].change == "bootstraps"


def test_invalid_tables_are_errors(columns):
    negative = columns | {"metrics": {**columns["metrics"], "w": -np.ones(SYSTEMS * ITEMS)}}
    with pytest.raises(InputError, match="not negative"):
        group_columns(negative, weight="w")
    with pytest.raises(InputError, match="a score of good is infinite"):
        group_columns(columns | {"metrics": {"good": np.full(SYSTEMS * ITEMS, np.inf)}})
    with pytest.raises(InputError, match="no metric has scores"):
        analyze_metric_bias_between_systems(
            group_columns(columns | {"human": np.full(SYSTEMS * ITEMS, np.nan)})
        )
