"""Errors that a user can act on: what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

# A value quoted in a message is cut to this many characters.
MAX_QUOTED_LENGTH = 80
_MAX_FILE_LENGTH = 160
_MAX_SENTENCE_LENGTH = 300
_MAX_MESSAGE_LENGTH = 490
_LONG_QUOTE = re.compile(rf"'[^']{{{MAX_QUOTED_LENGTH - 1},}}'|\"[^\"]{{{MAX_QUOTED_LENGTH - 1},}}\"")
_LONG_WORD = re.compile(rf"\S{{{MAX_QUOTED_LENGTH + 1},}}")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::.*://)", re.DOTALL)
_ADDRESS_WITHOUT_SLASH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/(?!/)")

# Local files and folders that are copies of remote ones, with the address of the original.
LOCAL_COPIES: dict[str, str] = {}


def shorten_text(text: str, maximum_length: int = MAX_QUOTED_LENGTH) -> str:
    """Shorten a text to `maximum_length` characters by replacing its middle with `…`.

    >>> shorten_text("a" * 50 + "b" * 50, 10)
    'aaaaaa…bbb'
    """
    if len(text) <= maximum_length:
        return text
    end = maximum_length // 3
    return f"{text[: maximum_length - end - 1]}…{text[-end:]}"


def join_with_commas(names: Sequence[str], maximum_length: int = 280) -> str:
    """Join names with commas. Names that do not fit in `maximum_length` characters are only counted.

    >>> join_with_commas(["bleu", "chrf", "ter"], 12)
    'bleu, chrf and 1 more'
    """
    shown: list[str] = []
    for name in map(shorten_text, names):
        if shown and len(", ".join([*shown, name])) > maximum_length:
            return f"{', '.join(shown)} and {len(names) - len(shown)} more"
        shown.append(name)
    return ", ".join(shown)


def is_remote_path(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a remote address such as `s3://bucket/file`.

    >>> is_remote_path("s3://bucket/file.csv"), is_remote_path("C:/file.csv")
    (True, False)
    """
    if isinstance(path, PurePath) and _ADDRESS_WITHOUT_SLASH.match(str(path)):
        raise InputError(
            f"{str(path)!r} is no longer a valid address.", remedy="Pass addresses as text, not as a Path."
        )
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def format_path_for_user(path: str | os.PathLike[str]) -> str:
    """Return a path as the user wrote it. For the local copy of a remote file, this is the remote address."""
    text = os.fspath(path)
    for copy, address in LOCAL_COPIES.items():
        if text == copy:
            return address
        if text.startswith(copy + os.sep):
            return _append_path_to_address(address, text[len(copy) + 1 :])
    return text


def _append_path_to_address(address: str, relative_path: str) -> str:
    """Append a relative path to the address of a remote folder, which may be inside an archive
    (`zip::s3://…`).
    """
    parts = address.split("::")
    number = next(number for number, part in enumerate(parts) if "://" in part)
    slash = "" if parts[number].endswith("/") else "/"
    parts[number] = f"{parts[number]}{slash}{relative_path}"
    return "::".join(parts)


def _shorten_to_one_line(text: str, maximum_length: int) -> str:
    """Put a sentence on one line, shorten long values in it, and replace control characters."""
    text = shorten_text(text, 4 * _MAX_MESSAGE_LENGTH)
    for long_value in (_LONG_QUOTE, _LONG_WORD):
        text = long_value.sub(lambda match: shorten_text(match[0]), text)
    return shorten_text(_escape_unprintable_characters(" ".join(text.split())), maximum_length)


