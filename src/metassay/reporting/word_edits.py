"""Two texts or rankings side by side: what changed word by word, or place by place.

Words are aligned as sclite does, so for speech the counts of each kind are the ones that its reports give.

>>> [(edit.kind, edit.before, edit.after) for edit in find_word_edits_between_texts("a cat sat", "the cat")]
[('replaced', 'a', 'the'), ('same', 'cat', 'cat'), ('gone', 'sat', '')]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from metassay.metrics.alignment import find_alignment_steps

_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
EditKind = Literal["same", "gone", "new", "replaced"]
_KINDS: dict[str, EditKind] = {
    "hit": "same",
    "deletion": "gone",
    "insertion": "new",
    "substitution": "replaced",
}
_ERROR_NAMES: dict[EditKind, str] = {
    "replaced": "substitution",
    "gone": "deletion",
    "new": "insertion",
}
# Ranks of a ranking that are shown.
SHOWN_RANKS = 30


@dataclass(frozen=True)
class Edit:
    """Consecutive words of two texts that are the `same` in both, only in the first (`gone`), only in the
    second (`new`), or `replaced`.
    """

    kind: EditKind
    before: str
    after: str
    words: int


@dataclass(frozen=True)
class AlignedOutput:
    """An output aligned word by word with its reference, and the errors that the word error rate counts."""

    edits: list[Edit]
    errors: str


@dataclass(frozen=True)
class RankingMove:
    """The documents at one rank of two rankings, and how many ranks the second document moved, such as
    `↑2`.
    """

    rank: int
    output: str
    worse: str
    moved: str


def find_word_edits_between_texts(before: str, after: str) -> list[Edit]:
    """Find the fewest edits of words that turn one text into another. In scripts without spaces, characters
    are edited instead of words.
    """
    separator = "" if _are_both_texts_without_spaces(before, after) else " "
    old = before.split() if separator else list(before)
    new = after.split() if separator else list(after)
    edits = []
    i = 0
    j = 0
    for step, run in groupby(find_alignment_steps(old, new)):
        words = len(list(run))
        # An inserted word has no counterpart in the old text, a deleted one none in the new text.
        old_end = i if step == "insertion" else i + words
        new_end = j if step == "deletion" else j + words
        old_text = separator.join(old[i:old_end])
        new_text = separator.join(new[j:new_end])
        edits.append(Edit(_KINDS[step], old_text, new_text, words))
        i = old_end
        j = new_end
    return edits


def count_edited_words(edits: Sequence[Edit]) -> dict[EditKind, int]:
    """Count the words of each kind of edit: `same`, `gone`, `new` and `replaced`."""
    totals: Counter[EditKind] = Counter()
    for edit in edits:
        totals[edit.kind] += edit.words
    return dict(totals)


def align_with_reference(reference: str, output: str) -> AlignedOutput:
    """Align an output with its reference, and describe its errors in words."""
    edits = find_word_edits_between_texts(reference, output)
    counts = count_edited_words(edits)
    errors = []
    for kind, name in _ERROR_NAMES.items():
        if kind in counts:
            plural = "" if counts[kind] == 1 else "s"
            errors.append(f"{counts[kind]} {name}{plural}")
    return AlignedOutput(edits, ", ".join(errors) or "no errors")


def list_rank_changes_of_documents(
    better_ranking: Sequence[str], worse_ranking: Sequence[str]
) -> list[RankingMove]:
    """List the first ranks of two rankings side by side, and say how far each document of the second ranking
    moved.
    """
    rank_before = {document: rank for rank, document in enumerate(better_ranking)}
    moves = []
    for rank in range(min(SHOWN_RANKS, max(len(better_ranking), len(worse_ranking)))):
        document = worse_ranking[rank] if rank < len(worse_ranking) else ""
        old_document = better_ranking[rank] if rank < len(better_ranking) else ""
        moved = _describe_rank_change(rank_before.get(document), rank) if document else ""
        moves.append(RankingMove(rank + 1, old_document, document, moved))
    return moves


def format_score(score: float | str | None) -> str:
    """Format a score with four significant digits. A missing score gives an empty text."""
    if score is None:
        return ""
    if isinstance(score, str):
        return score
    return f"{score:.4g}".replace("-", "−")


def _describe_rank_change(rank_before: int | None, rank_after: int) -> str:
    if rank_before is None:
        return "new"
    if rank_before == rank_after:
        return ""
    return f"{'↑' if rank_before > rank_after else '↓'}{abs(rank_before - rank_after)}"


def _are_both_texts_without_spaces(first_text: str, second_text: str) -> bool:
    """Return whether both texts are in a script without spaces, such as Thai or Chinese."""
    texts = [text for text in (first_text, second_text) if text]
    return bool(texts) and all(len(text.split()) == 1 and _SPACELESS.search(text) for text in texts)
