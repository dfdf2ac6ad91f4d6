"""Names in texts: where they stand, of what kind they are, and in which form."""

from __future__ import annotations

import re

Mention = tuple[int, int, str, str]
"""Start, end, kind and form of a name.

The kind is PER, LOC or ORG; `PER?` or `LOC?` where only the words around it hint at it; NAME where nothing
does. Names of one kind and form can stand in each other's place. A name whose form ends in a question mark
can be replaced, but does not replace another.
"""

Word = re.Match[str]

CAPITALISED = re.compile(r"(?<![\w#@&/-])[^\W\d_a-zß][\w’'-]*(?![\w#])")
_BEFORE = re.compile(r"([\w’'-]+)\.? $")
_AFTER = re.compile(r" ([\w’'-]+)")


def word_before(text: str, start: int) -> str:
    """The word just before a place, if nothing but a space or a full stop lies between."""
    found = _BEFORE.search(text, max(0, start - 24), start)
    return found[1] if found else ""


def word_after(text: str, end: int) -> str:
    """The word just after a place, if nothing but a space lies between."""
    found = _AFTER.match(text, end)
    return found[1] if found else ""


def bare_name(word: Word) -> str:
    """A word without apostrophes and hyphens at its end, and without the English genitive."""
    return re.sub(r"['’-]+$|['’]s$", "", word[0])


def end_of_name(word: Word) -> int:
    """Where the bare word ends."""
    return word.start() + len(bare_name(word))
