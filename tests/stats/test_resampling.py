"""Resampling from statistics, against sacrebleu's own tests and exact enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import _bootstrap_resample, _paired_ar_test
from scipy.stats import kstest

from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric
from metassay.stats.resampling import (
    _draw_bootstrap_resamples_in_blocks,
    draw_bootstrap_counts,
    draw_random_segment_subsets,
    draw_random_subsets_in_blocks,
)
from metassay.stats.sufficient_statistics import (
    approximate_randomization,
    compute_means_from_sums_and_counts,
    compute_scores_of_resamples,
    convert_scores_to_sums_and_counts,
    draw_bootstrap_scores,
    paired_bootstrap,
    sum_statistics_within_clusters,
)


@pytest.fixture(scope="module")
def corpus(some_words):
    """Three systems on 60 segments, the third much worse than the others."""
    rng = np.random.default_rng(3)
    references = [list(rng.choice(some_words, 12)) for _ in range(60)]

    def system(noise: float, seed: int) -> list[str]:
        own = np.random.default_rng(seed)
        return [
            " ".join(own.choice(some_words) if own.random() < noise else word for word in words)
            for words in references
        ]

    outputs = [system(0.30, 1), system(0.33, 2), system(0.7, 3)]
    return outputs, [" ".join(words) for words in references]


def statistics_of(spec, corpus):
    outputs, references = corpus
    metric = parse_metric(spec)
    batches = [Batch.from_texts(own, [[r] for r in references]) for own in outputs]
    return metric, np.stack([metric.statistics(batch) for batch in batches])


@pytest.mark.parametrize(("spec", "official"), [("bleu", BLEU()), ("chrf", CHRF())])
def test_scores_equal_the_official_corpus_scores_on_the_same_resamples(spec, official, corpus):
    outputs, references = corpus
    metric, statistics = statistics_of(spec, corpus)
    drawn = np.random.default_rng(4).integers(0, 60, size=(5, 1000))
    counts = np.stack([np.bincount(row, minlength=60) for row in drawn]).astype(float)
    found = compute_scores_of_resamples(statistics, counts, metric.from_statistics)
    for system, own in enumerate(outputs):
        for k, row in enumerate(drawn):
            expected = official.corpus_score([own[i] for i in row], [[references[i] for i in row]]).score
            assert found[system, k] == pytest.approx(expected, rel=1e-12)


def test_bootstrap_counts_are_the_draws_of_the_generator():
    drawn = np.random.default_rng(9).integers(0, 7, size=(4, 11))
    counts = draw_bootstrap_counts(7, 11, 4, np.random.default_rng(9))
    np.testing.assert_array_equal(counts, [np.bincount(row, minlength=7) for row in drawn])


def test_subsets_have_their_size_and_are_uniform():
    counts = draw_random_segment_subsets(6, 2, 30_000, np.random.default_rng(1))
    assert set(counts.ravel()) == {0.0, 1.0}
    np.testing.assert_array_equal(counts.sum(axis=1), 2)
    pairs = [counts[:, i] @ counts[:, j] for i, j in itertools.combinations(range(6), 2)]
    assert np.ptp(pairs) < 6 * np.sqrt(30_000 / 15)


def test_parts_change_nothing_but_memory(corpus, monkeypatch):
    metric, statistics = statistics_of("chrf", corpus)
    whole = draw_bootstrap_scores(statistics, metric.from_statistics, np.random.default_rng(0), draws=40)
    monkeypatch.setattr("metassay.stats.sufficient_statistics._COUNTS_PER_BLOCK", 60 * 16)
    parts = draw_bootstrap_scores(statistics, metric.from_statistics, np.random.default_rng(0), draws=40)
    np.testing.assert_array_equal(whole, parts)


def test_bootstrap_agrees_with_sacrebleu(corpus):
    """The same distribution of resampled scores as sacrebleu's confidence intervals."""
    metric, statistics = statistics_of("bleu", corpus)
    _, official = _bootstrap_resample(statistics[0].astype(int).tolist(), BLEU(), n_samples=1000)
    ours = draw_bootstrap_scores(statistics[:1], metric.from_statistics, np.random.default_rng(12345))[0]
    np.testing.assert_allclose(np.sort(ours), np.sort([score.score for score in official]), rtol=1e-6)


def test_randomization_agrees_with_sacrebleu(corpus):
    """The same masks and the same p-values, for every pair and not only against a baseline."""
    outputs, references = corpus
    metric, statistics = statistics_of("bleu", corpus)
    found = approximate_randomization(
        statistics, metric.from_statistics, np.random.default_rng(12345), draws=2000
    )
    for a, b in itertools.permutations(range(3), 2):
        official = BLEU()
        base = official._extract_corpus_statistics(outputs[a], [references])
        information = {"BLEU": (base, official._aggregate_and_compute(base))}
        _, results = _paired_ar_test(
            information, "b", outputs[b], [references], {"BLEU": official}, n_samples=2000, seed=12345
        )
        assert found.p[a, b] == pytest.approx(results["BLEU"].p_value, abs=2.5 / 2001)


