"""Tests between metrics: against slow transcriptions, and for their size under the null hypothesis."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.pairwise import soft_pairwise_accuracy
from metassay.meta.people.meta_metrics.base import MetaMetric
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.metric_differences import MetricDifferences
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.meta.people.metric_comparison import (
    compare_metrics_on_shared_items,
    compute_metric_differences,
    compute_williams_p_values,
)
from metassay.stats.score_exchanges import (
    EXCHANGE_KINDS,
    draw_random_score_exchanges_in_blocks,
    standardize_metrics,
)

SYSTEMS, ITEMS, METRICS = 6, 40, 4


@pytest.fixture(scope="module")
def scores() -> ScoreArrays:
    """Metrics of different quality, one of them coarse enough to tie often."""
    rng = np.random.default_rng(7)
    quality = np.linspace(-0.4, 0.4, SYSTEMS)[:, None]
    human = quality + rng.normal(size=(SYSTEMS, ITEMS))
    noise = rng.normal(size=(METRICS, SYSTEMS, ITEMS)) * np.array([0.5, 1.0, 2.0, 1.0])[:, None, None]
    metrics = human + noise
    metrics[3] = np.round(metrics[3])
    return ScoreArrays(human, metrics)


def recompute_exchanged(meta_metric: MetaMetric, scores: ScoreArrays, test: str, draws: int) -> np.ndarray:
    """Exchange the scores themselves and recompute the meta_metric-metric of both: differences `[pairs, draws]`."""
    standardised = standardize_metrics(scores.metrics)
    if meta_metric.name == "spearman":  # ranks are given before the exchanges
        width = ITEMS if meta_metric.level == "per_system" else SYSTEMS * ITEMS
        human, standardised = (
            stats.zscore(stats.rankdata(cells.reshape(-1, width), axis=1), axis=1).reshape(cells.shape)
            for cells in (scores.human, standardised)
        )
        meta_metric = parse_meta_metric(f"pearson:{meta_metric.level}")
        scores = ScoreArrays(human, scores.metrics, scores.clusters)
    rows = []
    for _, exchanges in draw_random_score_exchanges_in_blocks(
        test, draws=draws, systems=len(scores.human), segments=scores.cluster_count, seed=0
    ):
        cells = (
            exchanges.rows[:, :, None] ^ exchanges.columns[:, None, :]
            if exchanges.cells is None
            else exchanges.cells
        )
        for mask in cells:
            mask = mask if scores.clusters is None else mask[:, scores.clusters]  # noqa: PLW2901
            row = []
            for a, b in itertools.combinations(standardised, 2):
                pair = np.stack([np.where(mask, b, a), np.where(mask, a, b)])
                first, second = meta_metric.evaluate_metrics(ScoreArrays(scores.human, pair, scores.clusters))
                row.append(first - second)
            rows.append(row)
    return np.array(rows).T


@pytest.mark.parametrize("test", EXCHANGE_KINDS)
@pytest.mark.parametrize(
    "name",
    [
        "spa", "pa", "pearson", "kendall", "pearson:segment", "spearman:segment", "pearson:per_system",
        "spearman:per_system",
    ],
)  # fmt: skip
def test_every_draw_equals_recomputing_the_exchanged_scores(
    scores: ScoreArrays, name: str, test: str
) -> None:
    meta_metric = parse_meta_metric(name)
    differences = compute_metric_differences(meta_metric, scores, ComparisonSettings(test, draws=60))
    assert differences is not None
    np.testing.assert_allclose(
        differences.drawn, recompute_exchanged(meta_metric, scores, test, 60), atol=2e-5
    )


@pytest.mark.parametrize("test", EXCHANGE_KINDS)
@pytest.mark.parametrize("name", ["spa", "pearson:segment", "pearson:per_system"])
def test_clusters_are_exchanged_as_a_whole(scores: ScoreArrays, name: str, test: str) -> None:
    meta_metric = parse_meta_metric(name)
    documents = ScoreArrays(scores.human, scores.metrics, np.arange(ITEMS) // 4)
    differences = compute_metric_differences(meta_metric, documents, ComparisonSettings(test, draws=20))
    assert differences is not None
    np.testing.assert_allclose(
        differences.drawn, recompute_exchanged(meta_metric, documents, test, 20), atol=2e-5
    )


@pytest.mark.parametrize("test", EXCHANGE_KINDS)
def test_permutation_p_values_in_draws_are_close_to_normal_ones(scores: ScoreArrays, test: str) -> None:
    soft = parse_meta_metric("spa")
    flipped = compute_metric_differences(
        soft, scores, ComparisonSettings(test, "permutation", draws=30, permutations=20_000)
    )
    normal = compute_metric_differences(soft, scores, ComparisonSettings(test, draws=30))
    assert flipped is not None
    assert normal is not None
    np.testing.assert_allclose(flipped.drawn, normal.drawn, atol=0.006)


def test_exchanging_items_flips_the_signs_of_item_differences(scores: ScoreArrays) -> None:
    """Exchanging a segment exchanges that item's two values, so the mean difference has their signs flipped."""
    meta_metric = parse_meta_metric("kendall:item")
    differences = compute_metric_differences(meta_metric, scores, ComparisonSettings(draws=4000))
    assert differences is not None
    taus = np.array(
        [
            [stats.kendalltau(scores.human[:, k], metric[:, k]).statistic for k in range(ITEMS)]
            for metric in scores.metrics
        ]
    )
    difference = taus[0] - taus[2]
    exact = stats.permutation_test(
        (difference[~np.isnan(difference)],),
        np.mean,
        permutation_type="samples",
        n_resamples=9999,
        alternative="greater",
        rng=np.random.default_rng(0),
    )
    assert differences.compute_p_values()[0][1] == pytest.approx(exact.pvalue, abs=0.02)
    assert differences.observed[1] == pytest.approx(difference.mean(), abs=1e-12)


