"""Random damage to files: bytes flipped, cut, repeated, moved, or replaced by values that break parsers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

SPECIAL_BYTES: tuple[bytes, ...] = (
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
SPECIAL_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 0.5, 2, 1e308, -1e-320, 10**30, "", "x", "\0", "\ud800", "x" * 3000),
    *("global", "nan", [], {}, [None], [[]], [{}], {"": None}, {"metric": 5}, [1, "a"], "<script>", "a\nb"),
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")


def damage_content(content: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Damage the content of a file one to three times; `others` are files to copy pieces from."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        is_json = content[:1] in (b"{", b"[")
        damages = _JSON_DAMAGES if is_json and random.random() < 0.6 else _BYTE_DAMAGES
        content = random.choice(damages)(content, others, random)
    return content


def _choose_position(content: bytes, random: Random) -> int:
    return random.randrange(len(content) + 1)


def _choose_span(content: bytes, random: Random) -> tuple[int, int]:
    start = _choose_position(content, random)
    return start, min(len(content), start + random.choice((1, 2, 8, 64, 512)))


def _flip_bit(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    if not content:
        return content
    position = random.randrange(len(content))
    flipped = content[position] ^ (1 << random.randrange(8))
    return content[:position] + bytes([flipped]) + content[position + 1 :]


def _replace_byte(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    position = _choose_position(content, random)
    value = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return content[:position] + bytes([value]) + content[position + 1 :]


def _truncate(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    return content[: _choose_position(content, random)]


def _delete_span(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    start, end = _choose_span(content, random)
    return content[:start] + content[end:]


def _repeat_span(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    start, end = _choose_span(content, random)
    return content[:end] + content[start:end] * random.choice((1, 1, 50)) + content[end:]


def _insert_special(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    position = _choose_position(content, random)
    return content[:position] + random.choice(SPECIAL_BYTES) + content[position:]


def _insert_from_other_file(content: bytes, others: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(others) if others else content
    start, end = _choose_span(other, random)
    position = _choose_position(content, random)
    return content[:position] + other[start:end] + content[position:]


def _replace_number(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    numbers = list(_NUMBER.finditer(content))
    if not numbers:
        return content
    number = random.choice(numbers)
    return content[: number.start()] + random.choice(SPECIAL_BYTES) + content[number.end() :]


def _change_line(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    lines = content.split(b"\n")
    line = random.randrange(len(lines))
    other_line = random.randrange(len(lines))
    change = random.choice(("delete", "copy", "swap", "replace"))
    if change == "delete":
        del lines[line]
    elif change == "copy":
        lines.insert(other_line, lines[line])
    elif change == "swap":
        lines[line], lines[other_line] = lines[other_line], lines[line]
    else:
        lines[line] = random.choice(SPECIAL_BYTES)
    return b"\n".join(lines)


def _change_field(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    """Delete, repeat or replace a field of a line."""
    lines = content.split(b"\n")
    line = random.randrange(len(lines))
    separator = next((mark for mark in (b"\t", b",", b" ") if mark in lines[line]), b" ")
    fields = lines[line].split(separator)
    number = random.randrange(len(fields))
    fields[number : number + 1] = random.choice(
        ([random.choice(SPECIAL_BYTES)], [], [fields[number]] * 2, [random.choice(fields)])
    )
    lines[line] = separator.join(fields)
    return b"\n".join(lines)


def _change_json_value(content: bytes, _: Sequence[bytes], random: Random) -> bytes:
    """Replace or delete a value in a JSON document, or in one line of JSON lines."""
    lines = content.split(b"\n") if content.count(b"\n{") > 1 else [content]
    line = random.randrange(len(lines))
    try:
        document = json.loads(lines[line])
    except (ValueError, RecursionError):
        return content
    container, key = _choose_json_element(document, random)
    if container is None:
        document = random.choice(SPECIAL_VALUES)
    elif random.random() < 0.3:
        del container[key]
    else:
        container[key] = random.choice((*SPECIAL_VALUES, document if random.random() < 0.05 else None))
    try:
        lines[line] = json.dumps(document).encode()
    except (ValueError, RecursionError):
        return content
    return b"\n".join(lines)


def _choose_json_element(document: Any, random: Random) -> tuple[Any, Any]:
    """Choose a container in a document and a key in it; None if the document has no elements."""
    container, key = None, None
    element = document
    while isinstance(element, dict | list) and element and (container is None or random.random() < 0.8):
        container = element
        key = random.choice(list(element)) if isinstance(element, dict) else random.randrange(len(element))
        element = container[key]
    return container, key


Damage = Callable[[bytes, Sequence[bytes], Random], bytes]
_BYTE_DAMAGES: tuple[Damage, ...] = (
    *(
        _flip_bit,
        _replace_byte,
        _truncate,
        _delete_span,
        _repeat_span,
        _insert_special,
        _insert_special,
        _insert_from_other_file,
        _replace_number,
        _replace_number,
        _change_line,
        _change_field,
        _change_field,
    ),
)
_JSON_DAMAGES: tuple[Damage, ...] = (_change_json_value,)
