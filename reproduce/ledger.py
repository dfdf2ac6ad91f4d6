"""The ledger: every table and figure of the five papers beside what we find.

`published.toml` holds what was printed, the `ours.json` of each script what it found; `page` joins them.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SAME, DIRECTION, DIFFERENT, CANNOT = "same", "same direction", "different", "cannot be had here"


def published() -> dict[str, Any]:
    """The papers and their entries."""
    return tomllib.loads((HERE / "published.toml").read_text(encoding="utf-8"))


def name_of(entry: Mapping[str, Any]) -> str:
    """Under which name scripts keep their side of an entry."""
    return f"{entry['paper']} {entry['what']}"


def found(scripts: set[str]) -> dict[str, Mapping[str, Any]]:
    """What the scripts found, by name of the entry."""
    ours: dict[str, Mapping[str, Any]] = {}
    for script in sorted(scripts):
        path = HERE / script / "ours.json"
        if path.exists():
            ours |= json.loads(path.read_text(encoding="utf-8")).get("ledger", {})
    return ours


def verdict(entry: Mapping[str, Any], ours: Mapping[str, Any] | None) -> str:
    """Same, same direction, different, or cannot be had here."""
    if "cannot" in entry or ours is None:
        return CANNOT
    known = entry.get("values", {})
    near = [
        name in ours["values"] and abs(ours["values"][name] - value) <= entry["tolerance"]
        for name, value in known.items()
    ]
    if near and all(near):
        return SAME
    return DIRECTION if ours["checks"] and all(ours["checks"].values()) else DIFFERENT


def remark(entry: Mapping[str, Any], ours: Mapping[str, Any] | None, judged: str) -> str:
    """The verdict as a sentence, with tolerance, reason, and the claims that do not hold."""
    if judged == CANNOT:
        return f"*{CANNOT}*, because {entry.get('cannot', 'its script has not been run')}"
    if judged == SAME:
        tolerance = entry["tolerance"]
        return f"*{SAME}*" + (f" (± {tolerance:g})" if tolerance else " (exactly)")
    assert ours is not None
    failed = [claim for claim, holds in ours["checks"].items() if not holds]
    missing = f"; not found here: {'; '.join(failed)}" if failed else ""
    reason = entry.get("because")
    if judged == DIFFERENT and reason is None:
        return f"*{DIFFERENT}*, and we do not know why{missing}"
    differ = "; the figures differ" if judged == DIRECTION else ""
    return f"*{judged}*" + (f"{differ}, because {reason}" if reason else "") + missing


def page() -> str:
    """The README of this folder."""
    content = published()
    entries = content["entry"]
    ours = found({entry["script"] for entry in entries if "script" in entry})
    verdicts = [verdict(entry, ours.get(name_of(entry))) for entry in entries]
    counts = ", ".join(f"{verdicts.count(v)} *{v}*" for v in (SAME, DIRECTION, DIFFERENT, CANNOT))
    lines = [
        "# Five papers, every table and figure",
        "",
        INTRODUCTION,
        "",
        f"{len(entries)} lines: {counts}.",
    ]
    for paper, title in content["papers"].items():
        lines += ["", f"## {paper}: {title}", "", "| | what | published | ours | |", "|---|---|---|---|---|"]
        for entry, judged in zip(entries, verdicts):
            if entry["paper"] == paper:
                own = ours.get(name_of(entry))
                cells = (
                    entry["what"],
                    entry["about"],
                    entry["published"],
                    "" if own is None else own["shown"],
                )
                lines.append("| " + " | ".join((*cells, remark(entry, own, judged))) + " |")
    return "\n".join([*lines, "", *_errors(), *_pages()]) + "\n"


INTRODUCTION = """Made by `make reproduce` (`DATA=FOLDER` names the data; without it `../shared/data`), which
runs every script of this folder and then writes this page from `published.toml` and the scripts' `ours.json`.
*same*: every printed number is met within the tolerance; *same direction*: what the paper concludes from the
table or figure holds here; *different*, *cannot be had here*: with the reason. 004 is at hand as a summary
without tables and figures, so its key results stand for them. Neural metrics are scored by the official
scores that WMT23 published; where a paper scored texts of its own with them, their checkpoints are not here.
Pages with all figures: one per folder, linked at the end."""


def _errors() -> list[str]:
    path = HERE / "errors" / "README.md"
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8").splitlines()
    return ["## Errors in the papers", "", *text[2:], ""]


def _pages() -> list[str]:
    folders = sorted(path.parent.name for path in HERE.glob("*/README.md"))
    return ["## Pages", "", *(f"- [{name}]({name}/README.md)" for name in folders)]


if __name__ == "__main__":
    (HERE / "README.md").write_text(page(), encoding="utf-8")
