"""Array types, and functions that group, rank, pack and count the values of arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# Values that are processed at a time where there may be many millions: bounds memory.
_BLOCK = 2**20


@overload
def to_json_values(value: float) -> float | None: ...
@overload
def to_json_values(value: Any) -> Any: ...
def to_json_values(value: Any) -> Any:
    """Convert a value to types that JSON can hold.

    NumPy types become plain ones and NaN becomes None, also inside lists and dictionaries.

    >>> to_json_values({"tau": np.array([0.5, np.nan]), "n": np.int64(2)})
    {'tau': [0.5, None], 'n': 2}
    """
    if isinstance(value, dict):
        return {str(key): to_json_values(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_values(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return to_json_values(value.tolist())
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def divide_or_nan(numerator: ArrayLike, denominator: ArrayLike) -> FloatArray:
    """Divide two arrays elementwise. The result is NaN where the denominator is not positive.

    >>> divide_or_nan([1.0, 2.0], [4.0, 0.0]).tolist()
    [0.25, nan]
    """
    return _divide_where_denominator_is_positive(numerator, denominator, np.nan)


def divide_or_zero(numerator: ArrayLike, denominator: ArrayLike) -> FloatArray:
    """Divide two arrays elementwise. The result is 0 where the denominator is not positive.

    >>> divide_or_zero([1.0, 2.0], [4.0, 0.0]).tolist()
    [0.25, 0.0]
    """
    return _divide_where_denominator_is_positive(numerator, denominator, 0.0)


def _divide_where_denominator_is_positive(
    numerator: ArrayLike, denominator: ArrayLike, default: float
) -> FloatArray:
    """Divide two arrays elementwise, and use a default value where the denominator is not positive."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    quotient = np.full(numerator.shape, default)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient


def mean_ignoring_nan(values: FloatArray, axis: int) -> FloatArray:
    """Average an array along an axis without its NaN values. The result is NaN where all values are NaN.

    >>> mean_ignoring_nan(np.array([[1.0, np.nan], [3.0, 5.0]]), axis=0).tolist()
    [2.0, 5.0]
    """
    is_defined = ~np.isnan(values)
    return divide_or_nan(np.where(is_defined, values, 0).sum(axis=axis), is_defined.sum(axis=axis))


def round_off_float_errors(values: FloatArray) -> FloatArray:
    """Round values to 12 decimals, so that values that differ only by floating-point errors become equal.

    Sums of the same numbers in another order differ in about the 16th decimal.
    """
    return np.asarray(np.round(values, 12))


def count_occurrences(integers: IntArray, value_count: int) -> LongArray:
    """Count how often each integer from 0 to `value_count` - 1 occurs in an array. Negative integers are
    ignored.

    >>> count_occurrences(np.array([2, 0, -1, 0], dtype=np.int32), 3).tolist()
    [2, 0, 1]
    """
    return np.bincount(integers[integers >= 0], minlength=value_count)


def argsort_integers(integers: IntArray, value_count: int) -> IntArray:
    """Return the positions that sort the non-negative integers of an array.

    Equal integers keep their order.

    >>> argsort_integers(np.array([2, 0, -1, 0], dtype=np.int32), 3).tolist()
    [1, 3, 0]
    """
    # Converted before they are sorted, because there may be tens of millions.
    positions = np.flatnonzero(integers >= 0).astype(np.int32)
    keys = integers[positions]
    if value_count <= 2**16:
        keys = keys.astype(np.uint16)  # which NumPy sorts in linear time
    return positions[np.argsort(keys, kind="stable")]


def find_starts_of_equal_rows(*columns: IntArray) -> LongArray:
    """Return where each run of equal rows begins in a sorted table.

    The table is given as its columns. The last entry is the number of rows.

    >>> find_starts_of_equal_rows(np.array([0, 0, 1, 1], np.int32), np.array([5, 5, 5, 6], np.int32)).tolist()
    [0, 2, 3, 4]
    """
    length = len(columns[0])
    is_start = np.zeros(length, dtype=np.bool_)
    is_start[:1] = True
    for column in columns:
        is_start[1:] |= column[1:] != column[:-1]
    return np.append(np.flatnonzero(is_start), length).astype(np.int64)


def compute_start_of_each_row(rows: Iterable[Sequence[Any]]) -> LongArray:
    """Return the position at which each row begins when all rows are concatenated. The last entry is the
    total length.

    >>> compute_start_of_each_row(["ab", "", "c"]).tolist()
    [0, 2, 2, 3]
    """
    return np.cumsum([0, *map(len, rows)], dtype=np.int64)


def find_distinct_integers(integers: LongArray) -> tuple[LongArray, LongArray]:
    """Return the distinct values of an array of integers, and the position of each element's value among
    them.

    Integers must be small and not negative; the distinct values are sorted. Equals `np.unique(numbers,
    return_inverse=True)`, but takes linear time.

    >>> [result.tolist() for result in find_distinct_integers(np.array([7, 2, 7]))]
    [[2, 7], [1, 0, 1]]
    """
    index_of_value = np.zeros(int(integers.max(initial=-1)) + 1, np.int64)
    index_of_value[integers] = 1
    values = np.flatnonzero(index_of_value)
    index_of_value[values] = np.arange(len(values))
    return values, index_of_value[integers]


