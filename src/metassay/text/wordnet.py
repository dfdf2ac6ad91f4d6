"""Princeton WordNet, read from its database files (wndb(5WN), senseidx(5WN), morphy(7WN))."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from metassay.text.resources import Folder, wordnet_folder

_FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
PARTS_OF_SPEECH = tuple(_FILES)
_SENSE_TYPES = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}

_ENDINGS = {
    "n": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "v": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}
"""Morphy's rules of detachment: an ending and what takes its place."""


class WordNet:
    """Lookup of senses; files are read when first needed and synsets when first asked for."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._index: dict[str, dict[str, tuple[int, ...]]] = {}
        self._data: dict[str, bytes] = {}
        self._synsets: dict[tuple[str, int], tuple[str, ...]] = {}

    def senses(self, lemma: str, pos: str) -> tuple[int, ...]:
        """Synset offsets of a lower-case lemma, most frequent sense first; empty where it has none."""
        if pos not in self._index:
            self._index[pos] = dict(_index_entries(self._lines(f"index.{_FILES[pos]}")))
        return self._index[pos].get(lemma, ())

    def synset(self, pos: str, offset: int) -> tuple[str, ...]:
        """The words of a synset as the database orders and spells them; phrases have `_` for spaces."""
        key = (pos, offset)
        if key not in self._synsets:
            if pos not in self._data:
                self._data[pos] = (self._folder / f"data.{_FILES[pos]}").read_bytes()
            data = self._data[pos]
            fields = data[offset : data.index(b"|", offset)].split()
            words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            # Adjectives can carry a marker of position, as in `galore(ip)`.
            self._synsets[key] = tuple(word.decode().partition("(")[0] for word in words)
        return self._synsets[key]

    def lemmas(self, form: str, pos: str) -> list[str]:
        """Base forms that a lower-case word form may have and that the database knows (morphy)."""
        irregular = self.exceptions(pos).get(form)
        forms: Iterable[str] = irregular or (
            form[: -len(ending)] + new for ending, new in _ENDINGS[pos] if form.endswith(ending)
        )
        return list(dict.fromkeys(lemma for lemma in (form, *forms) if self.senses(lemma, pos)))

    @functools.cache  # noqa: B019 - one database lives as long as the process
    def exceptions(self, pos: str) -> dict[str, tuple[str, ...]]:
        """Irregular forms and their base forms."""
        lines = (line.split() for line in self._lines(f"{_FILES[pos]}.exc"))
        return {fields[0]: tuple(fields[1:]) for fields in lines if fields}

    @functools.cached_property
    def counts(self) -> dict[tuple[str, str], int]:
        """How often a (lemma, part of speech) was tagged in the texts WordNet was built on."""
        counts: dict[tuple[str, str], int] = {}
        for line in self._lines("cntlist.rev"):
            sense, _, count = line.rsplit(" ", 2)
            lemma, _, rest = sense.partition("%")
            key = (lemma, _SENSE_TYPES[rest[0]])
            counts[key] = counts.get(key, 0) + int(count)
        return counts

    def _lines(self, name: str) -> list[str]:
        return (self._folder / name).read_text(encoding="utf-8").splitlines()


def _index_entries(lines: list[str]) -> Iterable[tuple[str, tuple[int, ...]]]:
    for line in lines:
        if not line.startswith(" "):
            fields = line.split()
            yield fields[0], tuple(map(int, fields[-int(fields[2]) :]))


@functools.cache
def open_wordnet() -> WordNet | None:
    """The WordNet of this machine, or None."""
    folder = wordnet_folder()
    return None if folder is None else WordNet(folder)
