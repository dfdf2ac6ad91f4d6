"""Pairwise and soft pairwise accuracy of arrays: the import path that the interface promises."""

from metassay.meta.people.meta_metrics.pairwise_accuracy import pairwise_accuracy
from metassay.meta.people.meta_metrics.soft_pairwise_accuracy import soft_pairwise_accuracy

__all__ = ["pairwise_accuracy", "soft_pairwise_accuracy"]
