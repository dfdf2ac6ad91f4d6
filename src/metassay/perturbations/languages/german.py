"""German: synonyms, genders, pronouns and what may replace them, verbs and negations.

Synonyms come from OpenThesaurus and are put into the form of the word they replace. No free tool inflects
German, so a form is built by the regular rules and used only if simplemma's dictionary knows it as a form of
the synonym. Nouns are exchanged within a gender that their endings give away.
"""

from __future__ import annotations

import functools
import re

from metassay.text.analysers import german_lemma
from metassay.text.thesauri import open_thesaurus
from metassay.text.words import WordLists

_LISTS = WordLists("metassay.perturbations.languages", "de")

FUNCTION_WORDS = _LISTS.words("function_words")

ADVERBS_IN_EN = _LISTS.words("adverbs_in_en")
"""Words that end like infinitives and are none."""

GENDERS = _LISTS.groups("noun_endings")
"""Endings that give a noun's gender away."""

NOUNS = _LISTS.word_groups("nouns")
"""Common nouns whose gender their ending does not show."""

NOT_FEMININE = _LISTS.words("not_feminine")
"""Nouns in -e that are not feminine; besides these, all that start with Ge-."""

PLURALS = GENDERS["f"]
"""Feminine endings whose plural takes -en (-n after -e)."""

ADJECTIVE_ENDINGS = _LISTS.lines("adjective_endings")

PRONOUNS = _LISTS.rows("pronouns")
"""Pronouns that can stand in each other's place: subjects by the verb they take, objects, possessives."""

NEVER_CHOSEN: frozenset[str] = frozenset()
"""Pronouns that are replaced but replace no other."""

ADDRESS = _LISTS.words("address")
"""Ways to say you: one in the place of another is no error."""

FORMAL = _LISTS.words("formal")
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


AUXILIARIES = _LISTS.words("auxiliaries")
VERBS = _LISTS.words("verbs")
"""Common finite verbs."""
NEGATED = _LISTS.words("negated")
"""Beside one of these no second negation is put in."""
_PLACES = _LISTS.word_groups("negation_places")
_SKIPPED, _DEFINITE, _HERE, _NEVER = (_PLACES[name] for name in ("skipped", "definite", "here", "never"))
_COPULA, _PREFIXES, _OPENERS = (_PLACES[name] for name in ("copula", "prefix", "opener"))
DETERMINERS = _LISTS.words("determiners")
"""What stands before a noun, and seldom before a name."""


Edit = tuple[tuple[int, int], str]
_CLAUSES = re.compile(r"[^.,;:!?()\[\]\"„“”»«–—…\n]+")
_WORDS = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*|\d\S*")
_INDEFINITE = re.compile(r"ein(?:e|en|em|er|es)?")
_NOT_EACH = frozenset(("paar", "bisschen", "wenig", "mal", "jeder", "Tages", "Morgens", "Abends", "Moment"))
_BEFORE_KEIN = frozenset(
    (
        "noch",
        "so",
        "was",
        "wie",
        "als",
        "nur",
        "auch",
        "schon",
        "wieder",
        "für",
        "solch",
        "der",
        "und",
        "oder",
    )
)
_INFINITE = re.compile(r"[a-zäöüß]+(?:en|ern|eln|[^s]t|sein|tun)")


def negations(text: str) -> list[Edit]:
    """Every "nicht" that a clause has room for, and "kein" for "ein", in order; none in negated clauses."""
    edits: list[Edit] = []
    for clause in _CLAUSES.finditer(text):
        words = list(_WORDS.finditer(text, *clause.span()))
        plain = [word[0] for word in words]
        if len(words) < 2 or not NEGATED.isdisjoint(word.lower() for word in plain):
            continue
        edits += _with_kein(words, plain)
        before, after = text[: clause.start()].rstrip()[-1:], text[clause.end() : clause.end() + 1]
        place = _place(plain, before, after) if before in _BOUNDARIES else None
        if place == len(words):
            edits.append(((words[-1].end(), words[-1].end()), " nicht"))
        elif place:
            edits.append(((words[place].start(), words[place].start()), "nicht "))
    return sorted(edits)


def _with_kein(words: list[re.Match[str]], plain: list[str]) -> list[Edit]:
    """A "k" before each "ein" that opens a noun phrase."""
    edits = []
    for i, word in enumerate(words[:-1]):
        if not _INDEFINITE.fullmatch(word[0]) or plain[i + 1] in _NOT_EACH:
            continue
        opens = i == 0 or plain[i - 1].lower() not in _BEFORE_KEIN
        if opens and _after_noun(plain, i + 1) is not None:
            edits.append(((word.start(), word.start()), "k"))
    return edits


def _after_noun(plain: list[str], start: int) -> int | None:
    """Where a noun phrase ends whose adjectives and noun begin here: after two adjectives at most."""
    for end in range(start, min(start + 3, len(plain))):
        if plain[end][0].isupper():
            return end + 1
        if (
            not plain[end].endswith(("e", "en", "er", "es", "em"))
            or plain[end] in AUXILIARIES | VERBS | _HERE
        ):
            return None
    return None


