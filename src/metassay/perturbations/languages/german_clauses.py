"""German clauses, as far as it takes to say where "nicht" goes: after what is definite, before what is not.

A clause lies between marks. Its finite verb is the second part, or the last after a conjunction or a relative
pronoun; infinitives, participles and prefixes end it. In between "nicht" comes after pronouns and definite
noun phrases and before prepositions, adverbs and predicates; before "ein" it would be "kein".
"""

from __future__ import annotations

import re

from metassay.perturbations.languages.german import AUXILIARIES, VERBS
from metassay.text.word_lists import WordLists
from metassay.text.words import Span

_LISTS = WordLists("metassay.perturbations.languages", "de")
_NEGATED = _LISTS.read_words("negated")
"""Beside one of these no second negation is put in."""
_PLACES = _LISTS.read_word_groups("negation_places")
_SKIPPED, _DEFINITE, _HERE, _NEVER = (_PLACES[name] for name in ("skipped", "definite", "here", "never"))
_COPULA, _PREFIXES, _OPENERS = (_PLACES[name] for name in ("copula", "prefix", "opener"))
_NO_ADJECTIVES = AUXILIARIES | VERBS | _HERE | _DEFINITE
_COORDINATING = frozenset(("und", "oder", "aber", "denn", "doch"))
_BOUNDARIES = frozenset(("", ".", ",", ";", ":", "!", "?"))
_CONJUNCTIONS = frozenset(("und", "oder", "als", "wie", "dass", "denn", "sondern"))
_CLAUSES = re.compile(r"[^.,;:!?()\[\]\"„“”»«–—…\n]+")
_WORDS = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*|\d\S*")
_INDEFINITE = re.compile(r"ein(?:e|en|em|er|es)?")
_NOT_EACH = frozenset(("paar", "bisschen", "wenig", "mal", "jeder", "Tages", "Morgens", "Abends", "Moment"))
_BEFORE_KEIN = frozenset(
    ("noch", "so", "was", "wie", "als", "nur", "auch", "schon", "wieder", "für")
) | frozenset(("solch", "der", "und", "oder"))
_INFINITE = re.compile(r"[a-zäöüß]+(?:en|ern|eln|[^s]t|sein|tun)")

Edit = tuple[Span, str]


def negations(text: str) -> list[Edit]:
    """Every "nicht" that a clause has room for, and "kein" for "ein", in order; none in negated clauses."""
    edits: list[Edit] = []
    for clause in _CLAUSES.finditer(text):
        words = list(_WORDS.finditer(text, *clause.span()))
        plain = [word[0] for word in words]
        if len(words) < 2 or not _NEGATED.isdisjoint(word.lower() for word in plain):
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
    opens = len(plain) > first + 1 and plain[first].lower() in _HERE and plain[first + 1] in _OPENERS
    opener = first + 1 if opens else first
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
