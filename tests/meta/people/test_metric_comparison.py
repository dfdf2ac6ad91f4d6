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
from metassay.meta.people.meta_metrics import MetaMetric, meta_metric, parse_meta
from metassay.meta.people.metric_comparison import (
    Differences,
    Procedure,
    cluster_ranks,
    comparison_rows,
    metric_differences,
    ranks_of,
    williams_p_values,
)
from metassay.stats.swaps import SWAP_KINDS, draw_swap_blocks, standardize_metrics

SYSTEMS, SEGMENTS, METRICS = 6, 40, 4


@pytest.fixture(scope="module")
def judged() -> ScoreArrays:
    """Metrics of different quality, one of them coarse enough to tie often."""
    rng = np.random.default_rng(7)
    quality = np.linspace(-0.4, 0.4, SYSTEMS)[:, None]
    human = quality + rng.normal(size=(SYSTEMS, SEGMENTS))
    noise = rng.normal(size=(METRICS, SYSTEMS, SEGMENTS)) * np.array([0.5, 1.0, 2.0, 1.0])[:, None, None]
    metrics = human + noise
    metrics[3] = np.round(metrics[3])
    return ScoreArrays(human, metrics)


def transcribed(meta: MetaMetric, judged: ScoreArrays, test: str, draws: int) -> np.ndarray:
    """Swap the scores themselves and recompute the meta-metric of both: differences `[pairs, draws]`."""
    units = judged.human.shape[1] if judged.clusters is None else judged.clusters.max() + 1
    scores = standardize_metrics(judged.metrics)
    if meta.name == "spearman":  # ranks are given before the swaps
        width = SEGMENTS if meta.level == "per_system" else SYSTEMS * SEGMENTS
        human, scores = (
            stats.zscore(stats.rankdata(cells.reshape(-1, width), axis=1), axis=1).reshape(cells.shape)
            for cells in (judged.human, scores)
        )
        meta = meta_metric(f"pearson:{meta.level}")
        judged = ScoreArrays(human, judged.metrics, judged.clusters)
    found = []
    for _, swaps in draw_swap_blocks(test, draws=draws, systems=len(judged.human), segments=units, seed=0):
        for draw in range(len(swaps)):
            mask = swaps.select_cells(draw)
            mask = mask if judged.clusters is None else mask[:, judged.clusters]
            row = []
            for a, b in itertools.combinations(scores, 2):
                pair = np.stack([np.where(mask, b, a), np.where(mask, a, b)])
                ours, theirs = meta.values(ScoreArrays(judged.human, pair, judged.clusters))
                row.append(ours - theirs)
            found.append(row)
    return np.array(found).T


@pytest.mark.parametrize("test", SWAP_KINDS)
@pytest.mark.parametrize(
    "name",
    [
        "spa", "pa", "pearson", "kendall", "pearson:segment", "spearman:segment", "pearson:per_system",
        "spearman:per_system",
    ],
)  # fmt: skip
def test_every_draw_equals_recomputing_the_swapped_scores(judged: ScoreArrays, name: str, test: str) -> None:
    (meta,) = parse_meta(name)
    found = metric_differences(meta, judged, Procedure(test, draws=60))
    assert found is not None
    np.testing.assert_allclose(found.drawn, transcribed(meta, judged, test, 60), atol=2e-5)


