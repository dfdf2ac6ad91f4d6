"""Divide numbers into buckets of equal frequency or into ranges, and name them by their bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError

# Six digits are easy to read; more are written only for bounds that would look equal.
_READABLE_DIGITS = 6


def assign_to_equal_frequency_buckets(
    numbers: NDArray[np.float64], bucket_count: int, group_of_number: Sequence[str], column_name: str
) -> tuple[list[str | None], list[str]]:
    """Divide the numbers of each group into buckets: ranges that hold about equally many numbers each.

    Equal numbers are never in different buckets. Returns the label of each number (None for NaN) and notes on
    groups with fewer buckets; `column_name` is named in them.
    """
    labels: list[str | None] = [None] * len(numbers)
    notes = []
    group_names = sorted(set(group_of_number))
    groups_of_rows = np.array(group_of_number)
    for group in group_names:
        rows = np.flatnonzero((groups_of_rows == group) & ~np.isnan(numbers))
        values = numbers[rows]
        smaller_values = np.searchsorted(np.sort(values), values)
        buckets = smaller_values * bucket_count // max(len(values), 1)
        distinct_buckets = np.unique(buckets)
        bounds = []
        for bucket in distinct_buckets:
            members = values[buckets == bucket]
            bounds.append((members.min(), members.max()))
        prefix = f"{group}+" if len(group_names) > 1 else ""
        for bucket, name in zip(distinct_buckets, format_bucket_intervals(bounds)):
            for row in rows[buckets == bucket]:
                labels[row] = prefix + name
        if len(distinct_buckets) < bucket_count:
            of_group = f" of {group}" if len(group_names) > 1 else ""
            counts = f"{len(distinct_buckets)} buckets instead of {bucket_count}"
            notes.append(f"{column_name}{of_group} has {counts}, because equal values stay together.")
    return labels, notes


def find_range_of_each_number(
    numbers: NDArray[np.float64], range_bounds: str, context_definition: str
) -> list[str | None]:
    """Find the range in which each number lies. The ranges are given by their bounds, as in `-25..-5..0`.

    Returns names such as `[-25,-5)`, and None for a number outside all ranges. A range includes its lower
    bound. Only the last range includes its upper bound, so that its name ends with `]`. Errors quote
    `context_definition`, the text with which the user asked for these contexts, such as `length:0..10..20`.
    """
    try:
        bounds = np.array([float(bound) for bound in range_bounds.split("..")])
    except ValueError:
        raise InputError(f"{context_definition!r} has bounds that are not numbers.") from None
    if len(bounds) < 2 or not (np.diff(bounds) > 0).all():
        raise InputError(f"{context_definition!r} needs two or more bounds in increasing order.")
    codes = np.searchsorted(bounds, numbers, side="right") - 1
    codes[numbers == bounds[-1]] = len(bounds) - 2
    is_inside = (codes >= 0) & (codes < len(bounds) - 1) & ~np.isnan(numbers)
    names = format_bucket_intervals(list(pairwise(bounds.tolist())))
    names[:-1] = [name.removesuffix("]") + ")" for name in names[:-1]]
    return [names[code] if inside else None for code, inside in zip(codes, is_inside)]


def format_bucket_intervals(bucket_bounds: Sequence[tuple[float, float]]) -> list[str]:
    """Format ranges of numbers as texts such as `[0.1,0.25]`, with enough digits to tell all bounds apart.

    Only bounds that six digits do not tell apart have more digits.

    >>> format_bucket_intervals([(0.0, 0.1234561), (0.1234562, 1e9)])
    ['[0,0.1234561]', '[0.1234562,1e09]']
    """
    numbers = {float(bound) for interval in bucket_bounds for bound in interval}
    short_texts = {number: f"{number:.{_READABLE_DIGITS}g}" for number in numbers}
    text_counts = Counter(short_texts.values())
    text_of = {}
    for number, short_text in short_texts.items():
        # The shortest text that stands for this number and no other, without the `.0` of whole numbers.
        exact_text = repr(number).removesuffix(".0")
        text_of[number] = (short_text if text_counts[short_text] == 1 else exact_text).replace("e+", "e")
    return [f"[{text_of[float(low)]},{text_of[float(high)]}]" for low, high in bucket_bounds]
