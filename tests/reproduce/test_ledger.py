"""The ledger has a line for every table and figure of the five papers, and its verdicts are what they say."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from reproduce import ledger

ROOT = Path(__file__).parents[2]
PAPERS = {
    "000": {*(f"table {n}" for n in range(1, 8)), *(f"figure {n}" for n in range(1, 12))},
    "001": {*(f"table {n}" for n in range(1, 4)), *(f"figure {n}" for n in range(1, 6))},
    "002": {"table 1", "table 2", "figure 1", "figure 2", "figure 3"},
    "003": {"table 1", *(f"figure {n}" for n in range(1, 5))},
    "004": {f"result {n}" for n in range(1, 6)},
}
"""Taken from the captions; 004 is at hand as a summary without any."""
PARTS = {("000", "1"), ("000", "2"), ("000", "3"), ("002", "1"), ("002", "2"), ("002", "3")}
"""Figures with parts a and b."""
CAPTION = re.compile(r"^(Figure|Table) (\d+):", re.MULTILINE)


def lines() -> set[tuple[str, str]]:
    return {(entry["paper"], entry["what"]) for entry in ledger.published()["entry"]}


def numbered(what: str) -> str:
    """Without the part of a figure or the half of a table."""
    return re.sub(r"(?<=\d)(?:[ab]|, .*)$", "", what)


def test_every_table_and_figure_has_a_line() -> None:
    found: dict[str, set[str]] = {}
    for paper, what in lines():
        found.setdefault(paper, set()).add(numbered(what))
    assert found == PAPERS
    for paper, number in PARTS:
        assert {(paper, f"figure {number}a"), (paper, f"figure {number}b")} <= lines()


@pytest.mark.real_data
def test_the_papers_have_no_caption_that_is_not_in_the_list() -> None:
    folder = Path(os.environ.get("METASSAY_DATA", ROOT.parent / "shared" / "data")).parent / "papers"
    texts = sorted(folder.glob("00?_*.txt"))
    if not texts:
        pytest.skip("the papers are not here")
    assert len(texts) == len(PAPERS)
    for path in texts:
        captions = {f"{kind.lower()} {n}" for kind, n in CAPTION.findall(path.read_text(encoding="utf-8"))}
        assert captions <= PAPERS[path.name[:3]]


def test_every_line_has_its_other_side_and_every_other_side_a_line() -> None:
    entries = ledger.published()["entry"]
    names = [ledger.name_of(entry) for entry in entries]
    assert len(set(names)) == len(names)
    ours = ledger.found({entry["script"] for entry in entries if "script" in entry})
    assert set(ours) == {name for name, entry in zip(names, entries) if "script" in entry}
    for entry in entries:
        assert ("script" in entry) != ("cannot" in entry), entry["what"]
        assert ("values" in entry) <= ("tolerance" in entry), entry["what"]
        for name in ours.get(ledger.name_of(entry), {"values": ()})["values"]:
            assert "values" in entry, (entry["what"], name)


def test_no_difference_is_left_without_a_reason() -> None:
    entries = ledger.published()["entry"]
    ours = ledger.found({entry["script"] for entry in entries if "script" in entry})
    for entry in entries:
        own = ours.get(ledger.name_of(entry))
        judged = ledger.verdict(entry, own)
        assert judged != ledger.DIFFERENT or "because" in entry, ledger.name_of(entry)
        assert "do not know why" not in ledger.remark(entry, own, judged)


def test_the_page_is_made_of_what_the_scripts_left() -> None:
    assert (ROOT / "reproduce" / "README.md").read_text(encoding="utf-8") == ledger.build_page()


@pytest.mark.parametrize(
    ("printed", "values", "checks", "expected"),
    [
        ({"a": 0.5}, {"a": 0.509, "b": 3}, {}, ledger.SAME),
        ({"a": 0.5}, {"a": 0.511}, {"rises": True}, ledger.DIRECTION),
        ({"a": 0.5, "b": 1.0}, {"a": 0.5}, {"rises": True}, ledger.DIRECTION),
        ({"a": 0.5}, {"a": 0.511}, {"rises": True, "crosses": False}, ledger.DIFFERENT),
        ({"a": 0.5}, {"a": 0.511}, {}, ledger.DIFFERENT),
        ({}, {}, {"rises": True}, ledger.DIRECTION),
        ({}, {}, {"rises": False}, ledger.DIFFERENT),
    ],
)
def test_verdicts(printed, values, checks, expected) -> None:
    entry = {"values": printed, "tolerance": 0.01}
    assert ledger.verdict(entry, {"values": values, "checks": checks, "shown": ""}) == expected


def test_what_no_script_found_cannot_be_had() -> None:
    assert ledger.verdict({"values": {"a": 1.0}, "tolerance": 0}, None) == ledger.CANNOT
    assert ledger.verdict({"cannot": "it is secret"}, None) == ledger.CANNOT
