"""What a language has to say about its names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metassay.perturbations.languages.mentions import Word

MOST_WORDS = 4
"""The longest name."""


@dataclass(frozen=True)
class NameRules:
    """The questions that the finder of names asks."""

    may_belong: Callable[[str, Word, str], bool]
    """Whether a word of a text may belong to a name, given the first word of the name so far."""

    is_part: Callable[[str, int, int], bool]
    """Whether what stands between two places is only a part of a name, or of another thing."""

    kind: Callable[[str, Sequence[str]], str]
    """PER, LOC, ORG, NAME, or nothing, from the word before and the name's words."""

    form: Callable[[str, Sequence[str], str], str | None]
    """The form, from the word before, the words and the kind; None where it stands as no name of its kind."""

    hint: Callable[[str, int, int, Sequence[str]], str]
    """What the words around a name say of its kind; nothing where it is better left alone."""

    modifiers: frozenset[str] = frozenset()
    """Places that may stand before other words with capitals: the *Beijing* Winter Olympics."""
