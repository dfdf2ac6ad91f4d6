"""The settings of every verb that measures something: what decides its results, but the data.

Each field is an option and a keyword at once. Nothing heavy is imported: the command line reads it first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from metassay.settings import DATA, PERTURBED, Named, Reading, Settings, assignments, option, several
from metassay.specs import split_list

FIXED, AS_PEOPLE = "fixed", "people"
"""How far copies are from their outputs: as each method has it, or as outputs that people tell apart are."""
TESTS, SCORES, PAIRS = "Tests", "Scores", "Pairs"
MetricChoice = Any
"""Specs as one text or several, `Metric` objects, functions, or any mixture; None for the task's own."""


@dataclass(frozen=True)
class ScoreReading(Reading):
    """How scores of people and metrics are read."""

    reference: Annotated[
        Sequence[str],
        option("Of several references, those to use.", "--reference", "-r", kind=list[str], panel=DATA),
    ] = ()
    keep_references: Annotated[
        bool, option("Keep systems that are the reference itself.", "--keep-references")
    ] = False


@dataclass(frozen=True)
class CheckSettings(Settings):
    """What `check` looks at."""

    metrics: Annotated[
        MetricChoice,
        option("Comma-separated; default those of the task.", "--metrics", "-m", kind=str | None),
    ] = None
    normalize: Annotated[str | None, option("Speech text: english, whisper or none.")] = None


@dataclass(frozen=True)
class AssaySettings(Settings):
    """How an assay is made."""

    metrics: Annotated[
        MetricChoice,
        option("Comma-separated; default those of the task.", "--metrics", "-m", kind=str | None),
    ] = None
    contexts: Annotated[
        Any, several("A column, a crossing a+b, buckets mqm:250; repeatable.", "--context", "CONTEXT")
    ] = None
    perturbations: Annotated[Any, option("Comma-separated; default those of the task.", kind=str | None)] = (
        None
    )
    per_output: Annotated[int, option("Perturbations per output.", least=1, most=10_000)] = 4
    difficulty: Annotated[
        str, option("fixed, or people: edits enough to be as far apart as outputs that people tell apart.")
    ] = FIXED
    cluster: Annotated[
        str | None, option("Column of the independent unit; default document, chapter, speaker or the item.")
    ] = None
    ties: Annotated[str, option("A tie is wrong (strict) or half right (half).")] = "strict"
    agreement: Annotated[str, option("tau_ap_b, weighted_tau or kendall.")] = "tau_ap_b"
    normalize: Annotated[str | None, option("Speech text: english, whisper or none.")] = None
    preprocess: Annotated[str, option("none, paper or paper-asymmetric.")] = "none"
    keep_references: Annotated[bool, option("Keep systems that are references.", "--keep-references")] = False
    strict_resources: Annotated[bool, option("A missing dictionary is an error.", "--strict-resources")] = (
        False
    )
    valid_pairs: Annotated[
        bool | None,
        option(
            "Rankings: drop copies that did not lose gain (the default there), or not.",
            "--valid-pairs/--all-pairs",
        ),
    ] = None
    resamples: Annotated[int, option("Bootstrap resamples.", least=1)] = 1000
    permutations: Annotated[int, option("Permutations of H1.", least=1)] = 999
    minimum_items: Annotated[
        int, option("Contexts with fewer items get a warning.", "--min-items", least=0)
    ] = 20
    weights: Annotated[str | None, option("A column of weights, or density.")] = None
    pairs: Annotated[
        Any, option("perturbed, human (from human scores), or a file with item, output, worse.", kind=str)
    ] = PERTURBED
    scores: Annotated[Any, several("Scores made elsewhere; repeatable.", "--scores", "FILE")] = None
    lower_is_better: Annotated[
        Named, option("Human scores, metrics from outside: lower is better.", kind=str)
    ] = ""
    higher_is_better: Annotated[Named, option("Metrics from outside: higher is better.", kind=str)] = ""
    human: Annotated[str | None, option("The human score, where there are several.")] = None
    minimum_gap: Annotated[
        float, option("Human pairs: scores differ by more than this.", "--min-gap", least=0)
    ] = 0.0


@dataclass(frozen=True)
class ScoreSettings(Settings):
    """What is scored, and how it is summed up."""

    metrics: Annotated[
        MetricChoice,
        option("Comma-separated; default those of the task.", "--metrics", "-m", kind=str | None),
    ] = None
    aggregate: Annotated[
        Sequence[str],
        option("Any of corpus, segment, bootstrap.", kind=str, parse=split_list),
    ] = ("corpus", "segment")
    per_segment: Annotated[
        Any, option("Write segment scores to a .parquet, .csv or .jsonl file.", kind=str | None)
    ] = None
    test: Annotated[
        str | None, option("Compare all systems: bootstrap or randomization.", metavar="TEST")
    ] = None
    draws: Annotated[
        int | None, option("Draws of the test; default 1000 and 10000.", metavar="N", least=1)
    ] = None
    resamples: Annotated[int, option("Resamples of the intervals.", metavar="N", least=2)] = 1000
    normalize: Annotated[str | None, option("Speech text: english, whisper or none.")] = None
    keep_references: Annotated[
        bool,
        option(
            "Score systems that are references, or leave them out.", "--keep-references/--drop-references"
        ),
    ] = True