def test_randomization_converges_to_the_exact_p_value():
    """All 2^8 exchanges of the outputs of eight segments, enumerated."""
    scores = np.random.default_rng(2).normal(size=(2, 8)).round(2)
    difference = scores[0] - scores[1]
    signs = np.array(list(itertools.product([1, -1], repeat=8)))
    exact = np.mean(np.abs(signs @ difference) >= abs(difference.sum()) - 1e-9)
    found = approximate_randomization(
        convert_scores_to_sums_and_counts(scores),
        compute_means_from_sums_and_counts,
        np.random.default_rng(0),
        draws=40_000,
    )
    assert found.p[0, 1] == pytest.approx(exact, abs=0.01)


def test_randomization_of_clusters_converges_to_the_exact_p_value():
    """All 2^5 exchanges of five clusters of unequal size, whose segments are not adjacent, enumerated."""
    clusters = np.array([3, 0, 1, 0, 4, 2, 2, 3, 0, 4])
    scores = np.random.default_rng(5).normal(size=(2, 10)).round(2)
    difference = scores[0] - scores[1]
    signs = np.array(list(itertools.product([1, -1], repeat=5)))[:, clusters]
    exact = np.mean(np.abs(signs @ difference) >= abs(difference.sum()) - 1e-9)
    sums = sum_statistics_within_clusters(convert_scores_to_sums_and_counts(scores), clusters)
    found = approximate_randomization(
        sums, compute_means_from_sums_and_counts, np.random.default_rng(0), draws=40_000
    )
    assert found.p[0, 1] == pytest.approx(exact, abs=0.01)
    assert found.differences[0, 1] == pytest.approx(difference.mean())


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
class TestBothTests:
    def test_is_symmetric_and_says_by_how_much(self, test, corpus):
        metric, statistics = statistics_of("bleu", corpus)
        found = test(statistics, metric.from_statistics, np.random.default_rng(0), draws=500)
        np.testing.assert_array_equal(found.p, found.p.T)
        np.testing.assert_array_equal(found.differences, -found.differences.T)
        corpus_scores = metric.from_statistics(statistics.sum(axis=1))
        assert found.differences[0, 2] == corpus_scores[0] - corpus_scores[2]
        assert found.p[0, 2] == found.p[1, 2] == 1 / 501
        assert found.p[0, 1] > 0.05

    def test_equal_systems_do_not_differ(self, test, corpus):
        metric, statistics = statistics_of("bleu", corpus)
        same = np.stack([statistics[0], statistics[0]])
        found = test(same, metric.from_statistics, np.random.default_rng(0), draws=100)
        np.testing.assert_array_equal(found.p, 1.0)

    def test_holds_its_level_under_the_null_hypothesis(self, test):
        """400 data sets without a difference: p-values are uniform."""
        rng = np.random.default_rng(11)
        found = [
            test(
                convert_scores_to_sums_and_counts(rng.normal(size=(2, 80))),
                compute_means_from_sums_and_counts,
                rng,
                draws=199,
            ).p[0, 1]
            for _ in range(400)
        ]
        assert kstest(found, "uniform").pvalue > 0.001
        assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.035)


def test_a_mean_skips_what_is_undefined():
    statistics = convert_scores_to_sums_and_counts(np.array([[1.0, np.nan, 3.0], [np.nan] * 3]))
    found = compute_means_from_sums_and_counts(statistics.sum(axis=1))
    assert found[0] == 2.0
    assert np.isnan(found[1])


def test_blocks_of_draws_are_independent_and_follow_seed_and_stream():
    def blocks(seed=0, key=(1, 2)):
        return [block.tolist() for block in _draw_bootstrap_resamples_in_blocks(7, 7, 250, seed, key)]

    own = blocks()
    assert [len(block) for block in own] == [100, 100, 50]
    assert own[0] != own[1]
    assert own[0][:50] != own[2]
    assert own == blocks()
    assert own != blocks(seed=1)
    assert own != blocks(key=(1, 3))
    assert all(sum(row) == 7 for block in own for row in block)


def test_subsets_hold_as_many_units_as_asked_for():
    for block in draw_random_subsets_in_blocks(9, 4, 120, 0, (0,)):
        np.testing.assert_array_equal(block.sum(axis=1), 4)
        assert set(np.unique(block)) == {0.0, 1.0}
