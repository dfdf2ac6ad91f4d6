"""What metrics warn of, as notes of a result."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """A list that holds, once the block is left, what was warned of in it, each warning once, sorted."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield notes
    notes.extend(sorted({str(w.message) for w in caught if issubclass(w.category, UserWarning)}))
