"""A negation put in, taken out or turned positive."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from metassay.perturbations.base import View
from metassay.perturbations.languages import english, german_clauses, russian
from metassay.perturbations.pattern_rules import PatternRule, load_rules, lower_text
from metassay.perturbations.random_replacement import DisjointSpans
from metassay.perturbations.words import WordEdit
from metassay.stats.streams import Stream
from metassay.text import resources
from metassay.text.lemmas import find_lemma
from metassay.text.tagged_words import TagPair, find_second_words
from metassay.text.word_lists import WordLists, build_pattern, find_folders_with
from metassay.text.words import (
    WITHOUT_SPACES,
    Span,
    copy_case,
    find_dictionary_words,
    replace_spans,
    starts_sentence,
)

Edit = tuple[Span, str]
_PACKS = "metassay.perturbations.languages"


@dataclass(frozen=True)
class Negation(WordEdit):
    """Puts a "not" before a random verb or adjective, or after an auxiliary.

    English: after an auxiliary where there is one, else with do-support before a finite verb ("did not say").
    German "nicht" where the parts of the clause leave room for it, and "kein" for "ein"; Russian "не" from
    word lists and endings of verbs; all other languages by the rules in their pack (`negation.tsv`). Nowhere
    in questions.
    """

    name: ClassVar[str] = "negation"
    languages: ClassVar[frozenset[str] | None] = frozenset({"en", "de", "ru"}) | find_folders_with(
        _PACKS, "negation.tsv"
    )
    tagged_languages: ClassVar[frozenset[str]] = frozenset({"en"})
    summary: ClassVar[str] = "negates a random verb or adjective"

    def describe_missing_resource(self, language: str) -> str | None:
        """English needs a tagger, and base forms."""
        return resources.describe_missing("HanTa", "simplemma", language="en") if language == "en" else None

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with "not" put in at the places drawn."""
        text, language = view.output, view.language or ""
        find = _EDITS.get(language)
        found = _by_rules(text, language) if find is None else find(text)
        asks = "?" in text or "？" in text
        edits = [edit for edit in found if not _in_question(text, edit[0][0])] if asks else found
        if len(edits) < self.strength:
            return None
        return replace_spans(
            view.output, [edits[i] for i in sorted(stream.sample(len(edits), self.strength))]
        )


def _insertion(text: str, place: int, word: str) -> Edit:
    """The edit that puts a word in before the word that starts at a place, or after the one that ends."""
    if place == len(text) or not text[place].isalnum():
        return (place, place), f" {word}"
    follower = text[place : place + 2]
    if follower[:1].isupper() and not follower[1:].isupper() and starts_sentence(text, place):
        return (place, place + 1), f"{word.capitalize()} {follower[0].lower()}"
    return (place, place), f"{word} "


def _english(text: str) -> list[Edit]:
    """A "not" after auxiliaries; where there is none, with do-support for a finite verb: "did not say"."""
    if _AUXILIARY.search(text) is None:
        return _with_do(text)
    words = find_dictionary_words(text)
    lower = "\n".join([word[0] for word in words]).lower().replace("’", "'").split("\n")
    after = []
    for i, form in enumerate(lower):
        if form not in english.AUXILIARIES or not _may_be_negated(lower, i):
            continue
        word = words[i]
        if word[0] != form and not starts_sentence(text, word.start()):
            continue  # the month of May
        has_subject = i > 0 and lower[i - 1] in english.INVERTED
        inverted = not has_subject and lower[i + 1 : i + 2] and lower[i + 1] in english.INVERTED
        if inverted or _is_auxiliary(text, words, lower, i):
            after.append(words[i + 1 if inverted else i].end())
    return [_insertion(text, place, "not") for place in after] or _with_do(text)


def _is_auxiliary(text: str, words: list[re.Match[str]], lower: list[str], i: int) -> bool:
    """Whether a verb goes with "not" here: not "have audiences", "my will", nor "Can Andy …?"."""
    if i + 1 == len(words) or starts_sentence(text, words[i].start()):
        return False
    following = lower[i + 1]
    if following == "only" or (i > 0 and lower[i - 1] in _BEFORE_NOUN):
        return False
    if lower[i] in {"have", "has", "had"}:
        after = lower[i + 2] if following in _ADVERBS and i + 2 < len(words) else following
        return after.endswith(("ed", "en", "wn", "ught")) or after in _PARTICIPLES
    if lower[i] in {"do", "does", "did"}:
        return following not in english.FUNCTION_WORDS and not following.endswith(("s", "ing", "ed", "ly"))
    return True


_BEFORE_NOUN = frozenset(
    ("my", "your", "his", "her", "its", "our", "their", "the", "a", "free", "good", "of")
)
_ADVERBS = frozenset(
    ("also", "already", "always", "just", "recently", "now", "long", "since", "once", "even")
)
_PARTICIPLES = frozenset(
    ("made", "had", "put", "set", "held", "led", "become", "come", "gone", "done", "said", "lost", "won")
) | frozenset(("got", "met", "told", "sent", "built", "left", "kept", "read", "cut", "hit", "begun", "paid"))
_AUXILIARY = re.compile(rf"(?<!\w){build_pattern(english.AUXILIARIES)}(?!\w)", re.IGNORECASE)
_BEFORE_SECOND = english.AUXILIARIES | {"not", "to", "never"}
_SUBJECTS = frozenset(("PNP", "NP0", "NN0", "NN1", "NN2", "NP", "NN", "NNS", "DT0"))


def _may_be_negated(lower: list[str], i: int) -> bool:
    """Whether the auxiliary is the first of its verb and no negation is near."""
    chained = i > 0 and (lower[i - 1] in _BEFORE_SECOND or "n't" in lower[i - 1])
    return not chained and {"not", "no", "never"}.isdisjoint(lower[i + 1 : i + 3])


