"""The settings of an assay, resolved for one data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metassay.data.context import Context
from metassay.metrics.base import Metric
from metassay.perturbations.base import Perturbation
from metassay.workflows.options import AssaySettings


@dataclass(frozen=True)
class Plan:
    """How an assay of one data set is made: what was asked for, and what that means here."""

    asked: AssaySettings
    metrics: tuple[Metric, ...]
    contexts: tuple[Context, ...]
    perturbations: tuple[str | Perturbation[Any], ...] | None
    normalize: str
    human: str | None
    llm: Mapping[str, str | None] | None
    """Which language model was asked, and the prompt of one's own if there is one; never a key."""
    seed: int
    valid_pairs: bool = False
    heard: str | None = None
    """The human score by which people's own pairs are judged beside those that were made."""
    counted: bool = False
    """Whether the human score looks like a count of errors."""

    @property
    def notes(self) -> list[str]:
        """What making the contexts left to say."""
        return [note for context in self.contexts for note in context.notes]

    def to_dict(self) -> dict[str, Any]:
        """Everything that decides the result, but the data, as plain values."""
        asked = self.asked.to_dict(AssaySettings)
        del asked["strict_resources"]  # decides whether there is a result, not which
        for name in ("scores", "lower_is_better", "higher_is_better"):
            del asked[name]  # in the signatures of the metrics
        return asked | {
            "metrics": [metric.signature for metric in self.metrics],
            "contexts": [context.name for context in self.contexts],
            "perturbations": None if self.perturbations is None else [str(p) for p in self.perturbations],
            "normalize": self.normalize,
            "human": self.human,
            "llm": None if self.llm is None else dict(self.llm),
            "seed": self.seed,
            "valid_pairs": self.valid_pairs,
        }
