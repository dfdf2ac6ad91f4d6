"""Draw pairs of every perturbation and write them as sheets for blind reading.

The texts were not used to write the rules of the perturbations.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl
from scripts.validity.readings import Row, write_rows

from metassay.data.dataset import Dataset
from metassay.perturbations.pairs import make_perturbed_output_pairs
from metassay.perturbations.registry import find_perturbations_for, load_perturbations
from metassay.tasks import find_task

TEXTS = Path(__file__).parent / "texts"
NOT_DRAWN = frozenset({"llm", "borrowed_span", "untranslated", "removal_20"})
"""Methods that need a model, human scores or a source, or repeat another method."""
Pair = tuple[str, str, str]
"""Method, original, changed."""


def read_texts(language: str, part: str = "") -> list[str]:
    """Read the texts of a language, one per line; `part` names a further file, as in `en-2.txt`."""
    return (TEXTS / f"{language}{part}.txt").read_text(encoding="utf-8").splitlines()


def list_methods() -> dict[str, bool]:
    """Return every method that edits texts, and whether it is a default of some task."""
    defaults = {}
    for task in ("mt", "text", "asr"):
        for name, perturbation in find_perturbations_for(find_task(task)).items():
            if name not in NOT_DRAWN:
                defaults[name] = perturbation.default
    return defaults


def draw_pairs(
    texts: Sequence[str], language: str, wanted: dict[str, int], seed: int, rounds: int = 3
) -> list[Pair]:
    """Draw so many pairs of each method: one per text first, then second and third pairs that differ."""
    frame = pl.DataFrame(
        {
            "item": [str(i) for i in range(len(texts))],
            "system": ["author"] * len(texts),
            "output": texts,
        }
    )
    drawn: dict[str, dict[tuple[str, str], None]] = {name: {} for name in wanted}
    for turn in range(rounds):
        for task in ("text", "asr"):
            names = [
                n for n in wanted if n in find_perturbations_for(find_task(task)) and _is_drawn_as(n, task)
            ]
            if not names:
                continue
            dataset = Dataset(task, frame, language=language)
            pairs = make_perturbed_output_pairs(
                dataset, perturbations=names, per_output=None, seed=seed + turn
            )
            shuffled = pairs.frame.sample(fraction=1, shuffle=True, seed=seed + turn)
            for _, _, name, original, changed in shuffled.iter_rows():
                if len(drawn[name]) < wanted[name]:
                    drawn[name][original, changed] = None
    return [(name, *pair) for name, pairs in drawn.items() for pair in pairs]


def _is_drawn_as(name: str, task: str) -> bool:
    return (name in find_perturbations_for(find_task("text"))) == (task == "text")


def write_sheets(pairs: Iterable[Pair], out: Path, name: str, size: int, seed: int) -> list[str]:
    """Write the shuffled pairs as sheets of about this size, and their methods as `key-NAME.tsv`."""
    shuffled = list(pairs)
    random.Random(seed).shuffle(shuffled)
    language = name.partition("-")[0]
    keys: list[Row] = []
    rows: list[Row] = []
    for i, (method, original, changed) in enumerate(shuffled):
        pair_id = f"{name}-{i:04}"
        keys.append({"id": pair_id, "method": method, "language": language})
        rows.append({"id": pair_id, "original": original, "changed": changed})
    write_rows(out / f"key-{name}.tsv", keys, ("id", "method", "language"))
    sheet_count = max(1, round(len(rows) / size))
    written = []
    for number in range(sheet_count):
        path = out / f"sheet-{name}-{number + 1}.tsv"
        write_rows(path, rows[number::sheet_count], ("id", "original", "changed"))
        written.append(path.name)
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw pairs for blind reading.")
    parser.add_argument("out", type=Path)
    parser.add_argument("languages", nargs="+")
    parser.add_argument("--default", type=int, default=100, help="pairs of each default method")
    parser.add_argument("--on-request", type=int, default=50, help="pairs of each other method")
    parser.add_argument("--methods", help="only these, separated by commas; pronoun:20 for 20 pairs of one")
    parser.add_argument("--rounds", type=int, default=3, help="maximum pairs of a method from one text")
    parser.add_argument("--part", default="", help="the file LANGUAGE+PART.txt instead of LANGUAGE.txt")
    parser.add_argument("--size", type=int, default=150, help="pairs of a sheet")
    parser.add_argument("--seed", type=int, default=14)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    wanted = _count_wanted(arguments)
    for language in arguments.languages:
        applicable = {name: count for name, count in wanted.items() if _supports(name, language)}
        texts = read_texts(language, arguments.part)
        pairs = draw_pairs(texts, language, applicable, arguments.seed, arguments.rounds)
        name = language + arguments.part
        written = write_sheets(pairs, arguments.out, name, arguments.size, arguments.seed)
        counts = {method: sum(pair[0] == method for pair in pairs) for method in applicable}
        listed = ", ".join(f"{method} {count}" for method, count in counts.items())
        print(f"{name}: {len(written)} sheets; {listed}")


def _count_wanted(arguments: argparse.Namespace) -> dict[str, int]:
    """Return how many pairs of each method the command line asks for."""
    wanted = {}
    for name, is_default in list_methods().items():
        wanted[name] = arguments.default if is_default else arguments.on_request
    if not arguments.methods:
        return wanted
    requested = dict(part.partition(":")[::2] for part in arguments.methods.split(","))
    return {name: int(count or wanted[name]) for name, count in requested.items()}


def _supports(name: str, language: str) -> bool:
    languages = load_perturbations()[name].languages
    return languages is None or language in languages


if __name__ == "__main__":
    main()
