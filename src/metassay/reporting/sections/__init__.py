"""Sections of report pages: one file per command, for `assay` and `rank` one per section."""
