"""Content of the dashboard's list of runs: one summary per run, and what changed from run to run."""

from __future__ import annotations

import msgspec

from metassay.results.base import ResultStruct


class OverallAccuracy(msgspec.Struct, frozen=True):
    """The accuracy of a metric over all outputs of a run, with its 95 % interval."""

    metric: str
    accuracy: float | None
    low: float | None
    high: float | None


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What the dashboard shows of one run in the list of runs. Only finished assays have numbers."""

    name: str
    folder: str
    command: str = ""
    state: str = ""
    task: str | None = None
    items: int | None = None
    outputs: int | None = None
    pairs: int | None = None
    pairs_from: str | None = None
    """How the pairs were made: `perturbed`, `human` or `given`."""
    answer: str | None = None
    metrics: list[OverallAccuracy] = []
    has_report: bool = False
    has_pairs: bool = False
    error: str | None = None
    """Why the run cannot be read."""

    @property
    def comparison_group(self) -> tuple[str, str]:
        """The task and the kind of pairs. Two runs can be compared if both are equal."""
        return self.task or "", self.pairs_from or ""


class RunChange(msgspec.Struct, frozen=True, kw_only=True):
    """What changed from one run to the next by more than chance."""

    before: str
    after: str
    changed: bool
    sentences: list[str]
    error: str | None = None
    """Why the two runs cannot be compared."""


class OverviewContent(ResultStruct, frozen=True, kw_only=True):
    """The runs on one page of the dashboard's list of runs, and what changed from each assay to the next one
    on the page.

    Pages are numbered from 1, the earliest runs; `total` is the number of runs on all pages.
    """

    runs: list[RunSummary]
    comparisons: list[RunChange]
    page: int = 1
    pages: int = 1
    total: int = 0
