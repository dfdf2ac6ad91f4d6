"""NumPy random generators with independent numbers for every purpose.

A seed alone would give every analysis the same numbers, so each analysis adds a key to the seed: integers, a
name, or a text. Blocks of work get keys of their own, so that the result does not depend on the number of
threads. Perturbations use `metassay.stats.streams` instead.
"""

from __future__ import annotations

from hashlib import blake2b
from zlib import crc32

import numpy as np

# Keys for `spawn_random_generator`. Changing a number changes published results.
# After the key of a data set: bootstrap resamples of segments, documents or items.
RESAMPLED_UNITS = 1
# After the key of a data set: random subsets of the segments, drawn without replacement.
SEGMENT_SUBSETS = 2
# The baseline metric of random scores.
NOISE_METRIC = 3
# Random subsets of the systems; the number of systems is the next key.
SYSTEM_SUBSETS = 4
# Resamples of the systems, for the score difference above which human scores agree.
AGREEMENT_THRESHOLDS = 5
# Resamples of segments where every pair of systems uses the segments that both have.
PAIRWISE_DELETION = 6
# After the key of a data set: segments whose error spans are exchanged between two metrics.
SPAN_EXCHANGES = 7
# Folds of clusters, each of which is mapped by a function fitted to the others.
CORRECTION_FOLDS = 8
# Resamples of clusters, for the gain of a correction.
CORRECTION_DRAWS = 9

# Second numbers of `np.random.default_rng([seed, number])`. All metrics share them, so that the result for a
# metric does not depend on the other metrics of a run. Null hypothesis that all systems deviate alike.
EQUAL_DEPENDENCE = 1
# Null hypothesis that a metric favours no system.
FAIR_DEPENDENCE = 2
# Random subsets of the clusters, for dependence as a function of the sample size.
SAMPLE_SIZES = 1
# Random subsets of the systems, for dependence as a function of their number.
NUMBERS_OF_SYSTEMS = 2


def spawn_random_generator(seed: int, *key: int) -> np.random.Generator:
    """Create a random generator from a seed and one or more integers. Generators with different integers are
    independent.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def create_random_generator_for_name(seed: int, *names: str) -> np.random.Generator:
    """Create a random generator from a seed and one or more names. Generators with different names are
    independent.
    """
    return np.random.default_rng([seed, *(hash_name_to_integer(name) for name in names)])


def create_random_generator_from_text(seed: int, text: str) -> np.random.Generator:
    """Create a random generator that depends only on a seed and a text."""
    digest = blake2b(text.encode(), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "little")])


def hash_name_to_integer(name: str) -> int:
    """Turn a name into an integer below 2³² that is always the same for this name."""
    return crc32(name.encode())
