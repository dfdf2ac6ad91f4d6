"""What `metassay work` prints: which parts of an assay one process scored."""

from __future__ import annotations

from metassay.reporting.terminal.blocks import Block, Line
from metassay.results.partial_run import PartialRun


def describe_partial_run(result: PartialRun) -> list[Block]:
    """Describe for the terminal which parts of an assay one process scored."""
    first = result.part_numbers[0]
    last = result.part_numbers[-1]
    scored = len(result.part_numbers)
    return [Line(f"Scored {scored} of {result.part_count} parts, from {first} to {last}.")]
