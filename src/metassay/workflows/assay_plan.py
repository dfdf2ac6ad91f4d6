"""The settings of an assay of one data set, and the options that say how the assay is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from metassay.data.context import Context
from metassay.engine.ray_cluster import RayCluster
from metassay.engine.score_store import ScoreStore
from metassay.llm.settings import LlmSettings
from metassay.metrics.base import Metric
from metassay.options import Progress
from metassay.perturbations.base import Perturbation
from metassay.perturbations.text_store import TextStore
from metassay.store.scratch import ScratchTables
from metassay.workflows.options import AssaySettings


@dataclass(frozen=True)
class AssayPlan:
    """The settings of an assay (a comparison of metrics on pairs of outputs), with defaults filled in that
    depend on the data.

    `human` is the human score that the user named or that pairs are made from; `compared_human` the human
    score that perturbed pairs are compared with. `may_count_errors`: the human score looks like a count of
    errors, which would reverse every comparison. `llm` identifies the language model, without its key.
    """

    settings: AssaySettings
    metrics: tuple[Metric, ...]
    contexts: tuple[Context, ...]
    perturbations: tuple[str | Perturbation[Any], ...] | None
    normalize: str
    human: str | None
    llm: Mapping[str, str | None] | None
    seed: int
    language: str | None = None
    """The language that the user named. None if the data says the same."""
    valid_pairs: bool = False
    compared_human: str | None = None
    may_count_errors: bool = False

    @property
    def notes(self) -> list[str]:
        """The notes for the user that say how contexts, such as domains, were built."""
        return [note for context in self.contexts for note in context.notes]

    def to_dict(self) -> dict[str, Any]:
        """Return all settings that change the result, to be stored in the run folder."""
        configuration = self.settings.to_dict(AssaySettings)
        del configuration["strict_resources"]  # decides whether there is a result, not which
        for name in ("scores", "lower_is_better", "higher_is_better"):
            del configuration[name]  # part of the signatures of the metrics
        return configuration | {
            "metrics": [metric.signature for metric in self.metrics],
            "contexts": [context.name for context in self.contexts],
            "perturbations": None if self.perturbations is None else [str(p) for p in self.perturbations],
            "normalize": self.normalize,
            "human": self.human,
            "language": self.language,
            "llm": None if self.llm is None else dict(self.llm),
            "seed": self.seed,
            "valid_pairs": self.valid_pairs,
        }


@dataclass(frozen=True)
class ExecutionOptions:
    """How an assay (a comparison of metrics on pairs of outputs) is run: the number of workers, caches and
    other things that do not change the result.
    """

    workers: int
    score_store: ScoreStore | None = None
    text_store: TextStore | None = None
    cluster: RayCluster | None = None
    progress: Progress | None = None
    llm: LlmSettings | None = None
    scratch: ScratchTables = field(default_factory=lambda: ScratchTables(None))

    def report_progress(self, stage: str, done: int, total: int) -> None:
        """Tell the progress bar, if there is one, that `done` of `total` steps of a stage are finished."""
        if self.progress is not None:
            self.progress(stage, done, total)
