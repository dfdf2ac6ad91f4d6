"""Word lists that lie beside the code which reads them: plain text, UTF-8, one entry a line, `#` for remarks.

A `.txt` file holds words. A `.tsv` file holds rows of cells between tabs.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.resources import files

from metassay.errors import MetassayError, Place


@dataclass(frozen=True)
class WordLists:
    """The lists in one folder of a package, by name."""

    package: str
    folder: str

    def lines(self, name: str) -> tuple[str, ...]:
        """The entries of `name.txt` in their order.

        >>> WordLists("metassay.text", "en").lines("british_our")[:2]
        ('arb', 'ard')
        """
        return tuple(entry for _, entry in _entries(self.package, self.folder, f"{name}.txt"))

    def words(self, name: str) -> frozenset[str]:
        """The entries of `name.txt`."""
        return frozenset(self.lines(name))

    def rows(self, name: str, cells: int | None = None) -> tuple[tuple[str, ...], ...]:
        """The rows of `name.tsv`; where a number of cells is given, all must have it."""
        rows = []
        for line, entry in _entries(self.package, self.folder, f"{name}.tsv"):
            row = tuple(entry.split("\t"))
            if cells is not None and len(row) != cells:
                place = Place(file=f"{self.package}/{self.folder}/{name}.tsv", line=line)
                raise MetassayError(f"{place}: {len(row)} cells instead of {cells}.")
            rows.append(row)
        return tuple(rows)

    def mapping(self, name: str) -> dict[str, str]:
        """The rows of `name.tsv` as first and second cell.

        >>> WordLists("metassay.text", "en").mapping("british_words")["tyre"]
        'tire'
        """
        return {key: value for key, value in self.rows(name, 2)}  # noqa: C416 -- dict() knows no length

    def groups(self, name: str) -> dict[str, tuple[str, ...]]:
        """The second cells of `name.tsv` by the first, both in their order."""
        found: dict[str, list[str]] = {}
        for group, word in self.rows(name, 2):
            found.setdefault(group, []).append(word)
        return {group: tuple(words) for group, words in found.items()}

    def word_groups(self, name: str) -> dict[str, frozenset[str]]:
        """`groups` as sets."""
        return {group: frozenset(words) for group, words in self.groups(name).items()}


@functools.cache
def _entries(package: str, folder: str, name: str) -> tuple[tuple[int, str], ...]:
    """The lines of a list that hold an entry, with their numbers."""
    try:
        text = files(package).joinpath(folder, name).read_text(encoding="utf-8")
    except OSError as error:
        where = f"{package}/{folder}/{name}"
        raise MetassayError(
            f"{where}: the word list cannot be read ({error}). Install metassay anew."
        ) from error
    numbered = enumerate(text.split("\n"), 1)
    return tuple((number, line) for number, line in numbered if line.strip() and not line.startswith("#"))
