"""Measure the outputs per second of each perturbation on one core, the first time and warm.

Keys of outputs, which a run makes once for all methods (900,000 a second), are made before.
Uses the WMT22 and LibriSpeech outputs where they are (METASSAY_DATA or ../shared/data), else made-up text.
The peer of the compiled word edits is the same edit in plain Python with a NumPy generator per output.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from metassay.perturbations.base import Perturbation, View
from metassay.perturbations.registry import parse_perturbation
from metassay.stats.streams import Keys, compute_output_seeds, derive_seeds_from_name

DATA = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
SIZE = 10_000
FILES = {
    "en": "wmt22/wmt22_zh-en.parquet",
    "de": "wmt22/wmt22_en-de.parquet",
    "ru": "wmt22/wmt22_en-ru.parquet",
    "speech": "asr/asr_librispeech_test_clean.parquet",
}
METHODS = {
    "removal": ("en", "ru"),
    "insertion": ("en", "ru"),
    "swapping": ("en", "ru"),
    "removal_20": ("en",),
    "synonym": ("en", "de", "ru"),
    "pronoun": ("en", "de", "ru"),
    "negation_removal": ("en", "de", "ru"),
    "phonetic": ("speech",),
    "negation": ("en", "de", "ru"),
    "entity": ("en", "de", "ru"),
    "antonym": ("en",),
    "cohyponym": ("en",),
}
LOADS = (
    "Yesterday Walter walked to Blurbheim.",
    "Gestern sah Walter den Ort Blurbheim.",
    "Вчера Иван видел Орск.",
)
"""Plain sentences that make a method load its dictionaries and taggers."""


def load_texts(kind: str, size: int) -> list[str]:
    path = DATA / FILES[kind]
    if path.exists():
        found = pl.read_parquet(path)["hyp"].unique(maintain_order=True).head(size).to_list()
        return [text.lower() for text in found] if kind == "speech" else found
    words = np.random.default_rng(0).choice(
        ["the", "he", "said", "not", "cake", "Paris", "was", "large"], (size, 20)
    )
    return [" ".join(sentence) + "." for sentence in words]


def build_views(method: Perturbation[str], kind: str, size: int) -> tuple[list[View[str]], float]:
    own = load_texts(kind, size)
    language = "en" if kind == "speech" else kind
    method.collect_replacement_material(
        LOADS, language, method.precompute_text_analyses(LOADS, language) or ()
    )
    start = time.process_time()
    own_sorted = sorted(own)
    analyses = method.precompute_text_analyses(own_sorted, language) or ()
    collected = {method.collection_name: method.collect_replacement_material(own_sorted, language, analyses)}
    seconds = time.process_time() - start
    return [View(text, str(i), language, collected=collected) for i, text in enumerate(own)], seconds


def measure_cpu_seconds(function: Callable[..., object], *arguments: object) -> float:
    """Return the CPU seconds of a call, which do not depend on what else the machine does."""
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def perturb(method: Perturbation[str], outputs: list[View[str]], keys: Keys) -> None:
    method.perturb_many_outputs(outputs, derive_seeds_from_name(keys, method.name))


def build_keys(outputs: list[View[str]]) -> Keys:
    """Build the keys of outputs, which a run builds once for all perturbations."""
    return compute_output_seeds(0, (v.item for v in outputs), (v.output for v in outputs))


def perturb_with_numpy(name: str, outputs: list[View[str]]) -> None:
    """Perturb in the plain way: a random generator per output, split and join."""
    for number, view in enumerate(outputs):
        generator = np.random.default_rng([0, number])
        words = view.output.split()
        if len(words) < 2:
            continue
        if name == "removal":
            words.pop(int(generator.integers(len(words))))
        elif name == "insertion":
            vocabulary = view.collected["insertion"]
            word = vocabulary[int(generator.integers(len(vocabulary)))]
            words.insert(int(generator.integers(len(words))), word)
        else:
            i, j = generator.choice(len(words), 2, replace=False)
            words[i], words[j] = words[j], words[i]
        " ".join(words)


HEADER = ("perturbation", "text", "outputs", "collect s", "first/s", "warm/s", "ratio")


def measure_perturbation(name: str, kind: str, size: int) -> str:
    method = parse_perturbation(name)
    missing = method.get_installation_hint_for_language("en" if kind == "speech" else kind)
    if missing:
        return f"{name:18}{kind:8}{missing}"
    outputs, collecting = build_views(method, kind, size)
    loads = [replace(outputs[0], output=text) for text in LOADS]
    perturb(method, loads, build_keys(loads))  # compiles, loads dictionaries
    keys = build_keys(outputs)
    first = collecting + measure_cpu_seconds(perturb, method, outputs, keys)
    warm = min(measure_cpu_seconds(perturb, method, outputs, keys) for _ in range(3))
    compiled = name in {"removal", "insertion", "swapping"}
    ratio = f"{measure_cpu_seconds(perturb_with_numpy, name, outputs) / warm:.1f}x" if compiled else ""
    rates = f"{len(outputs) / first:11,.0f}{len(outputs) / warm:11,.0f}"
    return f"{name:18}{kind:8}{len(outputs):8,}{collecting:11.2f}{rates}{ratio:>8}"


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else SIZE
    print("{:18}{:8}{:>8}{:>11}{:>11}{:>11}{:>8}".format(*HEADER))
    for name, kinds in METHODS.items():
        for kind in kinds:
            print(measure_perturbation(name, kind, size), flush=True)


if __name__ == "__main__":
    main()
