"""What commands print first: the verdict of a result, the same lines as on its page."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import Block, Table, make_lines
from metassay.reporting.verdict_lines import list_closing_lines, list_opening_lines, list_question_rows
from metassay.results.verdict import Claim


def describe_verdict(verdict: Sequence[Claim], labels: MetricLabels, task: str) -> list[Block]:
    """Describe a verdict for the terminal: opening lines, a table of questions, closing lines."""
    return [
        *make_lines(list_opening_lines(verdict)),
        Table(list_question_rows(verdict, labels, task)),
        *make_lines(list_closing_lines(verdict)),
    ]
