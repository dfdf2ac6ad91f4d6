"""Options of the commands.

For each command, a `…Settings` class holds the options that decide the result, and an `…Options` class adds
those that say how data is read and how the command runs. Each field is an option of the command line and a
keyword of the Python function. Nothing heavy is imported here, because the command line imports this module
before it parses.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from metassay.llm.settings import LlmSettings
from metassay.options import (
    DATA_PANEL,
    PERTURBED_PAIRS,
    FilePath,
    FilePaths,
    Names,
    OutputReadOptions,
    RunOptions,
    Settings,
    TableReadOptions,
    declare_cli_option,
    declare_repeatable_option,
    parse_name_value_pairs,
)
from metassay.specs import split_at_commas

if TYPE_CHECKING:
    import polars as pl

    from metassay.data.context import RowLabel
    from metassay.metrics.registry import MetricChoice
    from metassay.perturbations.base import Perturbation

    ContextChoice: TypeAlias = str | RowLabel | Sequence[str | RowLabel] | None
    PerturbationChoice: TypeAlias = str | Perturbation[Any] | Sequence[str | Perturbation[Any]] | None
    PairSource: TypeAlias = FilePath | pl.DataFrame
else:
    # The command line evaluates these types before it parses, and must not import NumPy and Polars for that.
    ContextChoice = MetricChoice = PairSource = PerturbationChoice = Any

# Stands in a help text for the names of all meta-metrics, which are looked up when help is printed.
META_METRIC_NAMES = "{meta_metrics}"
TESTS_PANEL = "Tests"
SCORES_PANEL = "Scores"

# Options that several commands have.
MetricsOption = Annotated[
    MetricChoice,
    declare_cli_option(
        "Metrics to compute, comma-separated. By default those of the task.",
        "--metrics",
        "-m",
        command_line_type=str | None,
    ),
]
PerturbationsOption = Annotated[
    PerturbationChoice,
    declare_cli_option(
        "Perturbations, comma-separated. By default those of the task.",
        command_line_type=str | None,
    ),
]
NormalizeOption = Annotated[
    str | None, declare_cli_option("How transcripts are normalised before scoring: english, whisper or none.")
]
PreprocessOption = Annotated[
    str,
    declare_cli_option(
        "How texts are changed before scoring: none, or as in the first paper (paper, paper-asymmetric)."
    ),
]
StrictResourcesOption = Annotated[
    bool,
    declare_cli_option(
        "Stop if a dictionary is missing, instead of leaving out its perturbations.", "--strict-resources"
    ),
]
KeepReferencesOption = Annotated[
    bool, declare_cli_option("Keep systems whose outputs are the references.", "--keep-references")
]


@dataclass(frozen=True, kw_only=True)
class ScoreReadOptions(TableReadOptions):
    """Options that say how human and metric scores are read."""

    reference: Annotated[
        Sequence[str],
        declare_cli_option(
            "Use these references, if the data has scores for several.",
            "--reference",
            "-r",
            command_line_type=list[str],
            panel=DATA_PANEL,
        ),
    ] = ()
    keep_references: KeepReferencesOption = False


@dataclass(frozen=True, kw_only=True)
class CheckSettings(Settings):
    """The options of `check` that decide its result."""

    metrics: MetricsOption = None
    normalize: NormalizeOption = None


@dataclass(frozen=True, kw_only=True)
class AssaySettings(Settings):
    """The options of `assay` that decide its result."""

    metrics: MetricsOption = None
    contexts: Annotated[
        ContextChoice,
        declare_repeatable_option(
            "Report accuracy for each value of this column (domain), for combinations of two columns "
            "(domain+system), or for 10 ranges of a number with about as many outputs each (mqm:10). By "
            "default system, and domain if there is one. Repeatable.",
            "--context",
            "CONTEXT",
        ),
    ] = None
    perturbations: PerturbationsOption = None
    per_output: Annotated[
        int, declare_cli_option("Number of perturbed versions of each output.", minimum=1, maximum=10_000)
    ] = 4
    cluster: Annotated[
        str | None,
        declare_cli_option(
            "Column of documents or speakers, whose items are resampled together. By "
            "default found by its name."
        ),
    ] = None
    ties: Annotated[
        str, declare_cli_option("How a tie of metric scores counts: wrong (strict) or half right (half).")
    ] = "strict"
    agreement: Annotated[
        str,
        declare_cli_option(
            "How two rankings of metrics are compared: tau_ap_b, tau_ap, weighted_tau or kendall."
        ),
    ] = "tau_ap_b"
    normalize: NormalizeOption = None
    preprocess: PreprocessOption = "none"
    keep_references: KeepReferencesOption = False
    strict_resources: StrictResourcesOption = False
    valid_pairs: Annotated[
        bool | None,
        declare_cli_option(
            "Rankings: use only perturbed lists with a lower discounted gain, or all. By default only these.",
            "--valid-pairs/--all-pairs",
        ),
    ] = None
    resamples: Annotated[
        int, declare_cli_option("Number of bootstrap resamples for intervals.", minimum=1)
    ] = 1000
    permutations: Annotated[
        int,
        declare_cli_option(
            "Number of permutations of the test whether accuracy differs between contexts.", minimum=1
        ),
    ] = 999
    minimum_items: Annotated[
        int, declare_cli_option("Warn of contexts with fewer items than this.", "--min-items", minimum=0)
    ] = 20
    weights: Annotated[
        str | None,
        declare_cli_option(
            "Weigh outputs by this column, or by how typical they are of their context (density)."
        ),
    ] = None
    pairs: Annotated[
        PairSource,
        declare_cli_option(
            "Which pairs of outputs are used: perturbed, human (two outputs with different "
            "human scores), or a file with the columns item, output, worse.",
            command_line_type=str,
        ),
    ] = PERTURBED_PAIRS
    scores: Annotated[
        FilePaths | None,
        declare_repeatable_option(
            "File with metric scores that were computed elsewhere. Repeatable.", "--scores", "FILE"
        ),
    ] = None
    lower_is_better: Annotated[
        Names,
        declare_cli_option(
            "Human scores and metrics from files of which lower is better, comma-separated.",
        ),
    ] = ""
    higher_is_better: Annotated[
        Names,
        declare_cli_option(
            "Human scores and metrics from files of which higher is better, comma-separated.",
        ),
    ] = ""
    human: Annotated[
        str | None, declare_cli_option("Column of human scores. Needed if there are several.")
    ] = None
    minimum_gap: Annotated[
        float,
        declare_cli_option(
            "With --pairs human: use pairs whose human scores differ by more than this.",
            "--min-gap",
            minimum=0,
        ),
    ] = 0.0


@dataclass(frozen=True, kw_only=True)
class ScoreSettings(Settings):
    """The options of `score` that decide its result."""

    metrics: MetricsOption = None
    aggregate: Annotated[
        Sequence[str],
        declare_cli_option(
            "Kinds of system scores, comma-separated: corpus, segment, bootstrap.",
            command_line_type=str,
            parse=split_at_commas,
        ),
    ] = ("corpus", "segment")
    per_segment: Annotated[
        FilePath | None,
        declare_cli_option(
            "Write the score of every segment to this .parquet, .csv or .jsonl file.",
        ),
    ] = None
    test: Annotated[
        str | None,
        declare_cli_option(
            "Test the differences between all systems: bootstrap or randomization.", metavar="TEST"
        ),
    ] = None
    draws: Annotated[
        int | None,
        declare_cli_option(
            "Number of draws of the test. By default 1000 (bootstrap) or 10000 (randomization), and more"
            " if there are many systems.",
            metavar="N",
            minimum=1,
        ),
    ] = None
    cluster: Annotated[
        str | None,
        declare_cli_option(
            "Column of documents, such as doc_id, whose segments the test and intervals keep together.",
            metavar="COLUMN",
        ),
    ] = None
    meaning: Annotated[
        FilePath | None,
        declare_cli_option(
            "Say how often people agree with each difference, from a run folder of rank "
            "--analysis thresholds.",
            metavar="RUN",
        ),
    ] = None
    resamples: Annotated[
        int,
        declare_cli_option(
            "Number of bootstrap resamples for intervals; 0 for no intervals.", metavar="N", minimum=0
        ),
    ] = 1000
    normalize: NormalizeOption = None
    keep_references: Annotated[
        bool,
        declare_cli_option(
            "Score systems whose outputs are the references, or leave them out.",
            "--keep-references/--drop-references",
        ),
    ] = True


@dataclass(frozen=True, kw_only=True)
class PerturbSettings(Settings):
    """The options of `perturb` that decide its result."""

    perturbations: PerturbationsOption = None
    per_output: Annotated[
        int | None,
        declare_cli_option("Number of perturbed versions of each output.", minimum=1, maximum=10_000),
    ] = 4
    normalize: NormalizeOption = None
    preprocess: PreprocessOption = "none"
    keep_references: Annotated[
        bool,
        declare_cli_option(
            "Keep systems whose outputs are the references, or leave them out.",
            "--keep-references/--drop-references",
        ),
    ] = True
    strict_resources: StrictResourcesOption = False


@dataclass(frozen=True, kw_only=True)
class AggregateSettings(Settings):
    """The options of `aggregate` that decide its result."""

    metrics: Annotated[
        MetricChoice,
        declare_cli_option(
            "Metrics to compute, comma-separated. By default bleu,chrf; for speech wer,cer.",
            "--metrics",
            "-m",
            command_line_type=str | None,
        ),
    ] = None
    resamples: Annotated[int, declare_cli_option("Number of bootstrap resamples.", minimum=2)] = 1000
    size: Annotated[int, declare_cli_option("Number of segments in each resample.", minimum=1)] = 1000
    repeats: Annotated[
        int, declare_cli_option("Number of random samples of 1, 10 and 100 segments.", minimum=1)
    ] = 1000
    normalize: NormalizeOption = None
    keep_references: KeepReferencesOption = False
    lower_is_better: Annotated[
        Names, declare_cli_option("Human scores of which lower is better, comma-separated.")
    ] = ""
    higher_is_better: Annotated[
        Names,
        declare_cli_option(
            "Human scores of which higher is better although their names suggest errors, comma-separated.",
        ),
    ] = ""


@dataclass(frozen=True, kw_only=True)
class ComparedScoresSettings(Settings):
    """Options that say which human and metric scores are compared, and for which of them lower is better."""

    human: Annotated[
        Names | None,
        declare_cli_option(
            "Column of human scores. Needed if there are several.",
            panel=SCORES_PANEL,
        ),
    ] = None
    metrics: Annotated[
        MetricChoice,
        declare_cli_option(
            "Metrics to use, comma-separated: columns of the data, or metrics that metassay"
            " computes from texts. By default all columns of metric scores.",
            "--metrics",
            "-m",
            command_line_type=str | None,
            panel=SCORES_PANEL,
        ),
    ] = None
    lower_is_better: Annotated[
        Names, declare_cli_option("Columns of which lower is better, comma-separated.", panel=SCORES_PANEL)
    ] = ""
    higher_is_better: Annotated[
        Names,
        declare_cli_option(
            "Columns of which higher is better although their names suggest errors (ter, "
            "wer), comma-separated.",
            panel=SCORES_PANEL,
        ),
    ] = ""


@dataclass(frozen=True, kw_only=True)
class RankSettings(ComparedScoresSettings):
    """The options of `rank` that decide its result."""

    meta: Annotated[
        Names,
        declare_cli_option(
            f"Meta-metrics, comma-separated: {META_METRIC_NAMES}. Correlations also with :segment, :item or"
            " :per_system. See: metassay list meta_metrics"
        ),
    ] = "spa"
    significance: Annotated[
        str,
        declare_cli_option(
            "Test of differences between metrics: perm-inputs, perm-systems, perm-both, "
            "cells, bootstrap, williams (for Pearson) or none.",
            panel=TESTS_PANEL,
        ),
    ] = "perm-inputs"
    spans: Annotated[
        Mapping[str, FilePath] | None,
        declare_repeatable_option(
            "File with the error spans of a metric, or human=FILE with those of people. Repeatable.",
            "--spans",
            "METRIC=FILE",
            parse_name_value_pairs,
            panel=SCORES_PANEL,
        ),
    ] = None
    context: Annotated[
        Names | None,
        declare_repeatable_option(
            "Rank the metrics also within each value of this column. Repeatable.", "--context", "COLUMN"
        ),
    ] = None
    method: Annotated[
        str,
        declare_cli_option(
            "How SPA computes p-values: normal, permutation or mtme (as mt-metrics-eval).", panel=TESTS_PANEL
        ),
    ] = "normal"
    permutations: Annotated[
        int,
        declare_cli_option(
            "Number of permutations for --method permutation and mtme.", panel=TESTS_PANEL, minimum=1
        ),
    ] = 1000
    draws: Annotated[
        int, declare_cli_option("Number of draws for tests and intervals.", panel=TESTS_PANEL, minimum=1)
    ] = 1000
    cluster: Annotated[
        str | None,
        declare_cli_option(
            "Column of documents, such as doc_id, whose segments are kept together in tests and intervals.",
            panel=TESTS_PANEL,
        ),
    ] = None
    minimum_segments: Annotated[
        int,
        declare_cli_option(
            "Leave out contexts with fewer segments than this.",
            "--min-segments",
            panel=TESTS_PANEL,
            minimum=0,
        ),
    ] = 20
    holm: Annotated[
        bool,
        declare_cli_option(
            "Correct p-values for the number of comparisons (Holm).", "--holm", panel=TESTS_PANEL
        ),
    ] = False
    missing: Annotated[
        str,
        declare_cli_option(
            "Use segments that all systems have (complete), or that both systems of a pair have (pairwise).",
            panel=SCORES_PANEL,
        ),
    ] = "complete"
    analysis: Annotated[
        Names,
        declare_cli_option(
            "Further analyses, comma-separated: stability, discrimination, ceiling, "
            "thresholds, power, corpus.",
        ),
    ] = ""


@dataclass(frozen=True, kw_only=True)
class DependSettings(ComparedScoresSettings):
    """The options of `depend` that decide its result."""

    by: Annotated[
        str, declare_cli_option("Measure which values of this column a metric favours.", metavar="COLUMN")
    ] = "system"
    context: Annotated[
        Names | None,
        declare_repeatable_option(
            "Repeat the analysis within each value of this column. By default domain. Repeatable.",
            "--context",
            "COLUMN",
        ),
    ] = None
    cluster: Annotated[
        str | None,
        declare_cli_option(
            "Column of documents, such as doc_id, whose segments are resampled together.", metavar="COLUMN"
        ),
    ] = None
    weight: Annotated[
        str | None, declare_cli_option("Column of weights of the segments.", metavar="COLUMN")
    ] = None
    bootstraps: Annotated[
        int, declare_cli_option("Number of bootstrap resamples; 0 for one fit without intervals.", minimum=0)
    ] = 200
    draws: Annotated[
        int | None,
        declare_cli_option(
            "Number of draws of each test. By default 999, and more for 50 metrics or more.",
            metavar="N",
            minimum=1,
        ),
    ] = None
    analysis: Annotated[
        bool,
        declare_cli_option(
            "Show how the results depend on the number of resamples, items and systems.", "--analysis"
        ),
    ] = False
    panel: Annotated[
        bool,
        declare_cli_option(
            "Without human scores: compare each metric with the mean of the others.", "--panel"
        ),
    ] = False
    correct: Annotated[
        FilePath | None,
        declare_cli_option(
            "Remove the advantage of favoured systems from the scores, evaluate the result, and write it to "
            "this .parquet, .csv or .jsonl file.",
            metavar="FILE",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class LabelSettings(ComparedScoresSettings):
    """Options for data in which people have rated only some of the items."""

    labels: Annotated[
        FilePath | None,
        declare_cli_option(
            "CSV file that annotate wrote, with the ratings filled in.",
            metavar="FILE",
            panel=SCORES_PANEL,
        ),
    ] = None
    cluster: Annotated[
        str | None,
        declare_cli_option(
            "What people rate as a whole: single items (item), or all items of a document (the column of "
            "documents, such as doc_id). By default found in the ratings.",
            metavar="COLUMN",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class EstimateSettings(LabelSettings):
    """The options of `estimate` that decide its result."""

    context: Annotated[
        Names | None,
        declare_repeatable_option(
            "Estimate also within each value of this column. Repeatable.", "--context", "COLUMN"
        ),
    ] = None
    target: Annotated[
        str | None,
        declare_cli_option(
            "What is estimated: the mean over the items in the data (these), or over items like these"
            " (similar). By default these, or similar if every item is labelled.",
            metavar="these|similar",
        ),
    ] = None
    resamples: Annotated[
        int, declare_cli_option("Number of resamples for intervals and tests.", minimum=100)
    ] = 1000


@dataclass(frozen=True, kw_only=True)
class AnnotateSettings(LabelSettings):
    """The options of `annotate` that decide its result."""

    count: Annotated[int | None, declare_cli_option("Choose this number of items.", minimum=1)] = None
    width: Annotated[
        float | None,
        declare_cli_option(
            "Choose as many items as needed for 95 % intervals of the system means that are this wide.",
            minimum=0,
        ),
    ] = None
    difference: Annotated[
        float | None,
        declare_cli_option(
            "Choose as many items as needed to detect this difference between two systems.", minimum=0
        ),
    ] = None
    power: Annotated[
        float,
        declare_cli_option("Probability with which --difference is detected.", minimum=0.5, maximum=0.99),
    ] = 0.8
    csv: Annotated[
        FilePath | None,
        declare_cli_option(
            "Write the outputs to rate to this CSV file. By default ratings.csv in the run folder.",
            metavar="FILE",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class JudgeSettings(Settings):
    """The options of `judge` that decide its result."""

    judge: Annotated[
        str | None,
        declare_cli_option("What to ask a model: judge(mode=direct), or mode rubric, spans or pairwise."),
    ] = None
    repeats: Annotated[int, declare_cli_option("Number of times that the model is asked.", minimum=1)] = 1
    human: Annotated[str | None, declare_cli_option("Column of human labels.", metavar="COLUMN")] = None
    people: Annotated[
        Names,
        declare_cli_option("Columns, or names of judges, that are single people, comma-separated."),
    ] = ""
    family: Annotated[
        str | None, declare_cli_option("Column of the model family of each system.", metavar="COLUMN")
    ] = None
    context: Annotated[
        Names | None,
        declare_repeatable_option(
            "Repeat the analysis within each value of this column. Repeatable.", "--context", "COLUMN"
        ),
    ] = None
    ties: Annotated[
        str,
        declare_cli_option(
            "How a verdict counts that changes with the order of the outputs: half right (half), wrong"
            " (strict), or as in JudgeBench (judgebench)."
        ),
    ] = "half"
    verdict_type: Annotated[
        str | None,
        declare_cli_option(
            "What verdicts are: pairwise, grade (ordered numbers) or label (unordered). By default guessed.",
            metavar="TYPE",
        ),
    ] = None
    letters: Annotated[
        str,
        declare_cli_option(
            "What A and B mean in the column winner: an output (output), or the place where it was shown, A"
            " first (position). By default found from the data (auto)."
        ),
    ] = "auto"
    lower_is_better: Annotated[
        Names,
        declare_cli_option("Columns of grades of which lower is better, comma-separated."),
    ] = ""
    higher_is_better: Annotated[
        Names,
        declare_cli_option("Columns of grades of which higher is better, comma-separated."),
    ] = ""
    epsilon: Annotated[
        float,
        declare_cli_option(
            "Alternative annotator test: how much worse than a rater the judge may be: .2 "
            "for experts, .15 for skilled people, .1 for a crowd."
        ),
    ] = 0.2


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(JudgeSettings):
    """All options of the function `judge`. Callers pass them as keywords."""

    join: FilePaths | None = None
    columns: Mapping[str, str] | None = None
    where: Mapping[str, Names] | None = None
    quoting: str = "minimal"
    language: str | None = None
    seed: int = 0
    out: FilePath | None = None
    llm: LlmSettings | None = None


@dataclass(frozen=True, kw_only=True)
class CheckOptions(CheckSettings, OutputReadOptions):
    """All options of the function `check`. Callers pass them as keywords."""

    workers: int | None = None
    out: str | Path | None = None


@dataclass(frozen=True, kw_only=True)
class AssayOptions(RunOptions, AssaySettings):
    """All options of the function `assay`. Callers pass them as keywords."""

    llm: LlmSettings | None = None
    cache: str | Path | None = None
    engine: str = "local"


@dataclass(frozen=True, kw_only=True)
class AssayPartsOptions(AssayOptions):
    """All options of the function `score_selected_assay_batches`. Callers pass them as keywords."""

    parts: Collection[int] = ()


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(RunOptions, ScoreSettings):
    """All options of the function `score`. Callers pass them as keywords."""


@dataclass(frozen=True, kw_only=True)
class PerturbOptions(RunOptions, PerturbSettings):
    """All options of the function `perturb`. Callers pass them as keywords."""

    llm: LlmSettings | None = None


@dataclass(frozen=True, kw_only=True)
class AggregateOptions(RunOptions, AggregateSettings):
    """All options of the function `aggregate`. Callers pass them as keywords."""

    human: Names | None = None


@dataclass(frozen=True, kw_only=True)
class RankOptions(RunOptions, ScoreReadOptions, RankSettings):
    """All options of the function `rank`. Callers pass them as keywords."""


@dataclass(frozen=True, kw_only=True)
class DependOptions(RunOptions, ScoreReadOptions, DependSettings):
    """All options of the function `depend`. Callers pass them as keywords."""


@dataclass(frozen=True, kw_only=True)
class EstimateOptions(RunOptions, ScoreReadOptions, EstimateSettings):
    """All options of the function `estimate`. Callers pass them as keywords."""


@dataclass(frozen=True, kw_only=True)
class AnnotateOptions(RunOptions, ScoreReadOptions, AnnotateSettings):
    """All options of the function `annotate`. Callers pass them as keywords."""


def list_meta_metric_names() -> list[str]:
    """List the names of all meta-metrics (measures of how well a metric agrees with human scores), including
    those of plug-ins. No code of plug-ins is imported.
    """
    from metassay.meta.people.meta_metrics import registry

    return registry.list_meta_metric_names()
