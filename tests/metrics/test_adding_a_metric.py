"""Adding a metric takes one file outside metassay: in an installed package, or named on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

METRIC_FILE = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from metassay.metrics.base import Batch, Metric, Scores


@dataclass(frozen=True)
class VowelShare(Metric):
    """Share of vowels among the letters of the output."""

    vowels: str = "aeiou"

    name: ClassVar[str] = "vowel_share"
    title: ClassVar[str] = "vowel share"
    task: ClassVar[str] = "any"
    needs: ClassVar[frozenset[str]] = frozenset({"output"})
    summary: ClassVar[str] = "share of vowels in the output"

    def score(self, batch: Batch) -> Scores:
        """Compute the share for each output."""
        shares = [sum(letter in self.vowels for letter in text) / len(text) for text in batch.output]
        return np.array(shares, dtype=np.float64)
'''
ROWS = [
    {"seg_id": 1, "system": "first", "hyp": "aaa", "ref": "abc"},
    {"seg_id": 2, "system": "first", "hyp": "abcd", "ref": "abc"},
    {"seg_id": 1, "system": "second", "hyp": "bcd", "ref": "abc"},
    {"seg_id": 2, "system": "second", "hyp": "ab", "ref": "abc"},
]
MEAN_SHARES = {"first": (1 + 1 / 4) / 2, "second": (0 + 1 / 2) / 2}


@pytest.fixture
def package_folder(tmp_path: Path) -> Path:
    """A folder with an installed package of one file, which announces a metric by entry point."""
    folder = tmp_path / "site"
    information = folder / "vowel_share-1.0.dist-info"
    information.mkdir(parents=True)
    (folder / "vowel_share.py").write_text(METRIC_FILE)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: vowel-share\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[metassay.metrics]\nvowel_share = vowel_share:VowelShare\n"
    )
    return folder


@pytest.fixture
def data_file(tmp_path: Path) -> Path:
    file = tmp_path / "outputs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def run_metassay(*arguments: str, package_folder: Path | None = None) -> str:
    """Run the command line in a process of its own, with a package in its path."""
    environment = dict(os.environ)
    if package_folder is not None:
        paths = [str(package_folder), *filter(None, [environment.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    command = [sys.executable, "-m", "metassay", *arguments]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return process.stdout


def get_segment_means(output: str) -> dict[str, float]:
    return {row["system"]: row["segment"] for row in json.loads(output)["systems"]}


def test_a_metric_in_one_file_of_a_package_is_scored_by_name(package_folder, data_file) -> None:
    arguments = ("score", str(data_file), "--metrics", "vowel_share", "--json")
    output = run_metassay(*arguments, package_folder=package_folder)
    assert get_segment_means(output) == pytest.approx(MEAN_SHARES)


def test_parameters_of_a_packaged_metric_are_part_of_its_spec(package_folder, data_file) -> None:
    arguments = ("score", str(data_file), "--metrics", "vowel_share(vowels=b)", "--json")
    output = run_metassay(*arguments, package_folder=package_folder)
    assert {row["metric"] for row in json.loads(output)["systems"]} == {"vowel_share(vowels=b)"}


def test_a_packaged_metric_is_listed(package_folder) -> None:
    output = run_metassay("list", "metrics", "--json", package_folder=package_folder)
    assert "share of vowels in the output" in output


def test_a_metric_in_a_file_is_scored_without_packaging(tmp_path, data_file) -> None:
    (tmp_path / "my_metric.py").write_text(METRIC_FILE)
    location = f"{tmp_path / 'my_metric.py'}:VowelShare"
    output = run_metassay("score", str(data_file), "--metric-file", location, "--json")
    assert get_segment_means(output) == pytest.approx(MEAN_SHARES)
