"""Find the blocks of code in a page of the documentation.

Fenced `python` and `bash` blocks and indented blocks are code that a test runs; other fences (`text`) are not.
A comment `<!-- not run: REASON -->` before a block says why it cannot run in a test.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w*)")
_MARK = re.compile(r"^<!-- not run: (.+) -->$")


@dataclass(frozen=True)
class Block:
    """A block of code in a page."""

    line: int
    kind: str
    text: str
    skip_reason: str | None = None
    """Why the block cannot run in a test."""


def find_blocks(page: Path) -> list[Block]:
    """Find all blocks of code in a page, in order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    blocks: list[Block] = []
    skip_reason = None
    number = 0
    while number < len(lines):
        line = lines[number]
        fence = _FENCE.match(line)
        starts_indented_block = line.startswith("    ") and (number == 0 or not lines[number - 1].strip())
        if fence:
            end = lines.index("```", number + 1)
            if fence[1] in {"python", "bash"}:
                text = "\n".join(lines[number + 1 : end]) + "\n"
                blocks.append(Block(number + 1, fence[1], text, skip_reason))
            number = end + 1
            skip_reason = None
        elif starts_indented_block:
            end = number
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            text = "\n".join(indented_line[4:] for indented_line in lines[number:end]).strip() + "\n"
            blocks.append(Block(number + 1, "bash", text, skip_reason))
            number = end
            skip_reason = None
        else:
            mark = _MARK.match(line)
            if mark:
                skip_reason = mark[1]
            elif line.strip():
                skip_reason = None
            number += 1
    return blocks
