"""English: synonyms from WordNet, pronouns and what may replace them, negations."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from metassay.perturbations.languages.names import FEMALE, MALE
from metassay.text.word_lists import WordLists
from metassay.text.wordnet import PARTS_OF_SPEECH, WordNet, open_wordnet

_LISTS = WordLists("metassay.perturbations.languages", "en")

FUNCTION_WORDS = _LISTS.read_words("function_words")
"""Words without synonyms: what WordNet knows of them ("in": indium) is not what they mean."""

PARTICLES = _LISTS.read_words("particles")
"""After a verb these make another verb of it."""

INVARIANT_VERBS = _LISTS.read_words("invariant_verbs")
"""Verbs whose past looks like their base form."""

PRONOUNS = _LISTS.read_rows("pronouns")
"""Pronouns that can stand in each other's place: subjects by number, objects, possessives, reflexives."""

NEVER_CHOSEN: frozenset[str] = frozenset()
"""Pronouns that are replaced but replace no other."""

ADDRESS: frozenset[str] = frozenset()
"""Ways to say you, of which English has one."""

_BEFORE_OBJECT = _LISTS.read_words("before_object")
_BEFORE_SUBJECT = _LISTS.read_words("before_subject")
_AFTER_OBJECT = _LISTS.read_words("after_object")


def pronoun_class(previous: str, pronoun: str, following: str, rest: str) -> int:  # noqa: ARG001
    """Which row of `PRONOUNS` a pronoun belongs to here (all in lower case; `following` is "" at a stop)."""
    if following in {"was", "am"}:
        return 6 if following == "was" and pronoun in PRONOUNS[6] else -1
    if following in {"are", "were"} and pronoun in PRONOUNS[5]:
        return 5
    if pronoun in {"it", "you"}:
        return _it_or_you(previous, pronoun, following)
    if pronoun == "her":
        return 3 if following and following not in _AFTER_OBJECT else 2
    return next((row for row, words in enumerate(PRONOUNS) if pronoun in words), -1)


def _it_or_you(previous: str, pronoun: str, following: str) -> int:
    """Subject or object, which look alike; none where the words beside it leave that open."""
    if not following or previous in _BEFORE_OBJECT or previous.endswith("ing"):
        return 2
    asked = previous in AUXILIARIES
    opens = not previous or previous in _BEFORE_SUBJECT
    if opens or asked or following in AUXILIARIES or (pronoun == "it" and following.endswith(("ed", "es"))):
        return 0 if pronoun == "it" else 1
    return 2 if following in _AFTER_OBJECT else -1


AUXILIARIES = _LISTS.read_words("auxiliaries")
INVERTED = _LISTS.read_words("inverted")
"""After an auxiliary these are its subject: "not" comes after them."""


DOMINANT = 0.75
"""Share of its occurrences in which a form must be the part of speech that is taken for granted."""
CENTRAL_SENSES = 2
"""A synonym counts only if it shares the first sense of the word and has it among this many of its own."""


@dataclass(frozen=True)
class Entry:
    """A word form with a part of speech beyond doubt, and the forms that could stand in its place."""

    pos: str
    lemma: str
    candidates: tuple[str, ...]


def synonyms(previous: str, form: str, following: str) -> tuple[str, ...]:
    """Synonyms that fit between two neighbours (all in lower case); none for a word inside a phrase."""
    return _fitting(_entry(form), previous, form, following)


Relation = Literal["antonym", "cohyponym", "hypernym", "wrong_sense"]


def fitting(relation: Relation, previous: str, form: str, following: str) -> tuple[str, ...]:
    """Words in a relation to this one that fit between two neighbours."""
    return _fitting(related(form, relation), previous, form, following)


def _fitting(entry: Entry | None, previous: str, form: str, following: str) -> tuple[str, ...]:
    if (
        entry is None
        or (entry.pos == "v" and following in PARTICLES)
        or _is_phrase(entry, previous, following)
    ):
        return ()
    if previous in {"a", "an"}:
        vowel = form[0] in "aeiou"
        return tuple(word for word in entry.candidates if (word[0] in "aeiou") == vowel)
    return entry.candidates


