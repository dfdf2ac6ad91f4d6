"""Vega-Lite specifications as plain dictionaries; the page brings the JavaScript that draws them."""
