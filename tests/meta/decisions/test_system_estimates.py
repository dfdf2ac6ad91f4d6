"""Estimates of systems: coverage on WMT23, also with metrics that mislead, and ranks from differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wmt23_labels import hide_labels, read_wmt23

from metassay.meta.decisions.control_variates import THESE_ITEMS
from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.meta.decisions.metric_choice import choose_metric_saving_most_labels
from metassay.meta.decisions.sample_check import check_labelled_items_are_random_sample
from metassay.meta.decisions.system_estimates import estimate_system_scores

FEW_METRICS = {
    "en-de": ["XCOMET-Ensemble-refA", "COMET-refA", "chrF-refA", "BLEU-refA"],
    "he-en": ["XCOMET-Ensemble-refB", "COMET-refB", "chrF-refB", "BLEU-refB"],
}


def measure_coverage(scores: LabelledScores, count: int, repetitions: int, resamples: int = 200):
    """Draw items at random and return how often means, differences and all differences are covered.

    Also returns the width of intervals relative to labels only.
    """
    truth = dict(zip(scores.systems, scores.human.mean(axis=1)))
    generator = np.random.default_rng(count)
    means, all_differences, widths = [], [], []
    for repetition in range(repetitions):
        drawn = generator.choice(len(scores.items), count, replace=False)
        sample = replace(scores, human=hide_labels(scores.human, drawn))
        choice = choose_metric_saving_most_labels(sample)
        estimated = estimate_system_scores(
            sample, choice, target=THESE_ITEMS, seed=repetition, resamples=resamples
        )
        for entry in estimated.systems:
            means.append(entry.estimate.low <= truth[entry.system] <= entry.estimate.high)
            width = entry.estimate.high - entry.estimate.low
            widths.append(width / (entry.labels_only.high - entry.labels_only.low))
        covered = [pair.low <= truth[pair.a] - truth[pair.b] <= pair.high for pair in estimated.differences]
        all_differences.append(all(covered))
    return float(np.mean(means)), float(np.mean(all_differences)), float(np.mean(widths))


def add_misleading_metrics(scores: LabelledScores, kind: str) -> LabelledScores:
    useful = next(iter(scores.metrics.values()))
    constant = np.zeros_like(useful)
    unrelated = np.random.default_rng(0).normal(size=useful.shape)
    misleading = {"inverted": -useful, "constant": constant, "unrelated": unrelated}[kind]
    return replace(scores, metrics={kind: misleading})


@pytest.mark.real_data
def test_intervals_cover_on_wmt23(real_data) -> None:
    scores = read_wmt23(real_data("wmt23/wmt23_en-de_metrics.parquet"), FEW_METRICS["en-de"])
    means, all_differences, width = measure_coverage(scores, 100, repetitions=30)
    # 30 repetitions of 12 systems that share items: .95 minus three standard errors.
    assert means >= 0.90
    assert all_differences >= 0.83
    assert width < 0.9  # XCOMET saves over 40 % of the labels: sqrt(1 - .4) = .77


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("language_pair", FEW_METRICS)
@pytest.mark.parametrize("count", [50, 100, 200])
def test_coverage_is_near_95_percent_with_all_metrics_to_choose_from(real_data, language_pair, count) -> None:
    scores = read_wmt23(real_data(f"wmt23/wmt23_{language_pair}_metrics.parquet"))
    means, all_differences, width = measure_coverage(scores, count, repetitions=100, resamples=300)
    assert 0.92 <= means <= 0.98
    assert 0.88 <= all_differences <= 1.0
    assert width <= 0.95


@pytest.mark.real_data
@pytest.mark.parametrize("kind", ["inverted", "constant", "unrelated"])
def test_misleading_metrics_do_not_spoil_coverage(real_data, kind) -> None:
    scores = read_wmt23(real_data("wmt23/wmt23_en-de_metrics.parquet"), FEW_METRICS["en-de"])
    scores = add_misleading_metrics(scores, kind)
    means, all_differences, width = measure_coverage(scores, 60, repetitions=25)
    assert means >= 0.89
    assert all_differences >= 0.8
    assert width <= 1.05


def simulate(seed: int = 0, items: int = 300, systems: int = 3) -> LabelledScores:
    generator = np.random.default_rng(seed)
    human = generator.normal(size=(systems, items)) - 2.0 * np.arange(systems)[:, None]
    useful = human + generator.normal(size=human.shape)
    labels = hide_labels(human, generator.choice(items, 80, replace=False))
    names = tuple(f"s{number}" for number in range(systems))
    return LabelledScores(names, tuple(map(str, range(items))), labels, {"useful": useful}, np.arange(items))


def test_a_metric_that_copies_the_labels_is_never_chosen() -> None:
    scores = simulate()
    copied = np.where(np.isnan(scores.human), 0.0, 3 * scores.human + 1)
    choice = choose_metric_saving_most_labels(replace(scores, metrics={"copied": copied, **scores.metrics}))
    assert choice.metric == "useful"
    assert [candidate.metric for candidate in choice.candidates if candidate.copies_labels] == ["copied"]
    assert choose_metric_saving_most_labels(replace(scores, metrics={"copied": copied})).metric is None


def test_constant_metric_gives_exactly_the_labels_only_estimate() -> None:
    scores = simulate()
    scores = replace(scores, metrics={"constant": np.ones_like(scores.human)})
    choice = choose_metric_saving_most_labels(scores)
    assert choice.metric is None
    for entry in estimate_system_scores(scores, choice, target=THESE_ITEMS, seed=0, resamples=100).systems:
        assert entry.estimate == entry.labels_only
        assert entry.labels_saved == 0


def test_ranks_follow_from_differences() -> None:
    far_apart = simulate(items=600)
    estimated = estimate_system_scores(
        far_apart, choose_metric_saving_most_labels(far_apart), target=THESE_ITEMS, seed=0
    )
    ranks = {entry.system: (entry.rank_low, entry.rank_high) for entry in estimated.systems}
    assert ranks == {"s0": (1, 1), "s1": (2, 2), "s2": (3, 3)}
    assert all(pair.p_holm < 0.05 for pair in estimated.differences)
    equal = simulate()
    equal = replace(equal, human=equal.human + 2.0 * np.arange(3)[:, None])
    estimated = estimate_system_scores(
        equal, choose_metric_saving_most_labels(equal), target=THESE_ITEMS, seed=0
    )
    assert {(entry.rank_low, entry.rank_high) for entry in estimated.systems} == {(1, 3)}


def test_random_samples_are_called_random_in_95_percent() -> None:
    generator = np.random.default_rng(3)
    p_values = []
    for seed in range(120):
        scores = simulate(seed)
        noise = {f"noise{n}": generator.exponential(size=scores.human.shape) for n in range(5)}
        check = check_labelled_items_are_random_sample(
            replace(scores, metrics=scores.metrics | noise), generator, 99
        )
        p_values.append(check.p)
    # Three standard errors above 5 %.
    assert np.mean(np.array(p_values) <= 0.05) <= 0.11


def test_a_sample_of_the_worst_items_is_noticed() -> None:
    scores = simulate()
    item_means = scores.metrics["useful"].mean(axis=0)
    full = np.random.default_rng(0).normal(size=scores.human.shape)
    worst = np.argsort(item_means)[:80]
    check = check_labelled_items_are_random_sample(
        replace(scores, human=hide_labels(full, worst)), np.random.default_rng(0)
    )
    assert (check.p, check.metric) == (0.001, "useful")
    assert check.labelled_mean < check.mean_of_all
