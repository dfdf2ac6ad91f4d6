"""Arrays: their types, their values in JSON, and grouping them in linear time.

Blocks of work shared out over threads, with BLAS on one thread each so that results never depend on it.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from metassay.stats.compilation import kernel

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@overload
def to_json_values(value: float) -> float | None: ...
@overload
def to_json_values(value: Any) -> Any: ...
def to_json_values(value: Any) -> Any:
    """The same value as JSON has it: without numpy types, and None for what is undefined (NaN), at any depth.

    >>> plain({"tau": np.array([0.5, np.nan]), "n": np.int64(2)})
    {'tau': [0.5, None], 'n': 2}
    """
    if isinstance(value, dict):
        return {str(key): to_json_values(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_values(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return to_json_values(value.tolist())
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def mean_ignoring_nan(parts: Sequence[FloatArray]) -> FloatArray:
    """The mean of arrays of one shape, each value over the arrays that have it; NaN where none has.

    >>> known_mean([np.array([1.0, np.nan]), np.array([3.0, 5.0])]).tolist()
    [2.0, 5.0]
    """
    stacked = np.stack(parts)
    known = ~np.isnan(stacked)
    count = known.sum(axis=0)
    total = np.where(known, stacked, 0).sum(axis=0)
    mean: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean


def count_codes(codes: IntArray, groups: int) -> LongArray:
    """How often each code from 0 on occurs; negative ones are left out.

    >>> code_counts(np.array([2, 0, -1, 0], dtype=np.int32), 3).tolist()
    [2, 0, 1]
    """
    return _code_counts(np.ascontiguousarray(codes, dtype=np.int32), groups)


@kernel
def _code_counts(codes: IntArray, groups: int) -> LongArray:
    counts = np.zeros(groups, np.int64)
    for place in range(len(codes)):
        if codes[place] >= 0:
            counts[codes[place]] += 1
    return counts


def sort_by_code(keys: IntArray, groups: int) -> IntArray:
    """Positions sorted by key, equal keys in their given order; negative keys are left out.

    >>> counting_order(np.array([2, 0, -1, 0], dtype=np.int32), 3).tolist()
    [1, 3, 0]
    """
    return _counting_order(np.ascontiguousarray(keys, dtype=np.int32), groups)


def find_run_starts(*columns: IntArray) -> LongArray:
    """Where a new combination of values begins in columns sorted together, and the length at the end.

    >>> run_starts(np.array([0, 0, 1, 1], dtype=np.int32), np.array([5, 5, 5, 6], dtype=np.int32)).tolist()
    [0, 2, 3, 4]
    """
    length = len(columns[0])
    new = np.zeros(length, dtype=np.bool_)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return np.append(np.flatnonzero(new), length).astype(np.int64)


@kernel
def _counting_order(keys: IntArray, groups: int) -> IntArray:
    next_place = np.zeros(groups + 1, np.int64)
    for position in range(len(keys)):
        if keys[position] >= 0:
            next_place[keys[position] + 1] += 1
    for group in range(groups):
        next_place[group + 1] += next_place[group]
    order = np.empty(next_place[groups], np.int32)
    for position in range(len(keys)):
        key = keys[position]
        if key >= 0:
            order[next_place[key]] = position
            next_place[key] += 1
    return order


Block = TypeVar("Block")
Done = TypeVar("Done")


def map_blocks(
    function: Callable[[Block], Done], blocks: Iterable[Block], workers: int | None = None
) -> list[Done]:
    """`function` of every block, in order; `workers` threads, by default one per core.

    >>> map_blocks(abs, [-1, 2], workers=2)
    [1, 2]
    """
    with _libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(workers or _cores()) as pool:
        return list(pool.map(function, blocks))


@functools.cache
def _libraries() -> ThreadpoolController:
    """The linear algebra libraries in this process; finding them takes longer than a small block of work."""
    return ThreadpoolController()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


_BLOCK = 2**20
"""Values looked at together where there may be many millions: bounds memory."""


def pack_two_bits(codes: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Codes 0 to 3, four to a byte: the first quarter of them in the lowest bits."""
    size = -(-len(codes) // 4)
    found = np.zeros(size, dtype=np.uint8)
    for number in range(4):
        part = codes[number * size : (number + 1) * size]
        found[: len(part)] |= part.astype(np.uint8) << np.uint8(2 * number)
    return found


def unpack_two_bits(bytes_: NDArray[np.uint8], count: int) -> NDArray[np.int8]:
    """The codes that were packed.

    >>> unpacked(packed(np.array([3, 0, 1, 2, 2], dtype=np.int8)), 5).tolist()
    [3, 0, 1, 2, 2]
    """
    parts = [(bytes_ >> np.uint8(2 * number)) & np.uint8(3) for number in range(4)]
    return np.concatenate(parts)[:count].view(np.int8)


def find_distinct(numbers: LongArray) -> tuple[LongArray, LongArray]:
    """The distinct ones of small numbers, in order, and which of them each is: without sorting.

    >>> [own.tolist() for own in distinct(np.array([7, 2, 7]))]
    [[2, 7], [1, 0, 1]]
    """
    places = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
    places[numbers] = 1
    found = np.flatnonzero(places)
    places[found] = np.arange(len(found))
    return found, places[numbers]


def find_positions(mask: BoolArray) -> NDArray[np.uint32]:
    """Where a mask holds, ascending."""
    parts = [
        (start + np.flatnonzero(mask[start : start + _BLOCK])).astype(np.uint32)
        for start in range(0, len(mask), _BLOCK)
    ]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint32)


