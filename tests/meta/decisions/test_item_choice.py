"""The choice of items: exact probabilities, lower variance than random samples, intervals that cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wmt23_labels import hide_labels, read_wmt23

from metassay.meta.decisions.control_variates import THESE_ITEMS
from metassay.meta.decisions.item_choice import (
    choose_items_to_label,
    predict_metric_errors,
)
from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.meta.decisions.metric_choice import choose_metric_saving_most_labels
from metassay.meta.decisions.system_estimates import estimate_system_scores

METRICS = {
    "en-de": ["XCOMET-Ensemble-refA", "COMET-refA", "chrF-refA", "BLEU-refA", "CometKiwi-src"],
    "he-en": ["XCOMET-Ensemble-refB", "COMET-refB", "chrF-refB", "BLEU-refB", "CometKiwi-src"],
    "zh-en": ["XCOMET-Ensemble-refA", "COMET-refA", "chrF-refA", "BLEU-refA", "CometKiwi-src"],
}


def simulate(items: int = 60, labelled: int = 0) -> LabelledScores:
    generator = np.random.default_rng(0)
    human = -generator.exponential(size=(2, items))
    labels = hide_labels(human, np.arange(labelled))
    metrics = {"m": human + generator.normal(size=human.shape), "n": generator.normal(size=human.shape)}
    return LabelledScores(("a", "b"), tuple(map(str, range(items))), labels, metrics, np.arange(items))


@pytest.mark.parametrize("count", [1, 20, 59, 60])
def test_exactly_the_requested_number_is_drawn(count) -> None:
    chosen = choose_items_to_label(simulate(), count, np.random.default_rng(1))
    assert len(set(chosen.positions)) == count
    assert chosen.probabilities.sum() == pytest.approx(count, abs=1e-6)
    assert (chosen.probabilities > 0).all()
    assert (chosen.probabilities <= 1).all()


def test_items_are_drawn_as_often_as_their_probabilities_say() -> None:
    scores = simulate()
    generator = np.random.default_rng(2)
    counts = np.zeros(60)
    for _ in range(1000):
        chosen = choose_items_to_label(scores, 15, generator)
        counts[chosen.positions] += 1
    standard_errors = np.sqrt(chosen.probabilities * (1 - chosen.probabilities) / 1000)
    assert (np.abs(counts / 1000 - chosen.probabilities) <= 4.5 * standard_errors).all()
    assert chosen.probabilities.max() > 1.5 * chosen.probabilities.min()


def test_a_second_round_draws_only_unlabelled_items_and_combines_probabilities() -> None:
    scores = simulate(labelled=30)
    chosen = choose_items_to_label(scores, 10, np.random.default_rng(3))
    assert (chosen.positions >= 30).all()
    # p1 = 30 / 60; every item has p1 + (1 − p1) p2 > p1, and p2 of the open items sums to 10.
    second = (chosen.probabilities - 0.5) / 0.5
    assert (second > 0).all()
    assert second[30:].sum() == pytest.approx(10, abs=1e-6)


def test_documents_are_drawn_as_a_whole() -> None:
    documents = np.repeat(np.arange(20), 3)
    scores = replace(simulate(), unit_of_item=documents, unit="doc_id")
    chosen = choose_items_to_label(scores, 12, np.random.default_rng(4))
    assert np.bincount(documents[chosen.positions], minlength=20).tolist().count(3) == 4
    assert len(np.unique(chosen.probabilities)) <= 20


def test_larger_errors_are_predicted_for_worse_outputs() -> None:
    scores = simulate()
    consensus = sum((m - m.mean()) / m.std() for m in scores.metrics.values()).mean(axis=0)
    assert np.corrcoef(predict_metric_errors(scores), consensus)[0, 1] < -0.99
    assert np.ptp(predict_metric_errors(replace(scores, metrics={}))) == 0


def measure_errors(scores: LabelledScores, kind: str, count: int, repetitions: int):
    """Return squared errors and coverage of the means of systems over repeated samples."""
    truth = scores.human.mean(axis=1)
    generator = np.random.default_rng(5)
    squared_errors = []
    covered = []
    for repetition in range(repetitions):
        if kind == "random":
            positions = generator.choice(len(scores.items), count, replace=False)
            sample = replace(scores, human=hide_labels(scores.human, positions))
        else:
            unlabelled = replace(scores, human=np.full(scores.human.shape, np.nan))
            chosen = choose_items_to_label(unlabelled, count, generator)
            labels = hide_labels(scores.human, chosen.positions)
            sample = replace(scores, human=labels, probabilities=chosen.probabilities)
        estimated = estimate_system_scores(
            sample,
            choose_metric_saving_most_labels(sample),
            target=THESE_ITEMS,
            seed=repetition,
            resamples=100,
        )
        by_system = {entry.system: entry.estimate for entry in estimated.systems}
        for system, mean in zip(scores.systems, truth):
            squared_errors.append((by_system[system].value - mean) ** 2 / mean**2)
            covered.append(by_system[system].low <= mean <= by_system[system].high)
    return np.mean(squared_errors), np.mean(covered)


@pytest.mark.slow
@pytest.mark.real_data
def test_chosen_items_give_lower_variance_than_random_ones(real_data) -> None:
    ratios = []
    for language_pair, metrics in METRICS.items():
        scores = read_wmt23(real_data(f"wmt23/wmt23_{language_pair}_metrics.parquet"), metrics)
        random_error, _ = measure_errors(scores, "random", 100, repetitions=100)
        chosen_error, coverage = measure_errors(scores, "chosen", 100, repetitions=100)
        ratios.append(chosen_error / random_error)
        assert 0.91 <= coverage <= 0.98
    assert sorted(ratios)[1] < 0.95  # on at least two of three language pairs


@pytest.mark.real_data
def test_chosen_items_give_lower_variance_on_one_language_pair(real_data) -> None:
    scores = read_wmt23(real_data("wmt23/wmt23_en-de_metrics.parquet"), METRICS["en-de"][:3])
    scores = replace(
        scores,
        systems=scores.systems[:4],
        human=scores.human[:4],
        metrics={name: metric[:4] for name, metric in scores.metrics.items()},
    )
    random_error, _ = measure_errors(scores, "random", 100, repetitions=60)
    chosen_error, coverage = measure_errors(scores, "chosen", 100, repetitions=60)
    assert chosen_error < random_error
    assert coverage >= 0.88
