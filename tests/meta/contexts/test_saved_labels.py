"""Labels saved in an assay: the same numbers as `rank`, and choices by hand."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.contexts.saved_labels import SavedLabels, estimate_share_of_human_labels_saved
from metassay.stats.labels_saved import compute_system_differences, estimate_labels_saved
from metassay.workflows.assay import assay, read_bundled_sample
from metassay.workflows.rank import rank

NAMES = ["good", "fair", "useless"]


def simulate_test_set(seed: int, clusters: np.ndarray, systems: int = 4) -> ScoreArrays:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=(systems, len(clusters)))
    noise = rng.normal(size=(3, *human.shape))
    return ScoreArrays(human, noise + np.array([2.0, 0.5, 0.0])[:, None, None] * human, clusters)


def test_one_test_set_has_the_interval_of_the_meta_metric():
    scores = simulate_test_set(1, np.repeat(np.arange(20), 5))
    shares = estimate_share_of_human_labels_saved([scores], np.array([0, 2]))
    for position, metric in enumerate([0, 2]):
        expected = estimate_labels_saved(
            compute_system_differences(scores.human),
            compute_system_differences(scores.metrics[metric]),
            scores.cluster_index,
        )
        assert shares.values[position] == pytest.approx(expected.value, abs=1e-12)
        assert shares.low[position] == pytest.approx(expected.low, abs=1e-12)
        assert shares.high[position] == pytest.approx(expected.high, abs=1e-12)


def test_independent_test_sets_are_averaged_and_their_variances_added():
    first = simulate_test_set(1, np.arange(60))
    second = simulate_test_set(2, np.arange(60, 120))
    alone = [estimate_share_of_human_labels_saved([test_set], np.arange(3)) for test_set in (first, second)]
    both = estimate_share_of_human_labels_saved([first, second], np.arange(3))
    assert both.values == pytest.approx((alone[0].values + alone[1].values) / 2)
    margins = [each.high - each.values for each in alone]
    expected = np.hypot(*margins) / 2
    assert both.high - both.values == pytest.approx(expected, rel=0.02)  # another number of clusters


def test_a_test_set_given_twice_is_no_more_evidence():
    scores = simulate_test_set(1, np.arange(60))
    once = estimate_share_of_human_labels_saved([scores], np.arange(3))
    twice = estimate_share_of_human_labels_saved([scores, scores], np.arange(3))
    assert twice.low == pytest.approx(once.low)


def test_clearly_worse_metrics_are_not_tied_with_the_best():
    shares = estimate_share_of_human_labels_saved([simulate_test_set(3, np.arange(200))], np.arange(3))
    choice = shares.choose_metric_saving_most_human_labels(NAMES, NAMES)
    assert choice is not None
    assert (choice.metric, choice.top_group) == ("good", ["good"])
    assert choice.p < 1e-6
    among_others = shares.choose_metric_saving_most_human_labels(NAMES, ["fair", "useless"])
    assert among_others is not None
    assert among_others.metric == "fair"


def test_a_single_cluster_gives_no_p_value():
    values = np.array([0.3, 0.2, 0.1])
    undefined = np.full(3, np.nan)
    shares = SavedLabels(values, undefined, undefined, np.zeros((3, 1)))
    choice = shares.choose_metric_saving_most_human_labels(NAMES, NAMES)
    assert choice is not None
    assert choice.p is None


def test_without_a_defined_share_there_is_no_choice():
    undefined = np.full(3, np.nan)
    assert (
        SavedLabels(undefined, undefined, undefined, np.zeros((3, 5))).choose_metric_saving_most_human_labels(
            NAMES, NAMES
        )
        is None
    )


def test_an_assay_reports_the_shares_of_rank():
    data = read_bundled_sample("mt")
    few = {"resamples": 20, "permutations": 19, "perturbations": "removal"}
    comparison = assay(data, metrics="bleu,chrf", contexts=["domain"], **few).content.human_comparison
    options = {"meta": "labels_saved", "cluster": "doc_id", "draws": 19}  # assay takes documents by itself
    ranking = rank(data, metrics="bleu,chrf", human="mqm", **options).rankings[0]
    expected = {row.metric.lower(): row for row in ranking.metrics if not row.baseline}
    assert comparison is not None
    assert len(comparison.metrics) == 2
    for row in comparison.metrics:
        assert row.labels_saved == pytest.approx(expected[row.metric].value, abs=1e-9)
        assert row.labels_saved_low == pytest.approx(expected[row.metric].low, abs=1e-9)
        assert row.labels_saved_high == pytest.approx(expected[row.metric].high, abs=1e-9)
