"""English grammar: pronouns, synonyms and other related words from WordNet, inflection."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from metassay.perturbations.languages.names import FEMALE_NAMES, MALE_NAMES
from metassay.text.word_lists import WordLists
from metassay.text.wordnet import PARTS_OF_SPEECH, WordNet, open_wordnet

_LISTS = WordLists("metassay.perturbations.languages", "en")

# Words without synonyms: what WordNet has for them ("in": indium) is not what they mean in a text.
FUNCTION_WORDS = _LISTS.read_words("function_words")

# Words that change the meaning of the verb before them: "give up".
PARTICLES = _LISTS.read_words("particles")

# Verbs whose past tense equals their base form: "put".
INVARIANT_VERBS = _LISTS.read_words("invariant_verbs")

AUXILIARIES = _LISTS.read_words("auxiliaries")

# Words that are the subject if they follow an auxiliary; "not" comes after them.
INVERTED_SUBJECTS = _LISTS.read_words("inverted")

# Pronouns that can replace each other: subjects by number, objects, possessives, reflexives.
PRONOUNS = _LISTS.read_tab_separated_rows("pronouns")

SINGULAR_SUBJECTS = 0
PLURAL_SUBJECTS = 1
OBJECTS = 2
POSSESSIVES = 3
SUBJECTS_OF_ARE = 5
SUBJECTS_OF_WAS = 6
# The row of a pronoun whose function is not clear from its neighbours.
NO_ROW = -1

# Pronouns that are replaced but do not replace others.
NEVER_CHOSEN: frozenset[str] = frozenset()

# Pronouns that all mean "you". English has only one.
FORMS_OF_ADDRESS: frozenset[str] = frozenset()

_WORDS_BEFORE_OBJECT = _LISTS.read_words("before_object")
_WORDS_BEFORE_SUBJECT = _LISTS.read_words("before_subject")
_WORDS_AFTER_OBJECT = _LISTS.read_words("after_object")

# WordNet's topics of concrete things: animals, artefacts, bodies, food, places, objects, people, plants,
# substances.
CONCRETE_TOPICS = frozenset((5, 6, 8, 13, 15, 17, 18, 20, 27))
# WordNet's topic of the most general nouns: person, object.
TOP_TOPIC = 3
# Share of the occurrences of a form in which it must have the part of speech that we assume.
DOMINANT_SHARE = 0.75
# A synonym must have the meaning of the word among this many first senses of its own.
CENTRAL_SENSES = 2
# Share of its occurrences in which a noun must have its first sense to be replaced in another sense.
FIRST_SENSE_SHARE = 0.7
# How often a word must occur in the tagged texts of WordNet to replace another word.
MINIMUM_COUNT = 5
_CACHED_WORDS = 1 << 16

Relation = Literal["antonym", "cohyponym", "hypernym", "wrong_sense"]


def classify_pronoun_role(previous_word: str, pronoun: str, next_word: str, clause: str) -> int:  # noqa: ARG001
    """Return the row of the pronoun table (subject, object and so on) to which a pronoun belongs, or -1 if
    that is not clear.

    All words are in lower case; `next_word` is empty at the end of a clause.
    """
    # "was" and "am" take fewer subjects than other verbs: "you" and "we" do not fit.
    if next_word in {"was", "am"}:
        can_be_replaced = next_word == "was" and pronoun in PRONOUNS[SUBJECTS_OF_WAS]
        return SUBJECTS_OF_WAS if can_be_replaced else NO_ROW
    if next_word in {"are", "were"} and pronoun in PRONOUNS[SUBJECTS_OF_ARE]:
        return SUBJECTS_OF_ARE
    # These two have one form for subject and object, and "her" one for object and possessive.
    if pronoun in {"it", "you"}:
        return _classify_role_of_it_or_you(previous_word, pronoun, next_word)
    if pronoun == "her":
        is_possessive = next_word and next_word not in _WORDS_AFTER_OBJECT
        return POSSESSIVES if is_possessive else OBJECTS
    return next((row for row, pronouns in enumerate(PRONOUNS) if pronoun in pronouns), NO_ROW)


def _classify_role_of_it_or_you(previous_word: str, pronoun: str, next_word: str) -> int:
    """Return the row of the pronoun table for "it" or "you", which can be subject or object, or -1 if the
    neighbours do not show it.
    """
    if not next_word or previous_word in _WORDS_BEFORE_OBJECT or previous_word.endswith("ing"):
        return OBJECTS
    follows_auxiliary = previous_word in AUXILIARIES
    opens_clause = not previous_word or previous_word in _WORDS_BEFORE_SUBJECT
    precedes_verb = next_word in AUXILIARIES or (pronoun == "it" and next_word.endswith(("ed", "es")))
    if opens_clause or follows_auxiliary or precedes_verb:
        return SINGULAR_SUBJECTS if pronoun == "it" else PLURAL_SUBJECTS
    return OBJECTS if next_word in _WORDS_AFTER_OBJECT else NO_ROW


@dataclass(frozen=True)
class WordEntry:
    """A word form with its part of speech, its base form, and the words that can replace it."""

    part_of_speech: str
    lemma: str
    replacements: tuple[str, ...]


def find_fitting_synonyms(previous_word: str, word_form: str, next_word: str) -> tuple[str, ...]:
    """Find the synonyms of a word that fit between its neighbouring words. All words are in lower case."""
    return _filter_replacement_words_by_neighbours(
        _find_inflected_synonyms(word_form), previous_word, word_form, next_word
    )


def find_fitting_related_words(
    relation: Relation, previous_word: str, word_form: str, next_word: str
) -> tuple[str, ...]:
    """Find words with a relation to a word, such as antonyms, that fit between its neighbours. All words are
    in lower case.
    """
    return _filter_replacement_words_by_neighbours(
        find_related_words(word_form, relation), previous_word, word_form, next_word
    )


def _filter_replacement_words_by_neighbours(
    word_entry: WordEntry | None, previous_word: str, word_form: str, next_word: str
) -> tuple[str, ...]:
    """Return the words that can replace a word between its neighbours, or no words if it is part of a
    phrase.
    """
    if word_entry is None:
        return ()
    has_particle = word_entry.part_of_speech == "v" and next_word in PARTICLES
    if has_particle or _is_in_wordnet_phrase(word_entry.lemma, previous_word, next_word):
        return ()
    if previous_word in {"a", "an"}:
        # The article stays, so the new word must begin with a similar sound.
        has_vowel = word_form[0] in "aeiou"
        return tuple(word for word in word_entry.replacements if (word[0] in "aeiou") == has_vowel)
    return word_entry.replacements


@functools.lru_cache(maxsize=_CACHED_WORDS)
def is_proper_name(word: str) -> bool:
    """Return whether a capitalised word is a name in one of its senses, such as John."""
    if word in FEMALE_NAMES or word in MALE_NAMES:
        return True
    wordnet = _require_wordnet()
    return any(
        word in wordnet.list_words_of_synset("n", sense) for sense in wordnet.list_synsets(word.lower(), "n")
    )


def _require_wordnet() -> WordNet:
    """Open WordNet. The caller must have checked that it is installed."""
    wordnet = open_wordnet()
    assert wordnet is not None
    return wordnet


def _is_in_wordnet_phrase(lemma: str, previous_word: str, next_word: str) -> bool:
    """Return whether WordNet has a phrase of a word and one of its neighbours, such as "take place"."""
    phrases = _require_wordnet().phrases
    return f"{lemma}_{next_word}" in phrases or f"{previous_word}_{lemma}" in phrases


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _find_inflected_synonyms(word_form: str) -> WordEntry | None:
    """Find the synonyms of a word form in the same inflected form. None if there are none."""
    reading = _find_part_of_speech_and_lemma(word_form)
    if reading is None:
        return None
    part_of_speech, lemma = reading
    synonyms = _list_synonyms(lemma, part_of_speech, word_form)
    return WordEntry(part_of_speech, lemma, synonyms) if synonyms else None


@functools.lru_cache(maxsize=_CACHED_WORDS)
def find_related_words(word_form: str, relation: Relation) -> WordEntry | None:
    """Find words that have a relation to a word, such as its antonyms, in the same inflected form. None if
    there are none.
    """
    reading = _find_part_of_speech_and_lemma(word_form)
    if reading is None:
        return None
    part_of_speech, lemma = reading
    if relation != "antonym" and part_of_speech != "n":
        return None
    related_words = dict.fromkeys(_RELATION_FINDERS[relation](lemma, part_of_speech))
    plain_words = [word for word in related_words if _is_lower_case_content_word(word)]
    inflected_words = _inflect_words_like(plain_words, lemma, word_form, part_of_speech)
    return WordEntry(part_of_speech, lemma, inflected_words) if inflected_words else None


def _list_antonyms(lemma: str, part_of_speech: str) -> Iterable[str]:
    """List the words whose meaning is opposite to the most frequent sense of a word."""
    wordnet = _require_wordnet()
    return wordnet.find_antonyms(lemma, part_of_speech, wordnet.list_synsets(lemma, part_of_speech)[0])


def _list_hypernym_synsets(lemma: str, part_of_speech: str) -> list[int]:
    """List the WordNet senses that are one level more general than the most frequent sense of a word."""
    wordnet = _require_wordnet()
    first_sense = wordnet.list_synsets(lemma, part_of_speech)[0]
    return wordnet.list_related_synsets(part_of_speech, first_sense, "@")


def _list_hypernyms(lemma: str, part_of_speech: str) -> Iterable[str]:
    """List nouns that are more general than a noun and at least as common, such as "fruit" for "apple"."""
    wordnet = _require_wordnet()
    minimum_count = max(wordnet.tag_counts.get((lemma, part_of_speech), 0), MINIMUM_COUNT)
    hypernyms = []
    for parent in _list_hypernym_synsets(lemma, part_of_speech):
        words = wordnet.list_words_of_synset(part_of_speech, parent)
        hypernyms += [
            word for word in words if wordnet.tag_counts.get((word, part_of_speech), 0) >= minimum_count
        ]
    return hypernyms


def _list_cohyponyms(lemma: str, part_of_speech: str) -> Iterable[str]:
    """List common nouns that name another kind of the same thing, such as "pear" for "apple"."""
    first_sense = _require_wordnet().list_synsets(lemma, part_of_speech)[0]
    cohyponyms = []
    for parent in _list_hypernym_synsets(lemma, part_of_speech):
        for word, sense in _list_common_hyponyms(parent, part_of_speech):
            if sense != first_sense:
                cohyponyms.append(word)
    return cohyponyms


@functools.cache
def _list_common_hyponyms(synset: int, part_of_speech: str) -> list[tuple[str, int]]:
    """List common words that are one level more specific than a WordNet sense, each with its first sense."""
    wordnet = _require_wordnet()
    hyponyms = []
    for child in wordnet.list_related_synsets(part_of_speech, synset, "~"):
        word = wordnet.list_words_of_synset(part_of_speech, child)[0]
        if _is_word_common_in_sense(word, part_of_speech, child):
            hyponyms.append((word, child))
    return hyponyms


def _is_word_common_in_sense(word: str, part_of_speech: str, sense: int) -> bool:
    """Return whether a word is common and `sense` is its most frequent sense."""
    wordnet = _require_wordnet()
    is_common = wordnet.tag_counts.get((word, part_of_speech), 0) >= MINIMUM_COUNT
    return is_common and wordnet.list_synsets(word, part_of_speech)[:1] == (sense,)


def _list_words_of_other_senses(lemma: str, part_of_speech: str) -> Iterable[str]:
    """List common words for the rarer senses of a noun, such as "hobby" for "interest".

    The noun must have its first sense in most of its occurrences. The words must differ in topic from that
    sense, and either they or the noun must be concrete.
    """
    wordnet = _require_wordnet()
    first_sense, *other_senses = wordnet.list_synsets(lemma, part_of_speech)
    first_sense_count = wordnet.sense_counts.get((lemma, part_of_speech, 1), 0)
    if first_sense_count < FIRST_SENSE_SHARE * wordnet.tag_counts.get((lemma, part_of_speech), 0):
        return ()
    synsets = []
    for sense in other_senses:
        synsets.append(sense)
        synsets += wordnet.list_related_synsets(part_of_speech, sense, "@")
    topic = wordnet.get_topic_number(part_of_speech, first_sense)
    words = []
    for synset in synsets:
        for word in wordnet.list_words_of_synset(part_of_speech, synset):
            # Words that begin alike may be derived from each other.
            if not _is_word_common_in_sense(word, part_of_speech, synset) or word[:3] == lemma[:3]:
                continue
            # A word that is also a form of another one could be read as that one.
            if wordnet.find_lemmas(word, part_of_speech) != [word]:
                continue
            senses = wordnet.list_synsets(word, part_of_speech)
            topics = {wordnet.get_topic_number(part_of_speech, sense) for sense in senses}
            is_concrete = topic in CONCRETE_TOPICS or topics <= CONCRETE_TOPICS
            if topics.isdisjoint((topic, TOP_TOPIC)) and is_concrete:
                words.append(word)
    return words


_RELATION_FINDERS: dict[Relation, Callable[[str, str], Iterable[str]]] = {
    "antonym": _list_antonyms,
    "cohyponym": _list_cohyponyms,
    "hypernym": _list_hypernyms,
    "wrong_sense": _list_words_of_other_senses,
}


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _find_part_of_speech_and_lemma(word_form: str) -> tuple[str, str] | None:
    """Return the part of speech and the base form of a word form. None if several are plausible."""
    if word_form in FUNCTION_WORDS or len(word_form) < 3 or not word_form.isalpha():
        return None
    wordnet = _require_wordnet()
    counts = {}
    for part_of_speech in PARTS_OF_SPEECH:
        for lemma in wordnet.find_lemmas(word_form, part_of_speech):
            counts[part_of_speech, lemma] = wordnet.tag_counts.get((lemma, part_of_speech), 0)
    if not counts:
        return None
    reading = max(counts, key=counts.__getitem__)
    total = sum(counts.values())
    # Words that were never tagged have no counts to decide between readings.
    is_ambiguous = total == 0 and len(counts) > 1
    if is_ambiguous or counts[reading] < DOMINANT_SHARE * total:
        return None
    return reading


def _list_synonyms(lemma: str, part_of_speech: str, word_form: str) -> tuple[str, ...]:
    """List the synonyms of the most frequent sense of a word that are in use today, inflected like
    `word_form`.
    """
    wordnet = _require_wordnet()
    synset = wordnet.list_synsets(lemma, part_of_speech)[0]
    words = wordnet.list_words_of_synset(part_of_speech, synset)
    synonyms = [
        word for word in words if word != lemma and _is_word_in_current_use(word, part_of_speech, synset)
    ]
    return _inflect_words_like(synonyms, lemma, word_form, part_of_speech)


def _is_lower_case_content_word(word: str) -> bool:
    """Return whether a word has only lower-case letters and is not a function word such as "the"."""
    return word.isalpha() and word.islower() and word not in FUNCTION_WORDS


def _is_word_in_current_use(word: str, part_of_speech: str, synset: int) -> bool:
    """Return whether a word is in use today, and a WordNet sense is among its most frequent senses."""
    wordnet = _require_wordnet()
    return (
        _is_lower_case_content_word(word)
        and len(word) > 2
        and wordnet.tag_counts.get((word, part_of_speech), 0) > 0
        and synset in wordnet.list_synsets(word, part_of_speech)[:CENTRAL_SENSES]
    )


def _inflect_words_like(
    words: Iterable[str], lemma: str, model_form: str, part_of_speech: str
) -> tuple[str, ...]:
    """Inflect words in the same way as `model_form` is inflected from its lemma. Words for which this fails,
    or that equal `model_form`, are left out.
    """
    inflected_words = (_inflect_word_like(word, lemma, model_form, part_of_speech) for word in words)
    return tuple(word for word in inflected_words if word is not None and word != model_form)


def _inflect_word_like(word: str, lemma: str, model_form: str, part_of_speech: str) -> str | None:
    """Inflect a word in the same way as `model_form` is inflected from its lemma. None if the form is not
    certain.
    """
    if model_form == lemma:
        # "put" can be present or past, which other verbs tell apart.
        is_ambiguous = part_of_speech == "v" and lemma in INVARIANT_VERBS
        return None if is_ambiguous else word
    if part_of_speech == "n":
        return _make_plural(word)
    if part_of_speech == "v":
        return _inflect_verb(word, model_form)
    return None


def _make_plural(noun: str) -> str:
    """Return the plural of a noun."""
    # WordNet has this ending among its rules, so that its exceptions do not list every such noun.
    if noun.endswith("man"):
        return f"{noun[:-3]}men"
    irregular_forms = _load_irregular_forms("n").get(noun)
    return irregular_forms[0] if irregular_forms else _add_ending_s(noun)


def _inflect_verb(verb: str, model_form: str) -> str | None:
    """Inflect a verb in the same way as the form `model_form` of another verb. None if the form is not
    certain.
    """
    irregular_forms = _load_irregular_forms("v").get(verb, [])
    if model_form.endswith("ing"):
        for irregular_form in irregular_forms:
            if irregular_form.endswith("ing"):
                return irregular_form
        drops_e = verb.endswith("e") and not verb.endswith(("ee", "oe", "ye"))
        return f"{verb[:-1] if drops_e else verb}ing"
    # Irregular past forms can end in -s: "was".
    if model_form.endswith("s") and model_form not in _require_wordnet().load_irregular_forms("v"):
        return _add_ending_s(verb)
    past_forms = [form for form in irregular_forms if not form.endswith("ing")]
    # With two irregular forms (took, taken) the model does not say which of them is needed.
    if len(past_forms) > 1 or verb in INVARIANT_VERBS:
        return None
    return past_forms[0] if past_forms else _add_ending_ed(verb)


def _add_ending_s(word: str) -> str:
    """Append the -s of plurals and of the third person with the right spelling: boxes, parties, cars."""
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def _add_ending_ed(verb: str) -> str:
    """Append the -ed of the past tense with the right spelling: used, tried, walked."""
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}ed"


@functools.cache
def _load_irregular_forms(part_of_speech: str) -> dict[str, list[str]]:
    """Load the irregular forms of words by base form. Forms that double a consonant, such as "stopped", are
    included.
    """
    irregular_forms: defaultdict[str, list[str]] = defaultdict(list)
    for form, lemmas in _require_wordnet().load_irregular_forms(part_of_speech).items():
        for lemma in lemmas:
            irregular_forms[lemma].append(form)
    return irregular_forms