@pytest.mark.parametrize("test", SWAP_KINDS)
@pytest.mark.parametrize("name", ["spa", "pearson:segment", "pearson:per_system"])
def test_clusters_are_swapped_as_a_whole(judged: ScoreArrays, name: str, test: str) -> None:
    (meta,) = parse_meta(name)
    documents = ScoreArrays(judged.human, judged.metrics, np.arange(SEGMENTS) // 4)
    found = metric_differences(meta, documents, Procedure(test, draws=20))
    assert found is not None
    np.testing.assert_allclose(found.drawn, transcribed(meta, documents, test, 20), atol=2e-5)


@pytest.mark.parametrize("test", SWAP_KINDS)
def test_permutation_p_values_inside_draws_are_near_the_normal_ones(judged: ScoreArrays, test: str) -> None:
    soft = meta_metric("spa")
    flipped = metric_differences(soft, judged, Procedure(test, "permutation", draws=30, permutations=20_000))
    normal = metric_differences(soft, judged, Procedure(test, draws=30))
    assert flipped is not None
    assert normal is not None
    np.testing.assert_allclose(flipped.drawn, normal.drawn, atol=0.006)


def test_item_level_swaps_are_sign_flips(judged: ScoreArrays) -> None:
    """Swapping a segment swaps that item's two values, so the mean difference has their signs flipped."""
    meta = meta_metric("kendall:item")
    found = metric_differences(meta, judged, Procedure(draws=4000))
    assert found is not None
    taus = np.array(
        [
            [stats.kendalltau(judged.human[:, k], metric[:, k]).statistic for k in range(SEGMENTS)]
            for metric in judged.metrics
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
    assert found.p_values()[0][1] == pytest.approx(exact.pvalue, abs=0.02)
    assert found.observed[1] == pytest.approx(difference.mean(), abs=1e-12)


@pytest.mark.parametrize(
    ("test", "method"), [("perm-inputs", "normal"), ("perm-both", "normal"), ("perm-inputs", "permutation")]
)
def test_threads_and_order_of_metrics_change_nothing(judged: ScoreArrays, test: str, method: str) -> None:
    def drawn(judged: ScoreArrays, workers: int) -> np.ndarray:
        found = metric_differences(meta_metric("spa"), judged, Procedure(test, method, 120, 200, 3, workers))
        assert found is not None
        return found.drawn

    alone = drawn(judged, 1)
    np.testing.assert_array_equal(drawn(judged, 4), alone)
    backwards = drawn(ScoreArrays(judged.human, judged.metrics[::-1].copy()), 2)
    pairs = list(itertools.combinations(range(METRICS), 2))
    mirrored = [pairs.index((METRICS - 1 - b, METRICS - 1 - a)) for a, b in pairs]
    np.testing.assert_allclose(backwards[mirrored], -alone, atol=1e-6)


def test_equal_metrics_never_differ(judged: ScoreArrays) -> None:
    twins = ScoreArrays(judged.human, judged.metrics[[1, 1]])
    for test in (*SWAP_KINDS, "bootstrap"):
        found = metric_differences(meta_metric("spa"), twins, Procedure(test, draws=99))
        assert found is not None
        one, two = found.p_values()
        assert one[0] == two[0] == 1.0


@pytest.mark.parametrize(
    ("name", "test"), [*(("spa", test) for test in SWAP_KINDS), ("pearson", "perm-both")]
)
def test_p_values_are_uniform_under_the_null(name: str, test: str) -> None:
    """Two metrics that are people's scores plus noise of the same size are exchangeable."""
    rng = np.random.default_rng(11)
    p_values = []
    for _ in range(200):
        human = rng.normal(size=(7, 1)) * 0.2 + rng.normal(size=(7, 30))
        judged = ScoreArrays(human, human + rng.normal(size=(2, 7, 30)))
        found = metric_differences(
            meta_metric(name), judged, Procedure(test, draws=99, seed=int(rng.integers(2**31)), workers=1)
        )
        assert found is not None
        p_values.append(found.p_values(np.array([True]))[0][0])
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.parametrize("lp", ["en-de", "he-en"])
def test_real_metrics_agree_with_a_slow_transcription(real_data: Callable[[str], Path], lp: str) -> None:
    """30 pairs of metrics, whole segments swapped under draws of its own, each SPA computed from scratch."""
    table = pl.read_parquet(real_data(f"wmt23/wmt23_{lp}_metrics.parquet")).sort("system", "seg_id")
    systems = table["system"].n_unique()
    names = [n for n in table.columns if n not in {"lp", "system", "seg_id", "mqm"}][::5][:9]
    human, *metrics = (table[n].to_numpy().reshape(systems, -1) for n in ["mqm", *names])
    judged = ScoreArrays(human, np.stack(metrics))
    found = metric_differences(meta_metric("spa"), judged, Procedure())
    assert found is not None
    rng = np.random.default_rng(1)
    masks = rng.random((400, human.shape[1])) < 0.5
    for column, (a, b) in itertools.islice(enumerate(itertools.combinations(range(9), 2)), 30):
        x, y = standardize_metrics(judged.metrics)[[a, b]]
        null = [
            soft_pairwise_accuracy(human, np.where(m, y, x))
            - soft_pairwise_accuracy(human, np.where(m, x, y))
            for m in masks
        ]
        slow = float(np.mean(np.array(null) >= found.observed[column]))
        fast = found.p_values(np.full(36, True))[0][column]
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
        judged = ScoreArrays(human, human + rng.normal(size=(2, systems, items)))
        found = metric_differences(
            meta_metric("acc_eq"),
            judged,
            Procedure(draws=99, seed=int(rng.integers(2**31)), workers=1),
        )
        assert found is not None
        rejected += found.p_values()[1][0] <= 0.05
    assert 0.035 <= rejected / 2000 <= 0.065


def test_acc_eq_draws_are_calibrated_on_the_swapped_scores(judged: ScoreArrays) -> None:
    """Each draw equals acc_eq of the swapped scores, but for the grid of epsilons."""
    meta = meta_metric("acc_eq")
    people = ScoreArrays(np.round(judged.human), judged.metrics)
    found = metric_differences(meta, people, Procedure(draws=40))
    assert found is not None
    np.testing.assert_allclose(found.drawn, transcribed(meta, people, "perm-inputs", 40), atol=0.006)
    values = meta.values(people)
    first, second = np.triu_indices(len(values), 1)
    np.testing.assert_allclose(found.observed, values[first] - values[second], atol=0.004)


def test_bootstrap_p_values_follow_the_sign() -> None:
    rng = np.random.default_rng(5)
    drawn = rng.normal(0.3, 0.1, size=(1, 999)).astype(np.float32)
    one, two = Differences(np.array([0.3]), drawn, resampled=True).p_values()
    assert one[0] == pytest.approx(stats.norm.cdf(-3), abs=0.004)
    assert two[0] == pytest.approx(2 * one[0])
    assert Differences(np.array([0.3]), drawn, resampled=True).p_values(np.array([False]))[0][0] > 0.99


def test_williams_matches_a_worked_example() -> None:
    """Steiger's form of Williams' t, evaluated by hand for r = (.9, .7), r12 = .6, n = 12: t(9) = 1.7764."""
    from metassay.stats.correlation import williams_test

    k = 1 - 0.81 - 0.49 - 0.36 + 2 * 0.9 * 0.7 * 0.6
    t = 0.2 * np.sqrt(11 * 1.6 / (2 * k * 11 / 9 + 0.64 * 0.4**3))
    assert williams_test(0.9, 0.7, 0.6, 12) == pytest.approx(stats.t.sf(t, 9), rel=1e-12)
    assert williams_test(0.7, 0.9, 0.6, 12) == pytest.approx(1 - williams_test(0.9, 0.7, 0.6, 12))


def test_williams_has_its_nominal_size() -> None:
    rng = np.random.default_rng(2)
    p_values = []
    for _ in range(600):
        human = rng.normal(size=(12, 1))
        judged = ScoreArrays(human, human + rng.normal(size=(2, 12, 1)))
        p_values.append(williams_p_values(judged)[0, 1])
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


def test_a_rank_starts_where_a_metric_differs_from_any_of_the_current_rank() -> None:
    """The shared task's rule: 1 ~ 2, 3 differs from 1 only, 4 differs from nobody since 3."""
    differs = np.zeros((4, 4), dtype=bool)
    differs[0, 2] = differs[2, 0] = True
    assert cluster_ranks([0, 1, 2, 3], differs) == {0: 1, 1: 1, 2: 2, 3: 2}
    differs[2, 3] = differs[3, 2] = True
    assert cluster_ranks([0, 1, 2, 3], differs) == {0: 1, 1: 1, 2: 2, 3: 3}


def test_unknown_tests_and_no_draws_are_refused() -> None:
    with pytest.raises(ValueError, match="Did you mean perm-inputs"):
        Procedure("perm-input")
    with pytest.raises(ValueError, match="too few"):
        Procedure(draws=0)


P_VALUES = np.array([[np.nan, 0.04, 0.02], [0.9, np.nan, 0.03], [0.9, 0.9, np.nan]])


def test_ranks_are_given_with_or_without_holm() -> None:
    """.02, .03 and .04 are all significant alone; adjusted by Holm all three are .06."""
    values = np.array([0.9, 0.8, 0.7])
    assert ranks_of([0, 1, 2], values, P_VALUES) == {0: 1, 1: 2, 2: 3}
    assert ranks_of([0, 1, 2], values, P_VALUES, holm=True) == {0: 1, 1: 1, 2: 1}


def test_a_rank_takes_five_per_cent() -> None:
    p = np.array([[np.nan, 0.06], [0.94, np.nan]])
    assert ranks_of([0, 1], np.array([0.9, 0.8]), p) == {0: 1, 1: 1}
    assert ranks_of([0, 1], np.array([0.9, 0.8]), np.where(p == 0.06, 0.05, p)) == {0: 1, 1: 2}


def test_comparisons_are_adjusted_by_holm_where_asked() -> None:
    rows = comparison_rows([0, 1, 2], ["a", "b", "c"], P_VALUES, 2 * P_VALUES, holm=True)
    assert [(row["a"], row["b"], row["p"]) for row in rows] == [
        ("a", "b", 0.04),
        ("a", "c", 0.02),
        ("b", "c", 0.03),
    ]
    assert [row["p_holm"] for row in rows] == pytest.approx([0.06, 0.06, 0.06])


def test_no_p_value_is_zero() -> None:
    """Of 99 draws none comes near: one in a hundred, on either side."""
    one, two = Differences(np.array([1.0]), np.zeros((1, 99), dtype=np.float32)).p_values()
    assert one[0] == two[0] == pytest.approx(0.01)
