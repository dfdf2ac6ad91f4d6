"""Result of `check`: what a data set contains, and how long an assay of it would take."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, ResultStruct
from metassay.results.data_summary import DataSummary
from metassay.results.verdict import Claim

# What a row of the data is.
OUTPUTS = "outputs"
SCORES = "scores"
VERDICTS = "verdicts"
PAIRS = "pairs"
# Stands for the files and reading options in a command.
DATA = "DATA"


class SystemCount(msgspec.Struct, frozen=True):
    """The number of outputs of one system."""

    system: str
    outputs: Count


class CheckedMetric(msgspec.Struct, frozen=True):
    """A metric that an assay of this data would use."""

    metric: str
    signature: str
    higher_is_better: bool


class CheckedPerturbation(msgspec.Struct, frozen=True):
    """The number of outputs that one perturbation, a rule that makes an output worse, can change."""

    perturbation: str
    applies: bool
    outputs: Count
    """Number of tried outputs that it changes."""
    tried: Count
    """Number of tried outputs: all, or a sample of a large data set."""
    why: str | None
    """Why it does not apply to some languages, or to any output. None if there is nothing to explain."""


class CostEstimate(msgspec.Struct, frozen=True):
    """The estimated time to score all outputs and perturbed outputs of an assay."""

    rows: Count
    """Number of texts that each metric would score."""
    metrics: dict[str, float]
    """Seconds of one worker, by metric."""
    seconds: float
    """Seconds for all metrics with the given number of workers."""


class CheckedQuestion(msgspec.Struct, frozen=True):
    """A question that a user may have about the data, and the command that answers it. `DATA` stands for the
    data files.
    """

    question: str
    command: str
    missing: str | None = None
    """What the data lacks for an answer; None if it can be answered."""


class UndecidedSystems(msgspec.Struct, frozen=True):
    """The two systems with the best mean human scores, if too few items are rated to say which of them is
    better.
    """

    human: str
    best: str
    second: str
    difference: float
    """Difference of their means, on the items that are rated for both."""
    rated: Count
    """Number of these items."""
    needed: Count
    """Rated items that would show this difference with probability 80 % (two-sided test at 5 %)."""


class CheckedTestSet(msgspec.Struct, frozen=True):
    """One of several test sets in the data: the column values that select it, and the number of items."""

    columns: dict[str, str]
    """Such as `{"lp": "en-de"}`, what `--where` selects."""
    items: Count
    rated_items: dict[str, Count]
    """Number of items for which every rated system has a human score, by human score."""


class CheckedJudge(msgspec.Struct, frozen=True):
    """The number of verdicts of one judge."""

    judge: str
    verdicts: Count
    missing: Count
    """Number of verdicts that could not be read."""


class CheckedVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """What a data set for judges contains: verdicts of judges, or pairs of outputs without a verdict yet."""

    kind: str
    """`pairwise`, `label` or `grade`."""
    judges: list[CheckedJudge]
    """Empty if nobody has judged the pairs yet."""
    questions: Count
    """Number of pairs or outputs that were judged."""
    human: str | None
    """Column of human labels, or the raters that they were made from. None without human labels."""
    labelled: Count
    """Number of pairs or outputs with a human label."""
    raters: list[str]
    """Single people whose verdicts are known."""
    has_both_orders: bool
    """Whether outputs were also shown in swapped order."""
    has_families: bool
    """Whether the families of judges and of systems are known."""


class CheckContent(ResultStruct, frozen=True, kw_only=True):
    """What a data set contains. Counts are numbers of outputs unless stated otherwise."""

    kind: str = OUTPUTS
    """What a row is: `outputs`, `scores` (metric scores without the outputs), `verdicts` or `pairs`."""
    task: str | None = None
    """None if the data has no outputs."""
    task_guess: str | None = None
    """Sentence that says how the task was guessed. None if the user named it."""
    items: Count
    outputs: Count
    systems: list[SystemCount]
    languages: dict[str, Count] = msgspec.field(default_factory=dict)
    references: dict[str, Count] = msgspec.field(default_factory=dict)
    """Number of outputs by their number of references."""
    human: dict[str, Count]
    """Number of rated outputs by human score."""
    contexts: dict[str, Count]
    """Number of distinct values of each column that can be a context."""
    metric_columns: list[str] = msgspec.field(default_factory=list)
    """Columns of numbers that `rank` takes for metric scores; name human scores among them with `--human`."""
    rated_items: dict[str, Count] = msgspec.field(default_factory=dict)
    """Number of items for which every rated system has a human score, by human score."""
    test_sets: list[CheckedTestSet] = msgspec.field(default_factory=list)
    """The test sets (year, language pair), if there are several. `estimate` and `annotate` take one."""
    verdicts: CheckedVerdicts | None = None
    """None if the data has no verdicts."""
    undecided_systems: UndecidedSystems | None = None
    """None if the two best systems differ already, or too few items are rated."""
    missing: dict[str, Count]
    """Number of missing values by column, for columns that have any."""
    empty_outputs: Count = 0
    reference_systems: list[str] = msgspec.field(name="own_references", default_factory=list)
    """Systems whose outputs are the reference itself."""
    left_out: dict[str, Count] = msgspec.field(default_factory=dict)
    """Number of rows that were left out, by reason."""
    normalize: str | None = None
    """Name of the text normalisation. None if the data has no outputs."""
    metrics: list[CheckedMetric] = msgspec.field(default_factory=list)
    perturbations: list[CheckedPerturbation] = msgspec.field(default_factory=list)
    estimate: CostEstimate | None = None
    """None if the data has no outputs."""
    questions: list[CheckedQuestion] = msgspec.field(default_factory=list)
    """Questions that the data can answer, then those that it cannot answer yet."""
    notes: list[str]
    data: DataSummary | None = None
    verdict: list[Claim] = msgspec.field(default_factory=list)
