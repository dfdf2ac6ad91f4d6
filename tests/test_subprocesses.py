"""Subprocesses that tests start import the code under test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import metassay


def test_a_subprocess_in_another_folder_imports_the_package_under_test(tmp_path: Path) -> None:
    """A relative PYTHONPATH, or none, would let it import an installed version."""
    command = [sys.executable, "-c", "import metassay; print(metassay.__file__)"]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert Path(output.strip()).samefile(metassay.__file__)
