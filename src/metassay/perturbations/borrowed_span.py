"""Hard negatives: a span taken from another system's worse output for the same item."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from rapidfuzz.distance import Levenshtein

from metassay.errors import InputError
from metassay.perturbations.base import Perturbation, View
from metassay.stats.random import Stream
from metassay.text.segmentation import pieces, written_without_spaces
from metassay.text.words import Span, replace_spans

_RUN = re.compile(r"\S+")


@dataclass(frozen=True)
class BorrowedSpan(Perturbation[str]):
    """Replaces a span of words by what another output, known to be worse, has in its place.

    Worse is an output of the item that people scored lower or, where this item was not rated, one of a system
    that they scored lower on average. The result is fluent where systems are, so it is harder to tell
    from the original than what rules make. Spans longer than `longest` words are left alone.
    """

    name: ClassVar[str] = "borrowed_span"
    by_words: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"rivals"})
    default: ClassVar[bool] = False
    summary: ClassVar[str] = "takes a span from a worse output of the same item (needs human scores)"

    longest: int = 8

    def __post_init__(self) -> None:
        if self.longest < 1:
            raise InputError(f"the longest span of {self.name} is {self.longest}, less than 1 word.")

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with one span drawn from one rival drawn."""
        for i in stream.sample(len(view.rivals), len(view.rivals)):
            options = [
                (span, text)
                for span, text in _differences(view.output, view.rivals[i], view.language)
                if len(_runs(text, view.language)) <= self.longest
            ]
            if options:
                return replace_spans(view.output, [stream.choice(options)])
        return None


def _runs(text: str, language: str | None) -> list[Span]:
    """What stands between spaces or, where a text has none, its words and signs."""
    if written_without_spaces(text, language):
        return pieces(text)
    return [match.span() for match in _RUN.finditer(text)]


def _differences(text: str, other: str, language: str | None) -> list[tuple[Span, str]]:
    """Every span of a text where another has other words, with these words; both sides have at least one."""
    here, there = _runs(text, language), _runs(other, language)
    operations = Levenshtein.opcodes([text[a:b] for a, b in here], [other[a:b] for a, b in there])
    blocks: list[list[int]] = []
    open_block = False
    for operation in operations:
        if operation.tag == "equal":
            open_block = False
            continue
        if not open_block:
            blocks.append([operation.src_start, operation.src_end, operation.dest_start, operation.dest_end])
        blocks[-1][1], blocks[-1][3] = operation.src_end, operation.dest_end
        open_block = True
    return [
        ((here[a][0], here[b - 1][1]), other[there[c][0] : there[d - 1][1]])
        for a, b, c, d in blocks
        if a < b and c < d
    ]


PERTURBATIONS = (BorrowedSpan,)
