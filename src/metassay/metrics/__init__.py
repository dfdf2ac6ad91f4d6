"""Metrics: what each is, then how it is computed."""