def _escape_unprintable_characters(text: str) -> str:
    """Replace unprintable characters by escape sequences."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class MetassayError(Exception):
    """Base class of all errors that metassay raises for its users."""

    exit_code = 1


@dataclass(frozen=True)
class InputLocation:
    """The place of an error in the input: file, row, line and column, as far as they are known."""

    file: str | None = None
    row: int | None = None
    """The first row of data is 1."""
    column: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        parts = []
        if self.file is not None:
            file = shorten_text(format_path_for_user(self.file), _MAX_FILE_LENGTH)
            parts.append(shorten_text(_escape_unprintable_characters(file), _MAX_FILE_LENGTH))
        if self.row is not None:
            parts.append(f"row {self.row}")
        if self.line is not None:
            parts.append(f"line {self.line}")
        if self.column is not None:
            parts.append(f"column {_shorten_to_one_line(self.column, MAX_QUOTED_LENGTH)}")
        return ", ".join(parts)


class InputError(MetassayError, ValueError):
    """Raised if something is wrong with the input or with the way metassay is used.

    Prints as `FILE, row N, column C: message` and, if there is a remedy, a second line with it. Quoted values
    are cut at 80 characters, so that the message stays readable.
    """

    exit_code = 2

    def __init__(
        self, message: str, *, location: InputLocation | None = None, remedy: str | None = None
    ) -> None:
        self.location = location or InputLocation()
        prefix = str(self.location)
        self.message = _shorten_to_one_line(
            message, _MAX_SENTENCE_LENGTH if prefix else _MAX_SENTENCE_LENGTH + 60
        )
        first_line = f"{prefix}: {self.message}" if prefix else self.message
        first_line = shorten_text(first_line, _MAX_MESSAGE_LENGTH - MAX_QUOTED_LENGTH)
        self.remedy = remedy and _shorten_to_one_line(remedy, _MAX_MESSAGE_LENGTH - len(first_line))
        super().__init__(f"{first_line}\n{self.remedy}" if self.remedy else first_line)

    def replace_cli_options_in_message(self) -> None:
        """Replace options of the command line in the message by keywords of the Python functions."""
        self.message = _replace_cli_options_by_python_keywords(self.message)
        self.remedy = self.remedy and _replace_cli_options_by_python_keywords(self.remedy)
        self.args = (_replace_cli_options_by_python_keywords(str(self)), *self.args[1:])


def _replace_cli_options_by_python_keywords(text: str) -> str:
    """Replace names of command-line options in a text by the keywords of the Python functions.

    >>> _replace_cli_options_by_python_keywords("Name it with --column item=COLUMN, or try --quoting none.")
    'Name it with columns={"item": "COLUMN"}, or try quoting="none".'
    """
    text = re.sub(r"--column (\w+)=(\w+)", r'columns={"\1": "\2"}', text)
    text = re.sub(r"--(quoting|references|missing|task) ([a-z][\w-]*)", r'\1="\2"', text)
    text = re.sub(r"--(keep|drop)-references\b", r"keep_references=\1", text)
    text = text.replace("keep_references=keep", "keep_references=True")
    text = text.replace("keep_references=drop", "keep_references=False")
    text = re.sub(r"--([a-z][a-z-]*) ([A-Z]+)\b", r'--\1="\2"', text)
    return re.sub(r"(?<![\w-])--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_"), text)


class NoSuchFile(InputError):
    """Raised if the user names a file that does not exist."""

    def __init__(self, *, location: InputLocation) -> None:
        super().__init__("there is no such file.", location=location)


class LinkOutsideFolder(InputError):
    """Raised if a link in a run folder leads to a file outside the folder."""

    def __init__(self, *, location: InputLocation) -> None:
        super().__init__("this link leads out of the run folder.", location=location)


class UnknownName(InputError):
    """Raised if the user names a metric, a column or something else that does not exist.

    The message suggests the most similar valid name and lists all of them.
    """

    def __init__(
        self, kind: str, name: str, valid_names: Iterable[str], *, location: InputLocation | None = None
    ) -> None:
        valid_names = sorted(set(valid_names))
        self.kind = kind
        self.name = name
        self.valid_names = valid_names
        by_lower_case = {valid_name.lower(): valid_name for valid_name in reversed(valid_names)}
        similar = difflib.get_close_matches(
            name.lower(), [valid_name.lower() for valid_name in valid_names], n=1, cutoff=0.5
        )
        question = f" Did you mean {by_lower_case[similar[0]]}?" if similar else ""
        listing = f"Known: {join_with_commas(valid_names)}." if valid_names else "None is known."
        super().__init__(f"unknown {kind} {name!r}.{question}", location=location, remedy=listing)


class TiedScores(InputError):
    """Raised if scores are equal but a statistic is defined only for distinct scores."""


class MissingBackend(InputError):
    """Raised if a package or a dictionary is needed that is not installed."""

    def __init__(self, what: str, *, extra: str) -> None:
        super().__init__(
            f"{what} is not installed.", remedy=f"Install it with: pip install 'metassay[{extra}]'"
        )


class MetricFailure(MetassayError):
    """Raised if a metric returns an infinite score or the wrong number of scores."""
