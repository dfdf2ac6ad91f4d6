"""Pairwise and soft pairwise accuracy of arrays, under the path that the interface promises."""

from metassay.meta.people.meta_metrics.soft_pairwise_accuracy import pairwise_accuracy, soft_pairwise_accuracy

__all__ = ["pairwise_accuracy", "soft_pairwise_accuracy"]
