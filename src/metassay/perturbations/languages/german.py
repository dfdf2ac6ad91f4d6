"""German: synonyms, genders, pronouns and what may replace them, verbs and negations.

Synonyms come from OpenThesaurus and are put into the form of the word they replace. No free tool inflects
German, so a form is built by the regular rules and used only if simplemma's dictionary knows it as a form of
the synonym. Nouns are exchanged within a gender that their endings give away.

German names. Every noun has a capital, so a name is known by a list, or by names and words around it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from metassay.perturbations.languages.names import (
    COMPANIES,
    FAMILY_NAMES,
    FEMALE,
    GERMAN_ARTICLES,
    GERMAN_BODIES,
    MALE,
    MOST_WORDS,
    NOT_NAMES,
    PERSON_TITLES,
    PLACE_WORDS,
    PLACES,
    NameRules,
    Word,
    bare_name,
    word_after,
    word_before,
)
from metassay.text.lemmas import find_lemma, is_common_word
from metassay.text.tagged_words import rank_word_tags
from metassay.text.thesaurus import open_thesaurus
from metassay.text.word_lists import WordLists
from metassay.text.words import starts_sentence

_LISTS = WordLists("metassay.perturbations.languages", "de")

FUNCTION_WORDS = _LISTS.read_words("function_words")

ADVERBS_IN_EN = _LISTS.read_words("adverbs_in_en")
"""Words that end like infinitives and are none."""

GENDERS = _LISTS.read_groups("noun_endings")
"""Endings that give a noun's gender away."""

NOUNS = _LISTS.read_word_groups("nouns")
"""Common nouns whose gender their ending does not show."""

NOT_FEMININE = _LISTS.read_words("not_feminine")
"""Nouns in -e that are not feminine; besides these, all that start with Ge-."""

PLURALS = GENDERS["f"]
"""Feminine endings whose plural takes -en (-n after -e)."""

ADJECTIVE_ENDINGS = _LISTS.read_lines("adjective_endings")

PRONOUNS = _LISTS.read_rows("pronouns")
"""Pronouns that can stand in each other's place: subjects by the verb they take, objects, possessives."""

NEVER_CHOSEN: frozenset[str] = frozenset()
"""Pronouns that are replaced but replace no other."""

ADDRESS = _LISTS.read_words("address")
"""Ways to say you: one in the place of another is no error."""

FORMAL = _LISTS.read_words("formal")
"""Pronouns of address, which keep their capital inside a sentence."""

_ACCUSATIVE = frozenset(("für", "gegen", "ohne", "um", "durch"))
_DATIVE = frozenset(("mit", "von", "bei", "zu", "aus", "nach", "seit", "außer", "gegenüber"))
_VERB_LAST = frozenset(
    ("dass", "wenn", "weil", "ob", "als", "da", "indem", "falls", "bevor", "nachdem", "während", "damit")
) | frozenset(("obwohl", "bis", "sobald", "solange", "seit", "sofern", "was", "wo", "wie", "warum", "wer"))
"""After these the finite verb comes last."""
_SINGULAR = frozenset(
    ("ist", "war", "hat", "wird", "wurde", "kann", "soll", "will", "muss", "darf", "mag", "möchte", "weiß")
) | frozenset(("sei", "wäre", "hätte", "würde", "könnte", "müsste", "dürfte", "sah", "kam", "ging", "gab"))
_SPOKEN_OF = {"ich": frozenset(("mir", "mich")), "wir": frozenset(("uns",)), "Sie": frozenset(("sich",))}
"""Words that go back to the subject and would have to change with it."""


def pronoun_class(previous: str, pronoun: str, following: str, rest: str) -> int:
    """Which row of `PRONOUNS` a pronoun belongs to, −1 where case or verb leave room for none.

    A subject changes only with others of its number, and only where the finite verb is found: beside it, or
    last in the clause (`rest` is the clause from the pronoun on). "ich" needs a verb that er and sie take,
    too; "es" often stands for nothing and is left alone. "uns" and "euch" show their case after a
    preposition, "sein" and "ihr" are possessive where a noun follows, and "ich meine" is a verb.
    """
    if pronoun in {"sein", "ihr", "Ihr"}:
        return 5 if following[:1].isupper() else -1
    if pronoun in {"meine", "deine", "seine"} and "ich" in {previous, following.lower()}:
        return -1
    if pronoun in {"uns", "euch"}:
        return 3 if previous in _ACCUSATIVE else 4 if previous in _DATIVE else -1
    if pronoun in {"ich", "er", "sie", "es", "wir", "Sie"}:
        return _subject_class(previous, pronoun, following, rest.split())
    return next((row for row, words in enumerate(PRONOUNS) if pronoun in words), -1)


