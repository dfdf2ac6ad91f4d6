"""A cache of function values with bounded memory, for loops over many words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(dict[Key, Value]):
    """A cache of function results. It is emptied when it holds `maximum` results.

    `cache[key]` computes the value if it is not known. For known keys this is the lookup of a dictionary,
    which is faster than a call of a function with `functools.lru_cache`.

    >>> squares = BoundedCache(lambda number: number * number, maximum=100)
    >>> squares[12], len(squares)
    (144, 1)
    """

    def __init__(self, compute: Callable[[Key], Value], maximum: int) -> None:
        super().__init__()
        self._compute = compute
        self.maximum = maximum

    def __missing__(self, key: Key) -> Value:
        value = self._compute(key)
        self.add(key, value)
        return value

    def add(self, key: Key, value: Value) -> None:
        """Add a value that was computed elsewhere to the cache."""
        if len(self) >= self.maximum:
            self.clear()
        self[key] = value
