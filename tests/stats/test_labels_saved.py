"""Labels saved: equal to slow transcriptions, to the published figures, and 0 for useless metrics."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.stats import pearsonr

from in_sample_share import compute_in_sample_share
from metassay.stats.labels_saved import (
    compute_system_differences,
    estimate_labels_saved,
)


def simulate_scores(seed: int, *, systems: int = 5, clusters: int = 60, useful: float = 0.0):
    """Skewed human scores with document effects, and a metric that shares the given part with them."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 6, clusters)
    cluster_of_item = np.repeat(np.arange(clusters), sizes)
    items = len(cluster_of_item)
    document_effect = generator.normal(size=clusters)[cluster_of_item]
    human = -generator.exponential(2.0, (systems, items)) + document_effect
    noise = generator.normal(size=(systems, items)) + generator.normal(size=clusters)[cluster_of_item]
    return human, useful * human + noise, cluster_of_item


def test_in_sample_share_equals_squared_pearson_correlation() -> None:
    human, metric, _ = simulate_scores(0, useful=0.5)
    expected = np.mean([pearsonr(h, m).statistic ** 2 for h, m in zip(human, metric)])
    assert compute_in_sample_share(human, metric) == pytest.approx(expected, abs=1e-12)


def test_cross_fitted_share_equals_a_double_loop_over_clusters() -> None:
    human, metric, clusters = simulate_scores(1, useful=0.4)
    shares = []
    for h, m in zip(human, metric):
        products = (h - h.mean()) * (m - m.mean())
        by_cluster = [products[clusters == c].sum() for c in range(clusters.max() + 1)]
        cross = sum(a * b for i, a in enumerate(by_cluster) for j, b in enumerate(by_cluster) if i != j)
        shares.append(cross / (len(h) ** 2 * h.var() * m.var()))
    assert estimate_labels_saved(human, metric, clusters).value == pytest.approx(np.mean(shares), abs=1e-12)


def test_interval_equals_a_jackknife_that_recomputes_everything() -> None:
    human, metric, clusters = simulate_scores(2, clusters=15, useful=0.4)
    count = clusters.max() + 1
    value = estimate_labels_saved(human, metric, clusters).value
    pseudo_values = []
    for left_out in range(count):
        inside = clusters != left_out
        renumbered = np.unique(clusters[inside], return_inverse=True)[1]
        without = estimate_labels_saved(human[:, inside], metric[:, inside], renumbered).value
        pseudo_values.append(count * value - (count - 1) * without)
    result = estimate_labels_saved(human, metric, clusters)
    standard_error = np.std(pseudo_values, ddof=1) / np.sqrt(count)
    assert result.high - result.value == pytest.approx(2.1447867 * standard_error, rel=1e-6)  # t, 14 d.f.


def test_missing_scores_are_left_out() -> None:
    human, metric, clusters = simulate_scores(3, systems=1, useful=0.4)
    missing = np.zeros(human.shape, dtype=bool)
    missing[0, ::7] = True
    with_gaps = np.where(missing, np.nan, metric)
    kept = ~missing[0]
    renumbered = np.unique(clusters[kept], return_inverse=True)[1]
    expected = estimate_labels_saved(human[:, kept], metric[:, kept], renumbered)
    assert estimate_labels_saved(human, with_gaps, clusters).value == pytest.approx(expected.value, abs=1e-12)


def test_constant_metric_saves_exactly_nothing() -> None:
    human, metric, clusters = simulate_scores(4)
    result = estimate_labels_saved(human, np.full_like(metric, 3.7), clusters)
    assert (result.value, result.low, result.high) == (0.0, 0.0, 0.0)


def test_perfect_metric_saves_nearly_everything() -> None:
    human, _, clusters = simulate_scores(5, clusters=400)
    assert estimate_labels_saved(human, 2 * human + 1, clusters).value > 0.97
    assert compute_in_sample_share(human, 2 * human + 1) == pytest.approx(1.0)


def simulate_useless_metric(kind: str, shape: tuple[int, int], clusters: np.ndarray, seed: int) -> np.ndarray:
    """Scores that know nothing of the human scores, as `random`, `constant` and `length` give them."""
    generator = np.random.default_rng(seed)
    if kind == "constant":
        return np.ones(shape)
    if kind == "random":
        return generator.normal(size=shape)
    # The lengths of the outputs of an item are similar, and those of a document too.
    typical = 3 + 0.4 * generator.normal(size=clusters.max() + 1)[clusters] + generator.normal(size=shape[1])
    return np.round(np.exp(typical + 0.1 * generator.normal(size=shape)))


