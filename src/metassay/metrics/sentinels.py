"""Sentinels: metrics that ignore quality on purpose, as controls.

If a real metric does no better than a sentinel, its result does not show that it measures quality.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.data.ranked_lists import RankedLists
from metassay.metrics.base import Batch, Metric, Scores, check_parameter_range

# Seeds of at most 64 bits.
_MAX_SEED = 2**63


@dataclass(frozen=True)
class SentinelMetric(Metric):
    """Base class of trivial metrics that serve as controls: a useful metric must do better than they do."""

    task: ClassVar[str] = "any"
    needs: ClassVar[frozenset[str]] = frozenset({"output"})
    is_cacheable: ClassVar[bool] = False
    is_trivial: ClassVar[bool] = True


@dataclass(frozen=True)
class Length(SentinelMetric):
    """Number of words of a text, or of documents of a ranked list; longer counts as better."""

    name: ClassVar[str] = "length"
    summary: ClassVar[str] = "sentinel: words in the output"

    def score(self, batch: Batch) -> Scores:
        """Count the words of each text, or the documents of each ranked list."""
        outputs = batch["output"]
        if isinstance(outputs, RankedLists):
            return outputs.lengths.astype(np.float64)
        return np.array([_measure_output_length(output) for output in outputs], dtype=np.float64)


@dataclass(frozen=True)
class Random(SentinelMetric):
    """A random number that depends only on the output. Equal outputs get the same number."""

    seed: int = 0

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "sentinel: a number drawn from the text of the output"

    def __post_init__(self) -> None:
        check_parameter_range(self.name, "seed", self.seed, -_MAX_SEED, _MAX_SEED)

    def score(self, batch: Batch) -> Scores:
        """Return a random number in [0, 1) for each output; equal outputs get the same number."""
        outputs = batch["output"]
        texts = outputs.join_document_ids() if isinstance(outputs, RankedLists) else outputs
        return _draw_uniform_number_per_value(self.seed, texts)


@dataclass(frozen=True)
class Constant(SentinelMetric):
    """The same score for every output."""

    name: ClassVar[str] = "constant"
    summary: ClassVar[str] = "sentinel: the same score for everything"

    def score(self, batch: Batch) -> Scores:
        """Return the score 0 for each output."""
        return np.zeros(len(batch), dtype=np.float64)


@dataclass(frozen=True)
class RandomPerSystem(SentinelMetric):
    """A random number for each system. All outputs of the system get this number as score."""

    seed: int = 0

    name: ClassVar[str] = "random_per_system"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "system"})
    summary: ClassVar[str] = "sentinel: a number drawn from the name of the system"

    def __post_init__(self) -> None:
        check_parameter_range(self.name, "seed", self.seed, -_MAX_SEED, _MAX_SEED)

    def score(self, batch: Batch) -> Scores:
        """Return the random number of each output's system, in [0, 1)."""
        systems = list(dict.fromkeys(batch["system"]))
        score_of_system = dict(zip(systems, _draw_uniform_number_per_value(self.seed, systems).tolist()))
        return np.array([score_of_system[system] for system in batch["system"]], dtype=np.float64)


SENTINELS = (Length, Random, Constant, RandomPerSystem)
SENTINEL_NAMES = frozenset(sentinel.name for sentinel in SENTINELS)


def _measure_output_length(output: str | Sequence[str]) -> int:
    """Return the number of words of a text, or of documents of a ranked list."""
    return len(output.split()) if isinstance(output, str) else len(output)


def _draw_uniform_number_per_value(seed: int, values: Iterable[str | Sequence[str]]) -> Scores:
    """Return a random number in [0, 1) for each value. The number depends only on the seed and the value."""
    keyed_hash = hashlib.blake2b(digest_size=8, key=str(seed).encode())
    digests = []
    for value in values:
        text = value if isinstance(value, str) else "\0".join(map(str, value))
        value_hash = keyed_hash.copy()  # faster than a new one for each value
        value_hash.update(text.encode("utf-8", "surrogatepass"))
        digests.append(value_hash.digest())
    # The upper 53 of 64 bits: as many as a float64 holds exactly.
    return (np.frombuffer(b"".join(digests), "<u8") >> 11).astype(np.float64) * 2.0**-53
