"""German grammar: pronouns, synonyms, the gender of nouns.

Synonyms come from OpenThesaurus and are inflected like the word they replace. No free tool inflects German:
a form is built by the regular rules and used only if the dictionary of simplemma knows it as a form of the
synonym. A noun is replaced only by a noun of the same gender, as far as its ending shows the gender.
"""

from __future__ import annotations

import functools

from metassay.text.lemmas import find_lemma
from metassay.text.thesaurus import open_thesaurus
from metassay.text.word_lists import WordLists

_LISTS = WordLists("metassay.perturbations.languages", "de")

FUNCTION_WORDS = _LISTS.read_words("function_words")

# Words that end like infinitives but are adverbs.
ADVERBS_IN_EN = _LISTS.read_words("adverbs_in_en")

# Endings that show the gender of a noun, by gender.
NOUN_ENDINGS = _LISTS.read_lists_by_first_cell("noun_endings")

# Common nouns whose ending does not show their gender, by gender.
NOUNS = _LISTS.read_sets_by_first_cell("nouns")

# Nouns in -e that are not feminine. Nouns that begin with Ge- are not feminine either.
NOT_FEMININE = _LISTS.read_words("not_feminine")

# Endings of feminine nouns, whose plural ends in -en (-n after -e).
FEMININE_ENDINGS = NOUN_ENDINGS["f"]

ADJECTIVE_ENDINGS = _LISTS.read_lines("adjective_endings")
AUXILIARIES = _LISTS.read_words("auxiliaries")
# Common finite verbs.
VERBS = _LISTS.read_words("verbs")
# Words that often precede a noun, but seldom a name.
DETERMINERS = _LISTS.read_words("determiners")

# Pronouns that can replace each other: subjects by the verb they take, objects, possessives.
PRONOUNS = _LISTS.read_tab_separated_rows("pronouns")

THIRD_PERSON_SUBJECTS = 0
SINGULAR_SUBJECTS = 1
PLURAL_SUBJECTS = 2
ACCUSATIVE_OBJECTS = 3
DATIVE_OBJECTS = 4
POSSESSIVES = 5
# The row of a pronoun whose case is not clear, or that no other pronoun can replace.
NO_ROW = -1

# Pronouns that are replaced but do not replace others.
NEVER_CHOSEN: frozenset[str] = frozenset()

# Pronouns that mean "you". Replacing one of them by another is not an error.
FORMS_OF_ADDRESS = _LISTS.read_words("address")

# Formal pronouns of address, which are always capitalised.
FORMAL_PRONOUNS = _LISTS.read_words("formal")

_ACCUSATIVE_PREPOSITIONS = frozenset(("für", "gegen", "ohne", "um", "durch"))
_DATIVE_PREPOSITIONS = frozenset(("mit", "von", "bei", "zu", "aus", "nach", "seit", "außer", "gegenüber"))
_COORDINATING_CONJUNCTIONS = frozenset(("und", "aber", "oder", "denn", "doch"))
# Words that begin a clause whose finite verb comes last.
_SUBORDINATING_WORDS = frozenset(
    ("dass", "wenn", "weil", "ob", "als", "da", "indem", "falls", "bevor", "nachdem", "während", "damit")
) | frozenset(("obwohl", "bis", "sobald", "solange", "seit", "sofern", "was", "wo", "wie", "warum", "wer"))
_SINGULAR_VERBS = frozenset(
    ("ist", "war", "hat", "wird", "wurde", "kann", "soll", "will", "muss", "darf", "mag", "möchte", "weiß")
) | frozenset(("sei", "wäre", "hätte", "würde", "könnte", "müsste", "dürfte", "sah", "kam", "ging", "gab"))
# Pronouns that refer to the subject and would have to change with it.
_REFLEXIVES = {"ich": frozenset(("mir", "mich")), "wir": frozenset(("uns",)), "Sie": frozenset(("sich",))}
# Synonyms are taken from the first meanings of a word only.
_CENTRAL_MEANINGS = 2
_CACHED_WORDS = 1 << 16


