"""What `metassay judge` prints: how each judge does against human labels and against itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.terminal.blocks import Block, Table, lines, notes, select_columns

JUDGE_COLUMNS = (
    *("judge", "pairs", "accuracy", "low", "high", "base_rate", "both_orders_same", "position_bias"),
    *("length_bias", "repeats_same", "missing"),
)
ALTERNATIVE_TEST_COLUMNS = ("judge", "winning_rate", "advantage", "epsilon", "passes")


def describe_judges(result: Mapping[str, Any], sentences: Sequence[str]) -> list[Block]:
    """Describe the judges; columns that the data cannot fill are left out."""
    judges = result["judges"]
    columns = [name for name in JUDGE_COLUMNS if any(row[name] is not None for row in judges)]
    blocks: list[Block] = [
        Table(select_columns(judges, columns), title="Judges, against people and against themselves")
    ]
    for column, rows in result["contexts"].items():
        blocks.append(Table(rows, title=f"Accuracy by {column}"))
    alternative_tests = select_columns(result["alt_test"], ALTERNATIVE_TEST_COLUMNS)
    return [
        *blocks,
        Table(alternative_tests, title="Alternative annotator test"),
        Table(result["self_preference"], title="Self-preference by family"),
        Table(result["drift"], title="Drift"),
        *lines(sentences),
        *notes(result["notes"]),
    ]
