"""Split a text into sentences."""

from __future__ import annotations

import itertools
import re

from metassay.text.words import Span

_SENTENCE_END = re.compile(
    r"""
      (?P<stop> [.!?…؟۔।॥]+ ) ["'”’»)\]]* (?=\s+ ["'“‘„«(\[¿¡]* (?P<next> [^\W_] ))
    | [。！？｡]+ [”’」』）]*                                      # full-width stops need no space
    | (?=\n)
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“„])(?:[^\W\d_]|mr|mrs|ms|dr|prof|st|jr|sr|vs|inc|ltd|e\.g|i\.e|u\.s|u\.k|z\.b|d\.h"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|(?P<before_number>no|nr|fig))\.$",
    re.IGNORECASE,
)
# Characters that contain any abbreviation and the character before it.
_ABBREVIATION_LENGTH = 8


def find_sentences(text: str) -> list[Span]:
    """Find the start and end of each sentence of a text. A line break ends a sentence, too.

    A sentence may begin with a small letter if the text has no capitals at all, or if the stop before it
    stands alone, as in tokenised text; but not after an ellipsis.

    >>> text = "Dr. Who came. He left! 你好。再见。"
    >>> [text[start:end] for start, end in find_sentences(text)]
    ['Dr. Who came.', 'He left!', '你好。', '再见。']
    """
    boundaries = [0]
    has_no_capitals = text == text.lower()
    for match in _SENTENCE_END.finditer(text):
        if not match["stop"] or _does_full_stop_end_sentence(
            text, match, boundaries[-1], has_no_capitals=has_no_capitals
        ):
            boundaries.append(match.end())
    boundaries.append(len(text))
    sentences = []
    for start, end in itertools.pairwise(boundaries):
        sentence = _strip_spaces_from_span(text, start, end)
        if sentence is not None:
            sentences.append(sentence)
    return sentences


def _does_full_stop_end_sentence(
    text: str, match: re.Match[str], sentence_start: int, *, has_no_capitals: bool
) -> bool:
    """Return whether a full stop followed by a space ends a sentence."""
    stop = match["stop"]
    next_letter = match["next"]
    if next_letter.islower():
        stands_alone = match.start() > 0 and text[match.start() - 1].isspace()
        is_ellipsis = stop == "…" or stop.startswith("..")
        if is_ellipsis or not (has_no_capitals or stands_alone):
            return False
    # Not before the start of the sentence: its end could look like an abbreviation.
    before = text[max(sentence_start, match.end() - _ABBREVIATION_LENGTH) : match.end()]
    abbreviation = _ABBREVIATION.search(before)
    if abbreviation is None:
        return True
    # "No." is an abbreviation before a number, else an answer.
    return abbreviation["before_number"] is not None and not next_letter.isdigit()


def _strip_spaces_from_span(text: str, start: int, end: int) -> Span | None:
    """Leave out the spaces at both ends of a part of a text. Returns its new start and end, or None if it has
    neither letters nor digits.
    """
    part = text[start:end]
    stripped = part.strip()
    if not any(map(str.isalnum, stripped)):
        return None
    new_start = start + len(part) - len(part.lstrip())
    return new_start, new_start + len(stripped)
