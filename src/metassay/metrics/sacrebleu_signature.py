"""Signatures as sacrebleu writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from metassay.metrics.base import Metric


class SacrebleuMetric(Protocol):
    """The attributes and methods of sacrebleu's metric classes that metassay uses."""

    num_refs: int

    def get_signature(self) -> object:
        """Return the signature of the metric, an object that can be converted to text."""
        ...


def build_sacrebleu_signature(
    metric: Metric, create_sacrebleu_metric: Callable[..., SacrebleuMetric], reference_count: int
) -> str | None:
    """Return the signature that sacrebleu would print with a corpus score of this metric; None if it has
    none.

    `create_sacrebleu_metric` makes sacrebleu's own metric from the settings of ours; `reference_count` is the
    number of references per output, −1 where it varies. Returns None where sacrebleu has no signature for
    what was done: texts were changed first, or settings differ between languages.
    """
    settings_by_language = [
        metric.get_parameters_for_language(language) for language in metric.languages or (None,)
    ]
    settings = settings_by_language[0]
    if metric.preprocessing or any(other != settings for other in settings_by_language):
        return None
    official = create_sacrebleu_metric(**settings)
    official.num_refs = reference_count
    return str(official.get_signature())
