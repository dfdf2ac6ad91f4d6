"""The pairs that were read blind, with the verdicts of two readers: one table per language."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from metassay.perturbations import label_errors

ROOT = Path(__file__).parents[2]
READINGS = ROOT / "benchmarks" / "readings"
COUNTS = Path(label_errors.__file__).parent / label_errors.COUNTS_FILE
VERDICTS = ("worse", "equal", "better")
HUMAN_COUNTS = ROOT / "benchmarks" / "validity_by_human_scores.tsv"
"""Verdicts by human scores, by data set and perturbation."""
COLUMNS = ("method", "original", "changed", "first", "second", "first_grammatical", "second_grammatical")
"""Columns of a table: `first` and `second` are verdicts, the last two `yes` or `no`."""
Row = dict[str, str]


@dataclass(frozen=True)
class PairReading:
    """One pair and the verdicts of its two readers."""

    method: str
    original: str
    changed: str
    verdicts: tuple[str, str]
    grammatical: tuple[bool, bool]

    @property
    def is_worse(self) -> bool:
        """Whether both readers call the perturbed output worse."""
        return self.verdicts == ("worse", "worse")

    @property
    def is_better(self) -> bool:
        """Whether the readers call the perturbed output better: one of them does, and none calls it worse."""
        return "better" in self.verdicts and "worse" not in self.verdicts


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a tab-separated file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def write_rows(path: Path, rows: Iterable[Row], columns: Sequence[str]) -> None:
    """Write rows as a tab-separated file with these columns."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(
            file,
            columns,
            delimiter="\t",
            lineterminator="\n",
            extrasaction="ignore",
            quoting=csv.QUOTE_NONE,
            quotechar=None,
        )
        writer.writeheader()
        writer.writerows(rows)


def list_languages() -> list[str]:
    """Return the languages that have readings."""
    return sorted(path.stem for path in READINGS.glob("*.tsv"))


def load_readings(language: str) -> list[PairReading]:
    """Load all pairs that were read in a language."""
    readings = []
    for row in read_rows(READINGS / f"{language}.tsv"):
        verdicts = (row["first"], row["second"])
        grammatical = (row["first_grammatical"] == "yes", row["second_grammatical"] == "yes")
        readings.append(PairReading(row["method"], row["original"], row["changed"], verdicts, grammatical))
    return readings


def write_counts() -> None:
    """Write how many pairs were read, are not worse and are better, for the package."""
    lines = [
        "# Perturbed outputs that two readers judged blind: how many of them not both called worse, and how",
        "# many of these are better (one reader says so, none says worse); the others count as equal.",
        "# Written by scripts/validity/tally.py from benchmarks/readings.",
        "# language\tperturbation\tpairs_read\tnot_worse\tbetter",
    ]
    for language in list_languages():
        readings = load_readings(language)
        for method in sorted({reading.method for reading in readings}):
            pairs = [reading for reading in readings if reading.method == method]
            not_worse = sum(not reading.is_worse for reading in pairs)
            better = sum(reading.is_better for reading in pairs)
            lines.append(f"{language}\t{method}\t{len(pairs)}\t{not_worse}\t{better}")
    COUNTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
