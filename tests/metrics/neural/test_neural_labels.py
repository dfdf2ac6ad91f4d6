"""Labels of neural metrics."""

from __future__ import annotations

import pytest

from metassay.metrics.neural.base import NeuralMetric
from metassay.metrics.registry import load_metric_classes, parse_metric

LABELS = {
    "bertscore": "BERTScore",
    "comet": "COMET",
    "comet_qe": "COMET-QE",
    "comet(dtype=bfloat16)": "COMET (dtype=bfloat16)",
    "unite": "UniTE",
    "xcomet": "XCOMET",
    "bleurt": "BLEURT",
    "metricx": "MetricX",
    "bartscore": "BARTScore",
    "embedding_cosine": "embedding cosine",
}


@pytest.mark.parametrize(("spec", "label"), LABELS.items())
def test_neural_metrics_are_labelled_in_the_spelling_of_the_field(spec, label) -> None:
    assert parse_metric(spec).label == label


def test_no_two_neural_metrics_share_a_label() -> None:
    classes = [kind for kind in load_metric_classes().values() if issubclass(kind, NeuralMetric)]
    labels = [metric_class().label for metric_class in classes]
    assert len(set(labels)) == len(labels) == 16
    assert not any("_" in label for label in labels)
