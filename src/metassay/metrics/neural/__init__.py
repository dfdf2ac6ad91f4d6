"""Metrics that run a neural network: one file per family, one way to batch, on torch and transformers."""
