"""Metrics are imported when they are used: scoring with BLEU imports no neural network."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from sacrebleu.metrics.bleu import BLEU

from metassay.metrics.base import Batch
from metassay.metrics.bleu import Bleu
from metassay.metrics.registry import METRIC_CLASSES

LIST_IMPORTED_MODULES = """
import json, sys
from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric
parse_metric(sys.argv[1]).score(Batch.from_texts(["a cat"], [["the cat"]]))
print(json.dumps(sorted(sys.modules)))
"""


def list_imported_modules(spec: str) -> set[str]:
    """Score one output in a new process, and list the modules that it has imported then."""
    command = [sys.executable, "-c", LIST_IMPORTED_MODULES, spec]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(process.stdout.splitlines()[-1]))


@pytest.mark.parametrize("spec", ["bleu", "wer"])
def test_a_lexical_metric_imports_only_its_own_module(spec) -> None:
    modules = list_imported_modules(spec)
    metric_modules = {
        f"metassay.metrics.{location.partition(':')[0]}" for location in METRIC_CLASSES.values()
    }
    own_module = f"metassay.metrics.{METRIC_CLASSES[spec].partition(':')[0]}"
    assert modules & metric_modules == {own_module}
    assert not {"torch", "transformers", "nltk", "httpx", "metassay.metrics.neural"} & modules


def test_few_outputs_are_scored_with_bleu_without_compiled_code() -> None:
    assert not {"numba", "scipy", "metassay.metrics.kernels.ngrams"} & list_imported_modules("bleu")


@pytest.mark.parametrize("use_numba", [True, False])
@pytest.mark.parametrize("order", [1, 4])
def test_bleu_counts_as_sacrebleu_does_with_and_without_compiled_code(order, use_numba, monkeypatch) -> None:
    """Several references, empty outputs, repeated rows and words, white space at the ends."""
    outputs = [
        "a cat sat on a mat .",
        "",
        "the the the",
        " A  cat\u2003sat, ",
        "x",
        "the the the",
        "a b a b a b",
    ]
    references = [
        ["a cat sat .", "on a mat a cat sat"],
        ["b"],
        ["the cat", "the"],
        ["a cat sat,"],
        [""],
        ["the the cat"],
        ["a b a b", "b a", "a b a b a b a"],
    ]
    monkeypatch.setattr("metassay.metrics.bleu._should_avoid_loading_numba", lambda _: not use_numba)
    statistics = Bleu(order=order).statistics(Batch.from_texts(outputs, references))
    official_metric = BLEU(max_ngram_order=order, effective_order=True)
    expected = []
    for output, row_references in zip(outputs, references):
        score = official_metric.sentence_score(output, row_references)
        expected.append([score.sys_len, score.ref_len, *score.counts, *score.totals])
    assert statistics.tolist() == expected


def test_an_empty_batch_has_no_counts_without_compiled_code(monkeypatch) -> None:
    monkeypatch.setattr("metassay.metrics.bleu._should_avoid_loading_numba", lambda _: True)
    assert Bleu().statistics(Batch.from_texts([], [])).shape == (0, 10)
