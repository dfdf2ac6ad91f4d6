"""The base class of perturbations that replace random parts of a text by random alternatives."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right, insort
from dataclasses import dataclass
from typing import NamedTuple

from metassay.perturbations.base import View
from metassay.perturbations.words import WordEdit
from metassay.stats.streams import Stream
from metassay.text.words import Span, replace_spans


class Replacement(NamedTuple):
    """A span of a text, and the texts that can replace it."""

    span: Span
    alternatives: tuple[str, ...]


@dataclass(frozen=True)
class RandomReplacement(WordEdit):
    """A perturbation that makes a text worse by replacing `strength` random spans, each by a random
    alternative.
    """

    @abstractmethod
    def find_replaceable_spans(self, output_view: View[str]) -> list[Replacement]:
        """Return every span of the output that can be replaced, in order, with its alternatives."""

    def apply(self, output_view: View[str], random_stream: Stream) -> str | None:
        """Return the output with random spans replaced."""
        replacements = self.find_replaceable_spans(output_view)
        if len(replacements) < self.strength:
            return None
        # `replace_spans` needs the spans in the order of the text.
        drawn = [replacements[i] for i in sorted(random_stream.sample(len(replacements), self.strength))]
        edits = [(replacement.span, random_stream.choice(replacement.alternatives)) for replacement in drawn]
        return replace_spans(output_view.output, edits)


class DisjointSpans:
    """A set of spans of a text, none of which overlap.

    >>> spans = DisjointSpans()
    >>> spans.add_span((2, 5)), spans.overlaps_no_stored_span((4, 6)), spans.overlaps_no_stored_span((5, 6))
    (None, False, True)
    """

    def __init__(self) -> None:
        self._spans: list[Span] = []

    def add_span(self, span: Span) -> None:
        """Add a span, which must not overlap with those in the set."""
        insort(self._spans, span)

    def overlaps_no_stored_span(self, span: Span) -> bool:
        """Return whether a span overlaps with none of the spans in the set."""
        start, end = span
        position = bisect_right(self._spans, span)
        is_after_previous = position == 0 or self._spans[position - 1][1] <= start
        is_before_next = position == len(self._spans) or end <= self._spans[position][0]
        return is_after_previous and is_before_next
