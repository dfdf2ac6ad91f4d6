"""What `metassay compare` prints: what changed between runs by more than chance."""

from __future__ import annotations

import msgspec

from metassay.reporting.comparison_sentences import describe_how_runs_were_paired, describe_run_changes
from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import Block, Line, Table, convert_sentences_to_lines, select_columns
from metassay.results.assay import GLOBAL
from metassay.results.compare import CompareContent

COLUMNS = ("metric", "before", "after", "difference", "low", "high", "p_holm")


def describe_comparisons(compare_result: CompareContent) -> list[Block]:
    """Describe for the terminal what changed from each run to the next."""
    blocks: list[Block] = []
    for comparison in compare_result.comparisons:
        labels = MetricLabels(change.metric for change in comparison.accuracies)
        sentences = describe_run_changes(comparison, labels) or ["Nothing changed by more than chance."]
        rows = []
        for change in comparison.accuracies:
            if change.column == GLOBAL:
                rows.append(msgspec.structs.asdict(change) | {"metric": labels[change.metric]})
        blocks += [
            Line(f"{comparison.before} → {comparison.after}"),
            *convert_sentences_to_lines(
                [*comparison.warnings, *sentences, describe_how_runs_were_paired(paired=comparison.paired)]
            ),
            Table(select_columns(rows, COLUMNS), title="Accuracy over all contexts"),
        ]
    return blocks
