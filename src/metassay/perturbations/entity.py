"""A name replaced by another name of its kind."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from metassay.perturbations.languages.name_finder import find_names, is_genitive
from metassay.perturbations.view import View
from metassay.perturbations.words import WordEdit
from metassay.text import resources
from metassay.text.morphology import russian
from metassay.text.resources import spacy_model
from metassay.text.streams import Stream
from metassay.text.taggers import Entity, slovnet_entities, spacy_entities
from metassay.text.words import replace_spans
from metassay.text.workers import map_texts

_CYRILLIC = re.compile(r"[А-ЯЁа-яё]")
_NEEDS = {"en": ("HanTa",), "de": ("HanTa",), "ru": ("natasha", "pymorphy3")}


@dataclass(frozen=True)
class EntitySubstitution(WordEdit):
    """Replaces a random name by another one of its type that the data set holds for the language.

    Names are found by a spaCy model where one is installed; else by slovnet (Russian), or by capitals,
    HanTa's proper nouns and short lists (English, German). Russian names
    are exchanged within a grammatical case.
    """

    name: ClassVar[str] = "entity"
    tasks: ClassVar[frozenset[str]] = frozenset({"mt"})
    languages: ClassVar[frozenset[str] | None] = frozenset(_NEEDS)
    summary: ClassVar[str] = "replaces a random name by another from the data set (en, de, ru)"

    def missing(self, language: str) -> str | None:
        """The tagger that is not here; a spaCy model alone is enough."""
        return None if spacy_model(language) else resources.missing(*_NEEDS[language], language=language)

    def collect(self, texts: Sequence[str], language: str | None, workers: int = 1) -> Any:
        """All names of the data set in this language, by type (and case), sorted."""
        if language not in _NEEDS or self.missing(language):
            return None
        found = map_texts("metassay.perturbations.entity:find_all", texts, language, workers)
        _FOUND.update(
            ((language, text), [(a, b, kind) for a, b, kind in own]) for text, own in zip(texts, found)
        )
        cache: dict[str, Counter[str]] = {}
        for text in texts:
            for start, end, kind in _FOUND[language, text]:
                cache.setdefault(_group(text[start:end], kind, language), Counter())[text[start:end]] += 1
        return {group: _attested(names) for group, names in sorted(cache.items())}

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the names drawn replaced."""
        text, language = view.output, view.language or ""
        found = []
        for start, end, kind in entities(text, language):
            others = view.collected[self.name].get(_group(text[start:end], kind, language), [])
            if len(others) > (text[start:end] in others):
                found.append(((start, end), others))
        if len(found) < self.strength:
            return None
        edits = []
        for i in sorted(stream.sample(len(found), self.strength)):
            (start, end), others = found[i]
            edits.append(((start, end), stream.choice([name for name in others if name != text[start:end]])))
        return replace_spans(text, edits)


def _attested(names: Counter[str]) -> list[str]:
    """The names found in several texts, or all where these are few: what is found once is often a slip."""
    several = sorted(name for name, texts in names.items() if texts > 1)
    return several if len(several) > FEW else sorted(names)


FEW = 20

_FOUND: dict[tuple[str, str], list[Entity]] = {}
"""Names by language and text: each distinct text is searched once per process."""


def entities(text: str, language: str) -> list[Entity]:
    """The names of a text with their places and types."""
    if (language, text) not in _FOUND:
        _FOUND[language, text] = find_all([text], language)[0]
    return _FOUND[language, text]


def find_all(texts: list[str], language: str) -> list[list[Entity]]:
    """The names of many texts, by the best finder at hand."""
    if spacy_model(language):
        return spacy_entities(texts, language)
    if language != "ru":
        return find_names(texts, language)
    found = zip(texts, slovnet_entities(texts))
    return [[e for e in own if _is_russian_name(text[e[0] : e[1]])] for text, own in found]


@functools.cache
def _is_russian_name(name: str) -> bool:
    """Whether what slovnet takes for a name starts with a capital, and with no verb or preposition."""
    reading = russian().parse(name.split(maxsplit=1)[0])[0]
    return name[0].isupper() and (not reading.is_known or reading.tag.POS in {"NOUN", "ADJF", "ADJS", None})


@functools.cache
def _group(name: str, kind: str, language: str) -> str:
    """Names of one group can stand in each other's place: the type, and the case as far as it shows."""
    if language != "ru":
        return f"{kind} gent" if language == "de" and is_genitive(name) else kind
    tag = russian().parse(name.split(maxsplit=1)[0])[0].tag
    return " ".join(filter(None, (kind, tag.case, tag.number)))


PERTURBATIONS = (EntitySubstitution,)