def _with_do(text: str) -> list[Edit]:
    """Finite verbs after a subject, each as "did not", "does not" and its base form."""
    edits = []
    for place, tag in find_second_words(text, _SUBJECT_AND_VERB):
        word, do = text[place[0] : place[1]], _DO[tag]
        base = find_lemma(word, "en")
        if do != "does not" or base != word:
            edits.append((place, f"{do} {base}"))
    return edits


_DO = {"VVD": "did not", "VVZ": "does not"}
_SUBJECT_AND_VERB = TagPair("en", _SUBJECTS, frozenset(_DO), english.AUXILIARIES)


def _russian(text: str) -> list[Edit]:
    """A "не" before verbs and predicates."""
    words = find_dictionary_words(text)
    lower = [word[0].lower() for word in words]
    return [
        _insertion(text, word.start(), "не")
        for i, word in enumerate(words)
        if russian.is_negatable(lower[i])
        and lower[max(i - 1, 0)] not in {"не", "ни"}
        and (word[0] == lower[i] or starts_sentence(text, word.start()))
    ]


_EDITS: dict[str, Callable[[str], list[Edit]]] = {
    "en": _english,
    "de": german_clauses.negations,
    "ru": _russian,
}
_STOP = re.compile(r"[.!?…]+(?=[\s\"“”’»)]|$)|[。！？\n]")
_CLAUSE = re.compile(r"[^.,;:!?()\n。，、；：！？「」（）]+")


def _by_rules(text: str, language: str) -> list[Edit]:
    """What the rules of a pack put in, in clauses without a negation; earlier rules win."""
    lower = lower_text(text)
    negated = [match.start() for match in _words_of(language).find_matches(text, lower)]
    used_spans = DisjointSpans()
    for clause in _CLAUSE.finditer(text) if negated else ():
        if any(clause.start() <= place < clause.end() for place in negated):
            used_spans.add(clause.span())
    edits = []
    for rule in load_rules(language, "negation"):
        for match in rule.find_matches(text, lower):
            if used_spans.is_free(match.span()):
                used_spans.add(match.span())
                replacement = rule.fill_replacement(match)
                if replacement is not None:
                    edits.append((match.span(), replacement))
    edits.sort()
    return [(span, _with_capital(text, span, replacement)) for span, replacement in edits]


def _with_capital(text: str, span: Span, new: str) -> str:
    """What takes the place of the first words of a sentence begins with the capital that they had."""
    old = text[span[0] : span[1]]
    if not old[:1].isupper() or new.startswith(old[:1]):
        return new
    return new[:1].upper() + new[1:].replace(old[:1], old[:1].lower(), 1)


@functools.cache
def _words_of(language: str) -> PatternRule:
    """Any word of `negated.txt`; in scripts without spaces wherever it stands."""
    words = "|".join(sorted(WordLists(_PACKS, language).read_words("negated")))
    return PatternRule.parse(words if language in WITHOUT_SPACES else rf"\b(?:{words})\b", None)


def _in_question(text: str, place: int) -> bool:
    """Whether the sentence around a place is a question: with "not" it often asks the same."""
    stop = _STOP.search(text, place)
    return stop is not None and not {"?", "？"}.isdisjoint(stop[0])


@dataclass(frozen=True)
class NegationRemoval(WordEdit):
    """Removes a random negation (did not, never, no …) or turns it positive (nothing: everything)."""

    name: ClassVar[str] = "negation_removal"
    languages: ClassVar[frozenset[str] | None] = find_folders_with(_PACKS, "negation_removal.tsv")
    summary: ClassVar[str] = "removes a negation or turns it positive"

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the negations drawn removed."""
        if _signs(view.language or "").search(view.output) is None:
            return None
        found = list(_negations(view.output, view.language or ""))
        if len(found) < self.strength:
            return None
        return replace_spans(
            view.output, [found[i] for i in sorted(stream.sample(len(found), self.strength))]
        )


def _negations(text: str, language: str) -> Iterator[tuple[Span, str]]:
    """Where a negation stands and what takes its place; earlier rules win, places in order."""
    used_spans = DisjointSpans()
    edits = []
    lower = lower_text(text)
    for rule in load_rules(language, "negation_removal"):
        for match in rule.find_matches(text, lower):
            if used_spans.is_free(match.span()):
                used_spans.add(match.span())
                replacement = rule.fill_replacement(match)
                if replacement is not None:
                    edits.append((match.span(), _written(replacement)))
    edits.sort(key=lambda edit: edit[0])
    for span, replacement in edits:
        if not _in_question(text, span[0]):
            yield _tidied(text, span, replacement)


def _written(replacement: str) -> str:
    """A replacement without the sign for nothing."""
    return re.sub(r"  +", " ", replacement).strip().replace("∅", "")


def _tidied(text: str, span: Span, new: str) -> tuple[Span, str]:
    """The edit with the casing of what it replaces; what moves to the start of the text gets its capital."""
    start, end = span
    old = text[start:end]
    if not old[:1].isupper() or not (new.strip() or starts_sentence(text, start)):
        return span, new
    if new.strip():
        return span, copy_case(old[:1], new) if not old.isupper() else new.upper()
    return (start, end + 1), text[end : end + 1].upper()


@functools.cache
def _signs(language: str) -> re.Pattern[str]:
    """What every negation of a language holds."""
    return re.compile("|".join(WordLists(_PACKS, language).read_lines("negation_signs")), re.IGNORECASE)


PERTURBATIONS = (Negation, NegationRemoval)
