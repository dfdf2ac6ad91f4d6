"""`entity`: replace a name by another name of its kind that occurs in the data set."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from metassay.perturbations.base import View
from metassay.perturbations.entity_census import (
    Census,
    MentionCounts,
    can_replace,
    list_levels,
    settle_mention,
    take_census,
)
from metassay.perturbations.languages.name_finder import (
    coded,
    find_names,
    listed_names,
    with_articles,
)
from metassay.perturbations.languages.names import Mention
from metassay.perturbations.languages.russian_names import may_be_mentioned, russian_mentions
from metassay.perturbations.words import WordEdit
from metassay.stats.streams import Keys, Stream
from metassay.text import resources
from metassay.text.bounded_cache import BoundedCache
from metassay.text.indexed_words import IndexedWords, index_words
from metassay.text.slovnet_names import find_russian_names
from metassay.text.spacy_models import find_spacy_entities, find_spacy_model
from metassay.text.words import Span, replace_spans

_RESOURCES = {"en": ("HanTa", "simplemma"), "de": ("HanTa", "simplemma"), "ru": ("natasha", "pymorphy3")}
"""What is needed in each language without a spaCy model."""
_CACHED_TEXTS = 1 << 17
"""Texts whose names are remembered between `collect` and `apply`. Names of more texts are searched twice."""
_CACHED_NAMES = 1 << 13


@dataclass(frozen=True)
class EntitySubstitution(WordEdit):
    """Replaces a random name by another one of its kind that the data set contains in this language.

    Names are found by a spaCy model if one is installed; else by slovnet (Russian), or by capitals, the tags
    of HanTa and lists (English, German). A name is replaced only by one in the same form: with equal gender,
    number and case in Russian, with the same article in German, full names by full names everywhere.
    """

    name: ClassVar[str] = "entity"
    languages: ClassVar[frozenset[str] | None] = frozenset(_RESOURCES)
    tagged_languages: ClassVar[frozenset[str]] = frozenset(_RESOURCES)
    summary: ClassVar[str] = "replaces a random name by another from the data set (en, de, ru)"

    def describe_missing_resource(self, language: str) -> str | None:
        """Return which resource is missing; a spaCy model replaces all but pymorphy3."""
        needed = [
            name for name in _RESOURCES[language] if name == "pymorphy3" or not find_spacy_model(language)
        ]
        return resources.describe_missing(*needed, language=language)

    def analyse_texts(self, texts: Sequence[str], language: str | None) -> list[Any] | None:
        """Find the names in each text."""
        if language not in _RESOURCES or self.describe_missing_resource(language):
            return None
        return find_mentions(texts, language)

    def collect(self, texts: Sequence[str], language: str | None, analyses: Iterable[Any]) -> Any:
        """Take the census of all names in this language."""
        if language not in _RESOURCES or self.describe_missing_resource(language):
            return None
        counts = MentionCounts()
        cache = _mention_caches[language]
        for text, mentions in zip(texts, analyses):
            counts.add(text, mentions)
            cache.add(text, mentions)
        return take_census(counts, language)

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """Replace names that are drawn at random."""
        return self._replace_names(view, _find_mentions_cached([view.output], view.language or "")[0], stream)

    def apply_all(self, views: Sequence[View[str]], keys: Keys) -> list[str | None]:
        """Apply the perturbation to outputs in one language, whose names are found together."""
        language = views[0].language or "" if views else ""
        mentions = _find_mentions_cached([view.output for view in views], language)
        return [
            self._replace_names(view, view_mentions, Stream(key))
            for view, view_mentions, key in zip(views, mentions, keys.tolist())
        ]

    def _replace_names(self, view: View[str], mentions: Sequence[Mention], stream: Stream) -> str | None:
        if len(mentions) < self.strength:
            return None
        text = view.output
        replaceable = _find_replaceable(text, mentions, view.collected[self.name], view.language or "")
        if len(replaceable) < self.strength:
            return None
        drawn = sorted(stream.sample(len(replaceable), self.strength))
        edits = []
        for span, names in (replaceable[i] for i in drawn):
            absent_names = [name for name in names if name not in text]
            edits.append((span, stream.choice(absent_names)))
        return replace_spans(text, edits)


def _find_replaceable(
    text: str, mentions: Sequence[Mention], census: Census, language: str
) -> list[tuple[Span, list[str]]]:
    """Return the names of a text that another name can replace, each with all that fit its place."""
    replaceable = []
    for start, end, mention_kind, mention_form in mentions:
        settled = settle_mention(text[start:end], mention_kind, mention_form, census["kinds"], language)
        if settled is None:
            continue
        name, kind, form = settled
        names = census["others"].get(list_levels(name, kind, form, language)[0])
        fitting_names = _fitting_names[name, form, _NameList(names)] if names else []
        if any(other not in text for other in fitting_names):
            replaceable.append(((start, start + len(name)), fitting_names))
    return replaceable


class _NameList:
    """A list of names, as part of a key: equal only to itself, because comparing names takes long."""

    __slots__ = ("names",)

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NameList) and self.names is other.names

    def __hash__(self) -> int:
        return id(self.names)


def _find_fitting_names(key: tuple[str, str, _NameList]) -> list[str]:
    name, form, candidates = key
    return [other for other in candidates.names if can_replace(name, other, form)]


_fitting_names = BoundedCache(_find_fitting_names, maximum=_CACHED_NAMES)
"""By name, form and list of candidates, those of the candidates that can replace the name."""


def _find_mentions_in(text: str, language: str) -> Sequence[Mention]:
    return find_mentions([text], language)[0]


def _find_mentions_cached(texts: Sequence[str], language: str) -> list[Sequence[Mention]]:
    """Return the names of each text, remembered if they were found before."""
    cache = _mention_caches[language]
    unknown = [text for text in dict.fromkeys(texts) if text not in cache]
    found = dict(zip(unknown, find_mentions(unknown, language)))
    mentions = [found[text] if text in found else cache[text] for text in texts]
    for text, text_mentions in found.items():
        cache.add(text, text_mentions)
    return mentions


_mention_caches: dict[str, BoundedCache[str, Sequence[Mention]]] = {
    language: BoundedCache(functools.partial(_find_mentions_in, language=language), maximum=_CACHED_TEXTS)
    for language in _RESOURCES
}


def find_mentions(texts: Sequence[str], language: str) -> list[Sequence[Mention]]:
    """Find the names of each text: those in lists, and those that the best available finder finds."""
    words = coded(texts)
    found = _run_finder(texts, words, language)
    listed = listed_names(texts, words, language)
    return [_merge_mentions(*mentions) for mentions in zip(found, listed)]


def _merge_mentions(found: Sequence[Mention], listed: Sequence[Mention]) -> Sequence[Mention]:
    """Join two lists of mentions; a name in a list takes precedence over one that overlaps with it."""
    if not found or not listed:
        return found or listed
    return sorted([*listed, *(mention for mention in found if not _overlaps(mention, listed))])


def _overlaps(mention: Mention, others: Sequence[Mention]) -> bool:
    return any(mention[0] < end and start < mention[1] for start, end, _, _ in others)


def _run_finder(
    texts: Sequence[str], words: IndexedWords | None, language: str
) -> Sequence[Sequence[Mention]]:
    """Find names by a spaCy model, by slovnet in Russian, or else by rules."""
    if find_spacy_model(language):
        entities = find_spacy_entities(texts, language)
        if language == "ru":
            return [russian_mentions(text, own) for text, own in zip(texts, entities)]
        return [with_articles(text, own, language) for text, own in zip(texts, entities)]
    if language == "ru":
        may_have_names = may_be_mentioned(texts, words or index_words(texts, hyphens=True)).tolist()
        candidates = [text for text, may_have in zip(texts, may_have_names) if may_have]
        entities_of_candidates = iter(find_russian_names(candidates))
        return [
            russian_mentions(text, next(entities_of_candidates)) if may_have else ()
            for text, may_have in zip(texts, may_have_names)
        ]
    return find_names(texts, words, language)


PERTURBATIONS = (EntitySubstitution,)
