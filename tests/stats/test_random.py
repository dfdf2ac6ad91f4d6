"""Generators equal NumPy's for the same seed and key: published results depend on them."""

from hashlib import blake2b
from zlib import crc32

import numpy as np

from metassay.stats import random
from metassay.stats.random import (
    SYSTEM_SUBSETS,
    create_random_generator_for_name,
    create_random_generator_from_text,
    spawn_random_generator,
)


def draws_equal(ours: np.random.Generator, expected: np.random.Generator) -> bool:
    return ours.integers(2**63) == expected.integers(2**63)


def test_generators_are_those_of_numpy() -> None:
    assert draws_equal(np.random.default_rng(3), np.random.default_rng(3))
    branch = np.random.SeedSequence(3, spawn_key=(4, 9))
    assert draws_equal(spawn_random_generator(3, SYSTEM_SUBSETS, 9), np.random.default_rng(branch))
    names = [crc32(b"exchange"), crc32(b"topic")]
    assert draws_equal(
        create_random_generator_for_name(3, "exchange", "topic"), np.random.default_rng([3, *names])
    )
    digest = int.from_bytes(blake2b(b"g\0p\x007", digest_size=8).digest(), "little")
    assert draws_equal(create_random_generator_from_text(3, "g\0p\0007"), np.random.default_rng([3, digest]))


def test_no_two_branches_are_the_same() -> None:
    branches = (
        random.RESAMPLED_UNITS,
        random.SEGMENT_SUBSETS,
        random.NOISE_METRIC,
        random.SYSTEM_SUBSETS,
        random.AGREEMENT_THRESHOLDS,
        random.PAIRWISE_DELETION,
        random.SPAN_EXCHANGES,
        random.CORRECTION_FOLDS,
        random.CORRECTION_DRAWS,
    )
    first_draws = {int(spawn_random_generator(0, branch).integers(2**63)) for branch in branches}
    assert len(first_draws) == len(branches)
