"""What `metassay compare` prints: what changed between runs by more than chance."""

from __future__ import annotations

from metassay.reporting.comparison_sentences import describe_how_runs_were_paired, describe_run_changes
from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import Block, Line, Table, convert_sentences_to_lines
from metassay.results.assay import GLOBAL
from metassay.results.compare import CompareContent


def describe_comparisons(compare_result: CompareContent) -> list[Block]:
    """Describe for the terminal what changed from each run to the next."""
    blocks: list[Block] = []
    for comparison in compare_result.comparisons:
        labels = MetricLabels(change.metric for change in comparison.accuracies)
        sentences = describe_run_changes(comparison, labels) or ["Nothing changed by more than chance."]
        rows = [
            {
                "metric": labels[change.metric],
                "before": change.before,
                "after": change.after,
                "difference": change.difference,
                "low": change.low,
                "high": change.high,
                "p_holm": change.p_holm,
            }
            for change in comparison.accuracies
            if change.column == GLOBAL
        ]
        blocks += [
            Line(f"{comparison.before} → {comparison.after}"),
            *convert_sentences_to_lines(
                [*comparison.warnings, *sentences, describe_how_runs_were_paired(paired=comparison.paired)]
            ),
            Table(rows, title="Accuracy over all contexts"),
        ]
    return blocks