@pytest.mark.parametrize(
    ("test", "method"), [("perm-inputs", "normal"), ("perm-both", "normal"), ("perm-inputs", "permutation")]
)
def test_draws_do_not_depend_on_threads_or_the_order_of_metrics(
    scores: ScoreArrays, test: str, method: str
) -> None:
    def draw_differences(scores: ScoreArrays, workers: int) -> np.ndarray:
        differences = compute_metric_differences(
            parse_meta_metric("spa"), scores, ComparisonSettings(test, method, 120, 200, 3, workers)
        )
        assert differences is not None
        return differences.drawn

    alone = draw_differences(scores, 1)
    np.testing.assert_array_equal(draw_differences(scores, 4), alone)
    backwards = draw_differences(ScoreArrays(scores.human, scores.metrics[::-1].copy()), 2)
    pairs = list(itertools.combinations(range(METRICS), 2))
    mirrored = [pairs.index((METRICS - 1 - b, METRICS - 1 - a)) for a, b in pairs]
    np.testing.assert_allclose(backwards[mirrored], -alone, atol=1e-6)


def test_equal_metrics_never_differ(scores: ScoreArrays) -> None:
    twins = ScoreArrays(scores.human, scores.metrics[[1, 1]])
    for test in (*EXCHANGE_KINDS, "bootstrap"):
        differences = compute_metric_differences(
            parse_meta_metric("spa"), twins, ComparisonSettings(test, draws=99)
        )
        assert differences is not None
        one_sided, two_sided = differences.compute_p_values()
        assert one_sided[0] == two_sided[0] == 1.0


@pytest.mark.parametrize(
    ("name", "test"), [*(("spa", test) for test in EXCHANGE_KINDS), ("pearson", "perm-both")]
)
def test_p_values_are_uniform_under_the_null(name: str, test: str) -> None:
    """Two metrics that are people's scores plus noise of the same size are exchangeable."""
    rng = np.random.default_rng(11)
    p_values = []
    for _ in range(200):
        human = rng.normal(size=(7, 1)) * 0.2 + rng.normal(size=(7, 30))
        scores = ScoreArrays(human, human + rng.normal(size=(2, 7, 30)))
        differences = compute_metric_differences(
            parse_meta_metric(name),
            scores,
            ComparisonSettings(test, draws=99, seed=int(rng.integers(2**31)), workers=1),
        )
        assert differences is not None
        p_values.append(differences.compute_p_values(np.array([True]))[0][0])
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.parametrize("lp", ["en-de", pytest.param("he-en", marks=pytest.mark.slow)])
def test_real_metrics_agree_with_a_slow_transcription(real_data: Callable[[str], Path], lp: str) -> None:
    """30 pairs of metrics, whole segments exchanged under draws of its own, each SPA computed from scratch."""
    table = pl.read_parquet(real_data(f"wmt23/wmt23_{lp}_metrics.parquet")).sort("system", "seg_id")
    systems = table["system"].n_unique()
    names = [n for n in table.columns if n not in {"lp", "system", "seg_id", "mqm"}][::5][:9]
    human, *metrics = (table[n].to_numpy().reshape(systems, -1) for n in ["mqm", *names])
    scores = ScoreArrays(human, np.stack(metrics))
    differences = compute_metric_differences(parse_meta_metric("spa"), scores, ComparisonSettings())
    assert differences is not None
    rng = np.random.default_rng(1)
    masks = rng.random((400, human.shape[1])) < 0.5
    for column, (a, b) in itertools.islice(enumerate(itertools.combinations(range(9), 2)), 30):
        x, y = standardize_metrics(scores.metrics)[[a, b]]
        null = [
            soft_pairwise_accuracy(human, np.where(m, y, x))
            - soft_pairwise_accuracy(human, np.where(m, x, y))
            for m in masks
        ]
        slow = float(np.mean(np.array(null) >= differences.observed[column]))
        fast = differences.compute_p_values(np.full(36, True))[0][column]
        pooled = np.clip((400 * slow + 1000 * fast) / 1400, 0.005, 0.995)
        assert abs(slow - fast) < 4 * np.sqrt(pooled * (1 - pooled) * (1 / 400 + 1 / 1000))


