"""The summary of the data in sentences, the same on every page and on the screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from metassay.reporting.wording import format_count, format_plural
from metassay.results.data_summary import HIGHER, LOWER, DataSummary

T = TypeVar("T")
_MOST_NAMES = 12
"""Longer lists of names are cut."""


def describe_data(data: DataSummary | None) -> list[str]:
    """Describe which data was used, what was left out and why, and the direction of the scores."""
    if data is None:
        return []
    sentences = [_describe_counts(data)]
    if data.left_out:
        rows = ", ".join(f"{format_count(number)} ({reason})" for reason, number in data.left_out.items())
        sentences.append(f"Rows left out: {rows}.")
    return [*sentences, *describe_columns(data)]


def describe_stored_data(data: object) -> list[str]:
    """Describe the data of a stored result (plain JSON); empty for results of older versions."""
    return describe_data(msgspec.convert(data, DataSummary | None))


def describe_columns(data: DataSummary | None) -> list[str]:
    """Say which columns were ignored and why, and in which direction scores are better."""
    if data is None:
        return []
    sentences = []
    if data.ignored_columns:
        columns = ", ".join(
            f"{name} ({reason})" for name, reason in _list_first_names(data.ignored_columns.items())
        )
        sentences.append(f"Columns ignored: {columns}.")
    return [*sentences, *_describe_directions(data)]


def _describe_counts(data: DataSummary) -> str:
    counts = (
        f"Data: {format_plural(data.outputs, 'output')} of "
        f"{format_plural(len(data.systems), 'system')} for {format_plural(data.items, 'item')}"
    )
    sizes = {system.outputs for system in data.systems}
    if len(sizes) > 1:
        fewest = min(data.systems, key=lambda system: system.outputs)
        counts += f"; systems have between {format_count(fewest.outputs)} ({fewest.system}) and "
        counts += f"{format_count(max(sizes))} outputs"
    languages = sorted({language for score in data.scores for language in score.languages})
    if languages:
        counts += f"; target language {', '.join(languages)}"
    return f"{counts}."


def _describe_directions(data: DataSummary) -> list[str]:
    """Name the scores of which lower is better, and those of which higher is better."""
    sentences = []
    for better in (LOWER, HIGHER):
        names = [score.score for score in data.scores if score.better == better]
        if names:
            shown = _list_first_names(names)
            more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
            sentences.append(f"{better.capitalize()} is better: {', '.join(shown)}{more}.")
    return sentences


def _list_first_names(names: Iterable[T]) -> list[T]:
    return list(names)[:_MOST_NAMES]
