"""Read word lists that are part of the package: UTF-8 text, one entry per line, `#` for comments.

A `.txt` file has one word per line, a `.tsv` file cells separated by tabs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from metassay.errors import InputLocation, MetassayError


@dataclass(frozen=True)
class WordLists:
    """The word lists in a folder of a Python package, which are read by their file names."""

    package: str
    folder: str

    def read_lines(self, list_name: str) -> tuple[str, ...]:
        """Read the entries of a word list in the order of the file.

        >>> WordLists("metassay.text", "en").read_lines("british_our")[:2]
        ('arb', 'ard')
        """
        return tuple(
            entry for _, entry in _read_numbered_lines(self.package, self.folder, f"{list_name}.txt")
        )

    def read_words(self, list_name: str) -> frozenset[str]:
        """Read the entries of a word list as a set."""
        return frozenset(self.read_lines(list_name))

    def read_tab_separated_rows(
        self, list_name: str, cell_count: int | None = None
    ) -> tuple[tuple[str, ...], ...]:
        """Read the rows of a tab-separated list, and check that each has `cell_count` cells."""
        rows = []
        for line, entry in _read_numbered_lines(self.package, self.folder, f"{list_name}.tsv"):
            row = tuple(entry.split("\t"))
            if cell_count is not None and len(row) != cell_count:
                location = InputLocation(file=f"{self.package}/{self.folder}/{list_name}.tsv", line=line)
                raise MetassayError(f"{location}: {len(row)} cells instead of {cell_count}.")
            rows.append(row)
        return tuple(rows)

    def read_mapping_from_list(self, list_name: str) -> dict[str, str]:
        """Read a list with two columns as a dictionary from the first cell of each row to the second.

        >>> WordLists("metassay.text", "en").read_mapping_from_list("british_words")["tyre"]
        'tire'
        """
        return {key: value for key, value in self.read_tab_separated_rows(list_name, 2)}  # noqa: C416 - dict() has no typed length

    def read_lists_by_first_cell(self, list_name: str) -> dict[str, tuple[str, ...]]:
        """Read a list with two columns as a dictionary from each first cell to all of its second cells, in
        the order of the file.
        """
        groups: dict[str, list[str]] = {}
        for group, word in self.read_tab_separated_rows(list_name, 2):
            groups.setdefault(group, []).append(word)
        return {group: tuple(words) for group, words in groups.items()}

    def read_sets_by_first_cell(self, list_name: str) -> dict[str, frozenset[str]]:
        """Read a list with two columns as a dictionary from each first cell to the set of its second
        cells.
        """
        return {group: frozenset(words) for group, words in self.read_lists_by_first_cell(list_name).items()}


@functools.lru_cache(maxsize=256)
def find_folders_with_file(package: str, file_name: str) -> frozenset[str]:
    """Return the names of the folders of a package that contain a file with this name.

    >>> sorted(find_folders_with_file("metassay.text", "british_our.txt"))
    ['en']
    """
    folders = (folder for folder in files(package).iterdir() if folder.is_dir())
    return frozenset(folder.name for folder in folders if folder.joinpath(file_name).is_file())


@functools.lru_cache(maxsize=1024)
def _read_numbered_lines(package: str, folder: str, file: str) -> tuple[tuple[int, str], ...]:
    """Read the entries of a word list with their line numbers. Empty lines and comments are left out."""
    try:
        text = files(package).joinpath(folder, file).read_text(encoding="utf-8")
    except OSError as error:
        path = f"{package}/{folder}/{file}"
        raise MetassayError(
            f"{path}: the word list cannot be read ({error}). Install metassay anew."
        ) from error
    numbered_lines = enumerate(text.split("\n"), 1)
    return tuple(
        (number, line) for number, line in numbered_lines if line.strip() and not line.startswith("#")
    )


def build_regex_for_words(words: Iterable[str]) -> str:
    """Build a regular expression that matches any of some words, and that is fast even for many words.

    >>> build_regex_for_words(["is", "are", "isn't"])
    "(?:are|is(?:n't)?)"
    """
    tree: dict[str, Any] = {}
    for word in words:
        branch = tree
        for letter in word:
            branch = branch.setdefault(letter, {})
        branch[""] = {}  # a word ends here
    return _convert_trie_to_regex(tree)


def _convert_trie_to_regex(trie: dict[str, Any]) -> str:
    """Convert a tree of letters (a trie), whose paths spell words, to a regular expression."""
    can_end = "" in trie
    branches = []
    for letter, branch in sorted(trie.items()):
        if letter:
            branches.append(re.escape(letter) + (_convert_trie_to_regex(branch) if branch else ""))
    if not branches:
        return ""
    if len(branches) == 1 and not can_end:
        return branches[0]
    return f"(?:{'|'.join(branches)})" + ("?" if can_end else "")
