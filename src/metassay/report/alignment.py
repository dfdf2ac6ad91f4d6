"""Word alignment of two texts, for showing what changed between them.

As sclite aligns words, so for speech the counts of each kind are the ones that its reports give.

>>> [(edit.kind, edit.before, edit.after) for edit in word_edits("a cat sat", "the cat")]
[('replaced', 'a', 'the'), ('same', 'cat', 'cat'), ('gone', 'sat', '')]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from metassay.metrics.alignment import Step, align_tokens

Kind = Literal["same", "gone", "new", "replaced"]
_KINDS: dict[str, Kind] = {"hit": "same", "deletion": "gone", "insertion": "new", "substitution": "replaced"}


@dataclass(frozen=True)
class Edit:
    """A run of words that are the same, only before (`gone`), only after (`new`), or `replaced`."""

    kind: Kind
    before: str
    after: str
    words: int


def word_edits(before: str, after: str) -> list[Edit]:
    """The cheapest way from one text to the other, in runs; texts without spaces go by character."""
    between = " " if _spaced(before) or _spaced(after) else ""
    old, new = (text.split() if between else list(text) for text in (before, after))
    runs = groupby(align_tokens(old, new).steps, key=lambda step: step.kind)
    return [_edit(_KINDS[kind], list(steps), between) for kind, steps in runs]


def _edit(kind: Kind, steps: Sequence[Step], between: str) -> Edit:
    before, after = (
        between.join(word for word in side if word is not None)
        for side in ([step.reference for step in steps], [step.output for step in steps])
    )
    return Edit(kind, before, after, len(steps))


def edit_counts(edits: Sequence[Edit]) -> dict[Kind, int]:
    """Words per kind of edit: for speech, hits, deletions, insertions and substitutions."""
    totals: Counter[Kind] = Counter()
    for edit in edits:
        totals[edit.kind] += edit.words
    return dict(totals)


def _spaced(text: str) -> bool:
    return len(text.split()) > 1 or len(text) < 2
