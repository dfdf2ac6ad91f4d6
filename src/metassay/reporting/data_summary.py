"""Sentences that summarise the data. They are the same on every page and in the terminal."""

from __future__ import annotations

from metassay.data.reference_systems import REFERENCE_SYSTEM_REASON
from metassay.reporting.wording import format_count, format_plural, join_first_names
from metassay.results.data_summary import HIGHER, LOWER, DataSummary

# Longer lists of names are cut.
_MOST_NAMES = 12


def describe_data_used(data_summary: DataSummary | None) -> list[str]:
    """Say which data was used, what was left out and why, and for which scores lower is better."""
    if data_summary is None:
        return []
    return [
        _describe_data_counts(data_summary),
        *describe_left_out_data(data_summary),
        *describe_ignored_columns(data_summary),
    ]


def describe_left_out_data(data_summary: DataSummary | None) -> list[str]:
    """Say how many rows were left out and why, and how many outputs are empty. The list is empty if neither
    occurred.
    """
    if data_summary is None:
        return []
    sentences = []
    # A note of the run names the systems that are the reference, and counts their outputs.
    left_out = {
        reason: number
        for reason, number in data_summary.left_out.items()
        if reason != REFERENCE_SYSTEM_REASON
    }
    if left_out:
        rows = ", ".join(f"{format_count(number)} ({reason})" for reason, number in left_out.items())
        sentences.append(f"Rows left out: {rows}.")
    systems = [system for system in data_summary.systems if system.empty_outputs]
    if systems:
        counts = ", ".join(
            f"{system.system} {format_count(system.empty_outputs)} of {format_count(system.outputs)}"
            for system in systems[:_MOST_NAMES]
        )
        rest = len(systems) - _MOST_NAMES
        more = f" and {format_plural(rest, 'more system')}" if rest > 0 else ""
        sentences.append(f"Empty outputs, which are scored like all others: {counts}{more}.")
    return sentences


def describe_ignored_columns(data_summary: DataSummary | None) -> list[str]:
    """Name the columns that were ignored and why, and say for which scores lower or higher is better."""
    if data_summary is None:
        return []
    sentences = []
    if data_summary.ignored_columns:
        columns = ", ".join(
            f"{name} ({reason})" for name, reason in [*data_summary.ignored_columns.items()][:_MOST_NAMES]
        )
        sentences.append(f"Columns ignored: {columns}.")
    return [*sentences, *_describe_score_directions(data_summary)]


def _describe_data_counts(data_summary: DataSummary) -> str:
    counts = (
        f"Data: {format_plural(data_summary.outputs, 'output')} of "
        f"{format_plural(len(data_summary.systems), 'system')} for"
        f" {format_plural(data_summary.items, 'item')}"
    )
    sizes = {system.outputs for system in data_summary.systems}
    if len(sizes) > 1:
        fewest = min(data_summary.systems, key=lambda system: system.outputs)
        counts += f"; systems have between {format_count(fewest.outputs)} ({fewest.system}) and "
        counts += f"{format_count(max(sizes))} outputs"
    languages = sorted({language for score in data_summary.scores for language in score.languages})
    if languages:
        counts += f"; target language {', '.join(languages)}"
    return f"{counts}."


def _describe_score_directions(data_summary: DataSummary) -> list[str]:
    """Name the scores for which lower is better, and those for which higher is better."""
    sentences = []
    for better in (LOWER, HIGHER):
        names = [score.score for score in data_summary.scores if score.better == better]
        if names:
            sentences.append(f"{better.capitalize()} is better: {join_first_names(names, _MOST_NAMES)}.")
    return sentences