def classify_pronoun_role(previous_word: str, pronoun: str, next_word: str, clause: str) -> int:
    """Return the row of the pronoun table (subject, object and so on) to which a pronoun belongs, or -1 if
    that is not clear.

    `clause` begins with the pronoun. A subject is replaced only by a subject of the same number, and only if
    the finite verb is found: beside it, or last in the clause. "ich" needs a verb form that er and sie share.
    "es" is never replaced, because it often refers to nothing. "uns" and "euch" show their case only after a
    preposition, and "sein" and "ihr" are possessive only before a noun. "meine" is a verb beside "ich".
    """
    if pronoun in {"sein", "ihr", "Ihr"}:
        # All German nouns are capitalised.
        is_before_noun = next_word[:1].isupper()
        return POSSESSIVES if is_before_noun else NO_ROW
    if pronoun in {"meine", "deine", "seine"} and "ich" in {previous_word, next_word.lower()}:
        return NO_ROW
    if pronoun in {"uns", "euch"}:
        if previous_word in _ACCUSATIVE_PREPOSITIONS:
            return ACCUSATIVE_OBJECTS
        return DATIVE_OBJECTS if previous_word in _DATIVE_PREPOSITIONS else NO_ROW
    if pronoun in {"ich", "er", "sie", "es", "wir", "Sie"}:
        return _classify_role_of_subject_pronoun(previous_word, pronoun, next_word, clause.split())
    return next((row for row, pronouns in enumerate(PRONOUNS) if pronoun in pronouns), NO_ROW)


def _classify_role_of_subject_pronoun(
    previous_word: str, pronoun: str, next_word: str, clause_words: list[str]
) -> int:
    """Return the row of the pronoun table for a subject, or -1 if the verb does not show whether it is
    singular or plural.
    """
    if pronoun == "es" or not _REFLEXIVES.get(pronoun, frozenset()).isdisjoint(clause_words):
        return NO_ROW
    number = _decide_singular_or_plural(
        _find_finite_verb_of_subject(previous_word, pronoun, next_word, clause_words)
    )
    if pronoun in {"wir", "Sie"}:
        return PLURAL_SUBJECTS if number == "plural" else NO_ROW
    if pronoun == "sie" and number == "plural":
        return NO_ROW if "sich" in clause_words else PLURAL_SUBJECTS
    if number != "singular":
        return NO_ROW
    return SINGULAR_SUBJECTS if pronoun == "ich" else THIRD_PERSON_SUBJECTS


def _find_finite_verb_of_subject(
    previous_word: str, pronoun: str, next_word: str, clause_words: list[str]
) -> str:
    """Find the finite verb that belongs to a pronoun as its subject, or return an empty text if that is not
    clear.
    """
    if previous_word in _SUBORDINATING_WORDS:
        return clause_words[-1] if len(clause_words) > 1 else ""
    if pronoun != "sie" and _decide_singular_or_plural(previous_word):
        return previous_word
    opens_clause = not previous_word or previous_word in _COORDINATING_CONJUNCTIONS
    return next_word if opens_clause else ""


def _decide_singular_or_plural(verb: str) -> str:
    """Return whether a finite verb form is `singular` or `plural`, or an empty text if that is not clear.

    Forms in -e are not clear: they agree with "ich" only. Forms in -t agree with "er" only, but count as
    singular, because the pronoun beside them is then not "ich".
    """
    if verb in _SINGULAR_VERBS:
        return "singular"
    is_function_word = verb in FUNCTION_WORDS and verb not in AUXILIARIES
    if verb != verb.lower() or len(verb) < 3 or is_function_word:
        return ""
    if verb == "sind" or verb.endswith(("en", "ern", "eln")):
        return "plural"
    if verb.endswith("te") or (verb.endswith("t") and not verb.endswith("st")):
        return "singular"
    return ""


