"""A name replaced by another name of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from metassay.perturbations.census import Census, fits, levels, settled, take_census
from metassay.perturbations.languages.listed_names import listed_names
from metassay.perturbations.languages.mentions import Mention
from metassay.perturbations.languages.name_finder import find_names, with_articles
from metassay.perturbations.languages.russian_names import russian_mentions
from metassay.perturbations.view import View
from metassay.perturbations.words import WordEdit
from metassay.stats.random import Stream
from metassay.text import resources
from metassay.text.resources import spacy_model
from metassay.text.taggers import slovnet_entities, spacy_entities
from metassay.text.words import replace_spans
from metassay.text.workers import map_texts

_NEEDS = {"en": ("HanTa", "simplemma"), "de": ("HanTa", "simplemma"), "ru": ("natasha", "pymorphy3")}


@dataclass(frozen=True)
class EntitySubstitution(WordEdit):
    """Replaces a random name by another one of its type that the data set holds for the language.

    Names are found by a spaCy model where one is installed; else by slovnet (Russian), or by capitals,
    HanTa's proper nouns and lists (English, German). Names change places within a form: gender, number and
    case in Russian, the article in German, full names for full names everywhere.
    """

    name: ClassVar[str] = "entity"
    tasks: ClassVar[frozenset[str]] = frozenset({"mt"})
    languages: ClassVar[frozenset[str] | None] = frozenset(_NEEDS)
    summary: ClassVar[str] = "replaces a random name by another from the data set (en, de, ru)"

    def missing(self, language: str) -> str | None:
        """The finder or dictionary that is not here; a spaCy model stands for the finder."""
        needed = [n for n in _NEEDS[language] if n == "pymorphy3" or not spacy_model(language)]
        return resources.missing(*needed, language=language)

    def collect(self, texts: Sequence[str], language: str | None, workers: int = 1) -> Any:
        """The census of all names of the data set in this language."""
        if language not in _NEEDS or self.missing(language):
            return None
        found = map_texts("metassay.perturbations.entity:find_all", texts, language, workers)
        for text, own in zip(texts, found):
            _FOUND[language, text] = [(start, end, kind, form) for start, end, kind, form in own]
        return take_census(texts, [_FOUND[language, text] for text in texts], language)

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the names drawn replaced."""
        text, language = view.output, view.language or ""
        census: Census = view.collected[self.name]
        found = []
        for start, end, kind, form in settled(text, mentions(text, language), census["kinds"], language):
            name = text[start:end]
            fitting = census["others"].get(levels(name, kind, form, language)[0], [])
            others = [other for other in fitting if fits(name, other, text, form)]
            if others:
                found.append(((start, end), others))
        if len(found) < self.strength:
            return None
        drawn = [found[i] for i in sorted(stream.sample(len(found), self.strength))]
        return replace_spans(text, [(span, stream.choice(others)) for span, others in drawn])


_FOUND: dict[tuple[str, str], list[Mention]] = {}
"""Names by language and text: each distinct text is searched once per process."""


def mentions(text: str, language: str) -> list[Mention]:
    """The names of a text with their places, kinds and forms."""
    if (language, text) not in _FOUND:
        _FOUND[language, text] = find_all([text], language)[0]
    return _FOUND[language, text]


def find_all(texts: list[str], language: str) -> list[list[Mention]]:
    """The names of many texts: those on lists, and what the best finder at hand finds beside them."""
    return [
        sorted([*listed, *(mention for mention in found if not _overlaps(mention, listed))])
        for text, found in zip(texts, _found(texts, language))
        for listed in [listed_names(text, language)]
    ]


def _found(texts: list[str], language: str) -> list[list[Mention]]:
    model = spacy_model(language)
    if not model and language != "ru":
        return find_names(texts, language)
    found = spacy_entities(texts, language) if model else slovnet_entities(texts)
    if language == "ru":
        return [russian_mentions(text, own) for text, own in zip(texts, found)]
    return [with_articles(text, own, language) for text, own in zip(texts, found)]


def _overlaps(mention: Mention, others: list[Mention]) -> bool:
    return any(mention[0] < end and start < mention[1] for start, end, _, _ in others)


PERTURBATIONS = (EntitySubstitution,)
