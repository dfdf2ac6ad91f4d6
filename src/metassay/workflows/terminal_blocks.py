"""The blocks (lines, tables, notes) of which the output of a command consists. `metassay.cli.printing` prints
them.
"""

from __future__ import annotations

from metassay.reporting.terminal.blocks import Block, Details, Line, Note, Table
from metassay.reporting.terminal.partial_run import describe_partial_run

__all__ = ["Block", "Details", "Line", "Note", "Table", "describe_partial_run"]
