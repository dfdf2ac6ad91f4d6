"""Adding a perturbation takes one file outside metassay, in a package that announces it."""

from __future__ import annotations

import json

import pytest

from metassay.cli import run_command_line as run
from metassay.perturbations import registry

SOURCE_CODE = '''
from dataclasses import dataclass
from typing import ClassVar

from metassay.perturbations.base import Perturbation


@dataclass(frozen=True)
class WordReversal(Perturbation[str]):
    """Reverses the order of all words."""

    name: ClassVar[str] = "word_reversal"
    tasks: ClassVar[frozenset[str]] = frozenset({"text"})
    summary: ClassVar[str] = "all words in reverse order"

    def apply(self, view, stream):
        words = view.output.split()
        return " ".join(reversed(words)) if len(words) > 1 else None
'''


@pytest.fixture(autouse=True)
def installed_perturbation(install_plugin):
    install_plugin("word_reversal", SOURCE_CODE, "metassay.perturbations", "WordReversal")
    registry.load_perturbations.cache_clear()
    yield
    registry.load_perturbations.cache_clear()


@pytest.fixture
def data_file(tmp_path) -> str:
    rows = [
        {"item": 1, "system": "a", "output": "one two three", "reference": "one two three"},
        {"item": 2, "system": "a", "output": "word", "reference": "word"},
    ]
    path = tmp_path / "outputs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def run_command(capsys, *arguments: str) -> dict:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_perturbation_of_a_package_makes_pairs(data_file, tmp_path, capsys) -> None:
    folder = tmp_path / "run"
    options = ("--perturbations", "word_reversal", "--language", "en", "--out", str(folder))
    result = run_command(capsys, "perturb", data_file, *options)
    assert [row["pairs"] for row in result["perturbations"]] == [1]
    texts = (folder / "texts.jsonl").read_text()
    assert "three two one" in texts


def test_the_perturbation_of_a_package_is_a_default_of_its_task_and_listed(data_file, capsys) -> None:
    result = run_command(capsys, "perturb", data_file, "--language", "en")
    assert "word_reversal" in {row["perturbation"] for row in result["perturbations"]}
    listed = run_command(capsys, "list", "perturbations")["perturbations"]
    assert {row["perturbation"] for row in listed} >= {"word_reversal", "removal"}