def _subject_class(previous: str, pronoun: str, following: str, rest: list[str]) -> int:
    number = _number(_finite_verb(previous, pronoun, following, rest))
    if pronoun == "es" or not _SPOKEN_OF.get(pronoun, frozenset()).isdisjoint(rest):
        return -1
    if pronoun in {"wir", "Sie"}:
        return 2 if number == "plural" else -1
    if pronoun == "sie" and number == "plural":
        return -1 if "sich" in rest else 2
    return -1 if number != "singular" else 1 if pronoun == "ich" else 0


def _finite_verb(previous: str, pronoun: str, following: str, rest: list[str]) -> str:
    """The verb that a subject goes with; nothing where it is not found or sie may be an object."""
    if previous in _VERB_LAST:
        return rest[-1] if len(rest) > 1 else ""
    if pronoun != "sie" and _number(previous):
        return previous
    return following if previous in {"", "und", "aber", "oder", "denn", "doch"} else ""


def _number(verb: str) -> str:
    """What a finite verb says of its subject: `plural`, `singular` where ich, er and sie agree; else nothing.

    Of er alone (-t) is `singular`, too, since er is then no ich; first persons (-e) agree with no other.
    """
    if verb in _SINGULAR:
        return "singular"
    if verb != verb.lower() or len(verb) < 3 or (verb in FUNCTION_WORDS and verb not in AUXILIARIES):
        return ""
    if verb == "sind" or verb.endswith(("en", "ern", "eln")):
        return "plural"
    return "singular" if verb.endswith("te") or (verb.endswith("t") and not verb.endswith("st")) else ""


AUXILIARIES = _LISTS.read_words("auxiliaries")
VERBS = _LISTS.read_words("verbs")
"""Common finite verbs."""
DETERMINERS = _LISTS.read_words("determiners")
"""What stands before a noun, and seldom before a name."""


CENTRAL_MEANINGS = 2


def synonyms(previous: str, form: str, following: str) -> tuple[str, ...]:  # noqa: ARG001
    """Synonyms in the form of a word (with its capital, if it is a noun)."""
    return _candidates(form)


@functools.lru_cache(maxsize=1 << 16)
def _candidates(form: str) -> tuple[str, ...]:
    if len(form) < 4 or form.lower() in FUNCTION_WORDS:
        return ()
    lemma = find_lemma(form, "de")
    if lemma is None or lemma.lower() in FUNCTION_WORDS or lemma[0].isupper() != form[0].isupper():
        return ()
    inflect = _noun if form[0].isupper() else _adjective
    for meaning in _meanings(lemma):
        same_case = [word for word in meaning if word[0].isupper() == form[0].isupper() and word != lemma]
        forms = [inflect(word, lemma, form) for word in same_case if word.lower() not in FUNCTION_WORDS]
        found = tuple(word for word in forms if word is not None and word != form)
        if found:
            return found
    return ()


def _meanings(lemma: str) -> list[list[str]]:
    thesaurus = open_thesaurus("de")
    assert thesaurus is not None
    return thesaurus.list_meanings(lemma.lower())[:CENTRAL_MEANINGS]


def _noun(word: str, lemma: str, form: str) -> str | None:
    """Nouns of the same gender; plurals only of the endings that all form it alike."""
    gender = _gender(lemma)
    if gender is None or _gender(word) != gender:
        return None
    if form == lemma:
        return word if find_lemma(word, "de") == word else None
    if gender == "f" and form in {f"{lemma}en", f"{lemma}n"} and word.endswith(PLURALS):
        plural = f"{word}n" if word.endswith("e") else f"{word}en"
        return plural if find_lemma(plural, "de") == word else None
    return None


@functools.lru_cache(maxsize=1 << 16)
def _gender(noun: str) -> str | None:
    listed = next((gender for gender, nouns in NOUNS.items() if noun in nouns), None)
    if listed is not None:
        return listed
    if noun.endswith("e") and (noun in NOT_FEMININE or noun.startswith("Ge")):
        return None
    return next((gender for gender, endings in GENDERS.items() if noun.endswith(endings)), None)


def _adjective(word: str, lemma: str, form: str) -> str | None:
    """Adjectives and adverbs. Verbs have no synonyms here: few take the same objects and prepositions."""
    if find_lemma(word, "de") != word or _is_infinitive(word) or _is_infinitive(lemma):
        return None
    if form == lemma:
        return word
    ending = form.removeprefix(lemma)
    if ending not in ADJECTIVE_ENDINGS:
        return None
    stem = f"{word[:-2]}l" if word.endswith("el") else word.removesuffix("e")
    return _checked(stem + ending, word)


def _is_infinitive(word: str) -> bool:
    return word.endswith(("en", "ern", "eln")) and word not in ADVERBS_IN_EN


def _checked(form: str, word: str) -> str | None:
    return form if find_lemma(form, "de") == word else None


