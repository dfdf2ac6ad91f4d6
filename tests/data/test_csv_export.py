"""CSV exports: no cell is a formula for a spreadsheet, whatever systems and items are called."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest

import metassay
from metassay.cli import run_command_line as run
from metassay.data.csv_export import escape_spreadsheet_formula, format_csv
from metassay.reporting import tables

FORMULAS = ["=cmd|' /C calc'!A0", "+1+cmd", "-1+1", "@SUM(A1)", "\t=1", "\r=1"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_becomes_text(formula) -> None:
    assert escape_spreadsheet_formula(formula) == f"'{formula}"
    for text in (
        format_csv(pl.DataFrame({"system": [formula, "plain"]})),
        tables.to_csv([{"system": formula}]),
    ):
        assert list(csv.reader(io.StringIO(text, newline="")))[1] == [f"'{formula}"]
    assert format_csv(pl.DataFrame({formula: [1]})).lstrip('"').startswith("'")


def test_numbers_texts_and_missing_cells_stay() -> None:
    table = pl.DataFrame({"score": [-1.5, None], "name": ["-5", None], "text": ["a = b", "+3.25e-4"]})
    assert format_csv(table) == "score,name,text\n-1.5,-5,a = b\n,,+3.25e-4\n"


def test_an_export_of_scores_has_no_formula(tmp_path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("seg_id,system,hyp,ref\n=1+1,=cmd(),a cat,the cat\n=1+1,b,the cat,the cat\n")
    table = tmp_path / "scores.csv"
    options = ["--metrics", "bleu", "--language", "en", "--task", "mt", "--quiet"]
    assert (
        run(["score", str(data), *options, "--per-segment", str(table), "--out", str(tmp_path / "run")]) == 0
    )
    exports = [table, *(tmp_path / "run").rglob("*.csv")]
    assert len(exports) > 1
    for export in exports:
        cells = [
            cell for row in csv.reader(io.StringIO(export.read_bytes().decode(), newline="")) for cell in row
        ]
        assert "'=cmd()" in cells
        assert not [cell for cell in cells if re.match(r"[=@]", cell)]


def test_no_module_writes_csv_in_another_way() -> None:
    package = Path(metassay.__file__).parent
    files = [file for file in package.rglob("*.py") if file.name != "csv_export.py"]
    assert [file.name for file in files if re.search(r"\.write_csv\(", file.read_text())] == []
