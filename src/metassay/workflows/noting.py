"""What metrics warn of, as notes of a result."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from metassay.errors import Counted


@contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """A list that holds, once the block is left, what was warned of in it, each warning once, sorted."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield notes
    notes.extend(sorted(_summed(w.message for w in caught if issubclass(w.category, UserWarning))))


def _summed(messages: Iterable[Warning | str]) -> set[str]:
    """Each message once; counts of one kind, which parts of a run report apart, as one count."""
    plain: set[str] = set()
    counts: dict[str, int] = {}
    for message in messages:
        if isinstance(message, Counted):
            counts[message.kind] = counts.get(message.kind, 0) + message.count
        else:
            plain.add(str(message))
    return plain | {str(Counted(count, kind)) for kind, count in counts.items()}
