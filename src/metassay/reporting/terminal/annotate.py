"""What `metassay annotate` prints: which items to have rated next."""

from __future__ import annotations

from metassay.reporting.annotate_page import describe_items_to_rate
from metassay.reporting.terminal.blocks import (
    Block,
    Line,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    summarize_data_in_note,
)
from metassay.results.annotate import AnnotateContent

MOST_ITEMS = 20


def describe_annotate_result(annotate_result: AnnotateContent) -> list[Block]:
    """Describe how many items to rate and why, and list the first of them."""
    blocks: list[Block] = [*convert_sentences_to_lines(describe_items_to_rate(annotate_result))]
    rows = [
        {"item": entry.item, "probability": entry.probability} for entry in annotate_result.items[:MOST_ITEMS]
    ]
    blocks.append(Table(rows, title="Items to rate"))
    if len(annotate_result.items) > MOST_ITEMS:
        blocks.append(
            Line(f"{len(annotate_result.items) - MOST_ITEMS} more items; --json and --csv list them all.")
        )
    return [
        *blocks,
        *summarize_data_in_note(annotate_result.data),
        *convert_sentences_to_notes(annotate_result.notes),
    ]