def find_fitting_synonyms(previous_word: str, word_form: str, next_word: str) -> tuple[str, ...]:  # noqa: ARG001
    """Find the synonyms of a word form in the same inflected form. Nouns are capitalised."""
    return _find_inflected_synonyms(word_form)


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _find_inflected_synonyms(word_form: str) -> tuple[str, ...]:
    """Find the synonyms of a word form in the same inflected form. Only its first meaning with synonyms is
    used.
    """
    if len(word_form) < 4 or word_form.lower() in FUNCTION_WORDS:
        return ()
    is_noun = word_form[0].isupper()
    lemma = find_lemma(word_form, "de")
    if lemma is None or lemma.lower() in FUNCTION_WORDS or lemma[0].isupper() != is_noun:
        return ()
    inflect = _inflect_noun_like if is_noun else _inflect_adjective_like
    for meaning in _list_synonyms_by_meaning(lemma):
        synonyms = []
        for word in meaning:
            if word == lemma or word[0].isupper() != is_noun or word.lower() in FUNCTION_WORDS:
                continue
            inflected = inflect(word, lemma, word_form)
            if inflected is not None and inflected != word_form:
                synonyms.append(inflected)
        if synonyms:
            return tuple(synonyms)
    return ()


def _list_synonyms_by_meaning(lemma: str) -> list[list[str]]:
    """List the synonyms of a word for each of its most common meanings."""
    thesaurus = open_thesaurus("de")
    assert thesaurus is not None
    # The entries of a MyThes file are in lower case.
    return thesaurus.list_synonyms_by_meaning(lemma.lower())[:_CENTRAL_MEANINGS]


def _inflect_noun_like(noun: str, model_lemma: str, model_form: str) -> str | None:
    """Inflect a noun in the same way as `model_form` is inflected from `model_lemma`. None if the two nouns
    differ in gender or a gender is unknown.

    Only feminine plurals are formed, because they all have the same ending.
    """
    gender = _find_noun_gender(model_lemma)
    if gender is None or _find_noun_gender(noun) != gender:
        return None
    if model_form == model_lemma:
        return noun if find_lemma(noun, "de") == noun else None
    is_feminine_plural = gender == "f" and model_form in {f"{model_lemma}en", f"{model_lemma}n"}
    if is_feminine_plural and noun.endswith(FEMININE_ENDINGS):
        # The dictionary must know the form, because the rule has exceptions.
        plural = f"{noun}n" if noun.endswith("e") else f"{noun}en"
        return plural if find_lemma(plural, "de") == noun else None
    return None


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _find_noun_gender(noun: str) -> str | None:
    """Find the gender of a noun in a list or from its ending. None if neither shows the gender."""
    for gender, nouns in NOUNS.items():
        if noun in nouns:
            return gender
    if noun.endswith("e") and (noun in NOT_FEMININE or noun.startswith("Ge")):
        return None
    for gender, endings in NOUN_ENDINGS.items():
        if noun.endswith(endings):
            return gender
    return None


def _inflect_adjective_like(word: str, model_lemma: str, model_form: str) -> str | None:
    """Inflect an adjective or adverb in the same way as `model_form` is inflected from `model_lemma`. None if
    this is not possible.

    Verbs are not replaced: few synonyms take the same objects and prepositions.
    """
    if find_lemma(word, "de") != word or _is_infinitive(word) or _is_infinitive(model_lemma):
        return None
    if model_form == model_lemma:
        return word
    ending = model_form.removeprefix(model_lemma)
    if ending not in ADJECTIVE_ENDINGS:
        return None
    # "dunkel" loses its e before an ending ("dunkle"), and "leise" gets no second one.
    stem = f"{word[:-2]}l" if word.endswith("el") else word.removesuffix("e")
    inflected = stem + ending
    return inflected if find_lemma(inflected, "de") == word else None


def _is_infinitive(word: str) -> bool:
    """Return whether a word ends like an infinitive and is not an adverb."""
    return word.endswith(("en", "ern", "eln")) and word not in ADVERBS_IN_EN
