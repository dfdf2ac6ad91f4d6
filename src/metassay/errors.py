"""Errors a person can act on: what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
import os
import re
import threading
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Self

QUOTED = 80
"""So many characters of a value are quoted at most."""
_FILE = 160
_SENTENCE = 300
_MESSAGE = 490
_LONG_QUOTE = re.compile(rf"'[^']{{{QUOTED - 1},}}'|\"[^\"]{{{QUOTED - 1},}}\"")
_LONG_WORD = re.compile(rf"\S{{{QUOTED + 1},}}")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::.*://)", re.DOTALL)
_LOST_SLASH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/(?!/)")
COPIES: dict[str, str] = {}
"""Files and folders of this machine that stand for what lies elsewhere, and the addresses of that."""


def shortened(text: str, size: int = QUOTED) -> str:
    """A text of at most `size` characters: its beginning and its end, with … for what was cut.

    >>> shortened("a" * 50 + "b" * 50, 10)
    'aaaaaa…bbb'
    """
    if len(text) <= size:
        return text
    end = size // 3
    return f"{text[: size - end - 1]}…{text[-end:]}"


def _in_one_line(text: str, size: int) -> str:
    """A sentence with the values in it cut, in one line, and nothing that a terminal would obey."""
    text = shortened(text, 4 * _MESSAGE)
    for long in (_LONG_QUOTE, _LONG_WORD):
        text = long.sub(lambda found: shortened(found[0]), text)
    return shortened(_printable(" ".join(text.split())), size)


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class MetassayError(Exception):
    """Every error that metassay raises on purpose."""

    exit_code = 1


@dataclass(frozen=True)
class Place:
    """Where in the input something is wrong: any of file, row (first data row is 1) and column."""

    file: str | None = None
    row: int | None = None
    column: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        parts = [
            None if self.file is None else shortened(_printable(shortened(called(self.file), _FILE)), _FILE),
            None if self.row is None else f"row {self.row}",
            None if self.line is None else f"line {self.line}",
            None if self.column is None else f"column {_in_one_line(self.column, QUOTED)}",
        ]
        return ", ".join(part for part in parts if part is not None)


class InputError(MetassayError, ValueError):
    """Bad input or usage.

    Prints as `FILE, row N, column C: what is wrong.` and, where there is one, a second line with the remedy.
    Values that are quoted are cut at 80 characters, so that a message stays one that can be read.
    """

    exit_code = 2

    def __init__(self, what: str, *, place: Place | None = None, remedy: str | None = None) -> None:
        self.place = place or Place()
        where = str(self.place)
        self.what = _in_one_line(what, _SENTENCE if where else _SENTENCE + 60)
        first = f"{where}: {self.what}" if where else self.what
        first = shortened(first, _MESSAGE - QUOTED)
        self.remedy = remedy and _in_one_line(remedy, _MESSAGE - len(first))
        super().__init__(f"{first}\n{self.remedy}" if self.remedy else first)


class NoSuchFile(InputError):
    """A file that was named is not there."""

    def __init__(self, *, place: Place) -> None:
        super().__init__("there is no such file.", place=place)


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether a path is an address, `s3://bucket/file` or `simplecache::s3://bucket/file`; `C:/file` is none.

    >>> is_remote("s3://bucket/file.csv"), is_remote("C:/file.csv")
    (True, False)
    """
    if isinstance(path, PurePath) and _LOST_SLASH.match(str(path)):
        raise InputError(f"{str(path)!r} is an address no more.", remedy="Pass it as text, not as a Path.")
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def called(path: str | os.PathLike[str]) -> str:
    """What a person calls a file or folder: its path, and where it stands for one elsewhere, the address."""
    text = os.fspath(path)
    for own, address in COPIES.items():
        if text == own or text.startswith(own + os.sep):
            parts = address.split("::")
            where = next(number for number, part in enumerate(parts) if "://" in part)
            parts[where] += "" if text == own else "/" * (parts[where][-1] != "/") + text[len(own) + 1 :]
            return "::".join(parts)
    return text


def listed(names: Sequence[str], size: int = 280) -> str:
    """Names after commas; of many, the first and how many more there are.

    >>> listed(["bleu", "chrf", "ter"], 12)
    'bleu, chrf and 1 more'
    """
    shown: list[str] = []
    for name in map(shortened, names):
        if shown and len(", ".join([*shown, name])) > size:
            return f"{', '.join(shown)} and {len(names) - len(shown)} more"
        shown.append(name)
    return ", ".join(shown)


class UnknownName(InputError):
    """A metric, reader or column that does not exist; offers the nearest and lists the known."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, place: Place | None = None) -> None:
        known = sorted(known)
        nearest = difflib.get_close_matches(name.lower(), [k.lower() for k in known], n=1, cutoff=0.5)
        offer = next((k for k in known if nearest and k.lower() == nearest[0]), None)
        question = f" Did you mean {offer}?" if offer else ""
        listing = f"Known: {listed(known)}." if known else "None is known."
        super().__init__(f"unknown {kind} {name!r}.{question}", place=place, remedy=listing)


class TiedScores(InputError):
    """A statistic that is defined for distinct scores only was given ties."""


class MissingBackend(InputError):
    """A metric or perturbation needs a package or a dictionary that is not installed."""

    def __init__(self, what: str, *, extra: str) -> None:
        super().__init__(
            f"{what} is not installed.", remedy=f"Install it with: pip install 'metassay[{extra}]'"
        )


class MetricFailure(MetassayError):
    """A metric returned what its definition forbids (inf, or NaN where there is a value)."""


class PartsDone(MetassayError):
    """Not an error where there are such parts: those asked for are kept, and the rest is for others.

    `numbers` are those kept, `count` is how many parts the run has.
    """

    def __init__(self, numbers: Sequence[int], count: int) -> None:
        self.numbers, self.count = numbers, count
        self.exit_code = 0 if numbers else InputError.exit_code
        super().__init__(
            f"Scored and kept: {len(numbers)} of {count} parts, from {numbers[0]} to {numbers[-1]}."
            if numbers
            else f"this run has no such part: its {count} are numbered from 0 to {count - 1}."
        )


class Counted(UserWarning):
    """A warning about a number of things, `3 texts were …`, which adds up over the parts of a run."""

    def __init__(self, count: int, kind: str) -> None:
        self.count, self.kind = count, kind
        super().__init__(f"{count:,} {kind}")


Notes = tuple[tuple[int, str], ...]
"""Warnings as plain values: the count of a `Counted`, else 0, and the words."""


class Heard:
    """Listens, while it is entered, to what each thread warns of, so that a part can keep its own warnings.

    Python's own recorder has one list for all threads.
    """

    def __init__(self) -> None:
        self._own = threading.local()
        self._outer = warnings.catch_warnings()

    def __enter__(self) -> Self:
        self._outer.__enter__()
        warnings.simplefilter("always", UserWarning)
        before = warnings.showwarning

        def listen(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if not issubclass(category, UserWarning):
                before(message, category, *where)
                return
            note = (message.count, message.kind) if isinstance(message, Counted) else (0, str(message))
            self._own.notes = (*getattr(self._own, "notes", ()), note)

        warnings.showwarning = listen  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        self._outer.__exit__(None, None, None)

    def since(self) -> Notes:
        """What this thread has warned of since it was last asked."""
        notes: Notes = getattr(self._own, "notes", ())
        self._own.notes = ()
        return notes


def repeat(notes: Iterable[tuple[int, str]]) -> None:
    """Warn again of what was heard."""
    for count, words in notes:
        warnings.warn(Counted(count, words) if count else words, UserWarning, stacklevel=2)
