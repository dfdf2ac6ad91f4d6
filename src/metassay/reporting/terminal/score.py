"""What `metassay score` prints: a row per system and a column per metric, then tests between systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import asdict

from metassay.meta.aggregation.system_scores import MOST_RESAMPLED_SEGMENTS
from metassay.reporting.agreement_curves import (
    TITLE,
    build_score_difference_rows,
    explain_source_of_human_agreement,
)
from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import (
    Block,
    Details,
    Line,
    Note,
    Row,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    summarize_data_in_note,
)
from metassay.results.official_score import OfficialScore
from metassay.results.score import ScoreContent, ScoredSystem, SystemComparison

P_VALUE_EXPLANATIONS = {
    "bootstrap": "p: if the true difference between the two systems were 0, a difference as large as this or "
    "larger would be found this often (paired bootstrap, two-sided).",
    "randomization": "p: if it did not matter which of the two systems made which output, a difference as "
    "large as this or larger would be found this often (approximate randomisation, two-sided).",
}
MISSING = "–"
# Differences that are printed without `--verbose`.
MOST_COMPARISONS = 21


@dataclass(frozen=True)
class ScoreFormat:
    """How scores are printed: with how many decimals, with which details, and how segment scores become the
    score of a system.
    """

    aggregations: Sequence[str]
    """The requested aggregations; a metric is shown with the first that it has."""
    test: str | None
    resamples: int
    unit: str
    """What the items are called: segments or topics."""
    decimals: int | None = None
    resampled_unit: str = ""
    """What is resampled for intervals: the items, or random groups of them."""

    def choose_score_decimals(self, system: ScoredSystem, *, default: int = 3) -> int:
        """Choose the number of decimals of a score: the requested number, or else 1 if sacrebleu computes the
        same score, or else `default`.
        """
        if self.decimals is not None:
            return self.decimals
        return 1 if "equals:sacrebleu" in system.signature else default

    def choose_aggregation(self, system: ScoredSystem) -> str | None:
        """Return the first requested way to aggregate segment scores that the metric has. None if it has none
        of them.
        """
        for name in self.aggregations:
            if getattr(system, name) is not None:
                return name
        return None

    def format_score(self, system: ScoredSystem, *, decimals: int) -> str:
        """Write the score of a system with the requested number of decimals."""
        aggregation = self.choose_aggregation(system)
        return MISSING if aggregation is None else f"{getattr(system, aggregation):.{decimals}f}"


def name_unit_of_resampling(score_result: ScoreContent, unit: str, cluster_column: str | None = None) -> str:
    """Name what is resampled to compute intervals: items, groups of items, or, in large test sets, random
    groups.
    """
    if cluster_column is not None:
        return f"groups of {unit} with the same {cluster_column}"
    if score_result.data is None or score_result.data.items <= MOST_RESAMPLED_SEGMENTS:
        return unit
    return f"{unit}, and in test sets with more than {MOST_RESAMPLED_SEGMENTS:,} of random groups of {unit}"


def describe_scores_as_bare_numbers(score_result: ScoreContent, score_format: ScoreFormat) -> list[Block]:
    """Describe each score by its number alone, so that scripts can read it."""
    numbers = []
    for system in score_result.systems:
        decimals = score_format.choose_score_decimals(system, default=4)
        numbers.append(score_format.format_score(system, decimals=decimals))
    return [
        *convert_sentences_to_lines(numbers),
        *summarize_data_in_note(score_result.data),
        *convert_sentences_to_notes(score_result.notes),
    ]


def describe_scores(score_result: ScoreContent, score_format: ScoreFormat) -> list[Block]:
    """Describe the scores of all systems in a table. With `--verbose`, other aggregations and signatures
    follow.
    """
    labels = MetricLabels(system.metric for system in score_result.systems)
    blocks: list[Block] = []
    if score_result.comparisons:
        # Imported here, because without a test the command starts faster.
        from metassay.reporting.score_page import prepare_score_report, warn_of_too_few_draws

        blocks += convert_sentences_to_lines(claim.sentence for claim in score_result.verdict)
        blocks += convert_sentences_to_lines(warn_of_too_few_draws(prepare_score_report(score_result)))
    blocks += _describe_system_scores(score_result.systems, labels, score_format)
    blocks.append(
        Table(
            [_build_score_row(comparison, labels) for comparison in score_result.comparisons],
            title="Differences between systems",
            most_important=("metric", "a", "b", "difference", "p_holm", "p"),
            most_rows=MOST_COMPARISONS,
            digits=2,
        )
    )
    if score_format.test is not None:
        blocks.append(Line(P_VALUE_EXPLANATIONS[score_format.test]))
    if score_result.meanings:
        blocks.append(Table(build_score_difference_rows(score_result.meanings, labels), title=TITLE))
        blocks.append(Line(explain_source_of_human_agreement(score_result.meanings)))
    blocks.append(Details(_describe_score_details(score_result.systems, labels, score_format)))
    blocks.append(Line("Precisions, counts, signatures and other aggregations: --verbose"))
    return [
        *blocks,
        *summarize_data_in_note(score_result.data),
        *convert_sentences_to_notes(score_result.notes),
    ]


def _build_score_row(
    system_or_comparison: ScoredSystem | SystemComparison, metric_labels: MetricLabels
) -> Row:
    """Build a table row from a score or a comparison of two systems, with the label of the metric."""
    row = {**asdict(system_or_comparison), "metric": metric_labels[system_or_comparison.metric]}
    if system_or_comparison.group is None:
        del row["group"]
    return row


def _describe_system_scores(
    systems: Sequence[ScoredSystem], labels: MetricLabels, score_format: ScoreFormat
) -> list[Block]:
    """Build the table with the score of each system by each metric, followed by lines that explain the
    numbers.
    """
    table_rows: dict[tuple[str, ...], dict[str, str]] = {}
    metrics_without_corpus_score: dict[str, None] = {}
    has_intervals = False
    for system in systems:
        key = {"system": system.system}
        if system.group is not None:
            key = {"group": system.group, **key}
        label = labels[system.metric]
        decimals = score_format.choose_score_decimals(system)
        text = score_format.format_score(system, decimals=decimals)
        if system.low is not None and system.high is not None:
            has_intervals = True
            text += f" ± {(system.high - system.low) / 2:.{decimals}f}"
        table_rows.setdefault(tuple(key.values()), key)[label] = text
        is_segment_mean = score_format.choose_aggregation(system) == "segment"
        if is_segment_mean and score_format.aggregations[0] != "segment":
            metrics_without_corpus_score[label] = None
    blocks: list[Block] = [Table(list(table_rows.values()))]
    unit = score_format.unit
    if has_intervals:
        blocks.append(
            Line(
                "After ±: half the width of the 95 % interval, from"
                f" {score_format.resamples} resamples of {score_format.resampled_unit}."
            )
        )
    if metrics_without_corpus_score:
        metrics = ", ".join(metrics_without_corpus_score)
        blocks.append(Line(f"Means over {unit}, because there is no corpus score: {metrics}."))
    return blocks


def _describe_score_details(
    systems: Sequence[ScoredSystem], labels: MetricLabels, score_format: ScoreFormat
) -> list[Line | Table | Note]:
    """Describe the scores under every aggregation, the scores as sacrebleu prints them, and the signatures of
    the metrics.
    """
    hidden = ("signature", "official")
    rows = []
    for system in systems:
        row = _build_score_row(system, labels)
        rows.append({name: value for name, value in row.items() if name not in hidden})
    blocks: list[Line | Table | Note] = [
        Table(rows, title="Every aggregation, and the interval of the first")
    ]
    blocks += _describe_official_scores(systems, score_format)
    signatures = dict.fromkeys(system.signature for system in systems)
    signature_lines = [Line(signature, wrap=False) for signature in signatures]
    return [*blocks, Line(), Line("Signatures:"), *signature_lines]


def _describe_official_scores(systems: Sequence[ScoredSystem], score_format: ScoreFormat) -> list[Line]:
    """Describe each corpus score as sacrebleu prints it, and how many n-grams match the reference."""
    sacrebleu_lines: list[Line] = []
    ngram_lines: list[Line] = []
    has_several_systems = len({system.system for system in systems}) > 1
    for system in systems:
        if system.official is None or system.corpus is None:
            continue
        decimals = score_format.choose_score_decimals(system)
        line = _format_sacrebleu_line(system.corpus, system.official, decimals=decimals)
        prefix = f"{system.system}: " if has_several_systems else ""
        sacrebleu_lines.append(Line(prefix + line, wrap=False))
        if system.official.ngrams is not None:
            ngram_lines.append(Line(_describe_matched_ngrams(system.system, system.official)))
    if not sacrebleu_lines:
        return []
    return [Line(), Line("As sacrebleu prints it:"), *sacrebleu_lines, *ngram_lines]


def _format_sacrebleu_line(corpus_score: float, official: OfficialScore, *, decimals: int) -> str:
    """Write a score as `sacrebleu --format text` prints it."""
    line = f"{official.name}|{official.signature} = {corpus_score:.{decimals}f}"
    if official.precisions is None:
        return line
    precisions = "/".join(f"{precision:.{decimals}f}" for precision in official.precisions)
    return (
        f"{line} {precisions} (BP = {official.brevity_penalty:.3f} ratio = {official.length_ratio:.3f}"
        f" hyp_len = {official.output_length} ref_len = {official.reference_length})"
    )


def _describe_matched_ngrams(system: str, official: OfficialScore) -> str:
    """Say how many n-grams of a system occur in a reference, for each length n."""
    counts = zip(official.matches or [], official.ngrams or [])
    shares = [f"{n}: {matches} of {total}" for n, (matches, total) in enumerate(counts, start=1)]
    return f"{system}: n-grams found in a reference, by n: {', '.join(shares)}."
