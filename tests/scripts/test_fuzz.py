"""The fuzzer: its seed files are valid, its cases are reproducible, and it finds errors only where there are some."""

from __future__ import annotations

from random import Random

import pytest
from scripts.fuzz.__main__ import Tally, fuzz, run_case
from scripts.fuzz.mutations import damage_content
from scripts.fuzz.targets import SEEDS, TARGETS, Target

from metassay.errors import InputError

WITH_FILES = [target for target in TARGETS if target.name not in ("specs", "settings")]


@pytest.mark.parametrize("target", WITH_FILES, ids=lambda target: target.name)
def test_every_seed_file_is_read_as_long_as_it_is_intact(target, tmp_path) -> None:
    for name, content in target.files().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    target.read(tmp_path, Random(1))


def test_cases_are_reproducible() -> None:
    content = (SEEDS / "table" / "data.csv").read_bytes()
    cases = [damage_content(content, [content], Random(f"0/{number}")) for number in range(200)]
    assert cases == [damage_content(content, [content], Random(f"0/{number}")) for number in range(200)]
    assert len(set(cases)) > 150
    assert content not in cases[:5]


def test_unexpected_errors_and_long_messages_are_failures(tmp_path) -> None:
    def raise_in_target(error: BaseException):
        def read(*_: object) -> None:
            raise error

        return Target("it", dict, read)

    long_error = InputError("x")
    long_error.args = ("y" * 501,)
    for target, expected in (
        (raise_in_target(KeyError("x")), "KeyError"),
        (raise_in_target(BaseException("panic")), "BaseException"),
        (raise_in_target(long_error), "a message of 501 characters"),
    ):
        tally = Tally()
        run_case(target, 0, 0, tally, tmp_path)
        assert expected in next(iter(tally.first_cases))
    tally = Tally()
    run_case(raise_in_target(InputError("short")), 0, 0, tally, tmp_path)
    assert (tally.failures.total(), tally.refused["it"]) == (0, 1)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_only_our_own_errors_are_raised(target) -> None:
    cases = 20 if target.name == "run folder" else 120
    tally = fuzz(cases, 2026, (target,))
    assert tally.cases[target.name] == cases
    assert tally.first_cases == {}
