"""Draws pairs of every method from texts that no rule was tuned on, and writes them as blind sheets."""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from metassay.data.dataset import Dataset
from metassay.perturbations.base import known_perturbations, made_for
from metassay.perturbations.pairs import make_pairs
from metassay.tasks import find_task

TEXTS = Path(__file__).parent / "texts"
NOT_DRAWN = frozenset({"llm", "borrowed_span", "untranslated", "removal_20"})
"""What needs a model, human scores or a source, or is another method over and over."""
Pair = tuple[str, str, str]
"""Method, original, changed."""


def texts_of(language: str, part: str = "") -> list[str]:
    """The texts of a language, one a line; `part` names a further file of it, as in `en-2.txt`."""
    return (TEXTS / f"{language}{part}.txt").read_text(encoding="utf-8").splitlines()


def methods() -> dict[str, bool]:
    """Every method that edits texts, and whether it is a default of some task."""
    found = {}
    for task in ("mt", "text", "asr"):
        found |= {name: method.default for name, method in made_for(find_task(task)).items()}
    return {name: default for name, default in found.items() if name not in NOT_DRAWN}


def draw(
    texts: Sequence[str], language: str, wanted: dict[str, int], seed: int, rounds: int = 3
) -> list[Pair]:
    """So many pairs of each method: one of each text in turn, then second and third ones that differ."""
    rows = {"item": [str(i) for i in range(len(texts))], "system": ["author"] * len(texts), "output": texts}
    frame = pl.DataFrame(rows)
    found: dict[str, dict[tuple[str, str], None]] = {name: {} for name in wanted}
    for turn in range(rounds):
        for task in ("text", "asr"):
            names = [n for n in wanted if n in made_for(find_task(task)) and _is_drawn_as(n, task)]
            if not names:
                continue
            dataset = Dataset(task, frame, language=language)
            pairs = make_pairs(dataset, perturbations=names, per_output=None, seed=seed + turn)
            shuffled = pairs.frame.sample(fraction=1, shuffle=True, seed=seed + turn)
            for _, _, name, original, changed in shuffled.iter_rows():
                if len(found[name]) < wanted[name]:
                    found[name][original, changed] = None
    return [(name, *pair) for name, own in found.items() for pair in own]


def _is_drawn_as(name: str, task: str) -> bool:
    return (name in made_for(find_task("text"))) == (task == "text")


def write_sheets(pairs: Iterable[Pair], out: Path, name: str, size: int, seed: int) -> list[str]:
    """The pairs in a random order in sheets of about this size, and `key-NAME.tsv` with the methods."""
    shuffled = list(pairs)
    random.Random(seed).shuffle(shuffled)
    pieces = max(1, round(len(shuffled) / size))
    written = []
    with (out / f"key-{name}.tsv").open("w", encoding="utf-8", newline="") as file:
        key = csv.writer(file, delimiter="\t", lineterminator="\n")
        key.writerow(("id", "method", "language"))
        key.writerows((f"{name}-{i:04}", pair[0], name.partition("-")[0]) for i, pair in enumerate(shuffled))
    for piece in range(pieces):
        path = out / f"sheet-{name}-{piece + 1}.tsv"
        with path.open("w", encoding="utf-8", newline="") as file:
            sheet = csv.writer(
                file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None
            )
            sheet.writerow(("id", "original", "changed"))
            numbered = list(enumerate(shuffled))[piece::pieces]
            sheet.writerows((f"{name}-{i:04}", original, changed) for i, (_, original, changed) in numbered)
        written.append(path.name)
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description="Draws pairs for blind readings.")
    parser.add_argument("out", type=Path)
    parser.add_argument("languages", nargs="+")
    parser.add_argument("--default", type=int, default=100, help="pairs of each default method")
    parser.add_argument("--on-request", type=int, default=50, help="pairs of each other method")
    parser.add_argument("--methods", help="only these, separated by commas; pronoun:20 for so many of one")
    parser.add_argument("--rounds", type=int, default=3, help="pairs that a text gives a method at most")
    parser.add_argument("--part", default="", help="the file LANGUAGE+PART.txt instead of LANGUAGE.txt")
    parser.add_argument("--size", type=int, default=150, help="pairs of a sheet")
    parser.add_argument("--seed", type=int, default=14)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    wanted = {
        name: arguments.default if default else arguments.on_request for name, default in methods().items()
    }
    if arguments.methods:
        named = dict(part.partition(":")[::2] for part in arguments.methods.split(","))
        wanted = {name: int(count or wanted[name]) for name, count in named.items()}
    for language in arguments.languages:
        own = {n: k for n, k in wanted.items() if _knows(n, language)}
        texts = texts_of(language, arguments.part)
        pairs = draw(texts, language, own, arguments.seed, arguments.rounds)
        name = language + arguments.part
        written = write_sheets(pairs, arguments.out, name, arguments.size, arguments.seed)
        counts = {n: sum(pair[0] == n for pair in pairs) for n in own}
        print(f"{name}: {len(written)} sheets;", ", ".join(f"{n} {k}" for n, k in counts.items()))


def _knows(name: str, language: str) -> bool:
    known = known_perturbations()[name].languages
    return known is None or language in known


if __name__ == "__main__":
    main()
