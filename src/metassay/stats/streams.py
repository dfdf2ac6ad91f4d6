"""Random numbers for perturbations: they depend on what is perturbed, not on when.

One hash per output gives a 64-bit key, the name of the perturbation is mixed in, and each draw is one step of
SplitMix64 (Steele, Lea and Flood, 2014). A NumPy generator per output would take longer than the edit itself.
`mix_in_kernel`, `draw_high_bits` and `draw_below` are the same steps in compiled code.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from metassay.stats.compilation import kernel

Keys = NDArray[np.uint64]
T = TypeVar("T")

_MASK = (1 << 64) - 1
_INCREMENT = 0x9E3779B97F4A7C15
_FIRST_MULTIPLIER = 0xBF58476D1CE4E5B9
_SECOND_MULTIPLIER = 0x94D049BB133111EB
_FIRST_FACTOR = np.uint64(_FIRST_MULTIPLIER)
_SECOND_FACTOR = np.uint64(_SECOND_MULTIPLIER)
SPLITMIX_STEP = np.uint64(_INCREMENT)
"""The difference of two successive states of SplitMix64."""


class Stream:
    """Random draws for one output and one perturbation. The n-th draw depends on the key and n only.

    >>> first = Stream.for_output(0, "17", "a b c", "removal")
    >>> second = Stream.for_output(0, "17", "a b c", "removal")
    >>> first.draw_below(3) == second.draw_below(3)
    True
    """

    __slots__ = ("_state",)

    def __init__(self, key: int) -> None:
        self._state = key

    @classmethod
    def for_output(cls, seed: int, item: str, text: str, perturbation: str) -> Stream:
        """Make the stream of a perturbation for the output `text` of `item`."""
        return cls(derive_key(hash_output(seed, item, text), perturbation))

    def draw_below(self, limit: int) -> int:
        """Draw an integer from 0 to `limit` - 1, all equally likely to within limit / 2³²."""
        self._state = (self._state + _INCREMENT) & _MASK
        return ((mix(self._state) >> 32) * limit) >> 32

    def choice(self, options: Sequence[T]) -> T:
        """Draw one of the options."""
        return options[self.draw_below(len(options))]

    def sample(self, size: int, count: int) -> list[int]:
        """Draw `count` different integers below `size`, in random order (a partial Fisher–Yates shuffle)."""
        order = list(range(size))
        for position in range(count):
            other = position + self.draw_below(size - position)
            order[position], order[other] = order[other], order[position]
        return order[:count]


def hash_output(seed: int, item: str, text: str) -> int:
    """Return the key of an output: equal texts for the same item have equal keys, whatever the system."""
    content = f"{seed} {len(item)} {item}{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


def hash_outputs(seed: int, items: Iterable[str], texts: Iterable[str]) -> Keys:
    """Return `hash_output` of many outputs."""
    return np.fromiter((hash_output(seed, item, text) for item, text in zip(items, texts)), np.uint64)


def derive_key(key: int, name: str) -> int:
    """Return the key of an output for one purpose, such as one perturbation."""
    return mix(key ^ _hash_purpose(name))


def derive_keys(keys: Keys, name: str) -> Keys:
    """Return `derive_key` of many outputs."""
    return mix_array(keys ^ np.uint64(_hash_purpose(name)))


@functools.lru_cache(maxsize=1024)
def _hash_purpose(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def mix(value: int) -> int:
    """Apply the finaliser of SplitMix64, a bijection of 64-bit integers whose bits look independent."""
    value = ((value ^ (value >> 30)) * _FIRST_MULTIPLIER) & _MASK
    value = ((value ^ (value >> 27)) * _SECOND_MULTIPLIER) & _MASK
    return value ^ (value >> 31)


def mix_array(values: Keys) -> Keys:
    """Apply `mix` to every value of an array."""
    values = (values ^ (values >> np.uint64(30))) * _FIRST_FACTOR
    values = (values ^ (values >> np.uint64(27))) * _SECOND_FACTOR
    return np.asarray(values ^ (values >> np.uint64(31)), dtype=np.uint64)


@kernel
def mix_in_kernel(value: np.uint64) -> np.uint64:
    """Apply `mix` in compiled code."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST_FACTOR
    value = (value ^ (value >> np.uint64(27))) * _SECOND_FACTOR
    return value ^ (value >> np.uint64(31))


@kernel
def draw_high_bits(state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the next state, and the upper 32 bits of its number."""
    state = state + SPLITMIX_STEP
    return state, mix_in_kernel(state) >> np.uint64(32)


@kernel
def draw_below(state: np.uint64, limit: int | np.int64) -> tuple[np.uint64, np.int64]:
    """Return the next state and a number below `limit`, as `Stream.draw_below` does."""
    state, high = draw_high_bits(state)
    return state, np.int64((high * np.uint64(limit)) >> np.uint64(32))
