"""Word alignment of two texts, for showing what changed between them.

As sclite aligns words, so for speech the counts of each kind are the ones that its reports give.

>>> [(edit.kind, edit.before, edit.after) for edit in word_edits("a cat sat", "the cat")]
[('replaced', 'a', 'the'), ('same', 'cat', 'cat'), ('gone', 'sat', '')]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from metassay.metrics.alignment import Step, align_tokens

_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
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
    between = "" if _by_character(before, after) else " "
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


def _by_character(before: str, after: str) -> bool:
    """Whether both texts are in a script without spaces: Thai, Lao, Burmese, Khmer, Chinese, Japanese."""
    texts = [text for text in (before, after) if text]
    return bool(texts) and all(len(text.split()) == 1 and _SPACELESS.search(text) for text in texts)
