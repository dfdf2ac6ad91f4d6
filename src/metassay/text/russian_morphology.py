"""The Russian morphological analyser pymorphy3, loaded once."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def load_analyser() -> Any:
    """Load pymorphy3's analyser."""
    from pymorphy3 import MorphAnalyzer

    return MorphAnalyzer(lang="ru")
