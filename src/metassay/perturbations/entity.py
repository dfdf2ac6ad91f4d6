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
    can_replace_name,
    list_place_descriptions,
    resolve_mention,
    take_census,
)
from metassay.perturbations.languages.name_finder import (
    add_article_forms,
    find_listed_names,
    find_names,
    index_words_for_names,
)
from metassay.perturbations.languages.names import Mention
from metassay.perturbations.languages.russian_names import add_russian_forms, find_texts_with_name_forms
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
        """Return how to get a missing package; None if none is. A spaCy model replaces all but pymorphy3."""
        needed = [
            name for name in _RESOURCES[language] if name == "pymorphy3" or not find_spacy_model(language)
        ]
        return resources.describe_missing_resource(*needed, language=language)

    def analyse_texts(self, texts: Sequence[str], language: str | None) -> list[Any] | None:
        """Find the names in each text."""
        if language not in _RESOURCES or self.describe_missing_resource(language):
            return None
        return find_mentions(texts, language)

    def collect(self, texts: Sequence[str], language: str | None, analyses: Iterable[Any]) -> Any:
        """Collect all names of the data set, their kinds, and the names that can replace each other."""
        if language not in _RESOURCES or self.describe_missing_resource(language):
            return None
        counts = MentionCounts()
        cache = _mention_caches[language]
        for text, mentions in zip(texts, analyses):
            counts.add(text, mentions)
            cache.add(text, mentions)
        return take_census(counts, language)

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """Return the output with random names replaced."""
        return self._replace_names(
            view, _load_or_find_mentions([view.output], view.language or "")[0], stream
        )

    def apply_all(self, views: Sequence[View[str]], keys: Keys) -> list[str | None]:
        """Apply the perturbation to outputs of one language, whose names are found in one call."""
        language = views[0].language or "" if views else ""
        mentions = _load_or_find_mentions([view.output for view in views], language)
        return [
            self._replace_names(view, view_mentions, Stream(key))
            for view, view_mentions, key in zip(views, mentions, keys.tolist())
        ]

    def _replace_names(self, view: View[str], mentions: Sequence[Mention], stream: Stream) -> str | None:
        """Replace random names of an output, which has these mentions of names."""
        if len(mentions) < self.strength:
            return None
        text = view.output
        replaceable = _find_replaceable_names(text, mentions, view.collected[self.name], view.language or "")
        if len(replaceable) < self.strength:
            return None
        drawn = sorted(stream.sample(len(replaceable), self.strength))
        edits = []
        for span, names in (replaceable[i] for i in drawn):
            absent_names = [name for name in names if name not in text]
            edits.append((span, stream.choice(absent_names)))
        return replace_spans(text, edits)


def _find_replaceable_names(
    text: str, mentions: Sequence[Mention], census: Census, language: str
) -> list[tuple[Span, list[str]]]:
    """Find the names of a text that can be replaced, each with the names that can replace it."""
    replaceable = []
    for start, end, mention_kind, mention_form in mentions:
        resolved = resolve_mention(text[start:end], mention_kind, mention_form, census["kinds"], language)
        if resolved is None:
            continue
        name, kind, form = resolved
        names = census["others"].get(list_place_descriptions(name, kind, form, language)[0])
        fitting_names = _fitting_names[name, form, _NameList(names)] if names else []
        if any(other not in text for other in fitting_names):
            replaceable.append(((start, start + len(name)), fitting_names))
    return replaceable


class _NameList:
    """A list of names as a part of cache keys: equal only to itself, because comparing lists is slow."""

    __slots__ = ("names",)

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NameList) and self.names is other.names

    def __hash__(self) -> int:
        return id(self.names)


def _find_fitting_names(key: tuple[str, str, _NameList]) -> list[str]:
    """Find the candidates that can replace a name; the key has the name, its form and the candidates."""
    name, form, candidates = key
    return [other for other in candidates.names if can_replace_name(name, other, form)]


_fitting_names = BoundedCache(_find_fitting_names, maximum=_CACHED_NAMES)
"""The candidates that can replace a name, by name, form and list of candidates."""


def _find_mentions_in_text(text: str, language: str) -> Sequence[Mention]:
    """Find the names of one text."""
    return find_mentions([text], language)[0]


def _load_or_find_mentions(texts: Sequence[str], language: str) -> list[Sequence[Mention]]:
    """Return the names of each text, from the cache if it has them."""
    cache = _mention_caches[language]
    new_texts = [text for text in dict.fromkeys(texts) if text not in cache]
    new_mentions = dict(zip(new_texts, find_mentions(new_texts, language)))
    mentions = [new_mentions[text] if text in new_mentions else cache[text] for text in texts]
    for text, text_mentions in new_mentions.items():
        cache.add(text, text_mentions)
    return mentions


_mention_caches: dict[str, BoundedCache[str, Sequence[Mention]]] = {
    language: BoundedCache(
        functools.partial(_find_mentions_in_text, language=language), maximum=_CACHED_TEXTS
    )
    for language in _RESOURCES
}


def find_mentions(texts: Sequence[str], language: str) -> list[Sequence[Mention]]:
    """Find the names of each text, in lists and by the best finder that is installed."""
    words = index_words_for_names(texts)
    names = _run_finder(texts, words, language)
    listed_names = find_listed_names(texts, words, language)
    return [_merge_mentions(*mentions) for mentions in zip(names, listed_names)]


def _merge_mentions(mentions: Sequence[Mention], listed_mentions: Sequence[Mention]) -> Sequence[Mention]:
    """Join the mentions of a text; one from a list replaces all that overlap with it."""
    if not mentions or not listed_mentions:
        return mentions or listed_mentions
    others = [mention for mention in mentions if not _overlaps_any(mention, listed_mentions)]
    return sorted([*listed_mentions, *others])


def _overlaps_any(mention: Mention, others: Sequence[Mention]) -> bool:
    """Whether a mention overlaps with any of the others."""
    return any(mention[0] < end and start < mention[1] for start, end, _, _ in others)


def _run_finder(
    texts: Sequence[str], words: IndexedWords | None, language: str
) -> Sequence[Sequence[Mention]]:
    """Find names by a spaCy model, by slovnet in Russian, or else by rules."""
    if find_spacy_model(language):
        entities = find_spacy_entities(texts, language)
        if language == "ru":
            return [add_russian_forms(text, names) for text, names in zip(texts, entities)]
        return [add_article_forms(text, names, language) for text, names in zip(texts, entities)]
    if language == "ru":
        return _run_slovnet(texts, words or index_words(texts, hyphens=True))
    return find_names(texts, words, language)


def _run_slovnet(texts: Sequence[str], words: IndexedWords) -> Sequence[Sequence[Mention]]:
    """Find Russian names by slovnet, which reads only the texts in which a name could have a form."""
    may_have_names = find_texts_with_name_forms(texts, words).tolist()
    candidates = [text for text, may_have in zip(texts, may_have_names) if may_have]
    entities_of_candidates = iter(find_russian_names(candidates))
    return [
        add_russian_forms(text, next(entities_of_candidates)) if may_have else ()
        for text, may_have in zip(texts, may_have_names)
    ]


PERTURBATIONS = (EntitySubstitution,)
