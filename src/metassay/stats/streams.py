"""Random numbers for perturbations: they depend on what is perturbed, not on when.

One hash per output gives a 64-bit seed, the name of the perturbation is mixed in, and each draw is one step
of SplitMix64 (Steele, Lea and Flood, 2014). A NumPy generator per output would take longer than the edit
itself. `stream_kernels.py` has the same steps in compiled code.
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
# The constants of SplitMix64 (Steele, Lea and Flood, 2014).
_INCREMENT = 0x9E3779B97F4A7C15
_FIRST_MULTIPLIER = 0xBF58476D1CE4E5B9
_SECOND_MULTIPLIER = 0x94D049BB133111EB
FIRST_FACTOR = np.uint64(_FIRST_MULTIPLIER)
SECOND_FACTOR = np.uint64(_SECOND_MULTIPLIER)
# The difference of two successive states of SplitMix64.
SPLITMIX_STEP = np.uint64(_INCREMENT)


class Stream:
    """Generator of random numbers for one output and one perturbation. The numbers depend only on the seed.

    >>> seed = derive_seed_from_name(compute_output_seed(0, "17", "a b c"), "removal")
    >>> Stream(seed).draw_integer_below(3) == Stream(seed).draw_integer_below(3)
    True
    """

    __slots__ = ("state",)

    def __init__(self, key: int) -> None:
        self.state = key

    def draw_integer_below(self, limit: int) -> int:
        """Draw a random integer from 0 to `limit` - 1, all of them about equally likely.

        Their probabilities are equal to within limit / 2³².
        """
        self.state = (self.state + _INCREMENT) & _MASK
        return ((hash_integer(self.state) >> 32) * limit) >> 32

    def choice(self, options: Sequence[T]) -> T:
        """Draw one of several options at random."""
        return options[self.draw_integer_below(len(options))]

    def sample(self, size: int, count: int) -> list[int]:
        """Draw `count` different integers below `size` in random order."""
        order = list(range(size))
        for position in range(count):
            other = position + self.draw_integer_below(size - position)
            order[position], order[other] = order[other], order[position]
        return order[:count]


def compute_output_seed(seed: int, item: str, text: str) -> int:
    """Compute the 64-bit random seed of an output from a global seed, its item and its text."""
    content = f"{seed} {len(item)} {item}{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


def compute_output_seeds(seed: int, items: Iterable[str], texts: Iterable[str]) -> Keys:
    """Compute the 64-bit random seed of each of many outputs."""
    return np.fromiter((compute_output_seed(seed, item, text) for item, text in zip(items, texts)), np.uint64)


def derive_seed_from_name(output_seed: int, name: str) -> int:
    """Derive a new random seed from the seed of an output and the name of a perturbation."""
    return hash_integer(output_seed ^ _hash_name(name))


def derive_seeds_from_name(output_seeds: Keys, name: str) -> Keys:
    """Derive new random seeds from the seeds of outputs and the name of a perturbation."""
    return hash_integers(output_seeds ^ np.uint64(_hash_name(name)))


@functools.lru_cache(maxsize=1024)
def _hash_name(name: str) -> int:
    """Turn a name into a 64-bit integer that is always the same for this name."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def hash_integer(value: int) -> int:
    """Turn a 64-bit integer into a random-looking one, different for each integer (the last step of
    SplitMix64).
    """
    value = ((value ^ (value >> 30)) * _FIRST_MULTIPLIER) & _MASK
    value = ((value ^ (value >> 27)) * _SECOND_MULTIPLIER) & _MASK
    return value ^ (value >> 31)


def hash_integers(values: Keys) -> Keys:
    """Turn every 64-bit integer of an array into a random-looking one, as `hash_integer` does."""
    values = (values ^ (values >> np.uint64(30))) * FIRST_FACTOR
    values = (values ^ (values >> np.uint64(27))) * SECOND_FACTOR
    return np.asarray(values ^ (values >> np.uint64(31)), dtype=np.uint64)