@pytest.mark.parametrize("target", ["mean", "difference"])
@pytest.mark.parametrize("kind", ["random", "constant", "length"])
def test_interval_of_a_useless_metric_contains_zero_in_95_percent(kind, target) -> None:
    contained = 0
    simulations = 300
    for seed in range(simulations):
        human, _, clusters = simulate_scores(1000 + seed)
        metric = simulate_useless_metric(kind, human.shape, clusters, seed)
        if target == "difference":
            human, metric = compute_system_differences(human), compute_system_differences(metric)
        result = estimate_labels_saved(human, metric, clusters)
        contained += result.low <= 0 <= result.high
    print(f"{kind}, {target}: {contained / simulations:.3f}")
    # 95 % minus three standard errors of the simulation.
    assert contained / simulations >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / simulations)


PUBLISHED = {  # from an independent implementation: in-sample share for a mean and for a difference
    "en-de": {
        "XCOMET-Ensemble-refA": (0.458, 0.143),
        "COMET-refA": (0.135, 0.093),
        "chrF-refA": (0.030, 0.029),
    },
    "he-en": {"XCOMET-Ensemble-refB": (0.270, 0.180), "chrF-refB": (0.035, 0.034)},
    "zh-en": {"XCOMET-Ensemble-refA": (0.378, 0.154), "chrF-refA": (0.005, 0.015)},
}


@pytest.mark.real_data
@pytest.mark.parametrize("language_pair", PUBLISHED)
def test_figures_on_wmt23(real_data, language_pair) -> None:
    table = pl.read_parquet(real_data(f"wmt23/wmt23_{language_pair}_metrics.parquet"))
    table = table.sort("system", "seg_id")
    systems = table["system"].n_unique()
    human = table["mqm"].cast(pl.Float64).to_numpy().reshape(systems, -1)
    rated = ~np.isnan(human).any(axis=0)
    for metric_name, (for_mean, for_difference) in PUBLISHED[language_pair].items():
        metric = table[metric_name].cast(pl.Float64).to_numpy().reshape(systems, -1)
        mean_share = compute_in_sample_share(human[:, rated], metric[:, rated])
        difference_share = compute_in_sample_share(
            compute_system_differences(human[:, rated]), compute_system_differences(metric[:, rated])
        )
        assert mean_share == pytest.approx(for_mean, abs=6e-4)
        assert difference_share == pytest.approx(for_difference, abs=6e-4)


@pytest.mark.real_data
@pytest.mark.parametrize("language_pair", PUBLISHED)
def test_in_sample_shares_of_all_metrics_equal_those_of_scipy_on_wmt23(real_data, language_pair) -> None:
    table = pl.read_parquet(real_data(f"wmt23/wmt23_{language_pair}_metrics.parquet"))
    metric_names = [name for name in table.columns if name not in {"lp", "system", "seg_id", "mqm"}]
    tables = [
        group.sort("seg_id") for _, group in table.sort("system").group_by("system", maintain_order=True)
    ]
    human = np.stack([group["mqm"].cast(pl.Float64).to_numpy() for group in tables])
    compared = 0
    for name in metric_names:
        metric = np.stack([group[name].cast(pl.Float64).to_numpy() for group in tables])
        if np.isnan(metric).any() or (metric.std(axis=1) == 0).any():
            continue
        correlations = [pearsonr(h, m).statistic for h, m in zip(human, metric)]
        assert compute_in_sample_share(human, metric) == pytest.approx(
            np.square(correlations).mean(), abs=1e-9
        )
        of_differences = []
        for a, b in itertools.combinations(range(len(human)), 2):
            metric_difference = metric[a] - metric[b]
            if metric_difference.std() > 0:
                of_differences.append(pearsonr(human[a] - human[b], metric_difference).statistic ** 2)
            else:
                of_differences.append(0.0)
        share = compute_in_sample_share(compute_system_differences(human), compute_system_differences(metric))
        assert share == pytest.approx(np.mean(of_differences), abs=1e-9)
        compared += 1
    assert compared >= 30