@pytest.mark.parametrize(
    ("systems", "items", "best"), [(8, 50, np.inf), pytest.param(8, 60, 0.0, marks=pytest.mark.slow)]
)
def test_acc_eq_has_its_nominal_size(systems: int, items: int, best: float) -> None:
    """2,000 simulations of items x systems: difficult items, people who tie 25 or 60 % of the pairs."""
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(2000):
        difficulty = rng.normal(size=items)
        human = np.minimum(best, np.round(2 * (difficulty + rng.normal(size=(systems, items)))) / 2)
        scores = ScoreArrays(human, human + rng.normal(size=(2, systems, items)))
        differences = compute_metric_differences(
            parse_meta_metric("acc_eq"),
            scores,
            ComparisonSettings(draws=99, seed=int(rng.integers(2**31)), workers=1),
        )
        assert differences is not None
        rejected += differences.compute_p_values()[1][0] <= 0.05
    assert 0.035 <= rejected / 2000 <= 0.065


def test_acc_eq_draws_are_calibrated_on_the_exchanged_scores(scores: ScoreArrays) -> None:
    """Each draw equals acc_eq of the exchanged scores, but for the grid of epsilons."""
    meta_metric = parse_meta_metric("acc_eq")
    people = ScoreArrays(np.round(scores.human), scores.metrics)
    differences = compute_metric_differences(meta_metric, people, ComparisonSettings(draws=40))
    assert differences is not None
    np.testing.assert_allclose(
        differences.drawn, recompute_exchanged(meta_metric, people, "perm-inputs", 40), atol=0.006
    )
    values = meta_metric.evaluate_metrics(people)
    first, second = np.triu_indices(len(values), 1)
    np.testing.assert_allclose(differences.observed, values[first] - values[second], atol=0.004)


def test_bootstrap_p_values_follow_the_sign() -> None:
    rng = np.random.default_rng(5)
    drawn = rng.normal(0.3, 0.1, size=(1, 999)).astype(np.float32)
    one_sided, two_sided = MetricDifferences(np.array([0.3]), drawn, is_resampled=True).compute_p_values()
    assert one_sided[0] == pytest.approx(stats.norm.cdf(-3), abs=0.004)
    assert two_sided[0] == pytest.approx(2 * one_sided[0])
    assert (
        MetricDifferences(np.array([0.3]), drawn, is_resampled=True).compute_p_values(np.array([False]))[0][0]
        > 0.99
    )


def test_williams_matches_a_worked_example() -> None:
    """Steiger's form of Williams' t, evaluated by hand for r = (.9, .7), r12 = .6, n = 12: t(9) = 1.7764."""
    from metassay.stats.correlation import williams_test

    k = 1 - 0.81 - 0.49 - 0.36 + 2 * 0.9 * 0.7 * 0.6
    t = 0.2 * np.sqrt(11 * 1.6 / (2 * k * 11 / 9 + 0.64 * 0.4**3))
    assert williams_test(0.9, 0.7, 0.6, 12) == pytest.approx(stats.t.sf(t, 9), rel=1e-12)
    assert williams_test(0.7, 0.9, 0.6, 12) == pytest.approx(1 - williams_test(0.9, 0.7, 0.6, 12))


