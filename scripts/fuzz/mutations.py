"""Ways in which a file goes wrong: bytes turned over, cut, doubled, moved, replaced by what hurts most."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

SPECIAL: tuple[bytes, ...] = (
    *(b"", b" ", b"0", b"-1", b"1.0", b"01", b"1e400", b"-1e-400", b"nan", b"inf", b"-0.0", b"1_000"),
    *(
        b"9" * 19,
        b"9" * 40,
        b"9" * 400,
        b"9" * 5000,
        b"2147483648",
        b"18446744073709551616",
        b"true",
        b"null",
        b"None",
    ),
    *(b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", "\u2028".encode(), "\u0301".encode(), b"\x1b[31m"),
    *(b"\n", b"\r", b"\r\n", b"\t", b",", b'"', b'""', b'"\n', b"'", b"\\", b"\\ud800", b"\\u0000", b"::"),
    *(
        b"(",
        b")",
        b"{",
        b"}",
        b"[",
        b"]",
        b"{}",
        b"[]",
        b"[" * 3000,
        b'{"a":' * 2000,
        b"<",
        b">",
        b";;",
        b"#",
    ),
    *(b" " * 5000, b"x" * 5000, b"a b " * 2000, b"../../etc", b"%s%n", b"Q0", b"system", b"en-de", b"refA"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 0.5, 2, 1e308, -1e-320, 10**30, "", "x", "\0", "\ud800", "x" * 3000),
    *("global", "nan", [], {}, [None], [[]], [{}], {"": None}, {"metric": 5}, [1, "a"], "<script>", "a\nb"),
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")


def mutated(content: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """The content with one to three things wrong; `others` are files to splice from."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        ways = _JSON if content[:1] in (b"{", b"[") and random.random() < 0.6 else _BYTES
        content = random.choice(ways)(content, others, random)
    return content


def _spot(content: bytes, random: Random) -> int:
    return random.randrange(len(content) + 1)


def _slice(content: bytes, random: Random) -> tuple[int, int]:
    start = _spot(content, random)
    return start, min(len(content), start + random.choice((1, 2, 8, 64, 512)))


def _flip(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    if not content:
        return content
    at = random.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << random.randrange(8))]) + content[at + 1 :]


def _set(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    at = _spot(content, random)
    return (
        content[:at]
        + bytes([random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))])
        + content[at + 1 :]
    )


def _cut(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    return content[: _spot(content, random)]


def _drop(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    start, end = _slice(content, random)
    return content[:start] + content[end:]


def _double(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    start, end = _slice(content, random)
    return content[:end] + content[start:end] * random.choice((1, 1, 50)) + content[end:]


def _insert(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    at = _spot(content, random)
    return content[:at] + random.choice(SPECIAL) + content[at:]


def _splice(content: bytes, others: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(others) if others else content
    start, end = _slice(other, random)
    at = _spot(content, random)
    return content[:at] + other[start:end] + content[at:]


def _number(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    found = list(_NUMBER.finditer(content))
    if not found:
        return content
    one = random.choice(found)
    return content[: one.start()] + random.choice(SPECIAL) + content[one.end() :]


def _lines(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    lines = content.split(b"\n")
    at, to = random.randrange(len(lines)), random.randrange(len(lines))
    how = random.randrange(4)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(to, lines[at])
    elif how == 2:
        lines[at], lines[to] = lines[to], lines[at]
    else:
        lines[at] = random.choice(SPECIAL)
    return b"\n".join(lines)


def _field(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    """A field of a line emptied, doubled or replaced."""
    lines = content.split(b"\n")
    at = random.randrange(len(lines))
    mark = next((mark for mark in (b"\t", b",", b" ") if mark in lines[at]), b" ")
    fields = lines[at].split(mark)
    which = random.randrange(len(fields))
    fields[which : which + 1] = random.choice(
        ([random.choice(SPECIAL)], [], [fields[which]] * 2, [random.choice(fields)])
    )
    lines[at] = mark.join(fields)
    return b"\n".join(lines)


def _json_value(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    """A value somewhere in a JSON document (or one line of it) replaced, left out, or said twice."""
    lines = content.split(b"\n") if content.count(b"\n{") > 1 else [content]
    at = random.randrange(len(lines))
    try:
        document = json.loads(lines[at])
    except (ValueError, RecursionError):
        return content
    holder, key = _somewhere(document, random)
    if holder is None:
        document = random.choice(VALUES)
    elif random.random() < 0.3:
        del holder[key]
    else:
        holder[key] = random.choice((*VALUES, document if random.random() < 0.05 else None))
    try:
        lines[at] = json.dumps(document).encode()
    except (ValueError, RecursionError):
        return content
    return b"\n".join(lines)


def _somewhere(document: Any, random: Random) -> tuple[Any, Any]:
    """A container in a document and a key in it; None where the document holds nothing."""
    holder, key = None, None
    inner = document
    while isinstance(inner, dict | list) and inner and (holder is None or random.random() < 0.8):
        holder = inner
        key = random.choice(list(inner)) if isinstance(inner, dict) else random.randrange(len(inner))
        inner = holder[key]
    return holder, key


Way = Callable[[bytes, Sequence[bytes], Random], bytes]
_BYTES: tuple[Way, ...] = (
    *(_flip, _set, _cut, _drop, _double, _insert, _insert, _splice, _number, _number, _lines, _field, _field),
)
_JSON: tuple[Way, ...] = (_json_value,)
