"""The page on the architecture names files and functions that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
SOURCE = ROOT / "src" / "metassay"


def test_every_file_on_the_page_exists() -> None:
    files = re.findall(r"`([\w/]+\.py)`", PAGE.read_text(encoding="utf-8"))
    assert files
    missing = [file for file in files if not (SOURCE / file).exists() and not (ROOT / file).exists()]
    assert missing == ["registry.py"]  # each package has one


def test_every_function_to_start_reading_at_exists_in_its_file() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Where is")[2].partition("## Add")[0]
    rows = [line.split("|")[2:4] for line in table.splitlines() if line.startswith("| ") and "`" in line]
    assert rows
    for files, start in rows:
        sources = [
            (SOURCE / file).read_text(encoding="utf-8") for file in re.findall(r"`([\w/]+\.py)`", files)
        ]
        for name in re.findall(r"`(\w+)`", start):
            assert any(re.search(rf"^(def|class) {name}\b", text, re.MULTILINE) for text in sources), name


def test_every_entry_point_on_the_page_is_loaded_somewhere() -> None:
    groups = set(re.findall(r"`metassay\.(\w+)` \|", PAGE.read_text(encoding="utf-8")))
    assert len(groups) == 6
    source = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    for group in groups:
        assert f'"{group}"' in source
