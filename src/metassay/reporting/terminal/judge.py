"""What `metassay judge` prints: each judge compared with human labels and with itself."""

from __future__ import annotations

import msgspec
from msgspec.structs import asdict

from metassay.reporting.terminal.blocks import (
    Block,
    Details,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    select_columns,
)
from metassay.results.judge import JudgeContent

JUDGE_COLUMNS = (
    *("judge", "pairs", "accuracy", "low", "high", "base_rate", "both_orders_same", "position_bias"),
    *("length_bias", "repeats_same", "missing"),
)
ALTERNATIVE_TEST_COLUMNS = ("judge", "winning_rate", "advantage", "epsilon", "passes")


def describe_judge_result(judge_result: JudgeContent) -> list[Block]:
    """Describe the judges; columns that the data cannot fill are left out."""
    judge_rows = [asdict(entry) for entry in judge_result.judges]
    columns = [name for name in JUDGE_COLUMNS if any(row[name] is not None for row in judge_rows)]
    blocks: list[Block] = [
        *convert_sentences_to_lines(claim.sentence for claim in judge_result.verdict),
        Table(
            select_columns(judge_rows, columns),
            title="Judges compared with human labels and with themselves",
            digits=2,
        ),
    ]
    context_tables = [
        Table([asdict(entry) for entry in entries], title=f"Accuracy by {column}")
        for column, entries in judge_result.contexts.items()
    ]
    alternative_tests = [asdict(entry) for entry in judge_result.alt_test]
    return [
        *blocks,
        Details(
            [
                *context_tables,
                Table(
                    select_columns(alternative_tests, ALTERNATIVE_TEST_COLUMNS),
                    title="Alternative annotator test",
                ),
                Table(
                    [asdict(entry) for entry in judge_result.self_preference],
                    title="Self-preference by family",
                ),
                Table([msgspec.to_builtins(entry) for entry in judge_result.drift], title="Drift"),
            ]
        ),
        *convert_sentences_to_notes(judge_result.notes),
    ]
