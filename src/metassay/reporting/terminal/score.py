"""What `metassay score` prints: a row per system and a column per metric, then tests between systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metassay.reporting.terminal.blocks import Block, Line, Row, Table, lines, notes
from metassay.reporting.wording import in_labels

P_VALUE_EXPLANATIONS = {
    "bootstrap": "p: if the true difference between the two systems were 0, a difference as large as this or "
    "larger would be found this often (paired bootstrap over segments, two-sided).",
    "randomization": "p: if it did not matter which of the two systems made which output, a difference as "
    "large as this or larger would be found this often (approximate randomisation, two-sided).",
}
MISSING = "–"


@dataclass(frozen=True)
class ScoreFormat:
    """How scores are printed."""

    aggregations: Sequence[str]
    """The requested aggregations; a metric is shown with the first that it has."""
    test: str | None
    resamples: int
    unit: str
    """What the items are called: segments or topics."""
    decimals: int | None = None

    def choose_decimals(self, row: Row, *, default: int = 3) -> int:
        """Return the requested number of decimals, else one for scores in per cent as sacrebleu has them."""
        if self.decimals is not None:
            return self.decimals
        return 1 if "equals:sacrebleu" in row["signature"] else default

    def choose_aggregation(self, row: Row) -> str | None:
        """Return the first requested aggregation that the metric has."""
        for name in self.aggregations:
            if row[name] is not None:
                return name
        return None

    def format_score(self, row: Row, *, decimals: int) -> str:
        """Return the score of a system as text."""
        aggregation = self.choose_aggregation(row)
        return MISSING if aggregation is None else f"{row[aggregation]:.{decimals}f}"


def describe_bare_scores(
    systems: Sequence[Row], messages: Sequence[str], score_format: ScoreFormat
) -> list[Block]:
    """Describe each score by its number alone, for use in scripts."""
    numbers = [
        score_format.format_score(row, decimals=score_format.choose_decimals(row, default=4))
        for row in systems
    ]
    return [*lines(numbers), *notes(messages)]


def describe_scores(
    result: Mapping[str, Any], score_format: ScoreFormat, *, verbose: bool = False
) -> list[Block]:
    """Describe the scores of all systems; `verbose` adds every aggregation, counts and signatures."""
    content = in_labels({"systems": result["systems"], "comparisons": result["comparisons"]})
    blocks = _describe_systems(content["systems"], score_format)
    blocks.append(
        Table(
            content["comparisons"],
            title="Differences between systems",
            most_important=("metric", "a", "b", "difference", "p"),
        )
    )
    if score_format.test is not None:
        blocks.append(Line(P_VALUE_EXPLANATIONS[score_format.test]))
    if verbose:
        blocks += _describe_details(result["systems"], score_format)
    else:
        blocks.append(Line("Precisions, counts, signatures and other aggregations: --verbose"))
    return [*blocks, *notes(result["notes"])]


def _describe_systems(systems: Sequence[Row], score_format: ScoreFormat) -> list[Block]:
    """Return the table of systems and metrics, and lines that explain its numbers."""
    table_rows: dict[tuple[str, ...], dict[str, str]] = {}
    metrics_without_corpus_score: dict[str, None] = {}
    has_intervals = False
    for row in systems:
        key = {name: row[name] for name in ("group", "system") if name in row}
        decimals = score_format.choose_decimals(row)
        text = score_format.format_score(row, decimals=decimals)
        if row["low"] is not None and row["high"] is not None:
            has_intervals = True
            text += f" ± {(row['high'] - row['low']) / 2:.{decimals}f}"
        table_rows.setdefault(tuple(key.values()), key)[row["metric"]] = text
        is_segment_mean = score_format.choose_aggregation(row) == "segment"
        if is_segment_mean and score_format.aggregations[0] != "segment":
            metrics_without_corpus_score[row["metric"]] = None
    blocks: list[Block] = [Table(list(table_rows.values()))]
    unit = score_format.unit
    if has_intervals:
        blocks.append(
            Line(
                "After ±: half the width of the 95 % interval, from"
                f" {score_format.resamples} resamples of {unit}."
            )
        )
    if metrics_without_corpus_score:
        metrics = ", ".join(metrics_without_corpus_score)
        blocks.append(Line(f"Means over {unit}, because there is no corpus score: {metrics}."))
    return blocks


def _describe_details(systems: Sequence[Row], score_format: ScoreFormat) -> list[Block]:
    """Return every aggregation, the line that sacrebleu prints for each score, and our signatures."""
    hidden = ("signature", "official")
    rows = [
        {name: value for name, value in row.items() if name not in hidden} for row in in_labels(list(systems))
    ]
    blocks: list[Block] = [Table(rows, title="Every aggregation, and the interval of the first")]
    official_rows = [row for row in systems if row["official"] is not None and row["corpus"] is not None]
    if official_rows:
        blocks += [Line(), Line("As sacrebleu prints it:")]
    has_several_systems = len({row["system"] for row in official_rows}) > 1
    for row in official_rows:
        line = _build_sacrebleu_line(row, score_format.choose_decimals(row))
        blocks.append(Line(f"{row['system']}: {line}" if has_several_systems else line, wrap=False))
    for row in official_rows:
        if "ngrams" in row["official"]:
            blocks.append(Line(_describe_ngrams(row)))
    signatures = dict.fromkeys(row["signature"] for row in systems)
    signature_lines = [Line(signature, wrap=False) for signature in signatures]
    return [*blocks, Line(), Line("Signatures:"), *signature_lines]


def _build_sacrebleu_line(row: Row, decimals: int) -> str:
    """Return a score as `sacrebleu --format text` prints it, for BLEU with precisions and lengths."""
    official = row["official"]
    line = f"{official['name']}|{official['signature']} = {row['corpus']:.{decimals}f}"
    if "precisions" not in official:
        return line
    precisions = "/".join(f"{precision:.{decimals}f}" for precision in official["precisions"])
    return (
        f"{line} {precisions} (BP = {official['brevity_penalty']:.3f} ratio = {official['length_ratio']:.3f}"
        f" hyp_len = {official['output_length']} ref_len = {official['reference_length']})"
    )


def _describe_ngrams(row: Row) -> str:
    """Return how many n-grams of a system are in a reference, for each n."""
    counts = zip(row["official"]["matches"], row["official"]["ngrams"])
    shares = [f"{n}: {matches} of {total}" for n, (matches, total) in enumerate(counts, start=1)]
    return f"{row['system']}: n-grams found in a reference, by n: {', '.join(shares)}."
