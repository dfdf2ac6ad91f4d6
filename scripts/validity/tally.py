"""Merge two readings of the sheets, count the verdicts and write the pages about them.

`docs/validity.md` has a summary, and `benchmarks/readings/README.md` a table for each language.

    python -m scripts.validity.tally SHEETS --keys KEYS

The tables go to `benchmarks/readings`, the counts to the package (`label_errors.tsv`). A sheet counts if both
readings of it exist. `--first` and `--second` name them: `verdicts-A-en-1.tsv`. With `--keep` the sheets add
to the tables that exist, except that rows of methods drawn again are replaced.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from scripts.validity.readings import (
    COLUMNS,
    HUMAN_COUNTS,
    READINGS,
    ROOT,
    VERDICTS,
    PairReading,
    Row,
    list_languages,
    load_readings,
    read_rows,
    write_counts,
    write_rows,
)

from metassay.perturbations.label_errors import wilson_interval
from metassay.perturbations.registry import load_perturbations

PAGE = ROOT / "docs" / "validity.md"
FULL_PAGE = READINGS / "README.md"
FULLY_READ = ("en", "de", "ru")
"""Languages that come first on the page: 100 pairs of each default perturbation were read."""


def merge_sheets(
    sheets: Path, keys: Path, readers: tuple[str, str], redrawn: dict[str, str]
) -> dict[str, list[Row]]:
    """Return, by language, every pair that both readers judged.

    `redrawn` names the part of the texts from which a repaired method was drawn again; other rows of that
    method are left out.
    """
    tables: dict[str, list[Row]] = {}
    for sheet in sorted(sheets.glob("sheet-*.tsv")):
        name = sheet.stem.removeprefix("sheet-")
        paths = [sheets / f"verdicts-{reader}-{name}.tsv" for reader in readers]
        if not all(path.is_file() for path in paths):
            print(f"{sheet.name}: not read twice, left out")
            continue
        part = name.rpartition("-")[0]
        methods = {row["id"]: row["method"] for row in read_rows(keys / f"key-{part}.tsv")}
        first, second = ({row["id"]: row for row in read_rows(path)} for path in paths)
        for row in read_rows(sheet):
            pair_id = row["id"]
            _require_verdict(pair_id, sheet.name, first)
            _require_verdict(pair_id, sheet.name, second)
            merged = _merge_row(methods[pair_id], part, row, first[pair_id], second[pair_id])
            tables.setdefault(part.partition("-")[0], []).append(merged)
    return {language: _drop_outdated(rows, language, redrawn) for language, rows in tables.items()}


def _require_verdict(pair_id: str, sheet: str, verdicts: dict[str, Row]) -> None:
    if pair_id not in verdicts or verdicts[pair_id]["verdict"] not in VERDICTS:
        raise SystemExit(f"{sheet}: {pair_id} has no verdict, or an unknown one.")


def _merge_row(method: str, part: str, row: Row, first: Row, second: Row) -> Row:
    return {
        "method": method,
        "part": part,
        "original": row["original"],
        "changed": row["changed"],
        "first": first["verdict"],
        "second": second["verdict"],
        "first_grammatical": first["grammatical"],
        "second_grammatical": second["grammatical"],
    }


def _drop_outdated(rows: list[Row], language: str, redrawn: dict[str, str]) -> list[Row]:
    """Sort the rows and drop those of a method from before its repair."""
    current_rows = []
    for row in rows:
        part = redrawn.get(f"{language}:{row['method']}", redrawn.get(row["method"], ""))
        if not part or row["part"] == f"{language}-{part}":
            current_rows.append(row)
    return sorted(current_rows, key=lambda row: (row["method"], row["original"], row["changed"]))


def add_existing_rows(tables: dict[str, list[Row]], redrawn: dict[str, str]) -> dict[str, list[Row]]:
    """Add the rows of the existing tables, except those of methods drawn again."""
    complete = {}
    for language, new_rows in tables.items():
        existing = read_rows(READINGS / f"{language}.tsv")
        valid = [row for row in existing if not {row["method"], f"{language}:{row['method']}"} & set(redrawn)]
        by_pair = {(row["method"], row["original"], row["changed"]): row for row in [*new_rows, *valid]}
        complete[language] = [by_pair[pair] for pair in sorted(by_pair)]
    return complete


def measure_agreement(readings: Iterable[PairReading]) -> tuple[float, float]:
    """Return the share of equal verdicts and Cohen's (1960) kappa, which is NaN if all verdicts are equal."""
    verdicts = [reading.verdicts for reading in readings]
    share = sum(first == second for first, second in verdicts) / len(verdicts)
    first_counts = Counter(first for first, _ in verdicts)
    second_counts = Counter(second for _, second in verdicts)
    chance = sum(first_counts[verdict] * second_counts[verdict] for verdict in VERDICTS) / len(verdicts) ** 2
    kappa = (share - chance) / (1 - chance) if chance < 1 else math.nan
    return share, kappa


