"""Random streams: known values, and the rule that nothing but (seed, item, text, name) matters."""

import numpy as np
import pytest

from metassay.text.streams import Stream, mix, named_key, named_keys, output_key, output_keys


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
    keys = output_keys(3, items, texts)
    assert keys.tolist() == [output_key(3, item, text) for item, text in zip(items, texts)]
    assert named_keys(keys, "removal").tolist() == [named_key(key, "removal") for key in keys.tolist()]


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
    assert output_key(0, "1", "2a") != output_key(0, "12", "a")


def test_draws_are_uniform() -> None:
    counts = np.bincount([Stream.of(0, str(i), "text", "x").below(10) for i in range(20_000)], minlength=10)
    chi_square = float(((counts - 2000) ** 2 / 2000).sum())
    assert chi_square < 27.9  # 99.9 % quantile with 9 degrees of freedom


def test_sample_is_without_replacement_and_reaches_every_order() -> None:
    drawn = {tuple(Stream.of(0, str(i), "", "x").sample(3, 3)) for i in range(500)}
    assert drawn == {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}


def test_lone_surrogates_are_no_reason_to_stop() -> None:
    assert output_key(0, "1", "\ud800") != output_key(0, "1", "\udfff")
