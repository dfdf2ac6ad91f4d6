"""What an assay returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from metassay.data.dataset import Dataset
from metassay.engine.scoring import measure_costs
from metassay.metrics.base import Metric
from metassay.metrics.judge import Judge
from metassay.perturbations.pairs import Pairs
from metassay.reporting.html import assay_page
from metassay.reporting.pages import Page
from metassay.results.assay import AssayContent
from metassay.store.run_folder import RunFolder
from metassay.store.versions import collect_versions
from metassay.workflows.assay_content import build_content
from metassay.workflows.assay_plan import Plan
from metassay.workflows.pair_files import wrong_pairs
from metassay.workflows.pair_scoring import JudgedPairs
from metassay.workflows.run_files import EXAMPLES, RESULT, Found, Result, warnings_as_notes
from metassay.workflows.scoring_rows import build_scoring_rows


@dataclass(frozen=True, repr=False)
class AssayResult(Result):
    """Local accuracies, both hypotheses, confounding and a recommendation, for one data set.

    Of a run that was finished before, what its files hold is read; the rest is computed when asked for.

    >>> import metassay
    >>> found = metassay.demo(task="text", out=None)
    >>> set(found.cost()) == set(found.manifest()["metrics"]), sorted(found.examples())
    (True, ['doubtful', 'looked_at', 'pairs'])
    """

    dataset: Dataset
    plan: Plan
    find: Callable[[], Found]
    folder: Path | None = None
    finished: RunFolder | None = None
    workers: int = 1

    @cached_property
    def _found(self) -> Found:
        return self.find()

    @property
    def pairs(self) -> Pairs:
        """Outputs beside worse copies of them: those that count in the results."""
        return self._found.pairs

    @property
    def judged(self) -> JudgedPairs:
        """All pairs, with the scores of both sides."""
        return self._found.judged

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that were assayed."""
        return self.plan.metrics

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay assay`."""
        return self._content

    @cached_property
    def content(self) -> AssayContent:
        """Computed once: report, tables and the command line all read this one object."""
        if self.finished is not None:
            return self.finished.read_result(RESULT, AssayContent)
        return build_content(self.dataset, self.plan, self._found, self.workers)

    @cached_property
    def _content(self) -> dict[str, Any]:
        return self.content.to_dict()

    def to_frame(self) -> pl.DataFrame:
        """Local accuracy: one row per column, context and metric."""
        parts = self.to_dict()["contexts"]
        rows = [{"column": column, **row} for column, part in parts.items() for row in part["local_accuracy"]]
        return pl.DataFrame(rows, infer_schema_length=None)

    def examples(self) -> dict[str, Any]:
        """Pairs that some metric got wrong, and how many labels are doubtful."""
        if self.finished is not None:
            found = self.finished.read_json(EXAMPLES)
            return found if isinstance(found, dict) else {"pairs": found}  # of earlier versions
        return wrong_pairs(self.dataset, self.metrics, self.judged, self.plan.contexts)

    def cost(self) -> dict[str, float]:
        """Seconds per 1,000 outputs of each metric, measured on a sample, one thread, each metric alone."""
        with warnings_as_notes():  # they were noted when the outputs were scored
            return measure_costs(self.metrics, build_scoring_rows(self.dataset))

    def _prompts(self) -> dict[str, str]:
        """What each judge among the metrics is asked."""
        return {metric.spec: metric.prompt_text for metric in self.metrics if isinstance(metric, Judge)}

    def page(self) -> Page:
        """The answer, the table of all outputs and every chart."""
        return assay_page(self.to_dict())

    def manifest(self) -> dict[str, Any]:
        """What was done, with what, on how much: the same on any machine and number of workers."""
        return {
            "state": "finished",
            "versions": collect_versions(),
            "metrics": {metric.spec: metric.signature for metric in self.metrics},
            "seed": self.plan.seed,
            **({"usage": dict(self.pairs.usage)} if self.pairs.usage else {}),
            **({"prompts": prompts} if (prompts := self._prompts()) else {}),
            "counts": {
                "items": self.dataset.outputs["item"].n_unique(),
                "systems": self.dataset.outputs["system"].n_unique(),
                "outputs": len(self.dataset),
                "pairs": self.pairs.frame.height,
                "left_out": dict(self.dataset.left_out),
            },
        }
