"""The result of `assay`: numbers and sentences, and the data, pairs and scores that they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from metassay.data.dataset import Dataset
from metassay.engine.batches import build_table_of_outputs_to_score
from metassay.engine.scoring import measure_metric_run_times
from metassay.metrics.base import Metric
from metassay.metrics.judge import Judge
from metassay.perturbations.pairs import Pairs
from metassay.reporting.assay_page import build_assay_page
from metassay.reporting.pages import Chart, Page
from metassay.reporting.terminal.assay import describe_assay_result
from metassay.reporting.terminal.blocks import Block
from metassay.results.assay import AssayContent
from metassay.results.wrong_pairs import WrongPairs
from metassay.store.versions import collect_versions
from metassay.workflows.assay_content import compute_statistics_of_scored_pairs
from metassay.workflows.assay_outcome import AssayOutcome
from metassay.workflows.assay_plan import AssayPlan
from metassay.workflows.assay_preparation import PreparedAssay
from metassay.workflows.pair_scoring import ScoredPairs
from metassay.workflows.run_files import EXAMPLES, RESULT, Result, collect_warnings
from metassay.workflows.wrong_pairs import collect_misordered_pairs


@dataclass(frozen=True, repr=False)
class AssayResult(Result):
    """Result of `assay`: the accuracy of every metric in every context, such as a domain, and which metric to
    use.

    `content` has all of it as typed objects. If the run was finished before (`is_stored`), the content is
    read from its files, and pairs and scores are computed again only where they are used.

    >>> import metassay
    >>> result = metassay.demo(task="text", out=None)
    >>> set(result.measure_seconds_per_1000_outputs()) == set(result.build_run_manifest()["metrics"])
    True
    >>> len(result.collect_misordered_pairs().pairs) > 0
    True
    """

    prepared: PreparedAssay
    compute: Callable[[], AssayOutcome]
    is_stored: bool = False

    @cached_property
    def _pair_scores_and_analysis(self) -> AssayOutcome:
        """The scored pairs and the comparison of the metrics, computed when they are first used."""
        return self.compute()

    @cached_property
    def content(self) -> AssayContent:
        """All numbers and sentences of the result, as typed objects."""
        if self.is_stored and self.prepared.run is not None:
            return self.prepared.run.read_result(RESULT, AssayContent)
        return compute_statistics_of_scored_pairs(
            self.dataset, self.assay_plan, self._pair_scores_and_analysis, self.prepared.execution.workers
        )

    @property
    def dataset(self) -> Dataset:
        """The data set as it was scored, with normalised texts and human scores of which higher is better."""
        return self.prepared.dataset

    @property
    def assay_plan(self) -> AssayPlan:
        """The settings of the assay."""
        return self.prepared.plan

    @property
    def run_folder(self) -> Path | None:
        """The run folder of the assay. None if nothing was written."""
        return None if self.prepared.run is None else self.prepared.run.path

    @property
    def pairs(self) -> Pairs:
        """The pairs of outputs on which the results are based."""
        return self._pair_scores_and_analysis.pairs

    @property
    def scored_pairs(self) -> ScoredPairs:
        """All pairs of outputs with the scores of both outputs by every metric."""
        return self._pair_scores_and_analysis.scored_pairs

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that the assay compares."""
        return self.assay_plan.metrics

    def to_frame(self) -> pl.DataFrame:
        """Return accuracies as a table, with one row for each metric in each context, such as a domain."""
        rows = []
        for column, analysis in self.content.contexts.items():
            rows += [{"column": column, **msgspec.to_builtins(row)} for row in analysis.local_accuracy]
        return pl.DataFrame(rows, infer_schema_length=None)

    def collect_misordered_pairs(self) -> WrongPairs:
        """Return examples of pairs in which some metric did not give the better output a higher score."""
        if self.is_stored and self.prepared.run is not None:
            return self.prepared.run.read_result(EXAMPLES, WrongPairs)
        return collect_misordered_pairs(
            self.dataset, self.metrics, self.scored_pairs, self.assay_plan.contexts
        )

    def measure_seconds_per_1000_outputs(self) -> dict[str, float]:
        """Measure on a sample of the outputs how many seconds each metric takes for 1,000 outputs, with one
        thread.
        """
        with collect_warnings():  # they were noted when the outputs were scored
            return measure_metric_run_times(self.metrics, build_table_of_outputs_to_score(self.dataset))

    def build_page(self) -> Page:
        """Build the report page."""
        return build_assay_page(self.content)

    def charts(self) -> dict[str, Chart]:
        """Return the charts of the report page by name. The first ones show accuracy by context, such as
        domain.
        """
        charts = super().charts()
        main_charts = [f"accuracy by {column}" for column in self.content.contexts]
        names = [name for name in [*main_charts, *charts] if name in charts]
        return {name: charts[name] for name in names}

    def build_run_manifest(self) -> dict[str, Any]:
        """Return what the run folder records about the run in its manifest: versions, metrics, seed, prompts
        and counts.

        It is the same on any machine and for any number of workers.
        """
        manifest: dict[str, Any] = {
            "state": "finished",
            "versions": collect_versions(),
            "metrics": {metric.spec: metric.signature for metric in self.metrics},
            "seed": self.assay_plan.seed,
        }
        if self.pairs.usage:
            manifest["usage"] = dict(self.pairs.usage)
        prompts = {metric.spec: metric.prompt_text for metric in self.metrics if isinstance(metric, Judge)}
        if prompts:
            manifest["prompts"] = prompts
        manifest["counts"] = {
            "items": self.dataset.outputs["item"].n_unique(),
            "systems": self.dataset.outputs["system"].n_unique(),
            "outputs": len(self.dataset),
            "pairs": self.pairs.frame.height,
            "left_out": dict(self.dataset.left_out),
        }
        return manifest

    def describe_result_for_terminal(self) -> list[Block]:
        """Describe the result in the lines, tables and notes that the command line prints."""
        return describe_assay_result(self.content)
