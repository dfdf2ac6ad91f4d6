"""Adding a language pack takes data files only: perturbations find the folder by the code of the language."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import metassay

PRONOUNS = "# Dutch\nik\tjij\nhij\tzij\n"
NEGATION_REMOVAL = "\\bniet \t∅\n"
NEGATION_SIGNS = "\\bniet\\b\n"
PERTURB = """
from metassay.perturbations.base import View
from metassay.perturbations.registry import parse_perturbation
from metassay.stats.streams import Stream, derive_seed_from_name, compute_output_seed

text = "Gisteren heeft hij het niet gezien."
for name in ("negation_removal", "pronoun"):
    perturbation = parse_perturbation(name)
    assert "nl" in perturbation.languages
    perturbed_output = perturbation.apply(View(text, "1", "nl"), Stream(derive_seed_from_name(compute_output_seed(0, "1", text), name)))
    print(f"{name}: {perturbed_output}")
"""


@pytest.fixture
def package_with_dutch(tmp_path: Path) -> Path:
    """A copy of metassay with a folder `nl` of word lists, and no other change."""
    package = tmp_path / "metassay"
    source = Path(metassay.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    folder = package / "perturbations" / "languages" / "nl"
    folder.mkdir()
    (folder / "pronouns.tsv").write_text(PRONOUNS, encoding="utf-8")
    (folder / "negation_removal.tsv").write_text(NEGATION_REMOVAL, encoding="utf-8")
    (folder / "negation_signs.txt").write_text(NEGATION_SIGNS, encoding="utf-8")
    (folder / "not_pronouns.txt").write_text("# none\n", encoding="utf-8")
    return tmp_path


def test_word_lists_of_a_new_language_are_used_without_any_code(package_with_dutch) -> None:
    environment = dict(os.environ) | {"PYTHONPATH": str(package_with_dutch), "PYTHONUTF8": "1"}
    process = subprocess.run(
        [sys.executable, "-c", PERTURB],
        env=environment, cwd=package_with_dutch, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert process.stdout.splitlines() == [
        "negation_removal: Gisteren heeft hij het gezien.",
        "pronoun: Gisteren heeft zij het niet gezien.",
    ], process.stderr