def test_williams_needs_four_systems_and_knows_determined_metrics() -> None:
    """Hendrickson's form with the determinant of the correlations; one degree of freedom is Cauchy's law."""
    from metassay.stats.correlation import williams_test

    r_a, r_b, r_ab = 0.8, 0.3, 0.5
    determinant = np.linalg.det(np.array([[1, r_a, r_b], [r_a, 1, r_ab], [r_b, r_ab, 1]]))
    mean = (r_a + r_b) / 2
    t = (r_a - r_b) * np.sqrt(3 * (1 + r_ab) / (2 * determinant * 3 / 1 + mean**2 * (1 - r_ab) ** 3))
    assert williams_test(r_a, r_b, r_ab, 4) == pytest.approx(stats.cauchy.sf(t), rel=1e-12)
    assert np.isnan(williams_test(r_a, r_b, r_ab, 3))
    for nan_at in range(3):
        correlations = [r_a, r_b, r_ab]
        correlations[nan_at] = np.nan
        assert np.isnan(williams_test(*correlations, 10))
    assert williams_test(0.7, 0.7, 1.0, 10) == 0.5  # the same metric twice
    assert (williams_test(1.0, -1.0, -1.0, 10), williams_test(-1.0, 1.0, -1.0, 10)) == (0.0, 1.0)


def test_williams_has_its_nominal_size() -> None:
    rng = np.random.default_rng(2)
    p_values = []
    for _ in range(600):
        human = rng.normal(size=(12, 1))
        scores = ScoreArrays(human, human + rng.normal(size=(2, 12, 1)))
        p_values.append(compute_williams_p_values(scores)[0, 1])
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


def test_unknown_tests_and_no_draws_are_refused() -> None:
    with pytest.raises(ValueError, match="Did you mean perm-inputs"):
        ComparisonSettings("perm-input")
    with pytest.raises(ValueError, match="too few"):
        ComparisonSettings(draws=0)


def test_no_p_value_is_zero() -> None:
    """Of 99 draws none comes near: one in a hundred, on either side."""
    one_sided, two_sided = MetricDifferences(
        np.array([1.0]), np.zeros((1, 99), dtype=np.float32)
    ).compute_p_values()
    assert one_sided[0] == two_sided[0] == pytest.approx(0.01)


@pytest.mark.parametrize("test", EXCHANGE_KINDS)
@pytest.mark.parametrize("method", ["normal", "permutation"])
@pytest.mark.parametrize("name", ["spa", "pa"])
def test_some_pairs_have_the_differences_that_they_have_among_all_pairs(
    scores: ScoreArrays, name: str, method: str, test: str
) -> None:
    meta_metric = parse_meta_metric(name)
    settings = ComparisonSettings(test, method, draws=8, permutations=50)
    all_pairs = meta_metric.compare_metrics(scores, settings)
    # of four metrics, these are the pairs number 1 and 3
    some_pairs = compute_metric_differences(meta_metric, scores, settings, np.array([[0, 2], [1, 2]]))
    assert all_pairs is not None
    assert some_pairs is not None
    np.testing.assert_allclose(some_pairs.observed, all_pairs.observed[[1, 3]])
    np.testing.assert_allclose(some_pairs.drawn, all_pairs.drawn[[1, 3]], atol=1e-6)


def test_draws_with_missing_scores_equal_recomputing_on_the_items_that_both_metrics_have() -> None:
    """Exchange the same items of both metrics, standardise and evaluate on the items that both have."""
    rng = np.random.default_rng(4)
    human = np.linspace(-0.4, 0.4, 5)[:, None] + rng.normal(size=(5, 30))
    metrics = human + rng.normal(size=(4, 5, 30))
    metrics[1, 2, 7] = metrics[1, :, 20] = metrics[2, 0, [7, 8, 9]] = np.nan
    scores = ScoreArrays(human, metrics)
    meta_metric = parse_meta_metric("spa")
    pairs = np.array(list(itertools.combinations(range(4), 2)))
    differences = compare_metrics_on_shared_items(meta_metric, scores, ComparisonSettings(draws=60), pairs)
    assert differences is not None
    masks = [
        exchanges.columns[draw]
        for _, exchanges in draw_random_score_exchanges_in_blocks(
            "perm-inputs", draws=60, systems=5, segments=30, seed=0
        )
        for draw in range(len(exchanges))
    ]
    for row, pair in enumerate(pairs):
        shared = ~np.isnan(metrics[pair]).any(axis=(0, 1))
        a, b = standardize_metrics(metrics[pair][:, :, shared])
        observed = soft_pairwise_accuracy(human[:, shared], a) - soft_pairwise_accuracy(human[:, shared], b)
        assert differences.observed[row] == pytest.approx(observed, abs=1e-12)
        for draw, mask in enumerate(masks):
            exchanged = mask[shared]
            expected = soft_pairwise_accuracy(human[:, shared], np.where(exchanged, b, a))
            expected -= soft_pairwise_accuracy(human[:, shared], np.where(exchanged, a, b))
            assert differences.drawn[row, draw] == pytest.approx(expected, abs=2e-6)
