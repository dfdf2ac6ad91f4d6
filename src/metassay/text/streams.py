"""Random numbers that depend on what is perturbed, not on when: streams derived from a hash.

A NumPy generator per output costs more than the edit it serves. Here one hash per output gives a 64-bit key,
the name of the perturbation is mixed in, and a draw is one step of SplitMix64 (Steele, Lea and Flood, 2014).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
T = TypeVar("T")

_MASK = (1 << 64) - 1
INCREMENT = 0x9E3779B97F4A7C15
MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def mix(value: int) -> int:
    """The finaliser of SplitMix64: a bijection on 64-bit integers whose output bits look independent."""
    value = ((value ^ (value >> 30)) * MULTIPLIERS[0]) & _MASK
    value = ((value ^ (value >> 27)) * MULTIPLIERS[1]) & _MASK
    return value ^ (value >> 31)


def output_key(seed: int, item: str, text: str) -> int:
    """The key of one output: equal texts for the same item have equal keys, whoever wrote them."""
    content = f"{seed} {len(item)} {item}{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


def output_keys(seed: int, items: Iterable[str], texts: Iterable[str]) -> Keys:
    """`output_key` of many outputs."""
    return np.fromiter((output_key(seed, item, text) for item, text in zip(items, texts)), np.uint64)


@functools.cache
def _name_key(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def named_key(key: int, name: str) -> int:
    """The key that an output has for one purpose, such as one perturbation."""
    return mix(key ^ _name_key(name))


def named_keys(keys: Keys, name: str) -> Keys:
    """`named_key` of many outputs."""
    values = keys ^ np.uint64(_name_key(name))
    values = (values ^ (values >> np.uint64(30))) * np.uint64(MULTIPLIERS[0])
    values = (values ^ (values >> np.uint64(27))) * np.uint64(MULTIPLIERS[1])
    return np.asarray(values ^ (values >> np.uint64(31)), dtype=np.uint64)


class Stream:
    """Draws for one output and one perturbation. The n-th draw is a function of the key and n alone.

    >>> Stream.of(0, "17", "a b c", "removal").below(3) == Stream.of(0, "17", "a b c", "removal").below(3)
    True
    """

    __slots__ = ("_state",)

    def __init__(self, key: int) -> None:
        self._state = key

    @classmethod
    def of(cls, seed: int, item: str, text: str, name: str) -> Stream:
        """The stream of a perturbation `name` on the output `text` of `item`."""
        return cls(named_key(output_key(seed, item, text), name))

    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` − 1, all equally likely (to within limit / 2³²)."""
        self._state = (self._state + INCREMENT) & _MASK
        return ((mix(self._state) >> 32) * limit) >> 32

    def choice(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def sample(self, size: int, count: int) -> list[int]:
        """`count` different numbers below `size`, in the order drawn (a partial Fisher–Yates shuffle)."""
        order = list(range(size))
        for place in range(count):
            other = place + self.below(size - place)
            order[place], order[other] = order[other], order[place]
        return order[:count]
