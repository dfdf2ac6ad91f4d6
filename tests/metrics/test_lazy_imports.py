"""Metrics are imported when they are used: scoring with BLEU imports no neural network."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from metassay.metrics.base import Batch
from metassay.metrics.batch_tokens import get_bleu_tokens
from metassay.metrics.bleu import Bleu
from metassay.metrics.ngram_statistics import compute_ngram_statistics
from metassay.metrics.registry import METRIC_CLASSES
from metassay.metrics.scoring_inputs import find_scoring_inputs

LIST_IMPORTED_MODULES = """
import json, sys
from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric
parse_metric(sys.argv[1]).score(Batch.of(["a cat"], [["the cat"]]))
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


@pytest.mark.parametrize("order", [1, 4])
def test_few_outputs_have_the_same_counts_as_many(order) -> None:
    """Compiled code counts as sacrebleu does: several references, empty outputs, white space at the ends."""
    outputs = ["a cat sat on a mat .", "", "the the the", " A  cat\u2003sat, ", "x"]
    references = [["a cat sat .", "on a mat a cat sat"], ["b"], ["the cat", "the"], ["a cat sat,"], [""]]
    batch = Batch.of(outputs, references)
    metric = Bleu(order=order)
    compiled = compute_ngram_statistics(get_bleu_tokens(batch, "13a"), find_scoring_inputs(batch), order)[
        find_scoring_inputs(batch).input_of_row
    ]
    assert metric._count_with_sacrebleu(batch, "13a").tolist() == compiled.tolist()
