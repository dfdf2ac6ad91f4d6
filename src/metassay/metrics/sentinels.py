"""Metrics that know nothing about quality: any result they share with a real metric is not about quality."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metassay.data.ranked_lists import RankedLists
from metassay.metrics.base import Batch, Metric, Scores, check_range

_LARGEST_SEED = 2**63


@dataclass(frozen=True)
class _Sentinel(Metric):
    """A metric for any task whose scores are not worth keeping."""

    task: ClassVar[str] = "any"
    needs: ClassVar[frozenset[str]] = frozenset({"output"})
    is_cacheable: ClassVar[bool] = False
    is_trivial: ClassVar[bool] = True


@dataclass(frozen=True)
class Length(_Sentinel):
    """Words in the output, or documents in the ranking: longer is better."""

    name: ClassVar[str] = "length"
    summary: ClassVar[str] = "sentinel: words in the output"

    def score(self, batch: Batch) -> Scores:
        """Number of words."""
        if isinstance(batch["output"], RankedLists):
            return batch["output"].lengths.astype(np.float64)
        return np.array([_length(output) for output in batch.output], dtype=np.float64)


@dataclass(frozen=True)
class Random(_Sentinel):
    """A uniform number drawn from the text of the output: the same for equal outputs, else independent."""

    seed: int = 0

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "sentinel: a number drawn from the text of the output"

    def __post_init__(self) -> None:
        check_range(self.name, "seed", self.seed, -_LARGEST_SEED, _LARGEST_SEED)

    def score(self, batch: Batch) -> Scores:
        """A number in [0, 1)."""
        outputs = batch["output"].joined() if isinstance(batch["output"], RankedLists) else batch.output
        return _uniform(self.seed, outputs)


@dataclass(frozen=True)
class Constant(_Sentinel):
    """The same score for everything: every comparison is a tie."""

    name: ClassVar[str] = "constant"
    summary: ClassVar[str] = "sentinel: the same score for everything"

    def score(self, batch: Batch) -> Scores:
        """Zeros."""
        return np.zeros(len(batch), dtype=np.float64)


@dataclass(frozen=True)
class RandomPerSystem(_Sentinel):
    """A number drawn from the name of the system: it tells systems apart and knows nothing of outputs."""

    seed: int = 0

    name: ClassVar[str] = "random_per_system"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "system"})
    summary: ClassVar[str] = "sentinel: a number drawn from the name of the system"

    def __post_init__(self) -> None:
        check_range(self.name, "seed", self.seed, -_LARGEST_SEED, _LARGEST_SEED)

    def score(self, batch: Batch) -> Scores:
        """A number in [0, 1)."""
        systems = list(dict.fromkeys(batch["system"]))
        drawn = dict(zip(systems, _uniform(self.seed, systems).tolist()))
        return np.array([drawn[system] for system in batch["system"]], dtype=np.float64)


def _length(output: Any) -> int:
    return len(output.split()) if isinstance(output, str) else len(output)


def _uniform(seed: int, values: Iterable[Any]) -> Scores:
    """For each value a number in [0, 1) that depends on nothing but the seed and the value."""
    begun = hashlib.blake2b(digest_size=8, key=str(seed).encode())
    drawn = []
    for value in values:
        text = value if isinstance(value, str) else "\0".join(map(str, value))
        own = begun.copy()
        own.update(text.encode("utf-8", "surrogatepass"))
        drawn.append(own.digest())
    return (np.frombuffer(b"".join(drawn), "<u8") >> 11).astype(np.float64) * 2.0**-53


SENTINELS = (Length, Random, Constant, RandomPerSystem)
METRICS = SENTINELS
