"""The order of contexts that are numbers, or buckets of numbers."""

from __future__ import annotations

import math
import re

_BUCKET = re.compile(r"^[\[(]\s*(-?\d+(?:\.\d+)?(?:e-?\d+)?)\s*,")


def position(context: str) -> float | None:
    """Where a context stands: a number, or the low end of a bucket; None for names.

    >>> position("[-2.5,-1]"), position("7"), position("news")
    (-2.5, 7.0, None)
    """
    bucket = _BUCKET.match(context)
    try:
        found = float(bucket.group(1) if bucket else context)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
