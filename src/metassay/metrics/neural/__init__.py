"""Metrics that are computed by neural networks."""
