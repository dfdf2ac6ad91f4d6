"""Streams have known values and depend on seed, item, text and name only."""

import numpy as np
import pytest

from metassay.stats.stream_kernels import draw_integer_below, hash_integer_in_compiled_code
from metassay.stats.streams import (
    Stream,
    compute_output_seed,
    compute_output_seeds,
    derive_seed_from_name,
    derive_seeds_from_name,
    hash_integer,
    hash_integers,
)


def create_stream(seed: int, item: str, text: str, perturbation: str) -> Stream:
    return Stream(derive_seed_from_name(compute_output_seed(seed, item, text), perturbation))


def test_splitmix64_gives_the_published_sequence() -> None:
    # First outputs of SplitMix64 from state 1234567, as published with the reference implementation.
    increment, state = 0x9E3779B97F4A7C15, 1234567
    drawn = []
    for _ in range(5):
        state = (state + increment) & (2**64 - 1)
        drawn.append(hash_integer(state))
    assert drawn == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_keys_of_many_outputs_equal_single_keys() -> None:
    items, texts = ["1", "2", "2"], ["a b", "", "ä 🙂"]
    keys = compute_output_seeds(3, items, texts)
    assert keys.tolist() == [compute_output_seed(3, item, text) for item, text in zip(items, texts)]
    assert derive_seeds_from_name(keys, "removal").tolist() == [
        derive_seed_from_name(key, "removal") for key in keys.tolist()
    ]


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
    stream = create_stream(0, "17", "a b", "removal")
    other_stream = create_stream(*other)
    draws = [stream.draw_integer_below(1 << 30) for _ in range(4)]
    assert draws != [other_stream.draw_integer_below(1 << 30) for _ in range(4)]


def test_item_and_text_are_separated() -> None:
    assert compute_output_seed(0, "1", "2a") != compute_output_seed(0, "12", "a")


def test_draws_are_uniform() -> None:
    counts = np.bincount(
        [create_stream(0, str(i), "text", "x").draw_integer_below(10) for i in range(20_000)],
        minlength=10,
    )
    chi_square = float(((counts - 2000) ** 2 / 2000).sum())
    assert chi_square < 27.9  # 99.9 % quantile with 9 degrees of freedom


def test_sample_is_without_replacement_and_reaches_every_order() -> None:
    drawn = {tuple(create_stream(0, str(i), "", "x").sample(3, 3)) for i in range(500)}
    assert drawn == {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}


def test_lone_surrogates_are_hashed() -> None:
    assert compute_output_seed(0, "1", "\ud800") != compute_output_seed(0, "1", "\udfff")


def test_compiled_draws_equal_those_of_the_stream() -> None:
    key = compute_output_seed(0, "17", "a b")
    stream, state = Stream(key), key
    for limit in (2, 3, 7, 1000):
        state, drawn = draw_integer_below(np.uint64(state), limit)
        assert drawn == stream.draw_integer_below(limit)
    values = np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64)
    assert hash_integers(values).tolist() == [hash_integer(value) for value in values.tolist()]
    assert [int(hash_integer_in_compiled_code(value)) for value in values] == [
        hash_integer(value) for value in values.tolist()
    ]
