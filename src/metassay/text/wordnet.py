"""Princeton WordNet, read from its database files (see wndb(5WN), senseidx(5WN) and morphy(7WN))."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from metassay.text.resources import Folder, find_wordnet_folder

_FILE_NAMES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
# Noun, verb, adjective, adverb.
PARTS_OF_SPEECH = tuple(_FILE_NAMES)
# Number 5 stands for satellite adjectives.
_PARTS_OF_SPEECH_BY_NUMBER = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_CACHED_SYNSETS = 1 << 16

# The rules of morphy: an ending, and what replaces it in the base form.
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
_ENDINGS_BY_LETTER = {
    (pos, letter): [rule for rule in rules if rule[0].endswith(letter)]
    for pos, rules in _ENDINGS.items()
    for letter in {ending[-1] for ending, _ in rules}
}


class WordNet:
    """Looks up English words in WordNet. Files are read when they are first needed.

    A synset, a set of words with one meaning, is identified by its part of speech and its offset in the data
    file.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._indexes: dict[str, dict[str, tuple[int, ...]]] = {}
        self._data: dict[str, bytes] = {}
        self._exceptions: dict[str, dict[str, tuple[str, ...]]] = {}
        self._synset_words = functools.lru_cache(maxsize=_CACHED_SYNSETS)(self._read_synset_words)

    def list_synsets(self, lemma: str, part_of_speech: str) -> tuple[int, ...]:
        """Return the senses of a lower-case base form, the most frequent first."""
        return (self._indexes.get(part_of_speech) or self._load_synsets_of_lemmas(part_of_speech)).get(
            lemma, ()
        )

    @functools.cached_property
    def phrases(self) -> frozenset[str]:
        """Nouns and verbs that consist of several words, with `_` for spaces."""
        return frozenset(
            lemma for pos in ("n", "v") for lemma in self._load_synsets_of_lemmas(pos) if "_" in lemma
        )

    def list_words_of_synset(self, part_of_speech: str, synset: int) -> tuple[str, ...]:
        """Return all words with one sense, in the order of the database. Phrases have `_` for spaces."""
        return self._synset_words(part_of_speech, synset)

    def find_antonyms(self, lemma: str, part_of_speech: str, synset: int) -> tuple[str, ...]:
        """Find the words whose meaning is the opposite of one sense of a word."""
        fields = self._read_synset_fields(part_of_speech, synset)
        if b"!" not in fields:
            return ()
        lower_words = [word.lower() for word in self.list_words_of_synset(part_of_speech, synset)]
        word_number = lower_words.index(lemma) + 1 if lemma in lower_words else 0
        antonyms = []
        for symbol, target, target_pos, word_numbers in _parse_relations_of_synset(fields):
            # The first byte is the number of the word in this synset, the second that in the other.
            source_number, target_number = divmod(int(word_numbers, 16), 256)
            if symbol == b"!" and source_number == word_number:
                # "s" marks satellite adjectives, which are in the file of adjectives.
                pos_of_target = "a" if target_pos == b"s" else target_pos.decode()
                antonyms.append(self.list_words_of_synset(pos_of_target, int(target))[target_number - 1])
        return tuple(antonyms)

    def list_related_synsets(self, part_of_speech: str, synset: int, relation_symbol: str) -> list[int]:
        """Return the senses of the same part of speech that have a certain relation to a sense, such as being
        more general.

        The symbol `@` points to what the synset is a kind of, `~` to its kinds.
        """
        targets = []
        for pointer_symbol, target, target_pos, _ in _parse_relations_of_synset(
            self._read_synset_fields(part_of_speech, synset)
        ):
            if pointer_symbol == relation_symbol.encode() and target_pos == part_of_speech.encode():
                targets.append(int(target))
        return targets

    def get_topic_number(self, part_of_speech: str, synset: int) -> int:
        """Return the number of the topic to which WordNet assigns a sense, such as person, food or act."""
        return int(self._read_synset_fields(part_of_speech, synset)[1])

    def find_lemmas(self, word_form: str, part_of_speech: str) -> list[str]:
        """Find the base forms that a lower-case word form can have, as far as they are in the database."""
        index = self._load_synsets_of_lemmas(part_of_speech)
        candidates = [word_form, *self.load_irregular_forms(part_of_speech).get(word_form, ())]
        if len(candidates) == 1:  # not an exception: the form is regular
            for ending, replacement in _ENDINGS_BY_LETTER.get((part_of_speech, word_form[-1:]), ()):
                if word_form.endswith(ending):
                    candidates.append(word_form[: -len(ending)] + replacement)
        return [lemma for lemma in dict.fromkeys(candidates) if lemma in index]

    def load_irregular_forms(self, part_of_speech: str) -> dict[str, tuple[str, ...]]:
        """Load the irregular word forms of a part of speech, each with its base forms."""
        if part_of_speech not in self._exceptions:
            exceptions = {}
            for line in self._read_lines(f"{_FILE_NAMES[part_of_speech]}.exc"):
                form, *base_forms = line.split() or [""]
                if form:
                    exceptions[form] = tuple(base_forms)
            self._exceptions[part_of_speech] = exceptions
        return self._exceptions[part_of_speech]

    @functools.cached_property
    def sense_counts(self) -> dict[tuple[str, str, int], int]:
        """How often each word was used with each part of speech and sense number in the texts that WordNet
        was built on.
        """
        counts = {}
        for line in self._read_lines("cntlist.rev"):
            sense_key, sense_number, count = line.rsplit(" ", 2)
            lemma, _, details = sense_key.partition("%")
            pos = _PARTS_OF_SPEECH_BY_NUMBER[details[0]]
            counts[lemma, pos, int(sense_number)] = int(count)
        return counts

    @functools.cached_property
    def tag_counts(self) -> dict[tuple[str, str], int]:
        """How often each word was used with each part of speech in the texts that WordNet was built on."""
        counts: dict[tuple[str, str], int] = {}
        for (lemma, pos, _), count in self.sense_counts.items():
            counts[lemma, pos] = counts.get((lemma, pos), 0) + count
        return counts

    def _load_synsets_of_lemmas(self, part_of_speech: str) -> dict[str, tuple[int, ...]]:
        """Load the senses of all base forms of a part of speech."""
        if part_of_speech not in self._indexes:
            self._indexes[part_of_speech] = dict(
                _parse_wordnet_index_lines(self._read_lines(f"index.{_FILE_NAMES[part_of_speech]}"))
            )
        return self._indexes[part_of_speech]

    def _read_synset_words(self, pos: str, offset: int) -> tuple[str, ...]:
        """Read the words with one sense from the database."""
        fields = self._read_synset_fields(pos, offset)
        words = map(bytes.decode, fields[4 : 4 + 2 * int(fields[3], 16) : 2])
        if pos == "a":  # adjectives can have a marker of position, as in `galore(ip)`
            return tuple(word.partition("(")[0] for word in words)
        return tuple(words)

    def _read_synset_fields(self, part_of_speech: str, synset: int) -> list[bytes]:
        """Return the fields of the database line of a sense, without its definition."""
        if part_of_speech not in self._data:
            self._data[part_of_speech] = (self._folder / f"data.{_FILE_NAMES[part_of_speech]}").read_bytes()
        data = self._data[part_of_speech]
        return data[synset : data.index(b"|", synset)].split()

    def _read_lines(self, file: str) -> list[str]:
        """Read the lines of a database file."""
        return (self._folder / file).read_text(encoding="utf-8").splitlines()


def _parse_wordnet_index_lines(lines: Iterable[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield each base form in the lines of an index file of WordNet, with its senses."""
    for line in lines:
        if not line.startswith(" "):  # the licence at the beginning is indented
            fields = line.split()
            synset_count = int(fields[2])
            yield fields[0], tuple(map(int, fields[-synset_count:]))


def _parse_relations_of_synset(synset_fields: list[bytes]) -> Iterator[list[bytes]]:
    """Yield the relations of a word sense to other senses, as they are written in a file of WordNet.

    Each relation has four fields: its symbol, the other sense, the part of speech of the other sense, and the
    numbers of the two words.
    """
    start = 5 + 2 * int(synset_fields[3], 16)
    end = start + 4 * int(synset_fields[start - 1])
    for position in range(start, end, 4):
        yield synset_fields[position : position + 4]


@functools.cache
def open_wordnet() -> WordNet | None:
    """Open the installed WordNet, or return None if it is not installed."""
    folder = find_wordnet_folder()
    return None if folder is None else WordNet(folder)
