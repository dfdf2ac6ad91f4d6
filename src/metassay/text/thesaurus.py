"""MyThes thesauri: OpenThesaurus for German, and the Russian one, as LibreOffice and Debian carry them.

The file starts with the name of its encoding (perhaps after a byte order mark). An entry is `word|n` and n
lines `label|word|word…`, one per meaning, where words may carry remarks such as "(ugs.)".
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from metassay.text.resources import thesaurus_file

_ENTRY = re.compile(r"(.*)\|(\d+)")

SYNONYM_LABELS = frozenset({"-", "", "(синоним)", "(noun)", "(verb)", "(adj)", "(adv)"})
"""Labels of lines that hold words of equal meaning; "(антоним)" or "(сходный термин)" do not."""


class Thesaurus:
    """Meanings by word; an entry is parsed when it is first asked for."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            encoding = file.readline().decode("utf-8-sig").strip()
            self._lines = file.read().decode(encoding).splitlines()
        self._entries: dict[str, int] = {}
        number = 0
        while number < len(self._lines):
            match = _ENTRY.fullmatch(self._lines[number])
            if match is None:
                number += 1
                continue
            self._entries.setdefault(match[1], number)
            number += 1 + int(match[2])

    def meanings(self, word: str) -> list[list[str]]:
        """For each meaning of a lower-case word, the single words of equal meaning without remarks."""
        number = self._entries.get(word)
        if number is None:
            return []
        meanings = int(self._lines[number].rpartition("|")[2])
        lines = self._lines[number + 1 : number + 1 + meanings]
        parsed = (_synonyms(line) for line in lines)
        return [found for found in parsed if found]


def _synonyms(line: str) -> list[str]:
    """The plain single words of a line. A remark marks another register, relation or construction."""
    label, *words = line.split("|")
    if label not in SYNONYM_LABELS:
        return []
    words = [word.replace(" (Hauptform)", "") for word in words]
    return [word for word in words if word.replace("-", "").isalpha()]


@functools.cache
def open_thesaurus(language: str) -> Thesaurus | None:
    """The thesaurus of a language on this machine, or None."""
    path = thesaurus_file(language)
    return None if path is None else Thesaurus(path)
