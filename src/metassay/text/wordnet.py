"""Thesauri and dictionaries of base forms, loaded when first needed.

WordNet is read from its database files (wndb(5WN), senseidx(5WN), morphy(7WN)). MyThes thesauri are
OpenThesaurus and the Russian one, as LibreOffice and Debian carry them: the file starts with the name of its
encoding (perhaps after a byte order mark); an entry is `word|n` and n lines `label|word|word…`, one per
meaning, where words may carry remarks such as "(ugs.)".
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from metassay.text.resources import Folder, kept, thesaurus_file, wordnet_folder

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
_BY_LETTER = {
    (pos, letter): [rule for rule in rules if rule[0].endswith(letter)]
    for pos, rules in _ENDINGS.items()
    for letter in {ending[-1] for ending, _ in rules}
}


class WordNet:
    """Lookup of senses; files are read when first needed and synsets when first asked for."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._index: dict[str, dict[str, tuple[int, ...]]] = {}
        self._data: dict[str, bytes] = {}
        self._synsets: dict[tuple[str, int], tuple[str, ...]] = {}

    def senses(self, lemma: str, pos: str) -> tuple[int, ...]:
        """Synset offsets of a lower-case lemma, most frequent sense first; empty where it has none."""
        return (self._index.get(pos) or self._known(pos)).get(lemma, ())

    @functools.cached_property
    def phrases(self) -> frozenset[str]:
        """Nouns and verbs of several words."""
        return frozenset(lemma for pos in ("n", "v") for lemma in self._known(pos) if "_" in lemma)

    def _known(self, pos: str) -> dict[str, tuple[int, ...]]:
        if pos not in self._index:
            self._index[pos] = dict(_index_entries(self._lines(f"index.{_FILES[pos]}")))
        return self._index[pos]

    def synset(self, pos: str, offset: int) -> tuple[str, ...]:
        """The words of a synset as the database orders and spells them; phrases have `_` for spaces."""
        key = (pos, offset)
        if key not in self._synsets:
            fields = self._fields(pos, offset)
            words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            found = tuple(map(bytes.decode, words))
            # Adjectives can carry a marker of position, as in `galore(ip)`.
            self._synsets[key] = tuple(w.partition("(")[0] for w in found) if pos == "a" else found
        return self._synsets[key]

    def antonyms(self, lemma: str, pos: str, offset: int) -> tuple[str, ...]:
        """The words of opposite meaning that a synset names for one of its words."""
        fields = self._fields(pos, offset)
        if b"!" not in fields:
            return ()
        place = next((i for i, word in enumerate(self.synset(pos, offset), 1) if word.lower() == lemma), 0)
        start = 5 + 2 * int(fields[3], 16)
        pointers = (fields[i : i + 4] for i in range(start, start + 4 * int(fields[start - 1]), 4))
        found = []
        for symbol, target, kind, ends in pointers:
            if symbol == b"!" and int(ends, 16) >> 8 == place:  # one byte for each end
                words = self.synset("a" if kind == b"s" else kind.decode(), int(target))
                found.append(words[(int(ends, 16) & 255) - 1])
        return tuple(found)

    def pointers(self, pos: str, offset: int, symbol: str) -> list[int]:
        """The synsets of its part of speech that one points to: `@` what it is a kind of, `~` its kinds."""
        fields = self._fields(pos, offset)
        start = 5 + 2 * int(fields[3], 16)
        end, sign, kind = start + 4 * int(fields[start - 1]), symbol.encode(), pos.encode()
        return [
            int(fields[i + 1]) for i in range(start, end, 4) if fields[i] == sign and fields[i + 2] == kind
        ]

    def topic(self, pos: str, offset: int) -> int:
        """The number of the file a synset was written in: person, food, act, state … (lexnames(5WN))."""
        return int(self._fields(pos, offset)[1])

    def lemmas(self, form: str, pos: str) -> list[str]:
        """Base forms that a lower-case word form may have and that the database knows (morphy)."""
        known, rules = self._known(pos), _BY_LETTER.get((pos, form[-1:]), ())
        forms: Iterable[str] = self.exceptions(pos).get(form) or (
            [form[: -len(ending)] + new for ending, new in rules if form.endswith(ending)] if rules else ()
        )
        found = [form] if form in known else []
        for lemma in forms:
            if lemma in known and lemma not in found:
                found.append(lemma)
        return found

    @functools.cache  # noqa: B019 - one database lives as long as the process
    def exceptions(self, pos: str) -> dict[str, tuple[str, ...]]:
        """Irregular forms and their base forms."""
        lines = (line.split() for line in self._lines(f"{_FILES[pos]}.exc"))
        return {fields[0]: tuple(fields[1:]) for fields in lines if fields}

    @functools.cached_property
    def sense_counts(self) -> dict[tuple[str, str, int], int]:
        """How often a sense of a (lemma, part of speech) was tagged there; the first has number 1."""
        lines = (line.rsplit(" ", 2) for line in self._lines("cntlist.rev"))
        keys = (((*sense.partition("%")[::2], int(number)), int(count)) for sense, number, count in lines)
        return {(lemma, _SENSE_TYPES[rest[0]], number): count for (lemma, rest, number), count in keys}

    @functools.cached_property
    def counts(self) -> dict[tuple[str, str], int]:
        """How often a (lemma, part of speech) was tagged in the texts WordNet was built on."""
        counts: dict[tuple[str, str], int] = {}
        for (lemma, pos, _), count in self.sense_counts.items():
            counts[lemma, pos] = counts.get((lemma, pos), 0) + count
        return counts

    def _fields(self, pos: str, offset: int) -> list[bytes]:
        """The fields of a synset's line, without its gloss."""
        if pos not in self._data:
            self._data[pos] = (self._folder / f"data.{_FILES[pos]}").read_bytes()
        data = self._data[pos]
        return data[offset : data.index(b"|", offset)].split()

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


