"""The fuzzer: its seeds are valid, its cases come again, it finds what is there, and today it finds nothing."""

from __future__ import annotations

from random import Random

import pytest
from scripts.fuzz.__main__ import Tally, fuzz, run_case
from scripts.fuzz.mutations import mutated
from scripts.fuzz.targets import SEEDS, TARGETS, Target

from metassay.errors import InputError

WITH_FILES = [target for target in TARGETS if target.name not in ("specs", "settings")]


@pytest.mark.parametrize("target", WITH_FILES, ids=lambda target: target.name)
def test_every_seed_is_read_as_long_as_it_is_whole(target, tmp_path) -> None:
    for name, content in target.files().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    target.read(tmp_path, Random(1))


def test_a_case_is_the_same_each_time() -> None:
    content = (SEEDS / "table" / "data.csv").read_bytes()
    cases = [mutated(content, [content], Random(f"0/{number}")) for number in range(200)]
    assert cases == [mutated(content, [content], Random(f"0/{number}")) for number in range(200)]
    assert len(set(cases)) > 150
    assert content not in cases[:5]


def test_what_is_wrong_is_found(tmp_path) -> None:
    def fail(error: BaseException):
        def read(*_: object) -> None:
            raise error

        return Target("it", dict, read)

    long = InputError("x")
    long.args = ("y" * 501,)
    for target, expected in (
        (fail(KeyError("x")), "KeyError"),
        (fail(BaseException("panic")), "BaseException"),
        (fail(long), "a message of 501 characters"),
    ):
        tally = Tally()
        run_case(target, 0, 0, tally, tmp_path)
        assert expected in next(iter(tally.failures))
    tally = Tally()
    run_case(fail(InputError("short")), 0, 0, tally, tmp_path)
    assert (tally.failures, tally.refused["it"]) == ({}, 1)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_nothing_but_our_own_errors_comes_out(target) -> None:
    cases = 20 if target.name == "run folder" else 120
    tally = fuzz(cases, 2026, (target,))
    assert tally.cases[target.name] == cases
    assert tally.failures == {}
