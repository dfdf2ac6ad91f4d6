"""Where sentences begin and end, by punctuation alone: good enough to drop, move or borrow one."""

from __future__ import annotations

import re

from metassay.text.words import Span

_END = re.compile(
    r"""
      [.!?…]+ ["'”’»)\]]* (?=\s+ ["'“‘„«(\[¿¡]* [^\W_a-z])    # a stop, then a space and no small letter
    | [。！？｡]+ [”’」』）]*                                      # full-width stops need no space
    | (?=\n)
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“„])(?:[^\W\d_]|mr|mrs|ms|dr|prof|st|jr|sr|vs|no|nr|fig|inc|ltd|e\.g|i\.e|u\.s|u\.k|z\.b|d\.h"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)\.$",
    re.IGNORECASE,
)


def sentence_spans(text: str) -> list[Span]:
    """Start and end of every sentence, without the space around it; a line end ends one too.

    >>> text = "Dr. Who came. He left! 你好。再见。"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Who came.', 'He left!', '你好。', '再见。']
    """
    spans, start = [], 0
    for match in _END.finditer(text):
        if match[0] and _ABBREVIATION.search(text[max(start, match.end() - 8) : match.end()]):
            continue
        spans.append((start, match.end()))
        start = match.end()
    spans.append((start, len(text)))
    return [trimmed for span in spans if (trimmed := _trimmed(text, span)) is not None]


def _trimmed(text: str, span: Span) -> Span | None:
    inside = text[span[0] : span[1]]
    bare = inside.strip()
    if not any(map(str.isalnum, bare)):
        return None
    start = span[0] + len(inside) - len(inside.lstrip())
    return start, start + len(bare)