@dataclass(frozen=True)
class PerturbSettings(Settings):
    """How outputs are made worse."""

    perturbations: Annotated[Any, option("Comma-separated; default those of the task.", kind=str | None)] = (
        None
    )
    per_output: Annotated[int | None, option("Perturbations per output.", least=1, most=10_000)] = 4
    difficulty: Annotated[
        str, option("fixed, or people: edits enough to be as far apart as outputs that people tell apart.")
    ] = FIXED
    normalize: Annotated[str | None, option("Speech text: english, whisper or none.")] = None
    preprocess: Annotated[str, option("none, paper or paper-asymmetric.")] = "none"
    keep_references: Annotated[
        bool, option("Keep systems that are references, or not.", "--keep-references/--drop-references")
    ] = True
    strict_resources: Annotated[bool, option("A missing dictionary is an error.", "--strict-resources")] = (
        False
    )


@dataclass(frozen=True)
class AggregateSettings(Settings):
    """How scores of segments become scores of systems."""

    metrics: Annotated[
        MetricChoice,
        option("Comma-separated; default bleu,chrf, for speech wer,cer.", "--metrics", "-m", kind=str | None),
    ] = None
    resamples: Annotated[int, option("Resamples of the bootstrap.", least=2)] = 1000
    size: Annotated[int, option("Segments in each resample.", least=1)] = 1000
    repeats: Annotated[int, option("Draws of few segments.", least=1)] = 1000
    normalize: Annotated[str | None, option("Speech text: english, whisper or none.")] = None
    keep_references: Annotated[
        bool, option("Keep systems that are the reference itself.", "--keep-references")
    ] = False


@dataclass(frozen=True)
class Compared(Settings):
    """Which scores of people and metrics are compared, and in which direction they are read."""

    human: Annotated[
        Named | None,
        option("The human score; others of people after commas.", kind=str | None, panel=SCORES),
    ] = None
    metrics: Annotated[
        MetricChoice,
        option(
            "Only these, comma-separated; ours are computed from texts.",
            "--metrics",
            "-m",
            kind=str | None,
            panel=SCORES,
        ),
    ] = None
    lower_is_better: Annotated[
        Named, option("Columns to turn around, comma-separated.", kind=str, panel=SCORES)
    ] = ""
    higher_is_better: Annotated[
        Named,
        option("Columns to keep although named like ter or wer, comma-separated.", kind=str, panel=SCORES),
    ] = ""


@dataclass(frozen=True)
class RankSettings(Compared):
    """How metrics are ranked against people."""

    meta: Annotated[
        Named,
        option(
            "Any of spa, pa, acc_eq, pearson, spearman, kendall, kendall_c; the last four also with"
            " :segment, :item or :per_system; or spans, where errors are marked.",
            kind=str,
        ),
    ] = "spa"
    significance: Annotated[
        str,
        option(
            "perm-inputs, perm-systems, perm-both, cells, bootstrap, williams (Pearson) or none.", panel=TESTS
        ),
    ] = "perm-inputs"
    spans: Annotated[
        Mapping[str, Any] | None,
        several(
            "Error spans of a metric, or of people as human=FILE; repeatable.",
            "--spans",
            "METRIC=FILE",
            assignments,
            panel=SCORES,
        ),
    ] = None
    context: Annotated[Any, several("Also rank within each value of this column.", "--context", "COLUMN")] = (
        None
    )
    method: Annotated[str, option("p-values inside SPA: normal, permutation or mtme.", panel=TESTS)] = (
        "normal"
    )
    permutations: Annotated[int, option("For the last two methods.", panel=TESTS, least=1)] = 1000
    draws: Annotated[int, option("Draws of the tests and intervals.", panel=TESTS, least=1)] = 1000
    cluster: Annotated[
        str | None, option("Permute and resample these (doc_id) instead of segments.", panel=TESTS)
    ] = None
    minimum_segments: Annotated[
        int, option("Contexts with fewer segments are set aside.", "--min-segments", panel=TESTS, least=0)
    ] = 20
    holm: Annotated[bool, option("Holm's correction over all comparisons.", "--holm", panel=TESTS)] = False
    missing: Annotated[
        str, option("complete segments only, or pairwise: what both systems of a pair have.", panel=SCORES)
    ] = "complete"
    analysis: Annotated[
        Named, option("Any of stability, discrimination, ceiling, thresholds, power, corpus.", kind=str)
    ] = ""


@dataclass(frozen=True)
class DependSettings(Compared):
    """How system dependence is measured."""

    by: Annotated[str, option("Group outputs by this column.", metavar="COLUMN")] = "system"
    context: Annotated[
        Any, several("Also within each value of this column; default domain.", "--context", "COLUMN")
    ] = None
    cluster: Annotated[
        str | None, option("Resample these (doc_id) instead of segments.", metavar="COLUMN")
    ] = None
    weight: Annotated[str | None, option("A column of weights.", metavar="COLUMN")] = None
    bootstraps: Annotated[int, option("Resamples; 0 for one fit without intervals.", least=0)] = 200
    draws: Annotated[int, option("Draws of each test.", least=1)] = 999
    analysis: Annotated[bool, option("Sensitivity to resamples, sample size and systems.", "--analysis")] = (
        False
    )
    panel: Annotated[bool, option("Nobody rated: each metric against the mean of the others.", "--panel")] = (
        False
    )
    correct: Annotated[
        Any,
        option(
            "Write scores read through f_G and f_k to a .parquet, .csv or .jsonl file, and try them.",
            kind=str | None,
            metavar="FILE",
        ),
    ] = None
