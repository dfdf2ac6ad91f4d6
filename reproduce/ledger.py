"""The ledger: every table and figure of the five papers next to what we measure.

`published.toml` holds what was printed, the `ours.json` of each script what it measured. `render_page` joins
them. `find_failed_reasons` lists the reasons for a difference that no longer hold.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reproduce.entry import SEEDS

FOLDER = Path(__file__).parent
SAME = "same"
SAME_DIRECTION = "same direction"
BY_CONSTRUCTION = "by construction"
UNDECIDED = "undecided"
DIFFERENT = "different"
UNAVAILABLE = "cannot be had here"
STATUSES = (SAME, SAME_DIRECTION, BY_CONSTRUCTION, UNDECIDED, DIFFERENT, UNAVAILABLE)


def load_published() -> dict[str, Any]:
    """Load the papers and what they print."""
    return tomllib.loads((FOLDER / "published.toml").read_text(encoding="utf-8"))


def name_entry(entry: Mapping[str, Any]) -> str:
    """Return the name under which scripts store their side of an entry."""
    return f"{entry['paper']} {entry['what']}"


def load_measured() -> dict[str, Mapping[str, Any]]:
    """Load what the scripts measured, by name of the entry."""
    measured: dict[str, Mapping[str, Any]] = {}
    scripts = {entry["script"] for entry in load_published()["entry"] if "script" in entry}
    for script in sorted(scripts):
        path = FOLDER / script / "ours.json"
        if path.exists():
            measured |= json.loads(path.read_text(encoding="utf-8")).get("ledger", {})
    return measured


def determine_status(entry: Mapping[str, Any], measured: Mapping[str, Any] | None) -> str:
    """Return the status of an entry.

    A claim is undecided if it holds with some seeds and fails with others, or if it depends on random numbers
    and was not checked with every seed. A line with an undecided claim is undecided, unless another fails.
    """
    if "cannot" in entry or measured is None:
        return UNAVAILABLE
    if entry.get("by_construction", False):
        return BY_CONSTRUCTION
    is_near = [
        name in measured["values"] and abs(measured["values"][name] - value) <= entry["tolerance"]
        for name, value in entry.get("values", {}).items()
    ]
    if is_near and all(is_near):
        return SAME
    outcomes = list(measured["claims"].values())
    if is_short_of_seeds(measured):
        return UNDECIDED
    if not outcomes or any(not any(outcome) for outcome in outcomes):
        return DIFFERENT
    return SAME_DIRECTION if all(all(outcome) for outcome in outcomes) else UNDECIDED


def is_short_of_seeds(measured: Mapping[str, Any]) -> bool:
    """Whether a claim depends on random numbers and was not checked with every seed."""
    if not measured["uses_random_numbers"]:
        return False
    return any(len(outcomes) < len(SEEDS) for outcomes in measured["claims"].values())


def find_failed_reasons(measured: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the reasons that no longer hold, each with the name of its entry."""
    return [
        f"{name}: {reason['statement']} ({reason['figures']})"
        for name, entry in measured.items()
        for reason in entry["reasons"]
        if not reason["holds"]
    ]


def find_impossible_failures(measured: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the entries that hold by construction and yet fail here, which means that our code is wrong."""
    failed = []
    for entry in load_published()["entry"]:
        name = name_entry(entry)
        if entry.get("by_construction", False) and name in measured:
            as_usual = {key: value for key, value in entry.items() if key != "by_construction"}
            if determine_status(as_usual, measured[name]) not in {SAME, SAME_DIRECTION}:
                failed.append(name)
    return failed


def describe_status(entry: Mapping[str, Any], measured: Mapping[str, Any] | None) -> str:
    """Return the status as a sentence, with tolerance, reasons and the claims that do not hold."""
    status = determine_status(entry, measured)
    if status == UNAVAILABLE or measured is None:
        return f"*{UNAVAILABLE}*, because {entry.get('cannot', 'its script has not been run')}"
    if status == BY_CONSTRUCTION:
        return f"*{BY_CONSTRUCTION}*: {entry['by_construction']}"
    if status == SAME:
        tolerance = entry["tolerance"]
        return f"*{SAME}*" + (f" (± {tolerance:g})" if tolerance else " (exactly)")
    parts = [f"*{status}*"]
    if is_short_of_seeds(measured):
        parts.append(f"its claims were not checked with {len(SEEDS)} seeds yet")
    for claim, outcomes in measured["claims"].items():
        if not all(outcomes):
            seeds = f" (it does with {sum(outcomes)} of {len(outcomes)} seeds)" if len(outcomes) > 1 else ""
            parts.append(f"does not hold here: {claim}{seeds}")
    for reason in measured["reasons"]:
        kind = "probably because" if reason["is_inference"] else "because"
        figures = f" ({reason['figures']})" if reason["figures"] else ""
        failed = "" if reason["holds"] else " **This reason no longer holds.**"
        parts.append(f"{kind} {reason['statement']}{figures}{failed}")
    return "; ".join(parts)


def render_page() -> str:
    """Return the README of this folder."""
    published = load_published()
    entries = published["entry"]
    measured = load_measured()
    statuses = [determine_status(entry, measured.get(name_entry(entry))) for entry in entries]
    counts = ", ".join(f"{statuses.count(status)} *{status}*" for status in STATUSES)
    lines = [
        "# Five papers, every table and figure",
        "",
        INTRODUCTION,
        "",
        f"{len(entries)} lines: {counts}.",
    ]
    for paper, title in published["papers"].items():
        lines += [
            "",
            f"## {paper}: {title}",
            "",
            "| | what | published | ours | status |",
            "|---|---|---|---|---|",
        ]
        for entry in entries:
            if entry["paper"] == paper:
                ours = measured.get(name_entry(entry))
                description = "" if ours is None else ours["description"]
                cells = (entry["what"], entry["content"], entry["published"], description)
                lines.append("| " + " | ".join((*cells, describe_status(entry, ours))) + " |")
    return "\n".join([*lines, "", *_list_errors(), *_list_pages()]) + "\n"


INTRODUCTION = """`make reproduce` runs every script of this folder and writes this page. The page compares
each published table and figure (`published.toml`) with our results (`ours.json` of each script).
`DATA=FOLDER` names the folder with the data; the default is `../shared/data`.

- *same*: our numbers equal the printed numbers within the tolerance.
- *same direction*: the conclusion of the paper from the table or figure holds in our results, with every
  seed.
- *by construction*: the result follows from a definition, so it is no evidence.
- *undecided*: a conclusion holds with some seeds only, or was not checked with five seeds yet.
- *different*: a conclusion does not hold in our results with any seed.
- *cannot be had here*: the data is not available.

We checked claims that depend on random numbers with five seeds. The reason after *because* is checked by the
script that computes the line. If one of these reasons no longer holds, `make reproduce` ends with an error. A
reason after *probably because* fits the published numbers, but the paper does not state it.

For paper 004, only a summary without tables and figures is available. We therefore list the key results of
004. The scores of neural metrics are the official scores of WMT23. We cannot compute neural metrics for new
texts, because their model files are not available. Each folder has a page with all figures; the last section
links to these pages."""


def _list_errors() -> list[str]:
    path = FOLDER / "errors" / "README.md"
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8").splitlines()
    return ["## Errors in the papers", "", *text[2:], ""]


def _list_pages() -> list[str]:
    folders = sorted(path.parent.name for path in FOLDER.glob("*/README.md"))
    return ["## Pages", "", *(f"- [{name}]({name}/README.md)" for name in folders)]


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(render_page(), encoding="utf-8")
