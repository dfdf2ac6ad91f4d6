"""Where sentences begin and end, by punctuation alone: good enough to drop, move or borrow one."""

from __future__ import annotations

import re

from metassay.text.words import Span

_END = re.compile(
    r"""
      (?P<stop> [.!?…؟۔।॥]+ ) ["'”’»)\]]* (?=\s+ ["'“‘„«(\[¿¡]* (?P<next> [^\W_] ))
    | [。！？｡]+ [”’」』）]*                                      # full-width stops need no space
    | (?=\n)
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“„])(?:[^\W\d_]|mr|mrs|ms|dr|prof|st|jr|sr|vs|inc|ltd|e\.g|i\.e|u\.s|u\.k|z\.b|d\.h"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|(?P<numbered>no|nr|fig))\.$",
    re.IGNORECASE,
)
_LONGEST = 8
"""Characters that hold any abbreviation and what stands before it."""


def sentence_spans(text: str) -> list[Span]:
    """Start and end of every sentence, without the space around it; a line end ends one too.

    A small letter begins a sentence only where nothing has a capital, or where the stop stands alone, as in
    tokenised text; never after an ellipsis.

    >>> text = "Dr. Who came. He left! 你好。再见。"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Who came.', 'He left!', '你好。', '再见。']
    """
    spans, start, small = [], 0, text == text.lower()
    for match in _END.finditer(text):
        if match["stop"] and not _ends(text, match, start, small=small):
            continue
        spans.append((start, match.end()))
        start = match.end()
    spans.append((start, len(text)))
    return [trimmed for span in spans if (trimmed := _trimmed(text, span)) is not None]


def _ends(text: str, match: re.Match[str], start: int, *, small: bool) -> bool:
    """Whether a stop before a space ends the sentence that began at `start`."""
    stop, following = match["stop"], match["next"]
    if following.islower():
        alone = match.start() > 0 and text[match.start() - 1].isspace()
        if not (small or alone) or stop == "…" or stop.startswith(".."):
            return False
    before = text[max(start, match.end() - _LONGEST) : match.end()]
    abbreviation = _ABBREVIATION.search(before)
    return abbreviation is None or (abbreviation["numbered"] is not None and not following.isdigit())


def _trimmed(text: str, span: Span) -> Span | None:
    inside = text[span[0] : span[1]]
    bare = inside.strip()
    if not any(map(str.isalnum, bare)):
        return None
    start = span[0] + len(inside) - len(inside.lstrip())
    return start, start + len(bare)
