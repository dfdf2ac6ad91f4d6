"""Pages of the documentation whose figures a script makes have the script's figures."""

from __future__ import annotations

import json
from pathlib import Path

from reproduce.which_metric.page import WIDELY_USED, render_full_page, render_page

ROOT = Path(__file__).parents[2]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_joined_page_is_made_of_what_the_script_left() -> None:
    rows = json.loads(text("reproduce/which_metric/ours.json"))["rows"]
    assert text("docs/which-metric.md") == render_page(rows)
    assert text("reproduce/which_metric/README.md") == render_full_page(rows)
    assert all(f"| {metric} |" in text("docs/which-metric.md") for metric in WIDELY_USED)


def test_the_tables_of_challenge_sets_are_those_of_the_script() -> None:
    made = set(text("reproduce/challenge_sets/README.md").splitlines())
    page = text("docs/challenge-sets.md").partition("## DEMETR: what")[2]
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert len(rows) > 12
    assert [row for row in rows if row not in made] == []
