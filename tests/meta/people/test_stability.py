"""Stability, discrimination, ceiling, thresholds and power."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics import Procedure, meta_metric, parse_meta
from metassay.meta.people.metric_comparison import metric_differences
from metassay.meta.people.stability import (
    _thresholds,
    agreement_thresholds,
    discrimination,
    human_ceiling,
    segments_to_separate_metrics,
    segments_to_separate_systems,
    stability_over_segments,
    stability_over_systems,
)


@pytest.fixture
def judged() -> ScoreArrays:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(7, 1)) * 0.5 + rng.normal(size=(7, 120))
    noise = np.array([0.5, 1.0, 2.0, 8.0])[:, None, None]
    return ScoreArrays(human, human + noise * rng.normal(size=(4, 7, 120)))


@pytest.mark.parametrize("name", ["spa", "pa", "pearson", "kendall"])
def test_values_on_fewer_systems_are_those_of_the_smaller_table(judged: ScoreArrays, name: str) -> None:
    (meta,) = parse_meta(name)
    subsets = np.array([[0, 2, 5, 6], [1, 2, 3, 4]])
    found = meta.on_subsets(judged, subsets)
    for trial, kept in enumerate(subsets):
        smaller = ScoreArrays(judged.human[kept], judged.metrics[:, kept])
        np.testing.assert_allclose(found[:, trial], meta.values(smaller), atol=1e-12)


def test_a_ranking_grows_stable_with_systems_and_segments(judged: ScoreArrays) -> None:
    rows = stability_over_systems(meta_metric("spa"), judged, trials=200)
    assert [row["systems"] for row in rows] == [3, 4, 5, 6]
    correlations = [row["correlation"] for row in rows]
    assert correlations[-1] > correlations[0]
    assert all(-1 <= r <= 1 for r in correlations)
    widths = [
        row["high"] - row["low"]
        for row in stability_over_segments(meta_metric("pearson"), judged, trials=200)
        if row["metric"] == 1
    ]
    assert widths[-1] < widths[0]


def test_spa_is_more_stable_than_pa_on_wmt23(real_data: Callable[[str], Path]) -> None:
    """The paper's figure 2, en-de: SPA lies above PA at every number of systems."""
    table = pl.read_parquet(real_data("wmt23/wmt23_en-de_metrics.parquet")).sort("system", "seg_id")
    names = [n for n in table.columns if n.endswith("-refA")]
    human, *metrics = (table[n].to_numpy().reshape(12, -1) for n in ["mqm", *names])
    judged = ScoreArrays(human, np.stack(metrics))
    soft, hard = (stability_over_systems(meta_metric(m), judged, trials=300) for m in ("spa", "pa"))
    assert all(s["correlation"] > h["correlation"] for s, h in zip(soft, hard))


@pytest.mark.parametrize(
    ("lp", "distinct", "significant", "clusters"),
    [
        ("en-de", (12, 24), (171, 206), (5, 6)),
        ("he-en", (11, 25), (180, 224), (5, 8)),
        ("zh-en", (12, 25), (186, 229), (7, 7)),
    ],
)
def test_table_1_of_the_paper(
    real_data: Callable[[str], Path],
    lp: str,
    distinct: tuple[int, int],
    significant: tuple[int, int],
    clusters: tuple[int, int],
) -> None:
    """Distinct values exactly; significant comparisons within 10 %, either side; clusters within 2.

    The paper kept the two metrics of en-de that have the same scores; its counts are those with copies.
    """
    table = pl.read_parquet(real_data(f"wmt23/wmt23_{lp}_metrics.parquet")).sort("system", "seg_id")
    names = [n for n in table.columns if n[-5:-1] == "-ref"]
    systems = table["system"].n_unique()
    human, *metrics = (table[n].to_numpy().reshape(systems, -1) for n in ["mqm", *names])
    judged = ScoreArrays(human, np.stack(metrics))
    for k, name in enumerate(("pa", "spa")):
        found = discrimination(meta_metric(name), judged, Procedure())
        assert found["metrics"] == 25
        assert found["distinct_values"] == distinct[k]
        assert found["comparisons"] == (276 if lp == "en-de" else 300)
        assert found["significant_one_sided"] == pytest.approx(significant[k], rel=0.1)
        for side in ("one", "two"):
            count = found[f"significant_{side}_sided_with_copies"]
            assert count == pytest.approx(significant[k], rel=0.1)
        assert abs(found["clusters_one_sided"] - clusters[k]) <= 2
        assert abs(found["clusters_two_sided"] - clusters[k]) <= 2
        if name == "spa":
            assert found["significant_two_sided"] == pytest.approx(significant[k], rel=0.1)


