"""The file for raters: the same bytes after reading, safe in spreadsheets, clear errors."""

from __future__ import annotations

import pytest

from metassay.data.annotation_file import (
    AnnotationFile,
    OutputToRate,
    format_annotation_file,
    read_annotation_file,
)
from metassay.errors import InputError

TEXTS = (
    "=1+1",
    "+x",
    "-x",
    "@x",
    "'quoted'",
    "a,b",
    'say "hi"',
    "two\nlines",
    "cr\rhere",
    "\ttab",
    "äöü",
    "",
)


def build_file() -> AnnotationFile:
    rows = [
        OutputToRate(f"en-de/{n}", "-sys", (text, text[::-1]), 0.1 + n / 30, None if n % 2 else -n / 3)
        for n, text in enumerate(TEXTS)
    ]
    return AnnotationFile("mqm", ("source", "output"), tuple(rows))


def test_reading_and_writing_again_gives_the_same_bytes(tmp_path) -> None:
    content = format_annotation_file(build_file())
    (tmp_path / "ratings.csv").write_bytes(content)
    parsed = read_annotation_file(tmp_path / "ratings.csv")
    assert parsed == build_file()
    assert format_annotation_file(parsed) == content


def test_no_text_is_a_formula_in_a_spreadsheet(tmp_path) -> None:
    import csv

    (tmp_path / "ratings.csv").write_bytes(format_annotation_file(build_file()))
    with (tmp_path / "ratings.csv").open(newline="", encoding="utf-8") as file:
        for record in csv.reader(file):
            for cell in record[:-1]:  # the last column is a number
                assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_files_saved_by_spreadsheets_are_read(tmp_path, delimiter) -> None:
    lines = [["item", "system", "probability", "mqm"], ["1", "a", "0.5", "-2"], ["1", "b", "0.5", ""]]
    text = "\r\n".join(delimiter.join(line) for line in lines)
    (tmp_path / "ratings.csv").write_text(text, encoding="utf-8-sig", newline="")
    parsed = read_annotation_file(tmp_path / "ratings.csv")
    assert [row.score for row in parsed.rows] == [-2.0, None]


def test_decimal_commas_are_read(tmp_path) -> None:
    lines = [
        "item;system;probability;mqm",
        "1;a;0,76323831001542;-1,0",
        "1;b;0,5;\N{MINUS SIGN}25,25",
        "1;c;1;",
    ]
    (tmp_path / "ratings.csv").write_text("\n".join(lines), encoding="utf-8")
    parsed = read_annotation_file(tmp_path / "ratings.csv")
    assert [row.probability for row in parsed.rows] == [0.76323831001542, 0.5, 1.0]
    assert [row.score for row in parsed.rows] == [-1.0, -25.25, None]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,a,0.5,good", "'good' is not a number"),
        ("1,a,,3", "probability is not between 0 and 1"),
        ("1,a,1.5,3", "probability is not between 0 and 1"),
        ("1,a,0.5,inf", "a score is infinite"),
        ("1,a,0.5", "3 cells, not 4"),
    ],
)
def test_errors_name_the_row(tmp_path, line, message) -> None:
    (tmp_path / "ratings.csv").write_text(f"item,system,probability,mqm\n{line}\n")
    with pytest.raises(InputError, match=message) as error:
        read_annotation_file(tmp_path / "ratings.csv")
    assert error.value.location.row == 1


def test_other_tables_are_refused(tmp_path) -> None:
    (tmp_path / "other.csv").write_text("seg_id,system,mqm\n1,a,2\n")
    with pytest.raises(InputError, match="not those that `metassay annotate` writes"):
        read_annotation_file(tmp_path / "other.csv")
