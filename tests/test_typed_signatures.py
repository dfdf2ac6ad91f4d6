"""Type checkers know the keywords of every public function: a misspelt name or a wrong type is an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MISTAKES = """
import metassay

metassay.assay("x", metrcs="bleu")
metassay.assay("x", contexs=["domain"])
metassay.score("x", resamples="many")
metassay.rank("x", human=3)
metassay.depend("x", bootstrap=10)
metassay.aggregate("x", repeats="often")
metassay.perturb("x", per_ouput=3)
metassay.check("x", metric="bleu")
metassay.read("x", collumns={"item": "id"})
metassay.assay("x", metrics=3)
metassay.assay("x", contexts=[1])
metassay.assay("x", perturbations={"removal": 1})
metassay.assay("x", pairs=True)
metassay.score("x", per_segment=1)
metassay.rank("x", context=7)
metassay.depend("x", correct=True)
metassay.read("x", task=0)
metassay.judge("x", peple=["ann"])
metassay.judge("x", repeats="twice")
metassay.align("x", character=True)
metassay.recommend("run", contxt="domain")
metassay.compare("run", "run", fail=True)
metassay.report("run", figure="svg")
metassay.demo(tsk="mt")
metassay.read("x", join=1.5)
"""
CORRECT = """
import metassay
from metassay import Batch, Metric, Perturbation
from pathlib import Path

def count_words(outputs: list[str]) -> list[float]:
    return [float(len(output.split())) for output in outputs]

def choose(metric: Metric, perturbation: Perturbation[str]) -> None:
    metassay.assay("x", metrics=["bleu", metric, count_words], contexts="domain", out=Path("run"))
    metassay.assay("x", metrics=metric, perturbations=["removal", perturbation], pairs=Path("pairs.csv"))
    metassay.rank("x", human="mqm", metrics="bleu,chrf", context=["domain"])
    metassay.read(["a.csv", Path("b.csv")], task="mt", join=["more.csv"], columns={"item": "id"})
"""


def find_type_errors(code: str, folder: Path) -> dict[int, str]:
    """Return the message of mypy for each line of the code that has an error."""
    file = folder / "code.py"
    file.write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), str(file)]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return {int(line.split(":")[1]): line for line in output.splitlines() if ": error:" in line}


@pytest.mark.slow
def test_mypy_reports_each_mistake_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    calls = {number for number, line in enumerate(MISTAKES.splitlines(), 1) if line.startswith("metassay.")}
    assert set(find_type_errors(MISTAKES, tmp_path)) == calls
    assert find_type_errors(CORRECT, tmp_path) == {}