_TWO_WORDS = {name for name in PLACES["de"] | COMPANIES if "_" in name}
_LISTED = frozenset(name.partition("_")[0] for name in _TWO_WORDS).union(
    FEMALE, MALE, FAMILY_NAMES, COMPANIES, *GERMAN_ARTICLES.values(), *GERMAN_BODIES.values()
)
_SAYING = WordLists("metassay.perturbations.languages", "de").read_words("saying")
_PLACE_PREPOSITIONS = {"in", "nach", "aus"}
_INSIDE_NAMES = {"de", "da", "di", "del", "van", "al", "bin", "the", "of", "and"}
_OPENING, _CLOSING, _STROKES = set("\"„“”»«'‚"), set("\"“”»«'‘"), set("/-−®™")


def _may_belong(text: str, word: Word, first: str) -> bool:
    bare = bare_name(word)
    if len(bare) < 2 or bare in NOT_NAMES["de"] or "'" in bare or "’" in bare or word[0].endswith("-"):
        return False
    if (first in FEMALE or first in MALE) and all(find_lemma(part, "de") is None for part in bare.split("-")):
        return True  # a family name
    if f"{first}_{bare}" in _TWO_WORDS:
        return True
    return _could_be_name(bare) and (_is_listed(bare) or not _is_noun(text, word.start(), bare))


@functools.lru_cache(maxsize=1 << 16)
def _could_be_name(word: str) -> bool:
    """Whether a word is listed, or a name to the tagger and nothing that the dictionary knows."""
    if len(word) < 2 or word in NOT_NAMES["de"]:
        return False
    noun = "-" in word or word.lower() in FUNCTION_WORDS
    return _is_listed(word) or (
        not noun and rank_word_tags(word, "de")[:1] == ("NE",) and not _is_german(word)
    )


def _is_listed(word: str) -> bool:
    return word in _LISTED or _is_place(word)


def _is_place(name: str) -> bool:
    return name in PLACES["de"] or name.removesuffix("s") in PLACES["de"]


def _is_noun(text: str, start: int, word: str) -> bool:
    """Whether a word that may be a name is a noun where it stands."""
    first = starts_sentence(text, start) and find_lemma(word.lower(), "de") is not None
    return first or word_before(text, start).lower() in DETERMINERS


def _is_german(word: str) -> bool:
    return is_common_word(word, "de") or (
        "NN" in rank_word_tags(word, "de") and find_lemma(word, "de") is not None
    )


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether a name goes on, stands in quotation marks, as titles do, or beside a stroke."""
    left, right = text[start - 1 : start], text[end : end + 1]
    if (left in _OPENING and right in _CLOSING) or left in _STROKES or right in _STROKES:
        return True
    before, after = word_before(text, start), word_after(text, end)
    if before in _INSIDE_NAMES or after in _INSIDE_NAMES - {"al"}:
        return True
    if _is_strange(after) or (after.istitle() and find_lemma(after, "de") is None):
        return True
    begins = starts_sentence(text, start - len(before) - 1)
    return _is_strange(before) and before not in PERSON_TITLES["de"] and not begins


def _is_strange(word: str) -> bool:
    """Whether a word has a capital and is no noun."""
    return word[:1].isupper() and rank_word_tags(word, "de")[:1] != ("NN",)


def _kind(before: str, words: Sequence[str]) -> str:
    whole, several = "_".join(words), len(words) > 1
    if len(words) > MOST_WORDS or (several and all(map(_is_place, words))):
        return "NAME"
    if _is_place(whole) or any(whole in own for own in GERMAN_ARTICLES.values()):
        return "LOC"
    if whole in COMPANIES or any(whole in own for own in GERMAN_BODIES.values()):
        return "ORG"
    if before in PERSON_TITLES["de"] or whole in FAMILY_NAMES or words[0] in FEMALE or words[0] in MALE:
        return "PER"
    return "LOC" if several and words[-1] in PLACE_WORDS else "NAME"


def _form(before: str, words: Sequence[str], kind: str) -> str | None:
    """The article that a name takes, and whether it is a genitive in -s."""
    determined = before.lower() in DETERMINERS
    whole = "_".join(words)
    for gender, own in (GERMAN_BODIES if kind == "ORG" else GERMAN_ARTICLES).items():
        if whole in own:
            bends = determined or before.endswith(("en", "er", "e"))
            return gender if bends or gender == "plural" else "" if gender == "masc" else None
    if determined:
        return None
    return "gent" if kind == "LOC" and whole not in PLACES["de"] and _is_place(whole) else ""


def _hint(text: str, start: int, end: int, words: Sequence[str]) -> str:
    if any(
        word.isupper() or _is_german(word) or rank_word_tags(word, "en")[:1] != ("NP0",) for word in words
    ):
        return "NAME"
    before = word_before(text, start)
    if before in _SAYING or word_after(text, end) in _SAYING:
        return "PER?"
    return "LOC?" if before.lower() in _PLACE_PREPOSITIONS else "NAME"


RULES = NameRules(_may_belong, _is_part, _kind, _form, _hint, _could_be_name)
