"""What commands print first: the verdict of a result, the same lines as on its page."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import Block, Table, convert_sentences_to_lines
from metassay.reporting.verdict_lines import (
    list_answers_as_rows,
    list_closing_lines_of_verdict,
    list_opening_lines_of_verdict,
)
from metassay.results.verdict import Claim


def describe_verdict(verdict: Sequence[Claim], metric_labels: MetricLabels, task: str) -> list[Block]:
    """Describe a verdict for the terminal: opening lines, a table of questions, closing lines."""
    return [
        *convert_sentences_to_lines(list_opening_lines_of_verdict(verdict)),
        Table(list_answers_as_rows(verdict, metric_labels, task)),
        *convert_sentences_to_lines(list_closing_lines_of_verdict(verdict)),
    ]
