"""Replace a pronoun by another one that fits its place in the sentence."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from metassay.perturbations.base import View
from metassay.perturbations.languages import english, german, russian
from metassay.perturbations.random_replacement import RandomReplacement, Replacement
from metassay.text.word_lists import WordLists, find_folders_with_file
from metassay.text.words import (
    WITHOUT_SPACES,
    Span,
    capitalise_first_letter,
    copy_case,
    find_dictionary_words,
    starts_sentence,
)

_NEXT_WORD = re.compile(r"\s+([^\W\d_]+)")
_PREVIOUS_WORD = re.compile(r"([^\W\d_]+)\s+$")
_CLAUSE = re.compile(r"[^.,;:!?()\[\]\"„“”»«–—\n]{1,200}")
# Languages in which the neighbours of a pronoun decide its case. In the others, its form does.
_GRAMMARS = {"en": english, "de": german, "ru": russian}
_PACKS = "metassay.perturbations.languages"


@dataclass(frozen=True)
class Pronoun(RandomReplacement):
    """Replaces a random pronoun by another one that fits in its place, such as "he" by "they"."""

    name: ClassVar[str] = "pronoun"
    languages: ClassVar[frozenset[str] | None] = find_folders_with_file(_PACKS, "pronouns.tsv")
    summary: ClassVar[str] = "replaces a random pronoun by another one"

    def find_replaceable_spans(self, output_view: View[str]) -> list[Replacement]:
        """Return every pronoun of the output with the pronouns that can replace it."""
        language = output_view.language or ""
        if language in _GRAMMARS:
            return _find_pronouns_by_grammar(output_view.output, language)
        return _find_pronouns_in_word_list(output_view.output, language)


def _find_pronouns_by_grammar(text: str, language: str) -> list[Replacement]:
    """Find the pronouns of a text whose grammatical case follows from the neighbouring words."""
    pronouns = _list_pronouns(language)
    replacements = []
    for word in find_dictionary_words(text):
        if word[0].lower() in pronouns:
            alternatives = _list_fitting_pronouns(text, word, language)
            if alternatives:
                replacements.append(Replacement(word.span(), alternatives))
    return replacements


def _list_fitting_pronouns(text: str, word: re.Match[str], language: str) -> tuple[str, ...]:
    """List the other pronouns of the same grammatical case, capitalised as their place in the sentence
    requires.
    """
    if len(word[0]) > 1 and word[0].isupper() and not text.isupper():
        return ()  # `US` is not the pronoun `us`
    grammar = _GRAMMARS[language]
    row = classify_pronoun_role(text, word, language)
    if row < 0:
        return ()
    pronoun = _lower_pronoun_at_sentence_start(text, word, language)
    excluded = grammar.NEVER_CHOSEN
    if pronoun in grammar.FORMS_OF_ADDRESS:
        # A frozenset: `|=` makes a new one, and the set of the grammar stays as it is.
        excluded |= grammar.FORMS_OF_ADDRESS
    others = [
        other
        for other in grammar.PRONOUNS[row]
        if _normalise_pronoun_spelling(other) != _normalise_pronoun_spelling(pronoun)
    ]
    allowed = [other for other in others if other not in excluded]
    return tuple(_adjust_pronoun_capital(text, word.span(), other, language) for other in allowed)


def classify_pronoun_role(text: str, word: re.Match[str], language: str) -> int:
    """Return the grammatical role (subject, object and so on) of a pronoun as a row number in the table of
    pronouns, or -1 if the role is not clear.
    """
    start, end = word.span()
    # The pattern ends at the pronoun. Without a bound it would be tried from every word of the text.
    previous_match = _PREVIOUS_WORD.search(text, max(0, start - 25), start)
    previous_word = previous_match[1].lower() if previous_match else ""
    next_match = _NEXT_WORD.match(text, end)
    next_word = next_match[1] if next_match else ""
    if language != "de":  # in German, a capital marks a noun
        next_word = next_word.lower()
    clause_match = _CLAUSE.match(text, start)
    clause = clause_match[0] if clause_match else ""
    pronoun = _lower_pronoun_at_sentence_start(text, word, language)
    return int(_GRAMMARS[language].classify_pronoun_role(previous_word, pronoun, next_word, clause))


def _lower_pronoun_at_sentence_start(text: str, word: re.Match[str], language: str) -> str:
    """Return a pronoun without the capital of the sentence start. German formal pronouns keep their
    capital.
    """
    if language != "de":
        return word[0].lower()
    if word[0] not in german.FORMAL_PRONOUNS and starts_sentence(text, word.start()):
        return word[0].lower()
    return word[0]


def _normalise_pronoun_spelling(pronoun: str) -> str:
    """Return a pronoun in lower case, with the Russian letter ё written as е."""
    return pronoun.lower().replace("ё", "е")


def _adjust_pronoun_capital(text: str, span: Span, pronoun: str, language: str) -> str:
    """Write a pronoun with a capital if its place in the text requires one."""
    if language == "en" and pronoun == "i":
        return "I"
    start, end = span
    original = text[start:end]
    is_always_capital = original in {"I", "Я"} or (language == "de" and original in german.FORMAL_PRONOUNS)
    if not is_always_capital:
        return copy_case(original, pronoun)
    return capitalise_first_letter(pronoun) if starts_sentence(text, start) else pronoun


@functools.cache
def _list_pronouns(language: str) -> frozenset[str]:
    """List all pronouns of a language in lower case, the Russian ones also with ё written as е."""
    pronouns = {pronoun.lower() for row in _GRAMMARS[language].PRONOUNS for pronoun in row}
    return frozenset(pronouns | {_normalise_pronoun_spelling(pronoun) for pronoun in pronouns})


class _PronounList(NamedTuple):
    """The pronouns of a language, each with the pronouns that can replace it."""

    pattern: re.Pattern[str]
    """Matches any of the pronouns."""
    alternatives: dict[str, tuple[str, ...]]
    exceptions: tuple[re.Pattern[str], ...]
    """Phrases with a word that looks like a pronoun but is none."""


def _find_pronouns_in_word_list(text: str, language: str) -> list[Replacement]:
    """Find the pronouns of a text that are in the list for its language, each with the pronouns that can
    replace it.
    """
    pronouns = _load_pronoun_list(language)
    exception_spans = [match.span() for pattern in pronouns.exceptions for match in pattern.finditer(text)]
    replacements = []
    for match in pronouns.pattern.finditer(text):
        is_exception = any(start < match.end() and match.start() < end for start, end in exception_spans)
        if not is_exception:
            alternatives = pronouns.alternatives[match[0].lower()]
            cased = tuple(
                _adjust_pronoun_capital(text, match.span(), word, language) for word in alternatives
            )
            replacements.append(Replacement(match.span(), cased))
    return replacements


@functools.cache
def _load_pronoun_list(language: str) -> _PronounList:
    """Load the list of pronouns of a language."""
    lists = WordLists(_PACKS, language)
    alternatives: dict[str, tuple[str, ...]] = {}
    for row in lists.read_tab_separated_rows("pronouns"):
        for word in row:
            alternatives.setdefault(word, tuple(other for other in row if other != word))
    # Longer pronouns first, because the first alternative that matches is taken.
    pattern = "|".join(sorted(alternatives, key=lambda word: (-len(word), word)))
    if language not in WITHOUT_SPACES:
        pattern = rf"(?<![\w'’-])(?:{pattern})(?![\w'’-])"
    exceptions = tuple(re.compile(line, re.IGNORECASE) for line in lists.read_lines("not_pronouns"))
    return _PronounList(re.compile(pattern, re.IGNORECASE), alternatives, exceptions)


PERTURBATIONS = (Pronoun,)