@functools.cache
def known_lemma(form: str, language: str) -> str | None:
    """The base form of a word that simplemma's dictionary holds; None for other words."""
    composed = unicodedata.normalize("NFC", form)
    found: str | None = _lookup().get_lemma(composed, language)
    if found is None or (form.isalpha() and composed == form):  # there is nothing to take apart
        return found
    return str(_lemmatizer().lemmatize(form, lang=language))


@functools.cache
def _lookup() -> Any:
    from simplemma.strategies import DictionaryLookupStrategy

    dictionaries: Any = _Dictionaries()
    return DictionaryLookupStrategy(dictionaries)


@functools.cache
def _lemmatizer() -> Any:
    from simplemma import Lemmatizer
    from simplemma.strategies import DefaultStrategy

    dictionaries: Any = _Dictionaries()
    return Lemmatizer(lemmatization_strategy=DefaultStrategy(dictionary_factory=dictionaries))


class _Dictionaries:
    """simplemma's dictionaries, in a form that need not be unpacked in every process."""

    @staticmethod
    @functools.cache
    def get_dictionary(lang: str) -> BaseForms:
        """That of a language."""
        from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

        name = f"simplemma-{version('simplemma')}-{lang}.words"
        return BaseForms(kept(name, lambda: packed(DefaultDictionaryFactory().get_dictionary(lang))))


_BUCKETS = 2**16
_STARTS = 4 * (_BUCKETS + 1)


def packed(words: Mapping[str, str]) -> bytes:
    """Words and what they stand for, as `BaseForms` looks them up: in lots, by the checksum of the word."""
    lots = [bytearray(b"\n") for _ in range(_BUCKETS)]
    for word, base in words.items():
        key = word.encode()
        lots[crc32(key) % _BUCKETS] += b"%b\t%b\n" % (key, base.encode())
    starts = _STARTS + np.cumsum([0, *map(len, lots)])
    return b"".join([starts.astype("<u4").tobytes(), *lots])


class BaseForms:
    """The base forms of words, looked up in bytes: a dict of a million words takes a second to make.

    >>> BaseForms(packed({"mice": "mouse"})).get("mice")
    'mouse'
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._starts = np.frombuffer(content, "<u4", _BUCKETS + 1).tolist()

    def get(self, word: str) -> str | None:
        """What a word stands for; None where it is not known."""
        key = word.encode()
        lot = crc32(key) % _BUCKETS
        place = self._content.find(b"\n%b\t" % key, *self._starts[lot : lot + 2])
        if place < 0 or b"\t" in key or b"\n" in key:
            return None
        start = place + len(key) + 2
        return self._content[start : self._content.index(b"\n", start)].decode()


def german_lemma(form: str) -> str | None:
    """The base form of a German word."""
    return known_lemma(form, "de")


@functools.cache
def is_common(word: str, language: str) -> bool:
    """Whether the dictionary has the word in small letters, so that a capital may be the sentence's."""
    lemma = known_lemma(word.lower(), language)
    return lemma is not None and lemma.islower()
