"""Every random number that metassay draws: which stream it comes from, and how it is made.

Statistics draw from NumPy generators. A seed alone would give every analysis the same numbers, so each names
its stream: by a branch of the seed (`make_branch_generator`), by a number or a name (`make_keyed_generator`,
`make_named_generator`), or by a text (`make_text_generator`). Blocks of work get branches of their own, so
that the result does not depend on the number of threads.

Perturbations draw from `Stream`: its numbers depend on what is perturbed, not on when. A NumPy generator per
output costs more than the edit it serves; here one hash per output gives a 64-bit key, the name of the
perturbation is mixed in, and a draw is one step of SplitMix64 (Steele, Lea and Flood, 2014). `mix_in_kernel`,
`draw_high_bits` and `draw_below` are the same steps in compiled code.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from metassay.stats.compilation import kernel

Keys = NDArray[np.uint64]
T = TypeVar("T")

RESAMPLED_UNITS = 1
"""Branch under a data set's: bootstrap resamples of segments, documents or items."""
SEGMENT_SUBSETS = 2
"""Branch under a data set's: random subsets of the segments, none drawn twice."""
NOISE_METRIC = 3
"""Branch: the baseline metric that is nothing but noise."""
SYSTEM_SUBSETS = 4
"""Branch, with the number of systems kept under it: random subsets of the systems."""
AGREEMENT_THRESHOLDS = 5
"""Branch: resamples of the systems, for the difference from which on people agree."""
PAIRWISE_DELETION = 6
"""Branch: resamples of segments where every pair of systems keeps its own."""
SPAN_SWAPS = 7
"""Branch under a data set's: which segments two metrics exchange the error spans of."""
CORRECTION_FOLDS = 8
"""Branch: which clusters are mapped by what was fitted to the others."""
CORRECTION_DRAWS = 9
"""Branch: resamples of clusters, for what a correction gains."""

EQUAL_DEPENDENCE = 1
"""Beside the seed: the null hypothesis that all systems deviate alike.

All metrics share it, and those below: adding a metric to a run, or measuring it alone, changes nothing.
"""
FAIR_DEPENDENCE = 2
"""Beside the seed: the null hypothesis that a metric favours nobody."""
SAMPLE_SIZES = 1
"""Beside the seed: random parts of the clusters, to see how dependence changes with less data."""
NUMBERS_OF_SYSTEMS = 2
"""Beside the seed: subsets of the systems, to see how dependence changes with their number."""


def make_generator(seed: int) -> np.random.Generator:
    """The numbers of a seed and nothing else; what shares them is drawn jointly."""
    return np.random.default_rng(seed)


def make_branch_generator(seed: int, *key: int) -> np.random.Generator:
    """The numbers of one branch of a seed; branches of branches are independent of each other."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def make_keyed_generator(seed: int, *numbers: int) -> np.random.Generator:
    """The numbers of a seed with others beside it."""
    return np.random.default_rng([seed, *numbers])


def make_named_generator(seed: int, *purpose: str) -> np.random.Generator:
    """Numbers of their own for every purpose: a further one changes no other."""
    return make_keyed_generator(seed, *(hash_name(word) for word in purpose))


def make_text_generator(seed: int, text: str) -> np.random.Generator:
    """Numbers that depend on the seed and this text."""
    return make_keyed_generator(
        seed, int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
    )


def hash_name(name: str) -> int:
    """A number below 2³² that stands for a name, for `make_branch_generator` and `make_keyed_generator`."""
    return crc32(name.encode())


_MASK = (1 << 64) - 1
INCREMENT = 0x9E3779B97F4A7C15
MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SPLITMIX_STEP = np.uint64(INCREMENT)
"""How far the state moves from one number to the next."""
_FIRST, _SECOND = np.uint64(MULTIPLIERS[0]), np.uint64(MULTIPLIERS[1])


def mix(value: int) -> int:
    """The finaliser of SplitMix64: a bijection on 64-bit integers whose output bits look independent."""
    value = ((value ^ (value >> 30)) * MULTIPLIERS[0]) & _MASK
    value = ((value ^ (value >> 27)) * MULTIPLIERS[1]) & _MASK
    return value ^ (value >> 31)


def mix_array(values: Keys) -> Keys:
    """`mix` of every value of an array."""
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return np.asarray(values ^ (values >> np.uint64(31)), dtype=np.uint64)


@kernel
def mix_in_kernel(value: np.uint64) -> np.uint64:
    """`mix` in compiled code."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@kernel
def draw_high_bits(state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The next state, and the upper half of its number."""
    state = state + SPLITMIX_STEP
    return state, mix_in_kernel(state) >> np.uint64(32)


@kernel
def draw_below(state: np.uint64, limit: int | np.int64) -> tuple[np.uint64, np.int64]:
    """One step of `Stream.below`: the next state and a number below `limit`."""
    state, high = draw_high_bits(state)
    return state, np.int64((high * np.uint64(limit)) >> np.uint64(32))


def hash_output(seed: int, item: str, text: str) -> int:
    """The key of one output: equal texts for the same item have equal keys, whoever wrote them."""
    content = f"{seed} {len(item)} {item}{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


def hash_outputs(seed: int, items: Iterable[str], texts: Iterable[str]) -> Keys:
    """`hash_output` of many outputs."""
    return np.fromiter((hash_output(seed, item, text) for item, text in zip(items, texts)), np.uint64)


@functools.cache
def _name_key(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def derive_key(key: int, name: str) -> int:
    """The key that an output has for one purpose, such as one perturbation."""
    return mix(key ^ _name_key(name))


def derive_keys(keys: Keys, name: str) -> Keys:
    """`derive_key` of many outputs."""
    return mix_array(keys ^ np.uint64(_name_key(name)))


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
        return cls(derive_key(hash_output(seed, item, text), name))

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
