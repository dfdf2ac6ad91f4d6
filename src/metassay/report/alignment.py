"""Word alignment of two texts, for showing what changed between them.

Levenshtein over words, so for speech the counts are those that the word error rate is made of.

>>> [(edit.kind, edit.before, edit.after) for edit in word_edits("a cat sat", "the cat")]
[('replaced', 'a', 'the'), ('same', 'cat', 'cat'), ('gone', 'sat', '')]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import Levenshtein

Kind = Literal["same", "gone", "new", "replaced"]
_KINDS: dict[str, Kind] = {"equal": "same", "delete": "gone", "insert": "new", "replace": "replaced"}


@dataclass(frozen=True)
class Edit:
    """A run of words that are the same, only before (`gone`), only after (`new`), or `replaced`."""

    kind: Kind
    before: str
    after: str
    words: int


def word_edits(before: str, after: str) -> list[Edit]:
    """The shortest way from one text to the other, in runs; texts without spaces go by character."""
    between = " " if _spaced(before) or _spaced(after) else ""
    old, new = (text.split() if between else list(text) for text in (before, after))
    return [
        Edit(
            kind=_KINDS[code.tag],
            before=between.join(old[code.src_start : code.src_end]),
            after=between.join(new[code.dest_start : code.dest_end]),
            words=max(code.src_end - code.src_start, code.dest_end - code.dest_start),
        )
        for code in Levenshtein.opcodes(old, new)
    ]


def edit_counts(edits: Sequence[Edit]) -> dict[Kind, int]:
    """Words per kind of edit: for speech, hits, deletions, insertions and substitutions."""
    totals: Counter[Kind] = Counter()
    for edit in edits:
        totals[edit.kind] += edit.words
    return dict(totals)


def _spaced(text: str) -> bool:
    return len(text.split()) > 1 or len(text) < 2
