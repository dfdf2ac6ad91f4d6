"""The order of contexts that are numbers, or buckets of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_BUCKET = re.compile(r"^[\[(]\s*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*,")
_IDENTIFIER = re.compile(
    r"(^|[_ .-])(id|item|seg|segment|doc|document|chapter|speaker|session|system|rater|topic|query|user)s?$",
    re.IGNORECASE,
)


def ordered(column: str, contexts: Sequence[str]) -> bool:
    """Whether contexts are amounts along which accuracy can rise or fall: never where they are names.

    >>> ordered("length:3", ["[1,5]", "[6,9]"]), ordered("doc_id", ["7", "9"])
    (True, False)
    """
    return not _IDENTIFIER.search(column) and all(position(context) is not None for context in contexts)


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
