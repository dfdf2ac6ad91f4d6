"""Metrics are imported when they are used: scoring with BLEU imports no neural network."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from metassay.metrics.registry import METRIC_CLASSES

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
