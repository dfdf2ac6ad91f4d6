"""Morphological analysers, loaded when first needed."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def russian() -> Any:
    """pymorphy3's analyser."""
    from pymorphy3 import MorphAnalyzer

    return MorphAnalyzer(lang="ru")


@functools.cache
def known_lemma(form: str, language: str) -> str | None:
    """The base form of a word that simplemma's dictionary holds; None for other words."""
    import simplemma

    return str(simplemma.lemmatize(form, lang=language)) if simplemma.is_known(form, lang=language) else None


def german_lemma(form: str) -> str | None:
    """The base form of a German word."""
    return known_lemma(form, "de")


@functools.cache
def is_common(word: str, language: str) -> bool:
    """Whether the dictionary has the word in small letters, so that a capital may be the sentence's."""
    lemma = known_lemma(word.lower(), language)
    return lemma is not None and lemma.islower()
