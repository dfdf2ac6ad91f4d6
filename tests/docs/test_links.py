"""Links between pages lead to pages and headings that exist, and the navigation lists every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s:]+?\.(?:md|png|svg))(?:#([\w-]+))?\)")


def list_anchors(page: Path) -> set[str]:
    """List the anchors of all headings, as Markdown makes them."""
    anchors = set()
    for heading in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        text = re.sub(r"[^\w\- ]", "", heading.lower().replace("…", ""))
        anchors.add(re.sub(r"[ -]+", "-", text).strip("-"))
    return anchors


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_page_and_heading(page) -> None:
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        path = page.parent / target
        assert path.exists(), target
        if anchor:
            assert anchor in list_anchors(path), f"{target}#{anchor}"


def test_the_navigation_lists_every_page() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:")[2]
    listed = re.findall(r": ([\w-]+\.md)$", navigation, re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))


def test_the_question_of_a_typical_user_is_answered_after_two_clicks() -> None:
    """Which metric for my German news translations, if I have 200 MQM ratings?"""
    start = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert "MQM" in start
    target, anchor = next(link for link in LINK.findall(start) if link[1])
    page = (ROOT / "docs" / target).read_text(encoding="utf-8")
    assert anchor in list_anchors(ROOT / "docs" / target)
    section = page.partition("## I have human ratings")[2].partition("\n## ")[0]
    for words in ("German news with 200 MQM ratings", "metassay rank", "metassay assay", "COMET"):
        assert words in section