def convert_labels_to_integers(labels: NDArray[Any]) -> LongArray:
    """Replace each label by its position among the sorted distinct labels.

    >>> convert_labels_to_integers(np.array([7, 3, 7]))
    array([1, 0, 1])
    """
    codes: LongArray = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return codes


def find_true_positions(mask: BoolArray) -> NDArray[np.uint32]:
    """Return the positions of the true values of a mask, with half the memory of `np.flatnonzero`."""
    blocks = []
    for start in range(0, len(mask), _BLOCK):
        blocks.append((start + np.flatnonzero(mask[start : start + _BLOCK])).astype(np.uint32))
    return np.concatenate(blocks) if blocks else np.empty(0, dtype=np.uint32)


def find_positions_of_lowest(values: NDArray[np.floating[Any]], count: int) -> LongArray:
    """Return the positions of the `count` lowest values in ascending order. NaN counts as higher than any
    number.

    >>> find_positions_of_lowest(np.array([3.0, np.nan, 1.0, 2.0, 1.0]), 3).tolist()
    [2, 4, 3]
    """
    if len(values) <= count:
        return np.argsort(values, kind="stable")
    last = np.partition(values, count - 1)[count - 1]
    undefined = np.isnan(values)
    is_below = ~undefined if np.isnan(last) else values < last
    is_last = undefined if np.isnan(last) else values == last
    free_places = count - np.count_nonzero(is_below)
    chosen = np.concatenate([np.flatnonzero(is_below), np.flatnonzero(is_last)[:free_places]])
    chosen.sort()
    return chosen[np.argsort(values[chosen], kind="stable")]


def pack_codes_into_two_bits(codes: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Pack integers from 0 to 3 into two bits each, so that four of them share a byte."""
    size = -(-len(codes) // 4)
    packed_codes = np.zeros(size, dtype=np.uint8)
    for number in range(4):
        quarter = codes[number * size : (number + 1) * size]
        packed_codes[: len(quarter)] |= quarter.astype(np.uint8) << np.uint8(2 * number)
    return packed_codes


def unpack_codes_from_two_bits(packed_codes: NDArray[np.uint8], count: int) -> NDArray[np.int8]:
    """Restore the first `count` integers from an array that `pack_codes_into_two_bits` returned.

    >>> packed_codes = pack_codes_into_two_bits(np.array([3, 0, 1, 2, 2], dtype=np.int8))
    >>> unpack_codes_from_two_bits(packed_codes, 5).tolist()
    [3, 0, 1, 2, 2]
    """
    quarters = [(packed_codes >> np.uint8(2 * number)) & np.uint8(3) for number in range(4)]
    return np.concatenate(quarters)[:count].view(np.int8)


def count_joint_occurrences(
    first_codes: NDArray[np.int8],
    second_codes: NDArray[np.int8],
    mask: BoolArray | None = None,
    second_positions: LongArray | None = None,
) -> LongArray:
    """Count for each pair of codes from 0 to 3 how often they occur at the same position of two arrays.

    Returns [4, 4]. Only positions where `mask` is true count. `second_positions` are the positions in the
    second array that belong to those in the first, negative where there is none; by default they are the
    same.

    >>> count_joint_occurrences(np.array([0, 1, 1], np.int8), np.array([2, 3, 3], np.int8))[:2].tolist()
    [[0, 0, 1, 0], [0, 0, 0, 2]]
    """
    counts = np.zeros(16, dtype=np.int64)
    for start in range(0, len(first_codes), _BLOCK):
        positions = np.arange(start, min(start + _BLOCK, len(first_codes)))
        if mask is not None:
            positions = positions[mask[positions]]
        partners = positions if second_positions is None else second_positions[positions]
        has_partner = partners >= 0
        pair_codes = 4 * first_codes[positions[has_partner]] + second_codes[partners[has_partner]]
        counts += np.bincount(pair_codes, minlength=16)
    return counts.reshape(4, 4)


def average_ranks(values: ArrayLike) -> FloatArray:
    """Rank values in ascending order from 1 along the last axis. Equal values share the mean of their ranks.

    All ranks are NaN where a value is NaN. Equals `scipy.stats.rankdata(values, axis=-1)`.

    >>> average_ranks([30, 10, 30]).tolist()
    [2.5, 1.0, 2.5]
    """
    values = np.asarray(values)
    size = values.shape[-1]
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    position = np.broadcast_to(np.arange(size), values.shape)
    differs = ordered[..., 1:] != ordered[..., :-1]
    edge = np.ones((*values.shape[:-1], 1), dtype=np.bool_)
    starts = np.where(np.concatenate([edge, differs], axis=-1), position, 0)
    first = np.maximum.accumulate(starts, axis=-1)
    ends = np.where(np.concatenate([differs, edge], axis=-1), position, size)
    last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=-1)
    ranks[np.isnan(values).any(axis=-1)] = np.nan
    return ranks