@functools.lru_cache(maxsize=1 << 16)
def is_name(word: str) -> bool:
    """Whether a word with a capital is a name in some meaning, as John is."""
    wordnet = _database()
    senses = wordnet.list_senses(word.lower(), "n")
    return word in FEMALE or word in MALE or any(word in wordnet.list_words("n", offset) for offset in senses)


def _database() -> WordNet:
    wordnet = open_wordnet()
    assert wordnet is not None
    return wordnet


def _is_phrase(entry: Entry, previous: str, following: str) -> bool:
    phrases = _database().phrases
    return f"{entry.lemma}_{following}" in phrases or f"{previous}_{entry.lemma}" in phrases


@functools.lru_cache(maxsize=1 << 16)
def _entry(form: str) -> Entry | None:
    reading = _reading(form)
    if reading is None:
        return None
    found = _synonyms(_database(), reading[1], reading[0], form)
    return Entry(*reading, found) if found else None


@functools.lru_cache(maxsize=1 << 16)
def related(form: str, relation: Relation) -> Entry | None:
    """The words in a relation to the first sense of a form, in its form; None where there are none."""
    reading = _reading(form)
    if reading is None or (relation != "antonym" and reading[0] != "n"):
        return None
    pos, lemma = reading
    words = _RELATED[relation](lemma, pos)
    plain = (word for word in words if word.isalpha() and word.islower() and word not in FUNCTION_WORDS)
    inflected = (_inflect(word, lemma, form, pos) for word in dict.fromkeys(plain))
    found = tuple(word for word in inflected if word is not None and word != form)
    return Entry(pos, lemma, found) if found else None


def _antonyms(lemma: str, pos: str) -> Iterable[str]:
    wordnet = _database()
    return wordnet.find_antonyms(lemma, pos, wordnet.list_senses(lemma, pos)[0])


def _above(lemma: str, pos: str) -> list[int]:
    wordnet = _database()
    return wordnet.follow_pointers(pos, wordnet.list_senses(lemma, pos)[0], "@")


def _hypernyms(lemma: str, pos: str) -> Iterable[str]:
    """What a noun is a kind of, in words at least as common."""
    wordnet = _database()
    words = [word for offset in _above(lemma, pos) for word in wordnet.list_words(pos, offset)]
    own = wordnet.counts.get((lemma, pos), 0)
    return [word for word in words if wordnet.counts.get((word, pos), 0) >= max(own, COMMON)]


def _cohyponyms(lemma: str, pos: str) -> Iterable[str]:
    """Common nouns whose first sense is another kind of the same thing, if these are not too many."""
    own = _database().list_senses(lemma, pos)[0]
    return [word for above in _above(lemma, pos) for word, offset in _kinds(above, pos) if offset != own]


@functools.cache
def _kinds(above: int, pos: str) -> list[tuple[str, int]]:
    """The common words, and the offsets of their first senses, that are kinds of something."""
    wordnet = _database()
    words = [
        (wordnet.list_words(pos, offset)[0], offset) for offset in wordnet.follow_pointers(pos, above, "~")
    ]
    return [(word, offset) for word, offset in words if _means(word, pos, offset)]


def _means(word: str, pos: str, offset: int) -> bool:
    """Whether a word is common and this is its first sense."""
    wordnet = _database()
    return wordnet.counts.get((word, pos), 0) >= COMMON and wordnet.list_senses(word, pos)[:1] == (offset,)


def _other_senses(lemma: str, pos: str) -> Iterable[str]:
    """Common words for what a noun means elsewhere, or for what that is, if it mostly means another thing."""
    wordnet = _database()
    first, *others = wordnet.list_senses(lemma, pos)
    topic = wordnet.get_topic(pos, first)
    if wordnet.sense_counts.get((lemma, pos, 1), 0) < FIRST_SENSE * wordnet.counts.get((lemma, pos), 0):
        return ()
    synsets = [offset for sense in others for offset in (sense, *wordnet.follow_pointers(pos, sense, "@"))]
    words = [
        (word, {wordnet.get_topic(pos, sense) for sense in wordnet.list_senses(word, pos)})
        for offset in synsets
        for word in wordnet.list_words(pos, offset)
        if _means(word, pos, offset) and word[:3] != lemma[:3] and wordnet.find_lemmas(word, pos) == [word]
    ]
    far = ((word, topics) for word, topics in words if topics.isdisjoint((topic, TOPS)))
    return [word for word, topics in far if topic in THINGS or topics <= THINGS]


