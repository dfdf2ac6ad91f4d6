"""Record warnings separately for each thread, as plain values that can be stored and issued again."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from typing import Any, Self

# Warnings as plain values: the count and text of a `CountedWarning`, or 0 and the whole message.
RecordedWarnings = tuple[tuple[int, str], ...]


class CountedWarning(UserWarning):
    """A warning that begins with a number, such as `3 texts were …`. If equal warnings are merged, their
    numbers are added up.
    """

    def __init__(self, count: int, text: str) -> None:
        self.count = count
        self.text = text
        super().__init__(f"{count:,} {text}")


class WarningRecorder:
    """Context manager that records the warnings of each thread separately.

    `warnings.catch_warnings(record=True)` has one list for all threads, so it cannot tell which batch a
    warning belongs to.
    """

    def __init__(self) -> None:
        self._per_thread = threading.local()
        self._outer_filters = warnings.catch_warnings()

    def __enter__(self) -> Self:
        self._outer_filters.__enter__()
        warnings.simplefilter("always", UserWarning)
        show_other_warning = warnings.showwarning

        def record_warning_of_thread(message: Warning | str, category: type[Warning], *location: Any) -> None:
            if not issubclass(category, UserWarning):
                show_other_warning(message, category, *location)
                return
            warning = (0, str(message))
            if isinstance(message, CountedWarning):
                warning = (message.count, message.text)
            self._per_thread.warnings = (*getattr(self._per_thread, "warnings", ()), warning)

        warnings.showwarning = record_warning_of_thread  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        self._outer_filters.__exit__(None, None, None)

    def pop_recorded_warnings(self) -> RecordedWarnings:
        """Return and delete the warnings that this thread has recorded."""
        recorded: RecordedWarnings = getattr(self._per_thread, "warnings", ())
        self._per_thread.warnings = ()
        return recorded


def reissue_warnings(recorded_warnings: Iterable[tuple[int, str]]) -> None:
    """Issue recorded warnings again."""
    for count, text in recorded_warnings:
        warning = CountedWarning(count, text) if count else text
        warnings.warn(warning, UserWarning, stacklevel=2)
