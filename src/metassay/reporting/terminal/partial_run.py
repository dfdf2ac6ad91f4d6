"""What `metassay work` prints: which parts of an assay one process scored."""

from __future__ import annotations

from metassay.reporting.terminal.blocks import Block, Line
from metassay.results.partial_run import PartialRun


def describe_partial_run(partial_run: PartialRun) -> list[Block]:
    """Describe for the terminal which parts of an assay one process has scored."""
    first = partial_run.part_numbers[0]
    last = partial_run.part_numbers[-1]
    scored = len(partial_run.part_numbers)
    return [Line(f"Scored {scored} of {partial_run.part_count} parts, from {first} to {last}.")]
