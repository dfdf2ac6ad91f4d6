"""CSV and TSV: polars and our own parser agree with each other and with Python's csv, errors have their row."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metassay.data.readers import delimited
from metassay.data.readers.delimited import parse_delimited_table
from metassay.errors import InputError

PIECES = ["a", "é", " ", ",", "\t", '"', '""', "\n", "\r", "\r\n", "\u2028", "#", "null", "1", ""]
CELLS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=6)
)


def read(text: str, delimiter: str = ",", quoting: str = "minimal"):
    try:
        frame = parse_delimited_table(text, delimiter=delimiter, quoting=quoting, file="F")
    except InputError as error:
        return str(error)
    return frame.columns, frame.rows()


def read_by_ourselves(text: str, delimiter: str = ",", quoting: str = "minimal"):
    try:
        frame = delimited._parse_row_by_row(text, delimiter=delimiter, quoting=quoting, file="F")
    except InputError as error:
        return str(error)
    return frame.columns, frame.rows()


@given(TABLES, st.sampled_from(",\t"), st.sampled_from(["\n", "\r\n"]))
def test_what_pythons_csv_writes_comes_back(rows, delimiter, line_end):
    header = [f"c{number}" for number in range(len(rows[0]))]
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator=line_end, quoting=csv.QUOTE_ALL).writerows(
        [header, *rows]
    )
    assert read(written.getvalue(), delimiter) == (header, [tuple(row) for row in rows])


@given(
    st.lists(st.sampled_from([*PIECES, "c1,c2\n", "\nx,y"]), min_size=1, max_size=20).map("".join),
    st.sampled_from(",\t"),
    st.sampled_from(["minimal", "none"]),
)
@example('a,b\n5" disk,x\n6" disk,y\n', ",", "minimal")
@example("a,b\n\n1,2,", ",", "none")
@example("a,b\n1,2\r\n", ",", "minimal")
@example('a,b\r\n1,"2\r"\n', ",", "minimal")
@example("a\n\nb\n", ",", "minimal")
def test_the_quick_way_never_differs_from_the_careful_one(text, delimiter, quoting):
    if text.strip():
        assert read(text, delimiter, quoting) == read_by_ourselves(text, delimiter, quoting)


@pytest.mark.parametrize(
    ("text", "quoting"),
    [
        ("a,b\n1,\n", "minimal"),
        ('a,b\n"x\ny","q""q"\n', "minimal"),
        ("a,b\r\n1,2\r\n", "minimal"),
        ('a,b\n"1,2\n', "none"),
    ],
)
def test_polars_reads_what_is_regular(text, quoting):
    assert delimited._parse_with_polars(text, ",", quoting) is not None


@pytest.mark.parametrize(
    "text",
    ["a,b\n1\n", "a,b\n1,2,3\n", "a,b\n1,2,\n3\n", 'a,b\n5",1\n6",2\n', 'a,b\n"1\n', "a,b\n1,2\r\n"],
)
def test_polars_is_not_asked_where_it_reads_otherwise(text):
    assert delimited._parse_with_polars(text, ",", "minimal") is None


def test_an_error_names_its_row():
    good = "".join(f"{number},x\n" for number in range(5000))
    assert read(f"a,b\n{good}1\n{good}").startswith("F, row 5001: 1 field where the header has 2.")
    assert read(f'a,b\n{good}"1,2\n').startswith("F, row 5001: a quote is opened and never closed.")
