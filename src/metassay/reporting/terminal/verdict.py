"""What commands print first: the main statements of a result, which are the same as on its page."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import Block, Row, Table, convert_sentences_to_lines
from metassay.reporting.verdict_lines import (
    list_answers_as_rows,
    list_closing_lines_of_verdict,
    list_opening_lines_of_verdict,
)
from metassay.results.verdict import Claim


def describe_verdict(verdict: Sequence[Claim], metric_labels: MetricLabels, task: str) -> list[Block]:
    """Describe for the terminal the main statements of a result: sentences, a table of questions with
    answers, and further sentences.
    """
    return [
        *convert_sentences_to_lines(list_opening_lines_of_verdict(verdict)),
        Table([_join_result_and_baseline(row) for row in list_answers_as_rows(verdict, metric_labels, task)]),
        *convert_sentences_to_lines(list_closing_lines_of_verdict(verdict)),
    ]


def _join_result_and_baseline(row: dict[str, str | None]) -> Row:
    """Return a table row in which the result and the baseline share a column, because terminals are
    narrow.
    """
    joined = {name: value for name, value in row.items() if name != "baseline"}
    if row["baseline"] is not None:
        joined["result"] = f"{row['result']}; {row['baseline']}"
    return joined
