"""Bootstrap of meta-metrics against drawing the columns themselves."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.intervals import bootstrap_values, percentile_interval, weighted_values
from metassay.meta.people.meta_metrics import parse_meta


@pytest.fixture
def judged() -> ScoreArrays:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(5, 1)) + rng.normal(size=(5, 24))
    return ScoreArrays(human, human + rng.normal(size=(3, 5, 24)))


@pytest.mark.parametrize(
    "name",
    ["spa", "pa", "pearson", "kendall", "pearson:segment", "pearson:item", "pearson:per_system", "acc_eq"],
)
@pytest.mark.parametrize("clustered", [False, True])
def test_a_resample_equals_repeating_the_drawn_segments(
    judged: ScoreArrays, name: str, clustered: bool
) -> None:
    (meta,) = parse_meta(name)
    units = np.arange(24) // 3 if clustered else None
    judged = ScoreArrays(judged.human, judged.metrics, units)
    size = 24 if units is None else 8
    weights = np.random.default_rng(1).multinomial(size, np.full(size, 1 / size), size=7)
    found = weighted_values(meta, judged, [weights.astype(float)])
    assert found is not None
    assert found.shape == (3, 7)
    for draw, counts in enumerate(weights):
        drawn, copies = np.repeat(np.arange(24), counts if units is None else counts[units]), None
        if units is not None:  # each copy of a document is a unit of its own
            drawn = np.concatenate([np.tile(np.arange(3 * u, 3 * u + 3), t) for u, t in enumerate(counts)])
            copies = np.repeat(np.arange(len(drawn) // 3), 3)
        again = ScoreArrays(judged.human[:, drawn], judged.metrics[:, :, drawn], copies)
        if name == "acc_eq":  # epsilon stays that of all items
            continue
        np.testing.assert_allclose(found[:, draw], meta.values(again), atol=1e-9)


def test_the_interval_of_a_mean_over_items_is_the_textbook_one(judged: ScoreArrays) -> None:
    (meta,) = parse_meta("acc_eq")
    found = bootstrap_values(meta, judged, draws=4000, seed=0)
    assert found is not None
    by_item = meta.by_item(judged)
    low, high = percentile_interval(found)
    error = by_item.std(axis=1) / np.sqrt(24)
    np.testing.assert_allclose(low, by_item.mean(axis=1) - 1.96 * error, atol=0.012)
    np.testing.assert_allclose(high, by_item.mean(axis=1) + 1.96 * error, atol=0.012)


def test_kendall_over_all_cells_has_no_bootstrap(judged: ScoreArrays) -> None:
    (meta,) = parse_meta("kendall:segment")
    assert bootstrap_values(meta, judged, draws=5, seed=0) is None