def render_language(language: str) -> list[str]:
    """Render the section of a language: one table row per method."""
    readings = load_readings(language)
    share, kappa = measure_agreement(readings)
    kappa_text = "Cohen's κ is not defined" if math.isnan(kappa) else f"Cohen's κ = {kappa:.2f}"
    lines = [
        f"## {language}",
        "",
        (
            f"Both readings by a language model gave the same verdict on {share:.1%} of the "
            f"{len(readings):,} pairs in this language ({kappa_text})."
        ),
        "",
        "| Perturbation | Default | Pairs | Worse | Share (95 % interval) | By each reading | Grammatical |",
        "|---|---|---|---|---|---|---|",
    ]
    readings_by_method: dict[str, list[PairReading]] = {}
    for reading in readings:
        readings_by_method.setdefault(reading.method, []).append(reading)
    rows = [_render_method(method, readings_by_method[method]) for method in sorted(readings_by_method)]
    return [*lines, *rows, ""]


def _render_method(method: str, readings: list[PairReading]) -> str:
    pairs = len(readings)
    worse = sum(reading.is_worse for reading in readings)
    low, high = wilson_interval(worse, pairs)
    worse_by_first = sum(reading.verdicts[0] == "worse" for reading in readings)
    worse_by_second = sum(reading.verdicts[1] == "worse" for reading in readings)
    grammatical = sum(all(reading.grammatical) for reading in readings)
    default = "yes" if load_perturbations()[method].default else "no"
    return (
        f"| `{method}` | {default} | {pairs} | {worse} | {worse / pairs:.2f} ({low:.2f}–{high:.2f})"
        f" | {worse_by_first}, {worse_by_second} | {grammatical / pairs:.2f} |"
    )


def render_human_evidence() -> list[str]:
    """Render the section on human scores: a row per perturbation and number of draws, over all data sets."""
    counts: dict[tuple[str, str], dict[str, float]] = {}
    for row in read_rows(HUMAN_COUNTS):
        by_verdict = counts.setdefault((row["perturbation"], row["draws"]), dict.fromkeys(VERDICTS, 0.0))
        for verdict in VERDICTS:
            by_verdict[verdict] += float(row[verdict])
    lines = [
        "| Perturbation | Draws per output | Pairs | Worse | Equal | Better | Worse if different |",
        "|---|---|---|---|---|---|---|",
    ]
    for (perturbation, draws), by_verdict in counts.items():
        different = by_verdict["worse"] + by_verdict["better"]
        low, high = wilson_interval(round(by_verdict["worse"]), round(different))
        numbers = " | ".join(f"{by_verdict[verdict]:.0f}" for verdict in VERDICTS)
        share = f"{by_verdict['worse'] / different:.2f} ({low:.2f}–{high:.2f})"
        lines.append(f"| `{perturbation}` | {draws} | {sum(by_verdict.values()):.0f} | {numbers} | {share} |")
    text = (Path(__file__).parent / "human_evidence.md").read_text(encoding="utf-8")
    return [text.rstrip().replace("{table}", "\n".join(lines)), ""]


def render_summary(languages: Sequence[str]) -> str:
    """Render a table with the share of worse texts of every perturbation in every language."""
    shares: dict[str, dict[str, str]] = {}
    for language in languages:
        readings_by_method: dict[str, list[PairReading]] = {}
        for reading in load_readings(language):
            readings_by_method.setdefault(reading.method, []).append(reading)
        for method, readings in readings_by_method.items():
            worse = sum(reading.is_worse for reading in readings)
            shares.setdefault(method, {})[language] = f"{worse / len(readings):.2f}"
    lines = [
        f"| Perturbation | {' | '.join(languages)} |",
        f"|---|{'---|' * len(languages)}",
    ]
    for method in sorted(shares):
        name = f"**`{method}`**" if load_perturbations()[method].default else f"`{method}`"
        lines.append(f"| {name} | {' | '.join(shares[method].get(each, '') for each in languages)} |")
    return "\n".join(lines)


def write_pages() -> None:
    """Write the summary for the documentation, and the page with a table for each language."""
    others = [language for language in list_languages() if language not in FULLY_READ]
    languages = [*FULLY_READ, *others]
    text = (Path(__file__).parent / "page.md").read_text(encoding="utf-8").rstrip()
    text = text.replace("{summary}", render_summary(languages))
    PAGE.write_text("\n".join([text, "", *render_human_evidence()]).rstrip() + "\n", encoding="utf-8")
    lines = [(Path(__file__).parent / "full_page.md").read_text(encoding="utf-8").rstrip(), ""]
    for language in languages:
        lines += render_language(language)
    FULL_PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Merge two readings, count the verdicts and write the page.")
    parser.add_argument(
        "sheets", type=Path, nargs="?", help="folder of sheets and verdicts; none: only count"
    )
    parser.add_argument("--keys", type=Path, help="folder of the keys, if not that of the sheets")
    parser.add_argument("--first", default="A")
    parser.add_argument("--second", default="B")
    parser.add_argument(
        "--again", default="", help="methods repaired and drawn again: pronoun=2,zh:pronoun=3"
    )
    parser.add_argument("--keep", action="store_true", help="add to the existing tables")
    arguments = parser.parse_args()
    if arguments.sheets:
        keys = arguments.keys or arguments.sheets
        readers = (arguments.first, arguments.second)
        redrawn = dict(part.split("=") for part in arguments.again.split(",") if part)
        tables = merge_sheets(arguments.sheets, keys, readers, redrawn)
        if arguments.keep:
            tables = add_existing_rows(tables, redrawn)
        for language, rows in tables.items():
            write_rows(READINGS / f"{language}.tsv", rows, COLUMNS)
    write_counts()
    write_pages()


if __name__ == "__main__":
    main()
