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
def german_lemma(form: str) -> str | None:
    """The base form of a German word that simplemma's dictionary holds; None for other words."""
    import simplemma

    return str(simplemma.lemmatize(form, lang="de")) if simplemma.is_known(form, lang="de") else None
