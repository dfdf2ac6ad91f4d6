"""Options of the verbs.

For each verb a `…Settings` class holds what decides its results, and an `…Options` class adds how data is
read and how the verb runs. Each field is an option of the command line and a keyword of the Python function.
Nothing heavy is imported here, because the command line imports this module before it parses.
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
    ExecutionOptions,
    FilePath,
    FilePaths,
    Names,
    Settings,
    TableReadOptions,
    declare_option,
    declare_repeatable_option,
    parse_assignments,
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

# Options that several verbs have.
MetricsOption = Annotated[
    MetricChoice,
    declare_option(
        "Comma-separated; default those of the task.", "--metrics", "-m", command_line_type=str | None
    ),
]
PerturbationsOption = Annotated[
    PerturbationChoice,
    declare_option("Comma-separated; default those of the task.", command_line_type=str | None),
]
NormalizeOption = Annotated[str | None, declare_option("Speech text: english, whisper or none.")]
PreprocessOption = Annotated[str, declare_option("none, paper or paper-asymmetric.")]
StrictResourcesOption = Annotated[
    bool, declare_option("A missing dictionary is an error.", "--strict-resources")
]
KeepReferencesOption = Annotated[
    bool, declare_option("Keep systems that are the reference itself.", "--keep-references")
]


@dataclass(frozen=True, kw_only=True)
class ScoreReadOptions(TableReadOptions):
    """Options for reading human and metric scores."""

    reference: Annotated[
        Sequence[str],
        declare_option(
            "Of several references, those to use.",
            "--reference",
            "-r",
            command_line_type=list[str],
            panel=DATA_PANEL,
        ),
    ] = ()
    keep_references: KeepReferencesOption = False


@dataclass(frozen=True, kw_only=True)
class CheckSettings(Settings):
    """Options that are specific to `check`."""

    metrics: MetricsOption = None
    normalize: NormalizeOption = None


@dataclass(frozen=True, kw_only=True)
class AssaySettings(Settings):
    """Options that are specific to `assay`."""

    metrics: MetricsOption = None
    contexts: Annotated[
        ContextChoice,
        declare_repeatable_option(
            "A column, a crossing a+b, buckets mqm:250; repeatable.", "--context", "CONTEXT"
        ),
    ] = None
    perturbations: PerturbationsOption = None
    per_output: Annotated[int, declare_option("Perturbations per output.", minimum=1, maximum=10_000)] = 4
    cluster: Annotated[
        str | None,
        declare_option("Column of the independent unit; default document, chapter, speaker or the item."),
    ] = None
    ties: Annotated[str, declare_option("A tie is wrong (strict) or half right (half).")] = "strict"
    agreement: Annotated[str, declare_option("tau_ap_b, tau_ap, weighted_tau or kendall.")] = "tau_ap_b"
    normalize: NormalizeOption = None
    preprocess: PreprocessOption = "none"
    keep_references: Annotated[
        bool, declare_option("Keep systems that are references.", "--keep-references")
    ] = False
    strict_resources: StrictResourcesOption = False
    valid_pairs: Annotated[
        bool | None,
        declare_option(
            "Rankings: drop copies that did not lose gain (the default there), or not.",
            "--valid-pairs/--all-pairs",
        ),
    ] = None
    resamples: Annotated[int, declare_option("Bootstrap resamples.", minimum=1)] = 1000
    permutations: Annotated[int, declare_option("Permutations of H1.", minimum=1)] = 999
    minimum_items: Annotated[
        int, declare_option("Contexts with fewer items get a warning.", "--min-items", minimum=0)
    ] = 20
    weights: Annotated[str | None, declare_option("A column of weights, or density.")] = None
    pairs: Annotated[
        PairSource,
        declare_option(
            "perturbed, human (from human scores), or a file with item, output, worse.", command_line_type=str
        ),
    ] = PERTURBED_PAIRS
    scores: Annotated[
        FilePaths | None, declare_repeatable_option("Scores made elsewhere; repeatable.", "--scores", "FILE")
    ] = None
    lower_is_better: Annotated[
        Names, declare_option("Human scores, metrics from outside: lower is better.")
    ] = ""
    higher_is_better: Annotated[
        Names, declare_option("Human scores, metrics from outside: higher is better.")
    ] = ""
    human: Annotated[str | None, declare_option("The human score, where there are several.")] = None
    minimum_gap: Annotated[
        float, declare_option("Human pairs: scores differ by more than this.", "--min-gap", minimum=0)
    ] = 0.0


@dataclass(frozen=True, kw_only=True)
class ScoreSettings(Settings):
    """Options that are specific to `score`."""

    metrics: MetricsOption = None
    aggregate: Annotated[
        Sequence[str],
        declare_option("Any of corpus, segment, bootstrap.", command_line_type=str, parse=split_at_commas),
    ] = ("corpus", "segment")
    per_segment: Annotated[
        FilePath | None, declare_option("Write segment scores to a .parquet, .csv or .jsonl file.")
    ] = None
    test: Annotated[
        str | None, declare_option("Compare all systems: bootstrap or randomization.", metavar="TEST")
    ] = None
    draws: Annotated[
        int | None, declare_option("Draws of the test; default 1000 and 10000.", metavar="N", minimum=1)
    ] = None
    cluster: Annotated[
        str | None,
        declare_option("Resample and exchange these (doc_id) instead of segments.", metavar="COLUMN"),
    ] = None
    meaning: Annotated[
        FilePath | None,
        declare_option(
            "Say how often people agree with each difference: a run of rank --analysis thresholds.",
            metavar="RUN",
        ),
    ] = None
    resamples: Annotated[
        int, declare_option("Resamples of the intervals; 0 for none.", metavar="N", minimum=0)
    ] = 1000
    normalize: NormalizeOption = None
    keep_references: Annotated[
        bool,
        declare_option(
            "Score systems that are references, or leave them out.", "--keep-references/--drop-references"
        ),
    ] = True


@dataclass(frozen=True, kw_only=True)
class PerturbSettings(Settings):
    """Options that are specific to `perturb`."""

    perturbations: PerturbationsOption = None
    per_output: Annotated[
        int | None, declare_option("Perturbations per output.", minimum=1, maximum=10_000)
    ] = 4
    normalize: NormalizeOption = None
    preprocess: PreprocessOption = "none"
    keep_references: Annotated[
        bool,
        declare_option("Keep systems that are references, or not.", "--keep-references/--drop-references"),
    ] = True
    strict_resources: StrictResourcesOption = False


@dataclass(frozen=True, kw_only=True)
class AggregateSettings(Settings):
    """Options that are specific to `aggregate`."""

    metrics: Annotated[
        MetricChoice,
        declare_option(
            "Comma-separated; default bleu,chrf, for speech wer,cer.",
            "--metrics",
            "-m",
            command_line_type=str | None,
        ),
    ] = None
    resamples: Annotated[int, declare_option("Resamples of the bootstrap.", minimum=2)] = 1000
    size: Annotated[int, declare_option("Segments in each resample.", minimum=1)] = 1000
    repeats: Annotated[int, declare_option("Draws of few segments.", minimum=1)] = 1000
    normalize: NormalizeOption = None
    keep_references: KeepReferencesOption = False
    lower_is_better: Annotated[
        Names, declare_option("Human scores of which lower is better, comma-separated.")
    ] = ""
    higher_is_better: Annotated[
        Names, declare_option("Human scores to keep although named like errors, comma-separated.")
    ] = ""


@dataclass(frozen=True, kw_only=True)
class ComparedScoresSettings(Settings):
    """Options for which human and metric scores are compared, and in which direction."""

    human: Annotated[
        Names | None, declare_option("The human score; others of people after commas.", panel=SCORES_PANEL)
    ] = None
    metrics: Annotated[
        MetricChoice,
        declare_option(
            "Only these, comma-separated; ours are computed from texts.",
            "--metrics",
            "-m",
            command_line_type=str | None,
            panel=SCORES_PANEL,
        ),
    ] = None
    lower_is_better: Annotated[
        Names, declare_option("Columns of which lower is better, comma-separated.", panel=SCORES_PANEL)
    ] = ""
    higher_is_better: Annotated[
        Names,
        declare_option(
            "Columns to keep although named like ter or wer, comma-separated.", panel=SCORES_PANEL
        ),
    ] = ""


@dataclass(frozen=True, kw_only=True)
class RankSettings(ComparedScoresSettings):
    """Options that are specific to `rank`."""

    meta: Annotated[
        Names,
        declare_option(
            f"Meta-metrics, comma-separated: {META_METRIC_NAMES}. Correlations also with :segment, :item or"
            " :per_system. See: metassay list meta_metrics"
        ),
    ] = "spa"
    significance: Annotated[
        str,
        declare_option(
            "perm-inputs, perm-systems, perm-both, cells, bootstrap, williams (Pearson) or none.",
            panel=TESTS_PANEL,
        ),
    ] = "perm-inputs"
    spans: Annotated[
        Mapping[str, FilePath] | None,
        declare_repeatable_option(
            "Error spans of a metric, or of people as human=FILE; repeatable.",
            "--spans",
            "METRIC=FILE",
            parse_assignments,
            panel=SCORES_PANEL,
        ),
    ] = None
    context: Annotated[
        Names | None,
        declare_repeatable_option("Also rank within each value of this column.", "--context", "COLUMN"),
    ] = None
    method: Annotated[
        str, declare_option("p-values inside SPA: normal, permutation or mtme.", panel=TESTS_PANEL)
    ] = "normal"
    permutations: Annotated[
        int, declare_option("For the last two methods.", panel=TESTS_PANEL, minimum=1)
    ] = 1000
    draws: Annotated[
        int, declare_option("Draws of the tests and intervals.", panel=TESTS_PANEL, minimum=1)
    ] = 1000
    cluster: Annotated[
        str | None,
        declare_option("Permute and resample these (doc_id) instead of segments.", panel=TESTS_PANEL),
    ] = None
    minimum_segments: Annotated[
        int,
        declare_option(
            "Contexts with fewer segments are set aside.", "--min-segments", panel=TESTS_PANEL, minimum=0
        ),
    ] = 20
    holm: Annotated[
        bool, declare_option("Holm's correction over all comparisons.", "--holm", panel=TESTS_PANEL)
    ] = False
    missing: Annotated[
        str,
        declare_option(
            "complete segments only, or pairwise: what both systems of a pair have.", panel=SCORES_PANEL
        ),
    ] = "complete"
    analysis: Annotated[
        Names, declare_option("Any of stability, discrimination, ceiling, thresholds, power, corpus.")
    ] = ""


@dataclass(frozen=True, kw_only=True)
class DependSettings(ComparedScoresSettings):
    """Options that are specific to `depend`."""

    by: Annotated[str, declare_option("Group outputs by this column.", metavar="COLUMN")] = "system"
    context: Annotated[
        Names | None,
        declare_repeatable_option(
            "Also within each value of this column; default domain.", "--context", "COLUMN"
        ),
    ] = None
    cluster: Annotated[
        str | None, declare_option("Resample these (doc_id) instead of segments.", metavar="COLUMN")
    ] = None
    weight: Annotated[str | None, declare_option("A column of weights.", metavar="COLUMN")] = None
    bootstraps: Annotated[int, declare_option("Resamples; 0 for one fit without intervals.", minimum=0)] = 200
    draws: Annotated[int, declare_option("Draws of each test.", minimum=1)] = 999
    analysis: Annotated[
        bool, declare_option("Sensitivity to resamples, sample size and systems.", "--analysis")
    ] = False
    panel: Annotated[
        bool, declare_option("Nobody rated: each metric against the mean of the others.", "--panel")
    ] = False
    correct: Annotated[
        FilePath | None,
        declare_option(
            "Write scores read through f_G and f_k to a .parquet, .csv or .jsonl file, and try them.",
            metavar="FILE",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class LabelSettings(ComparedScoresSettings):
    """Options for data with human labels on some of the items."""

    labels: Annotated[
        FilePath | None,
        declare_option("The CSV file that annotate wrote, filled in.", metavar="FILE", panel=SCORES_PANEL),
    ] = None
    cluster: Annotated[
        str | None,
        declare_option(
            "What is chosen for labelling: item, or a column such as doc_id; else found.", metavar="COLUMN"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class EstimateSettings(LabelSettings):
    """Options that are specific to `estimate`."""

    context: Annotated[
        Names | None,
        declare_repeatable_option("Also estimate within each value of this column.", "--context", "COLUMN"),
    ] = None
    target: Annotated[
        str | None,
        declare_option(
            "The mean over these (the items in the data) or similar (items like these);"
            " default these, or similar if every item is labelled.",
            metavar="these|similar",
        ),
    ] = None
    resamples: Annotated[int, declare_option("Resamples for intervals and tests.", minimum=100)] = 1000


@dataclass(frozen=True, kw_only=True)
class AnnotateSettings(LabelSettings):
    """Options that are specific to `annotate`."""

    count: Annotated[int | None, declare_option("Choose this many items.", minimum=1)] = None
    width: Annotated[
        float | None,
        declare_option("As many as make the 95 % interval of every system this wide.", minimum=0),
    ] = None
    difference: Annotated[
        float | None, declare_option("As many as show this difference between two systems.", minimum=0)
    ] = None
    power: Annotated[
        float, declare_option("With --difference: the probability to show it.", minimum=0.5, maximum=0.99)
    ] = 0.8
    csv: Annotated[
        FilePath | None,
        declare_option(
            "Write the outputs to rate to this CSV file; default ratings.csv in --out.", metavar="FILE"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class JudgeSettings(Settings):
    """Options of the command `judge` only."""

    judge: Annotated[
        str | None, declare_option("Ask the model: judge(mode=direct, rubric, spans or pairwise).")
    ] = None
    repeats: Annotated[int, declare_option("Ask the model this many times.", minimum=1)] = 1
    human: Annotated[str | None, declare_option("The column of human labels.", metavar="COLUMN")] = None
    people: Annotated[Names, declare_option("Columns or judges that are single people, comma-separated.")] = (
        ""
    )
    family: Annotated[str | None, declare_option("The column of model families.", metavar="COLUMN")] = None
    context: Annotated[
        Names | None,
        declare_repeatable_option("Also within each value of this column.", "--context", "COLUMN"),
    ] = None
    ties: Annotated[
        str,
        declare_option(
            "A verdict that changes with the order is half right (half) or wrong (strict);"
            " judgebench adds up both orders."
        ),
    ] = "half"
    verdict_type: Annotated[
        str | None, declare_option("pairwise, grade (ordered numbers) or label (unordered).", metavar="TYPE")
    ] = None
    letters: Annotated[
        str, declare_option("What winners A and B mean: output, position (A was shown first) or auto.")
    ] = "auto"
    lower_is_better: Annotated[Names, declare_option("Columns of grades of which lower is better.")] = ""
    higher_is_better: Annotated[Names, declare_option("Columns of grades of which higher is better.")] = ""
    epsilon: Annotated[
        float,
        declare_option("Alternative annotator test: .2 for experts, .15 for skilled people, .1 for a crowd."),
    ] = 0.2


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(JudgeSettings):
    """All keywords of `judge`."""

    join: FilePaths | None = None
    columns: Mapping[str, str] | None = None
    quoting: str = "minimal"
    language: str | None = None
    seed: int = 0
    out: FilePath | None = None
    llm: LlmSettings | None = None


@dataclass(frozen=True, kw_only=True)
class CheckOptions(CheckSettings):
    """All keywords of `check`."""

    workers: int | None = None
    out: str | Path | None = None


@dataclass(frozen=True, kw_only=True)
class AssayOptions(ExecutionOptions, AssaySettings):
    """All keywords of `assay`."""

    llm: LlmSettings | None = None
    cache: str | Path | None = None
    engine: str = "local"


@dataclass(frozen=True, kw_only=True)
class AssayPartsOptions(AssayOptions):
    """All keywords of `score_assay_parts`."""

    parts: Collection[int] = ()


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(ExecutionOptions, ScoreSettings):
    """All keywords of `score`."""


@dataclass(frozen=True, kw_only=True)
class PerturbOptions(ExecutionOptions, PerturbSettings):
    """All keywords of `perturb`."""

    llm: LlmSettings | None = None


@dataclass(frozen=True, kw_only=True)
class AggregateOptions(ExecutionOptions, AggregateSettings):
    """All keywords of `aggregate`."""


@dataclass(frozen=True, kw_only=True)
class RankOptions(ExecutionOptions, ScoreReadOptions, RankSettings):
    """All keywords of `rank`."""


@dataclass(frozen=True, kw_only=True)
class DependOptions(ExecutionOptions, ScoreReadOptions, DependSettings):
    """All keywords of `depend`."""


@dataclass(frozen=True, kw_only=True)
class EstimateOptions(ExecutionOptions, ScoreReadOptions, EstimateSettings):
    """All keywords of `estimate`."""


@dataclass(frozen=True, kw_only=True)
class AnnotateOptions(ExecutionOptions, ScoreReadOptions, AnnotateSettings):
    """All keywords of `annotate`."""


def list_meta_metric_names() -> list[str]:
    """List the names of all meta-metrics, also of plug-ins, without importing them."""
    from metassay.meta.people.meta_metrics import registry

    return registry.list_meta_metric_names()
