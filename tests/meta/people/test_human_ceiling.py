"""One rater as a metric for the others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metassay.meta.people.human_ceiling import estimate_agreement_between_raters
from metassay.meta.people.meta_metrics.registry import parse_meta_metric


def test_each_rater_is_compared_with_the_mean_of_the_others() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(5, 40))
    raters = {name: truth + 0.5 * rng.normal(size=truth.shape) for name in "abc"}
    raters["a"][:, 30:] = np.nan
    rows = estimate_agreement_between_raters("set", parse_meta_metric("pearson:segment"), raters, draws=200)
    ceilings = {row.rater: row for row in rows}
    assert (ceilings["a"].items, ceilings["b"].items) == (30, 40)
    others = (raters["b"] + raters["c"])[:, :30] / 2
    expected = stats.pearsonr(raters["a"][:, :30].ravel(), others.ravel())[0]
    ceiling = ceilings["a"]
    assert ceiling.value == pytest.approx(expected)
    assert ceiling.low is not None
    assert ceiling.high is not None
    assert ceiling.low < expected < ceiling.high


def test_raters_without_a_common_item_have_no_ceiling() -> None:
    first = np.full((2, 4), np.nan)
    second = np.full((2, 4), np.nan)
    first[:, :2] = 1.0
    second[:, 2:] = 1.0
    rows = estimate_agreement_between_raters(
        "set", parse_meta_metric("spa"), {"a": first, "b": second}, draws=10
    )
    assert [row.value for row in rows] == [None, None]
