"""Type checkers know the keywords of every verb: a misspelt name or a wrong type is an error."""

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
"""


@pytest.mark.slow
def test_mypy_reports_each_mistake(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "mistakes.py"
    file.write_text(MISTAKES)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(file)]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    calls = [number for number, line in enumerate(MISTAKES.splitlines(), 1) if line.startswith("metassay.")]
    reported = {int(line.split(":")[1]) for line in output.splitlines() if ": error:" in line}
    assert reported == set(calls)
