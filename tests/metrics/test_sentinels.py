"""Sentinels depend only on what they are defined by."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric


def test_length_counts_words_and_documents():
    assert parse_metric("length").score(Batch.from_texts(["", "one", " two  words "])).tolist() == [0, 1, 2]
    assert parse_metric("length").score(Batch({"output": [["d1", "d2", "d3"], []]})).tolist() == [3, 0]


def test_random_depends_only_on_text_and_seed():
    batch = Batch.from_texts(["a", "b", "a", "\ud800"])
    scores = parse_metric("random").score(batch)
    assert scores[0] == scores[2] != scores[1]
    assert parse_metric("random").score(Batch.from_texts(["b", "a"])).tolist() == [scores[1], scores[0]]
    assert not np.array_equal(parse_metric("random(seed=1)").score(batch), scores)


def test_random_is_uniform():
    scores = parse_metric("random").score(Batch.from_texts([f"output {i}" for i in range(2000)]))
    assert kstest(scores, "uniform").pvalue > 0.01


def test_constant_scores_everything_alike():
    assert set(parse_metric("constant").score(Batch.from_texts(["a", "b c", ""]))) == {0.0}


def test_random_per_system_depends_only_on_the_system():
    batch = Batch({"output": ["x", "y", "x"], "system": ["A", "A", "B"]})
    scores = parse_metric("random_per_system").score(batch)
    assert scores[0] == scores[1] != scores[2]


@pytest.mark.parametrize("name", ["length", "random", "constant", "random_per_system"])
def test_sentinels_serve_any_task_and_are_not_cached(name):
    metric = parse_metric(name)
    assert metric.task == "any"
    assert not metric.is_cacheable
