"""Finds names in English and German texts by capitals, HanTa's tags and lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metassay.perturbations.languages import english_names, german_names
from metassay.perturbations.languages.mentions import (
    CAPITALISED,
    Mention,
    Word,
    bare_name,
    end_of_name,
    word_before,
)
from metassay.text.analysers import Entity
from metassay.text.words import starts_sentence

_RULES = {"en": english_names.RULES, "de": german_names.RULES}
HEADLINE = 0.6
"""Above this share of words with a capital inside a sentence, capitals say nothing."""


def find_names(texts: list[str], language: str) -> list[list[Mention]]:
    """The names of each text."""
    return [list(_names(text, language)) for text in texts]


def with_articles(text: str, found: Sequence[Entity], language: str) -> list[Mention]:
    """Names that a model found, with the form that the word before them gives."""
    named = []
    for start, end, kind in found:
        form = _RULES[language].form(word_before(text, start), text[start:end].split(), kind)
        if form is not None:
            named.append((start, end - form.endswith("gent"), kind, form))
    return named


def _names(text: str, language: str) -> Iterator[Mention]:
    rules = _RULES[language]
    capitals = [m for m in CAPITALISED.finditer(text) if m[0].lower() not in {"i", "a"}]
    inner = sum(not starts_sentence(text, word.start()) for word in capitals)
    if inner > max(HEADLINE * len(text.split()), 3):
        yield from (_place(word) for word in capitals if bare_name(word) in rules.modifiers)
        return
    for run in _runs(text, capitals, language):
        start, end = run[0].start(), end_of_name(run[-1])
        if rules.is_part(text, start, end):
            continue
        before, names = word_before(text, start), [bare_name(word) for word in run]
        kind = rules.kind(before, names)
        form = rules.form(before, names, kind)
        if not kind and names[0] in rules.modifiers:
            yield _place(run[0])
        elif form is not None:
            kind = rules.hint(text, start, end, names) if kind == "NAME" else kind
            yield from [(start, end - form.endswith("gent"), kind, form)] if kind else []


def _place(word: Word) -> Mention:
    return word.start(), end_of_name(word), "LOC", ""


def _runs(text: str, capitals: list[Word], language: str) -> Iterator[list[Word]]:
    """Words in a row, each of which may belong to a name."""
    rules = _RULES[language]
    run: list[Word] = []
    for word in capitals:
        if run and text[end_of_name(run[-1]) : word.start()] != " ":
            yield run
            run = []
        if rules.may_belong(text, word, bare_name(run[0]) if run else ""):
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run
