"""Which tokenizer MetricX uses."""

from __future__ import annotations

import pytest

from metassay.metrics.neural.metricx import MetricX


@pytest.mark.parametrize(
    ("metric", "tokenizer"),
    [
        (MetricX(model="google/metricx-24-hybrid-xl-v2p6"), "google/mt5-xl"),
        (MetricX(model="google/metricx-24-hybrid-xl-v2p6", tokenizer="own-tokenizer"), "own-tokenizer"),
        (MetricX(model="own-model"), "own-model"),
    ],
)
def test_published_models_use_the_tokenizer_of_their_base_model(metric: MetricX, tokenizer: str) -> None:
    assert metric.chosen_tokenizer == tokenizer