def test_copies_count_as_if_each_had_been_tested(real_data: Callable[[str], Path]) -> None:
    table = pl.read_parquet(real_data("wmt23/wmt23_en-de_metrics.parquet")).sort("system", "seg_id")
    names = ["instructscore-refA", "sescoreX-refA", "BLEU-refA", "COMET-refA", "chrF-refA"]
    human, *metrics = (table[n].to_numpy().reshape(12, -1) for n in ["mqm", *names])
    judged = ScoreArrays(human, np.stack(metrics))
    found = discrimination(meta_metric("spa"), judged, Procedure())
    differences = metric_differences(meta_metric("spa"), judged, Procedure())
    assert differences is not None
    one, two = (int((p <= 0.05).sum()) for p in differences.p_values())
    assert (found["metrics"], found["different_metrics"], found["comparisons"]) == (5, 4, 6)
    assert found["significant_one_sided_with_copies"] == one > found["significant_one_sided"]
    assert found["significant_two_sided_with_copies"] == two > found["significant_two_sided"]


def test_the_ceiling_is_each_rater_against_the_mean_of_the_others() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(5, 40))
    raters = {name: truth + 0.5 * rng.normal(size=truth.shape) for name in "abc"}
    raters["a"][:, 30:] = np.nan
    rows = {row["rater"]: row for row in human_ceiling(meta_metric("pearson:segment"), raters, draws=200)}
    assert (rows["a"]["segments"], rows["b"]["segments"]) == (30, 40)
    others = (raters["b"] + raters["c"])[:, :30] / 2
    assert rows["a"]["value"] == pytest.approx(stats.pearsonr(raters["a"][:, :30].ravel(), others.ravel())[0])
    assert rows["a"]["low"] < rows["a"]["value"] < rows["a"]["high"]


def test_raters_without_a_common_segment_have_no_ceiling() -> None:
    one, other = np.full((2, 4), np.nan), np.full((2, 4), np.nan)
    one[:, :2], other[:, 2:] = 1.0, 1.0
    rows = human_ceiling(meta_metric("spa"), {"a": one, "b": other}, draws=10)
    assert [row["value"] for row in rows] == [None, None]


def test_a_threshold_separates_agreement_from_chance() -> None:
    """Small differences are coin tosses, differences from 1 on are always right: the threshold lies at 1."""
    human = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    metric = np.array([[0.1], [0.0], [1.1], [1.0], [2.1], [2.0]])
    judged = ScoreArrays(human, metric[None])
    found = {t.agreement: t for t in agreement_thresholds([judged], [0], resamples=50)}
    wrong = [
        abs(metric[i, 0] - metric[j, 0])
        for i, j in combinations(range(6), 2)
        if (metric[i, 0] - metric[j, 0]) * (human[i, 0] - human[j, 0]) < 0
    ]
    assert max(wrong) < found[0.95].difference <= 0.9 + 1e-9
    assert found[0.8].difference <= found[0.9].difference <= found[0.95].difference


def test_a_metric_that_is_always_wrong_has_no_threshold() -> None:
    human = np.arange(5.0)[:, None]
    assert all(
        np.isnan(t.difference)
        for t in agreement_thresholds([ScoreArrays(human, -human[None])], [0], resamples=5)
    )


def test_power_of_a_paired_comparison_is_what_a_simulation_finds() -> None:
    rng = np.random.default_rng(2)
    pilot = np.stack([np.zeros(4000), rng.normal(0.25, 1.0, 4000)])
    needed = int(segments_to_separate_systems(pilot)[0])
    assert needed == pytest.approx((1.645 + 0.842) ** 2 / 0.25**2, rel=0.15)
    found = [
        stats.ttest_1samp(rng.normal(0.25, 1.0, needed), 0, alternative="greater").pvalue <= 0.05
        for _ in range(800)
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.06)


def test_power_between_metrics_is_finite_where_they_differ(judged: ScoreArrays) -> None:
    needed = segments_to_separate_metrics(meta_metric("spa"), judged, draws=200)
    assert needed is not None
    assert (needed >= 1).all()
    assert needed[2] < needed[0]  # 0 against 3 is easier than 0 against 1
    twins = ScoreArrays(judged.human, judged.metrics[[0, 0]])
    alone = segments_to_separate_metrics(meta_metric("spa"), twins, draws=50)
    assert alone is not None
    assert np.isinf(alone[0])
    assert np.isinf(segments_to_separate_systems(np.ones((2, 5)))[0])


def test_a_threshold_is_the_first_difference_at_which_enough_people_agree() -> None:
    """Ten pairs, .1 to 1.0 apart; people disagree on the first and the third: pooled shares 0, ½, ½, 1, …"""
    agrees = [False, True, False, *[True] * 7]
    means = [
        (np.array([1.0, 0.0]) if same else np.array([0.0, 1.0]), np.array([size / 10, 0.0]))
        for size, same in enumerate(agrees, start=1)
    ]
    assert _thresholds(means) == pytest.approx([0.4, 0.4, 0.4])
    nine_of_ten = [(human, np.array([0.5, 0.0])) for human, _ in means[3:]] * 2 + [
        (np.array([0.0, 1.0]), np.array([0.5, 0.0]))
    ] * 1
    assert _thresholds(nine_of_ten) == pytest.approx([0.5, 0.5, np.inf])  # 14 of 15 agree: .93
