"""The Russian morphological analyser pymorphy3, loaded once."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def load_russian_analyser() -> Any:
    """Load the morphological analyser of pymorphy3."""
    from pymorphy3 import MorphAnalyzer

    return MorphAnalyzer(lang="ru")
