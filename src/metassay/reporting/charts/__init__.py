"""Charts of the report pages, as Vega-Lite specifications in plain dictionaries."""
