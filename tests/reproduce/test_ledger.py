"""The ledger has a line for every table and figure of the five papers, and its verdicts are what they say."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from reproduce.entry import SEEDS

from reproduce import ledger

ROOT = Path(__file__).parents[2]
PAPERS = {
    "000": {*(f"table {n}" for n in range(1, 8)), *(f"figure {n}" for n in range(1, 12))},
    "001": {*(f"table {n}" for n in range(1, 4)), *(f"figure {n}" for n in range(1, 6))},
    "002": {"table 1", "table 2", "figure 1", "figure 2", "figure 3"},
    "003": {"abstract", "table 1", *(f"figure {n}" for n in range(1, 5))},
    "004": {f"result {n}" for n in range(1, 6)},
}
"""Taken from the captions; 004 is at hand as a summary without any."""
PARTS = {("000", "1"), ("000", "2"), ("000", "3"), ("002", "1"), ("002", "2"), ("002", "3")}
"""Figures with parts a and b."""
CAPTION = re.compile(r"^(Figure|Table) (\d+):", re.MULTILINE)


def lines() -> set[tuple[str, str]]:
    return {(entry["paper"], entry["what"]) for entry in ledger.load_published()["entry"]}


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
    entries = ledger.load_published()["entry"]
    names = [ledger.name_entry(entry) for entry in entries]
    assert len(set(names)) == len(names)
    measured = ledger.load_measured()
    assert set(measured) == {name for name, entry in zip(names, entries) if "script" in entry}
    for entry in entries:
        assert ("script" in entry) != ("cannot" in entry), entry["what"]
        assert ("values" in entry) <= ("tolerance" in entry), entry["what"]
        for name in measured.get(ledger.name_entry(entry), {"values": ()})["values"]:
            assert "values" in entry, (entry["what"], name)


def test_every_difference_has_a_reason_and_every_reason_holds() -> None:
    measured = ledger.load_measured()
    for entry in ledger.load_published()["entry"]:
        ours = measured.get(ledger.name_entry(entry))
        if ours is not None and ledger.determine_status(entry, ours) == ledger.DIFFERENT:
            assert ours["reasons"], ledger.name_entry(entry)
    assert ledger.find_failed_reasons(measured) == []
    assert ledger.find_impossible_failures(measured) == []


def test_a_claim_that_was_not_checked_with_every_seed_is_undecided() -> None:
    entry = {"values": {}, "tolerance": 0}
    measured = {"values": {}, "reasons": [], "description": "", "uses_random_numbers": True}
    for seeds in range(1, len(SEEDS)):
        few = measured | {"claims": {"rises": [True] * seeds}}
        assert ledger.determine_status(entry, few) == ledger.UNDECIDED
        assert "5 seeds" in ledger.describe_status(entry, few)
    every = measured | {"claims": {"rises": [True] * len(SEEDS)}}
    assert ledger.determine_status(entry, every) == ledger.SAME_DIRECTION


def test_the_page_is_made_of_what_the_scripts_left() -> None:
    assert (ROOT / "reproduce" / "README.md").read_text(encoding="utf-8") == ledger.render_page()


@pytest.mark.parametrize(
    ("printed", "values", "claims", "expected"),
    [
        ({"a": 0.5}, {"a": 0.509, "b": 3}, {}, ledger.SAME),
        ({"a": 0.5}, {"a": 0.511}, {"rises": [True]}, ledger.SAME_DIRECTION),
        ({"a": 0.5, "b": 1.0}, {"a": 0.5}, {"rises": [True, True]}, ledger.SAME_DIRECTION),
        ({"a": 0.5}, {"a": 0.511}, {"rises": [True], "crosses": [False]}, ledger.DIFFERENT),
        ({"a": 0.5}, {"a": 0.511}, {"rises": [True, False]}, ledger.UNDECIDED),
        ({"a": 0.5}, {"a": 0.511}, {"rises": [True, False], "crosses": [False, False]}, ledger.DIFFERENT),
        ({"a": 0.5}, {"a": 0.511}, {}, ledger.DIFFERENT),
        ({}, {}, {"rises": [True]}, ledger.SAME_DIRECTION),
        ({}, {}, {"rises": [False]}, ledger.DIFFERENT),
    ],
)
def test_statuses(printed, values, claims, expected) -> None:
    entry = {"values": printed, "tolerance": 0.01}
    measured = {"values": values, "claims": claims, "reasons": [], "description": ""}
    measured["uses_random_numbers"] = False
    assert ledger.determine_status(entry, measured) == expected
    assert ledger.determine_status(entry | {"by_construction": "a mean"}, measured) == ledger.BY_CONSTRUCTION


def test_what_no_script_measured_cannot_be_had() -> None:
    assert ledger.determine_status({"values": {"a": 1.0}, "tolerance": 0}, None) == ledger.UNAVAILABLE
    assert ledger.determine_status({"cannot": "it is secret"}, None) == ledger.UNAVAILABLE


def test_a_reason_that_no_longer_holds_is_named() -> None:
    reason = {"statement": "there are fewer systems", "figures": "62 of 62", "is_inference": False}
    entry = {"values": {}, "claims": {"rises": [False]}, "description": "", "uses_random_numbers": False}
    measured = {"000 table 5": entry | {"reasons": [reason | {"holds": False}]}}
    assert ledger.find_failed_reasons(measured) == ["000 table 5: there are fewer systems (62 of 62)"]
    sentence = ledger.describe_status({}, measured["000 table 5"])
    assert "This reason no longer holds" in sentence
    holding = {"000 table 5": entry | {"reasons": [reason | {"holds": True}]}}
    assert ledger.find_failed_reasons(holding) == []
