"""Notes on the metrics of `depend` that were left out or lack scores."""

from __future__ import annotations

from collections.abc import Mapping

from metassay.errors import InputError
from metassay.meta.dependence.analysis import DependenceAnalysis, MissingScores
from metassay.reporting.insufficient_data import describe_insufficient_data


def list_notes_on_metrics_with_missing_data(
    analyses: Mapping[str, DependenceAnalysis], human: str
) -> list[str]:
    """List notes on metrics that could not be measured, that have too little data, or that lack the scores of
    a system. `analyses` are by data set.
    """
    notes = []
    for dataset, analysis in analyses.items():
        for metric, missing_scores in sorted(analysis.left_out.items()):
            notes.append(
                f"{dataset}: {metric} was left out because {_explain_missing_scores(missing_scores)}."
            )
        unclear = {entry.metric: entry.unclear_because for entry in analysis.metrics if entry.unclear_because}
        if len(unclear) < len(analysis.metrics):  # otherwise the first sentence of the result says it
            for metric, reason in unclear.items():
                clause = describe_insufficient_data(reason, human)
                notes.append(f"{dataset}: nothing is claimed about {metric}, because {clause}.")
    for dataset, analysis in analyses.items():
        every_group = {group for entry in analysis.metrics for group in entry.deviations}
        for entry in analysis.metrics:
            missing = sorted(every_group - set(entry.deviations))
            if missing:
                notes.append(f"{dataset}: {entry.metric} has no score for {', '.join(missing)}.")
    return notes


def _explain_missing_scores(missing_scores: MissingScores | InputError) -> str:
    if missing_scores is MissingScores.ALL_OUTPUTS:
        return "no output has both scores"
    if missing_scores is MissingScores.ALL_GROUPS_BUT_ONE:
        return "only one group has both scores"
    return str(missing_scores).rstrip(".")
