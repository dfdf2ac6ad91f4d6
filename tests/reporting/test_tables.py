from __future__ import annotations

import csv
import io

import polars as pl
import pytest

from metassay.errors import InputError
from metassay.reporting.tables import (
    Field,
    build_grid,
    format_grid,
    format_rows,
    to_csv,
    to_latex,
    to_markdown,
)

ROWS = [
    {"system": 'a "quoted", one', "bleu": 31.25, "note": "x|y\nz"},
    {"system": "50%_of & #1", "bleu": None, "note": "\\{<b>}"},
    {"system": "c", "bleu": 1 / 3, "note": None},
]


def test_csv_reads_back_with_every_digit():
    text = to_csv(ROWS)
    assert [row["system"] for row in csv.DictReader(io.StringIO(text))] == [row["system"] for row in ROWS]
    assert pl.read_csv(io.BytesIO(text.encode()))["bleu"].to_list() == [31.25, None, 1 / 3]


def test_columns_are_chosen_and_ordered():
    assert to_csv([{"a": 1}, {"b": 2}]) == "a,b\n1,\n,2\n"
    assert to_csv([{"top": ["bleu", "chrf"]}]) == "top\nbleu chrf\n"


def test_markdown_keeps_its_cells_apart():
    lines = to_markdown(ROWS).splitlines()
    assert lines[1] == "|:---|---:|:---|"
    assert lines[2] == '| a "quoted", one | 31.25 | x\\|y z |'
    assert lines[3] == "| 50%_of & #1 |  | \\\\{&lt;b>} |"
    assert lines[4] == "| c | 0.3333 |  |"


def test_latex_escapes_what_would_be_a_command():
    text = to_latex(ROWS)
    assert r"50\%\_of \& \#1 &  & \textbackslash{}\{\textless{}b\textgreater{}\} \\" in text
    assert text.startswith("\\begin{tabular}{lrl}\n\\toprule\n")
    assert r"x\textbar{}y z" in text


@pytest.mark.parametrize("form", ["csv", "latex", "markdown"])
def test_by_name(form):
    assert "system" in format_rows(ROWS, form)


def test_an_unknown_form_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="Known: csv, latex, markdown"):
        format_rows(ROWS, "markdwn")


def test_no_rows_no_table():
    assert to_markdown([]) == ""
    assert to_latex([]) == ""
    assert to_csv([]) == "\n"


def test_columns_with_equal_labels_are_all_written():
    fields = (
        Field("spa", "SPA", "number"), Field("spa_low", "low", "number"), Field("spa_high", "high", "number"),
        Field("saved", "labels saved", "number"), Field("saved_low", "low", "number"),
        Field("saved_high", "high", "number"),
    )  # fmt: skip
    row = {"spa": 0.8, "spa_low": 0.7, "spa_high": 0.9, "saved": 0.2, "saved_low": 0.1, "saved_high": 0.3}
    grid = build_grid("people", "Agreement", fields, [row])
    assert format_grid(grid, "csv") == (
        "SPA,low,high,labels saved,labels saved: low,labels saved: high\n0.8,0.7,0.9,0.2,0.1,0.3\n"
    )
    assert "0.80 & 0.70 & 0.90 & 0.20 & 0.10 & 0.30" in format_grid(grid, "latex")
    assert "| 0.80 | 0.70 | 0.90 | 0.20 | 0.10 | 0.30 |" in format_grid(grid, "markdown")
