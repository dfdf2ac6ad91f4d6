"""What `metassay compare` prints: what changed between runs by more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.comparison_sentences import describe_pairing
from metassay.reporting.terminal.blocks import Block, Line, Table, lines, select_columns
from metassay.reporting.wording import in_labels

COLUMNS = ("metric", "before", "after", "difference", "low", "high", "p_holm")


def describe_comparisons(result: Mapping[str, Any]) -> list[Block]:
    """Describe each run against the run before it."""
    blocks: list[Block] = []
    for comparison in in_labels(result["comparisons"]):
        sentences = comparison["sentences"] or ["Nothing changed by more than chance."]
        over_all_contexts = [row for row in comparison["accuracies"] if row["column"] == "global"]
        blocks += [
            Line(f"{comparison['before']} → {comparison['after']}"),
            *lines([*comparison["warnings"], *sentences, describe_pairing(paired=comparison["paired"])]),
            Table(select_columns(over_all_contexts, COLUMNS), title="Accuracy over all contexts"),
        ]
    return blocks
