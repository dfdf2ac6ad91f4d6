from __future__ import annotations

import csv
import io

import polars as pl
import pytest

from metassay.errors import InputError
from metassay.reporting.tables import format_rows, to_csv, to_latex, to_markdown

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
