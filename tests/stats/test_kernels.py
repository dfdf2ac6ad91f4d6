"""How kernels are compiled: against the same functions in plain Python, numpy, and a process that has the cache."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from metassay.stats import ZERO, copy_up_to, empty, kernel, kernel_part, zeros

_CHRF = """
import numpy as np
from metassay.metrics.kernels.ngrams import chrf_scores
print(chrf_scores(np.array([[4.0, 5.0, 3.0, 3.0, 4.0, 1.0]]), 2.0, False), sum(chrf_scores.stats.cache_hits.values()))
"""

_SCORES = """
import sacrebleu
from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric
from metassay.stats import _PARTS
texts, references = ["the cat sat on the mat", "a dog"], ["a cat sat on the mat", "the dog runs"]
print("pipeline_class" in _PARTS)
found = parse_metric("chrf").score(Batch.of(texts, [[text] for text in references]))
print([round(score, 8) for score in found.tolist()])
print([round(sacrebleu.sentence_chrf(*pair).score, 8) for pair in zip(texts, [[text] for text in references])])
"""


def _halved(value: int, steps: int) -> int:
    return value // 2 if steps == 0 else value // 4


@kernel_part
def _part(value: int, steps: int) -> int:
    return value // 2 if steps == 0 else value // 4


@kernel_part
def _whole(values: NDArray[np.int64], steps: int) -> int:
    total = 0
    for place in range(len(values)):
        total += _part(values[place], steps)
    return total


@kernel
def _sums(values: NDArray[np.int64]) -> tuple[int, int, int]:
    return _whole(values, 0), _whole(values, ZERO), _whole(values, len(values))


@kernel
def _made(
    n: int, m: int
) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.float64], NDArray[np.uint64]]:
    copied = empty(n, np.int32)
    copy_up_to(n, np.arange(n), copied)
    return copied, zeros(m, np.bool_), zeros((n, m), np.float64), zeros((n, m, 2), np.uint64)


def test_a_kernel_of_parts_does_what_python_does() -> None:
    values = np.array([7, 12, -5], dtype=np.int64)
    expected = [sum(_halved(value, steps) for value in values.tolist()) for steps in (0, 0, 3)]
    assert list(_sums(values)) == expected


def test_a_part_is_not_called_from_python() -> None:
    _sums(np.array([1], dtype=np.int64))
    with pytest.raises(KeyError, match="_whole is a part of kernels and not called from Python"):
        _whole(np.array([1], dtype=np.int64), 0)


def test_arrays_of_kernels_are_those_of_numpy() -> None:
    found = _made(4, 3)
    expected = (
        np.arange(4, dtype=np.int32),
        np.zeros(3, np.bool_),
        np.zeros((4, 3), np.float64),
        np.zeros((4, 3, 2), np.uint64),
    )
    for own, other in zip(found, expected):
        assert own.dtype == other.dtype
        assert own.flags.c_contiguous
        np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(zeros((2, 2), np.int8), np.zeros((2, 2), np.int8))
    assert empty(3, np.uint8).shape == (3,)


def test_a_kernel_from_the_cache_needs_no_parts(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", _CHRF]
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    )
    assert (first[-1], second[-1]) == ("0", "1")
    assert first[:-1] == second[:-1]


@pytest.mark.parametrize("plain", ["", "1"])
def test_with_a_numba_that_is_not_known_the_numbers_are_the_same(tmp_path: Path, plain: str) -> None:
    """Compiled as it does by itself; texts against sacrebleu's own scores."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "METASSAY_PLAIN_KERNELS": plain}
    command = [sys.executable, "-c", _SCORES]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    known, ours, official = done.splitlines()
    assert known == str(not plain)
    assert ours == official