def find_lowest(values: NDArray[np.floating[Any]], most: int) -> LongArray:
    """The places of the `most` lowest values, in order; of equal ones the first, NaN last.

    >>> lowest(np.array([3.0, np.nan, 1.0, 2.0, 1.0]), 3).tolist()
    [2, 4, 3]
    """
    if len(values) <= most:
        return np.argsort(values, kind="stable")
    last = np.partition(values, most - 1)[most - 1]
    gaps = np.isnan(values)
    clear, equal = (~gaps, gaps) if np.isnan(last) else (values < last, values == last)
    few = most - np.count_nonzero(clear)
    chosen = np.sort(np.concatenate([np.flatnonzero(clear), np.flatnonzero(equal)[:few]]))
    return chosen[np.argsort(values[chosen], kind="stable")]


def count_code_pairs(
    first: NDArray[np.int8],
    second: NDArray[np.int8],
    mask: BoolArray | None = None,
    there: LongArray | None = None,
) -> LongArray:
    """How often codes 0 to 3 stand together, `[4, 4]`; where the `mask` holds, where there is one.

    `there` are the places in the second array of those in the first, below 0 for none.

    >>> counted_together(np.array([0, 1, 1], np.int8), np.array([2, 3, 3], np.int8))[:2].tolist()
    [[0, 0, 1, 0], [0, 0, 0, 2]]
    """
    counts = np.zeros(16, dtype=np.int64)
    for start in range(0, len(first), _BLOCK):
        own = np.arange(start, min(start + _BLOCK, len(first)))
        own = own if mask is None else own[mask[own]]
        places = own if there is None else there[own]
        known = places >= 0
        counts += np.bincount(4 * first[own[known]] + second[places[known]], minlength=16)
    return counts.reshape(4, 4)


def average_ranks(values: ArrayLike) -> FloatArray:
    """Ranks from 1 along the last axis; equal values share the mean of theirs. NaN where one is NaN.

    >>> average_ranks([30, 10, 30]).tolist()
    [2.5, 1.0, 2.5]
    """
    given = np.asarray(values)
    order = np.argsort(given, axis=-1, kind="stable")
    ordered = np.take_along_axis(given, order, axis=-1)
    place = np.broadcast_to(np.arange(given.shape[-1]), given.shape)
    differs = ordered[..., 1:] != ordered[..., :-1]
    edge = np.ones((*given.shape[:-1], 1), dtype=np.bool_)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, differs], axis=-1), place, 0), axis=-1)
    ends = np.where(np.concatenate([differs, edge], axis=-1), place, given.shape[-1])
    last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(given.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=-1)
    ranks[np.isnan(given).any(axis=-1)] = np.nan
    return ranks


def build_row_offsets(rows: Iterable[Sequence[Any]]) -> LongArray:
    """Where each row begins when all are laid end to end, and where the last one ends.

    >>> row_starts(["ab", "", "c"]).tolist()
    [0, 2, 2, 3]
    """
    return np.cumsum([0, *map(len, rows)], dtype=np.int64)
