"""Random streams: known values, and the rule that nothing but (seed, item, text, name) matters."""

from hashlib import blake2b
from zlib import crc32

import numpy as np
import pytest

from metassay.stats import random
from metassay.stats.compilation import kernel
from metassay.stats.random import (
    FAIR_DEPENDENCE,
    SYSTEM_SUBSETS,
    Stream,
    derive_key,
    derive_keys,
    draw_below,
    hash_output,
    hash_outputs,
    make_branch_generator,
    make_generator,
    make_keyed_generator,
    make_named_generator,
    make_text_generator,
    mix,
    mix_array,
    mix_in_kernel,
)


def test_splitmix64_gives_the_published_sequence() -> None:
    # First outputs of SplitMix64 from state 1234567, as published with the reference implementation.
    increment, state = 0x9E3779B97F4A7C15, 1234567
    drawn = []
    for _ in range(5):
        state = (state + increment) & (2**64 - 1)
        drawn.append(mix(state))
    assert drawn == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_many_keys_equal_single_keys() -> None:
    items, texts = ["1", "2", "2"], ["a b", "", "ä 🙂"]
    keys = hash_outputs(3, items, texts)
    assert keys.tolist() == [hash_output(3, item, text) for item, text in zip(items, texts)]
    assert derive_keys(keys, "removal").tolist() == [derive_key(key, "removal") for key in keys.tolist()]


@pytest.mark.parametrize(
    "other",
    [
        (1, "17", "a b", "removal"),
        (0, "18", "a b", "removal"),
        (0, "17", "a c", "removal"),
        (0, "17", "a b", "x"),
    ],
)
def test_each_part_of_the_key_matters(other: tuple[int, str, str, str]) -> None:
    here, there = Stream.of(0, "17", "a b", "removal"), Stream.of(*other)
    assert [here.below(1 << 30) for _ in range(4)] != [there.below(1 << 30) for _ in range(4)]


def test_item_and_text_do_not_run_together() -> None:
    assert hash_output(0, "1", "2a") != hash_output(0, "12", "a")


def test_draws_are_uniform() -> None:
    counts = np.bincount([Stream.of(0, str(i), "text", "x").below(10) for i in range(20_000)], minlength=10)
    chi_square = float(((counts - 2000) ** 2 / 2000).sum())
    assert chi_square < 27.9  # 99.9 % quantile with 9 degrees of freedom


def test_sample_is_without_replacement_and_reaches_every_order() -> None:
    drawn = {tuple(Stream.of(0, str(i), "", "x").sample(3, 3)) for i in range(500)}
    assert drawn == {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}


def test_lone_surrogates_are_no_reason_to_stop() -> None:
    assert hash_output(0, "1", "\ud800") != hash_output(0, "1", "\udfff")


@kernel
def _next_below(state: int, limit: int) -> tuple[int, int]:
    return draw_below(state, limit)


@kernel
def _mixed(value: int) -> int:
    return mix_in_kernel(value)


def test_compiled_steps_are_those_of_the_stream() -> None:
    key = hash_output(0, "17", "a b")
    stream, state = Stream(key), key
    for limit in (2, 3, 7, 1000):
        state, drawn = _next_below(np.uint64(state), limit)
        assert drawn == stream.below(limit)
    values = np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64)
    assert mix_array(values).tolist() == [mix(value) for value in values.tolist()]
    assert [int(_mixed(value)) for value in values] == [mix(value) for value in values.tolist()]


def test_streams_are_numpys_for_what_names_them() -> None:
    """Results that people have stored depend on these: they must never change."""
    expected = {
        "seed": (make_generator(3), np.random.default_rng(3)),
        "branch": (make_branch_generator(3, SYSTEM_SUBSETS, 9), np.random.default_rng(np.random.SeedSequence(3, spawn_key=(4, 9)))),
        "beside": (make_keyed_generator(3, FAIR_DEPENDENCE), np.random.default_rng([3, 2])),
        "named": (make_named_generator(3, "exchange", "topic"), np.random.default_rng([3, crc32(b"exchange"), crc32(b"topic")])),
        "hashed": (make_text_generator(3, "g\0p\0007"), np.random.default_rng([3, int.from_bytes(blake2b(b"g\0p\x007", digest_size=8).digest(), "little")])),
    }  # fmt: skip
    for name, (own, numpys) in expected.items():
        assert own.integers(2**63) == numpys.integers(2**63), name


def test_no_two_branches_are_the_same() -> None:
    branches = (
        random.RESAMPLED_UNITS,
        random.SEGMENT_SUBSETS,
        random.NOISE_METRIC,
        random.SYSTEM_SUBSETS,
        random.AGREEMENT_THRESHOLDS,
        random.PAIRWISE_DELETION,
    )
    assert len({int(make_branch_generator(0, number).integers(2**63)) for number in branches}) == len(
        branches
    )
