"""Merges two readings of the sheets into the table that metassay carries, and writes `docs/validity.md`.

    python -m scripts.validity.tally SHEETS --keys KEYS

A sheet counts where both readings are there. `--first` and `--second` name them: `verdicts-A-en-1.tsv`. With
`--keep` the sheets add to the tables that are there; of methods drawn again the rows there are left out.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from metassay.perturbations.base import known_perturbations
from metassay.perturbations.validity import COLUMNS, VERDICTS, Reading, readings, wilson_interval

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "src" / "metassay" / "perturbations" / "readings"
PAGE = ROOT / "docs" / "validity.md"
Row = dict[str, str]


def rows_of(path: Path) -> list[Row]:
    """The rows of a sheet, a key or a reading."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def merged(sheets: Path, keys: Path, readers: tuple[str, str], again: dict[str, str]) -> dict[str, list[Row]]:
    """By language, every pair that both readers judged; of methods drawn again only those of that part."""
    tables: dict[str, list[Row]] = {}
    for sheet in sorted(sheets.glob("sheet-*.tsv")):
        name = sheet.stem.removeprefix("sheet-")
        paths = [sheets / f"verdicts-{reader}-{name}.tsv" for reader in readers]
        if not all(path.is_file() for path in paths):
            print(f"{sheet.name}: not read twice, left out")
            continue
        part = name.rpartition("-")[0]
        methods = {row["id"]: row["method"] for row in rows_of(keys / f"key-{part}.tsv")}
        one, two = ({row["id"]: row for row in rows_of(path)} for path in paths)
        for row in rows_of(sheet):
            _check(row["id"], sheet.name, one, two)
            judged = (one[row["id"]], two[row["id"]])
            tables.setdefault(part.partition("-")[0], []).append(_row(methods[row["id"]], part, row, judged))
    return {language: _current(rows, language, again) for language, rows in tables.items()}


def _check(pair: str, sheet: str, *own: dict[str, Row]) -> None:
    for reading in own:
        if pair not in reading or reading[pair]["verdict"] not in VERDICTS:
            raise SystemExit(f"{sheet}: {pair} has no verdict, or an unknown one.")


def _row(method: str, part: str, row: Row, judged: tuple[Row, Row]) -> Row:
    verdicts = {"first": judged[0]["verdict"], "second": judged[1]["verdict"]}
    grammar = {f"{name}_grammatical": row["grammatical"] for name, row in zip(verdicts, judged)}
    texts = {"original": row["original"], "changed": row["changed"]}
    return {"method": method, "part": part, **texts, **verdicts, **grammar}


def _current(rows: list[Row], language: str, again: dict[str, str]) -> list[Row]:
    """The rows in order, without those of a method from before its repair."""
    kept = []
    for row in rows:
        part = again.get(f"{language}:{row['method']}", again.get(row["method"], ""))
        if not part or row["part"] == f"{language}-{part}":
            kept.append(row)
    return sorted(kept, key=lambda row: (row["method"], row["original"], row["changed"]))


def added(tables: dict[str, list[Row]], again: dict[str, str]) -> dict[str, list[Row]]:
    """The tables with the rows that are there, but for those of methods drawn again."""
    whole = {}
    for language, rows in tables.items():
        before = rows_of(TABLES / f"{language}.tsv")
        left = [row for row in before if not {row["method"], f"{language}:{row['method']}"} & set(again)]
        new = {(row["method"], row["original"], row["changed"]): row for row in [*rows, *left]}
        whole[language] = [new[pair] for pair in sorted(new)]
    return whole


def write_tables(tables: dict[str, list[Row]]) -> None:
    for language, rows in sorted(tables.items()):
        with (TABLES / f"{language}.tsv").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(
                file,
                COLUMNS,
                delimiter="\t",
                lineterminator="\n",
                extrasaction="ignore",
                quoting=csv.QUOTE_NONE,
                quotechar=None,
            )
            table.writeheader()
            table.writerows(rows)


def agreement(own: Iterable[Reading]) -> tuple[float, float]:
    """The share of pairs with equal verdicts, and Cohen's (1960) kappa: NaN where all verdicts are one."""
    pairs = [reading.verdicts for reading in own]
    share = sum(one == two for one, two in pairs) / len(pairs)
    firsts, seconds = Counter(one for one, _ in pairs), Counter(two for _, two in pairs)
    chance = sum(firsts[verdict] * seconds[verdict] for verdict in VERDICTS) / len(pairs) ** 2
    return share, (share - chance) / (1 - chance) if chance < 1 else math.nan


def lines(language: str) -> list[str]:
    """A section of the page: one row a method."""
    own = readings(language)
    share, kappa = agreement(own)
    found = [f"## {language}", ""]
    stated = "Cohen's κ is not defined" if math.isnan(kappa) else f"Cohen's κ = {kappa:.2f}"
    found += [f"{len(own):,} pairs. Equal verdicts: {share:.1%}; {stated}.", ""]
    found += [
        "| method | default | pairs | worse by both | share, 95 % | worse by each | grammatical by both |"
    ]
    found += ["|---|---|---|---|---|---|---|"]
    for method in sorted({reading.method for reading in own}):
        pairs = [reading for reading in own if reading.method == method]
        worse = sum(reading.worse for reading in pairs)
        low, high = wilson_interval(worse, len(pairs))
        each = [sum(reading.verdicts[i] == "worse" for reading in pairs) for i in (0, 1)]
        grammatical = sum(all(reading.grammatical) for reading in pairs)
        default = "yes" if known_perturbations()[method].default else "on request"
        found.append(
            f"| `{method}` | {default} | {len(pairs)} | {worse}"
            f" | {worse / len(pairs):.2f} ({low:.2f}–{high:.2f})"
            f" | {each[0]}, {each[1]} | {grammatical / len(pairs):.2f} |"
        )
    return [*found, ""]


def write_page(languages: Iterable[str]) -> None:
    """The page of all tables, under what its first part says."""
    head = (Path(__file__).parent / "page.md").read_text(encoding="utf-8").rstrip()
    body = [line for language in languages for line in lines(language)]
    PAGE.write_text("\n".join([head, "", *body]).rstrip() + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Merges two readings.")
    parser.add_argument(
        "sheets", type=Path, nargs="?", help="where sheets and readings lie; none: the page alone"
    )
    parser.add_argument("--keys", type=Path, help="where the keys lie, if not beside the sheets")
    parser.add_argument("--first", default="A")
    parser.add_argument("--second", default="B")
    parser.add_argument(
        "--again", default="", help="methods repaired and drawn again: pronoun=2,zh:pronoun=3"
    )
    parser.add_argument("--keep", action="store_true", help="add to the tables that are there")
    arguments = parser.parse_args()
    if arguments.sheets:
        keys = arguments.keys or arguments.sheets
        readers = (arguments.first, arguments.second)
        again = dict(part.split("=") for part in arguments.again.split(",") if part)
        tables = merged(arguments.sheets, keys, readers, again)
        write_tables(added(tables, again) if arguments.keep else tables)
    first = [language for language in ("en", "de", "ru") if readings(language)]
    others = sorted(path.stem for path in TABLES.glob("*.tsv") if path.stem not in first)
    write_page([*first, *others])


if __name__ == "__main__":
    main()
