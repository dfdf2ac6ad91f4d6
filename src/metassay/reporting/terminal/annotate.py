"""What `metassay annotate` prints: which items to have rated next."""

from __future__ import annotations

from metassay.reporting.annotate_page import describe_annotation
from metassay.reporting.terminal.blocks import Block, Line, Table, make_lines, make_notes, summarize_data
from metassay.results.annotate import AnnotateContent

MOST_ITEMS = 20


def describe_annotate_result(result: AnnotateContent) -> list[Block]:
    """Describe how many items to rate and why, and list the first of them."""
    blocks = make_lines(describe_annotation(result))
    rows = [{"item": entry.item, "probability": entry.probability} for entry in result.items[:MOST_ITEMS]]
    blocks.append(Table(rows, title="Items to rate"))
    if len(result.items) > MOST_ITEMS:
        blocks.append(Line(f"{len(result.items) - MOST_ITEMS} more items; --json and --csv list them all."))
    return [*blocks, *summarize_data(result.data), *make_notes(result.notes)]