def _place(plain: list[str], before: str, after: str) -> int | None:
    """Before which word of a clause "nicht" stands, or after the last; None where there is no room for it."""
    first = 1 if plain[0].lower() in _COORDINATING else 0
    opener = first + 1 if plain[first].lower() in _HERE and plain[first + 1] in _OPENERS else first
    is_opened = plain[opener].lower() in _OPENERS and (
        before == "," or plain[opener].lower() not in _DEFINITE
    )
    if is_opened and plain[-1] in AUXILIARIES | VERBS:
        rest = _cluster(plain, len(plain) - 1, opener + 1)
        return _slot(plain, opener + 1, rest, subject=True) if len(plain) > opener + 2 else None
    verb = next((i for i, word in enumerate(plain) if _is_finite(plain, i, word)), None)
    if verb is None or (verb == 0 and (before != "," or plain[1] not in _SKIPPED)):
        return None
    end = next((i for i in range(verb + 1, len(plain)) if plain[i] in _CONJUNCTIONS), len(plain))
    if verb == end - 1 and verb > first + 1 and _after_noun(plain, first + 1) != verb:
        return (
            None  # a verb at the end is the second word, or what comes after the subject; else it is infinite
        )
    return _after_verb(plain, verb, end, is_cut=after == "," and end == len(plain))


def _after_verb(plain: list[str], verb: int, end: int, *, is_cut: bool) -> int | None:
    """The place after a finite verb; none where the clause is cut off before the rest of it."""
    if plain[verb] not in AUXILIARIES:
        return _slot(plain, verb + 1, end - (plain[end - 1] in _PREFIXES and end - 1 > verb))
    rest = _cluster(plain, end, verb + 1)
    is_copula = plain[verb] in _COPULA
    if plain[verb + 1 : verb + 2] == ["denn"] or (rest == end and is_cut and not is_copula):
        return None
    return _slot(plain, verb + 1, rest, copula=is_copula and rest == end)


def _is_finite(plain: list[str], i: int, word: str) -> bool:
    if i == 0:
        return word.lower() in AUXILIARIES or word.lower() in VERBS
    return (word in AUXILIARIES or word in VERBS) and plain[i - 1] != "zu"


def _cluster(plain: list[str], end: int, least: int) -> int:
    """Where the infinitives and participles begin that stand before this place."""
    start = end
    while (
        start > least and _INFINITE.fullmatch(plain[start - 1]) and plain[start - 1] not in _SKIPPED | _HERE
    ):
        start -= 1
    return start - 1 if start > least and start < end and plain[start - 1] == "zu" else start


def _slot(
    plain: list[str], start: int, end: int, *, copula: bool = False, subject: bool = False
) -> int | None:
    """The place between the finite verb and the rest of it: after what is definite, before what is not."""
    i, phrase = start, -1
    while i < end:
        word = plain[i]
        after = _after_noun(plain, i + 1) if word.lower() in _DEFINITE else None
        if after is not None and after <= end:
            i, phrase = after, i
        elif word.lower() in _DEFINITE and not _stands_alone(plain, i):
            return None
        elif word in _SKIPPED or (subject and i == start and word[0].isupper()):
            i += 1
        elif word in _HERE:
            return i
        else:
            return i if _may_follow(plain, i) else None
    return phrase if copula and phrase > start - 1 and _is_last(plain, phrase, end) else end


def _stands_alone(plain: list[str], i: int) -> bool:
    """Whether a word such as "das" is a pronoun and no article without its noun."""
    return plain[i] in _SKIPPED and not " ".join(plain[i + 1 : i + 2]).endswith(("e", "en"))


def _may_follow(plain: list[str], i: int) -> bool:
    """Whether "nicht" can stand before an adverb or adjective: not before what wants "kein"."""
    word = plain[i]
    attribute = word.endswith(("e", "en", "er", "es", "em")) and _after_noun(plain, i) is not None
    indefinite = attribute or any(map(_INDEFINITE.fullmatch, plain[i:]))
    return word[0].islower() and word not in _NEVER and not indefinite


def _is_last(plain: list[str], phrase: int, end: int) -> bool:
    return _after_noun(plain, phrase + 1) == end


_NO_ADJECTIVES = AUXILIARIES | VERBS | _HERE | _DEFINITE
_COORDINATING = frozenset(("und", "oder", "aber", "denn", "doch"))
_BOUNDARIES = frozenset(("", ".", ",", ";", ":", "!", "?"))
_CONJUNCTIONS = frozenset(("und", "oder", "als", "wie", "dass", "denn", "sondern"))


CENTRAL_MEANINGS = 2


def synonyms(previous: str, form: str, following: str) -> tuple[str, ...]:  # noqa: ARG001
    """Synonyms in the form of a word (with its capital, if it is a noun)."""
    return _candidates(form)


@functools.cache
def _candidates(form: str) -> tuple[str, ...]:
    if len(form) < 4 or form.lower() in FUNCTION_WORDS:
        return ()
    lemma = german_lemma(form)
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
    return thesaurus.meanings(lemma.lower())[:CENTRAL_MEANINGS]


def _noun(word: str, lemma: str, form: str) -> str | None:
    """Nouns of the same gender; plurals only of the endings that all form it alike."""
    gender = _gender(lemma)
    if gender is None or _gender(word) != gender:
        return None
    if form == lemma:
        return word if german_lemma(word) == word else None
    if gender == "f" and form in {f"{lemma}en", f"{lemma}n"} and word.endswith(PLURALS):
        plural = f"{word}n" if word.endswith("e") else f"{word}en"
        return plural if german_lemma(plural) == word else None
    return None


@functools.cache
def _gender(noun: str) -> str | None:
    listed = next((gender for gender, nouns in NOUNS.items() if noun in nouns), None)
    if listed is not None:
        return listed
    if noun.endswith("e") and (noun in NOT_FEMININE or noun.startswith("Ge")):
        return None
    return next((gender for gender, endings in GENDERS.items() if noun.endswith(endings)), None)


def _adjective(word: str, lemma: str, form: str) -> str | None:
    """Adjectives and adverbs. Verbs have no synonyms here: few take the same objects and prepositions."""
    if german_lemma(word) != word or _is_infinitive(word) or _is_infinitive(lemma):
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
    return form if german_lemma(form) == word else None
