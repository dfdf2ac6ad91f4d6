"""Vega-Lite specifications as plain dictionaries."""
