"""The blocks of code in a page of the documentation.

Fenced `python` and `bash` blocks and indented blocks are code, and run; fences of another kind (`text`) are not.
A comment `<!-- not run: REASON -->` on the line before a block (blank lines aside) says why it cannot run here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w*)")
_MARK = re.compile(r"^<!-- not run: (.+) -->$")


@dataclass(frozen=True)
class Block:
    """One block of code: where it starts, what it is, and why it cannot run, if so."""

    line: int
    kind: str
    text: str
    reason: str | None = None


def blocks(page: Path) -> list[Block]:
    """Those of a page, in order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found: list[Block] = []
    number, reason = 0, None
    while number < len(lines):
        line = lines[number]
        if fence := _FENCE.match(line):
            end = lines.index("```", number + 1)
            if fence[1] in {"python", "bash"}:
                found.append(Block(number + 1, fence[1], "\n".join(lines[number + 1 : end]) + "\n", reason))
            number, reason = end + 1, None
        elif line.startswith("    ") and (number == 0 or not lines[number - 1].strip()):
            end = number
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            text = "\n".join(part[4:] for part in lines[number:end]).strip() + "\n"
            found.append(Block(number + 1, "bash", text, reason))
            number, reason = end, None
        else:
            mark = _MARK.match(line)
            reason = mark[1] if mark else reason if not line.strip() else None
            number += 1
    return found