_RELATED: dict[Relation, Callable[[str, str], Iterable[str]]] = {
    "antonym": _antonyms,
    "cohyponym": _cohyponyms,
    "hypernym": _hypernyms,
    "wrong_sense": _other_senses,
}
THINGS = frozenset((5, 6, 8, 13, 15, 17, 18, 20, 27))
"""Topics of what has a place: animals, artefacts, bodies, food, places, objects, people, plants, stuffs."""
TOPS = 3
"""The topic of what is most general: person, object."""
FIRST_SENSE = 0.7
"""The share of its occurrences in which a noun must have its first sense to be taken for another one."""
COMMON = 5
"""How often a word must have been tagged in the texts WordNet was built on to take another's place."""


@functools.lru_cache(maxsize=1 << 16)
def _reading(form: str) -> tuple[str, str] | None:
    """Part of speech and base form of a word, where they are beyond doubt."""
    if form in FUNCTION_WORDS or len(form) < 3 or not form.isalpha():
        return None
    wordnet = _database()
    readings = [(pos, lemma) for pos in PARTS_OF_SPEECH for lemma in wordnet.find_lemmas(form, pos)]
    if not readings:
        return None
    weights = {reading: wordnet.counts.get((reading[1], reading[0]), 0) for reading in readings}
    pos, lemma = max(readings, key=lambda reading: weights[reading])
    total = sum(weights.values())
    if weights[pos, lemma] < DOMINANT * total or (total == 0 and len(readings) > 1):
        return None
    return pos, lemma


def _synonyms(wordnet: WordNet, lemma: str, pos: str, form: str) -> tuple[str, ...]:
    first = wordnet.list_senses(lemma, pos)[0]
    common = (word for word in wordnet.list_words(pos, first) if _is_common(word, lemma, pos, first))
    inflected = (_inflect(word, lemma, form, pos) for word in common)
    return tuple(word for word in inflected if word is not None and word != form)


def _is_common(word: str, lemma: str, pos: str, offset: int) -> bool:
    """Whether a member of the synset is a plain, current word for which this meaning is central."""
    wordnet = _database()
    plain = (
        word.isalpha() and word.islower() and len(word) > 2 and word != lemma and word not in FUNCTION_WORDS
    )
    return (
        plain
        and wordnet.counts.get((word, pos), 0) > 0
        and offset in wordnet.list_senses(word, pos)[:CENTRAL_SENSES]
    )


def _inflect(word: str, lemma: str, form: str, pos: str) -> str | None:
    """The word in the form that `form` is of `lemma`; None where that is in doubt."""
    if form == lemma:
        return None if pos == "v" and lemma in INVARIANT_VERBS else word
    if pos == "n":
        return _plural(word)
    if pos == "v":
        return _verb_form(word, form)
    return None


def _plural(noun: str) -> str:
    if noun.endswith("man"):
        return f"{noun[:-3]}men"
    irregular = _irregular("n").get(noun)
    return irregular[0] if irregular else _with_s(noun)


def _verb_form(verb: str, form: str) -> str | None:
    irregular = _irregular("v").get(verb, [])
    if form.endswith("ing"):
        known = [word for word in irregular if word.endswith("ing")]
        stem = verb[:-1] if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) else verb
        return known[0] if known else f"{stem}ing"
    if form.endswith("s") and form not in _database().load_exceptions("v"):
        return _with_s(verb)
    past = [word for word in irregular if not word.endswith("ing")]
    if len(past) > 1 or verb in INVARIANT_VERBS:
        return None
    return past[0] if past else _with_ed(verb)


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def _with_ed(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}ed"


@functools.cache
def _irregular(pos: str) -> dict[str, list[str]]:
    """Base forms and their irregular forms (which include doubled consonants: stop, stopped)."""
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for form, bases in _database().load_exceptions(pos).items():
        for base in bases:
            forms[base].append(form)
    return forms
