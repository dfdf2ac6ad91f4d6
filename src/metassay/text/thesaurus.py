"""Thesauri in the MyThes format of LibreOffice: OpenThesaurus (German) and a Russian one.

The first line of a file is its encoding, perhaps after a byte order mark. An entry is `word|n`, then n lines
`label|word|word…`, one per meaning. Words can have remarks such as "(ugs.)".
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from metassay.text.resources import find_thesaurus_file

_ENTRY = re.compile(r"(.*)\|(\d+)")
# Labels of lines with synonyms; others, such as "(антоним)", mark other relations.
_SYNONYM_LABELS = frozenset({"-", "", "(синоним)", "(noun)", "(verb)", "(adj)", "(adv)"})


class Thesaurus:
    """A thesaurus in the format of LibreOffice. An entry is parsed only when it is looked up."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            encoding = file.readline().decode("utf-8-sig").strip()
            self._lines = file.read().decode(encoding).splitlines()
        self._line_numbers: dict[str, int] = {}
        number = 0
        while number < len(self._lines):
            entry = _ENTRY.fullmatch(self._lines[number])
            if entry is None:
                number += 1
                continue
            # If a word has two entries, the first one counts.
            self._line_numbers.setdefault(entry[1], number)
            number += 1 + int(entry[2])

    def list_synonyms_by_meaning(self, word: str) -> list[list[str]]:
        """List the synonyms of a lower-case word that are single words, separately for each meaning of the
        word.
        """
        number = self._line_numbers.get(word)
        if number is None:
            return []
        meaning_count = int(self._lines[number].rpartition("|")[2])
        lines = self._lines[number + 1 : number + 1 + meaning_count]
        meanings = [_parse_thesaurus_line(line) for line in lines]
        return [synonyms for synonyms in meanings if synonyms]


def _parse_thesaurus_line(line: str) -> list[str]:
    """Return the synonyms in a line of a thesaurus file that are single words without a remark such as
    (antonym).
    """
    label, *words = line.split("|")
    if label not in _SYNONYM_LABELS:
        return []
    # OpenThesaurus marks the main form of a group in this way.
    words = [word.replace(" (Hauptform)", "") for word in words]
    return [word for word in words if word.replace("-", "").isalpha()]


@functools.lru_cache(maxsize=8)
def open_thesaurus(language: str) -> Thesaurus | None:
    """Open the installed thesaurus of a language, or return None if there is none."""
    path = find_thesaurus_file(language)
    return None if path is None else Thesaurus(path)
