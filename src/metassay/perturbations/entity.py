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
    build_name_replacement_table,
    can_replace_name,
    describe_grammatical_role_of_name,
    normalise_name_mention,
)
from metassay.perturbations.languages.name_finder import (
    find_grammatical_forms_of_names,
    find_names,
    find_nationalities_and_dates,
)
from metassay.perturbations.languages.names import Mention
from metassay.perturbations.languages.russian_names import add_grammatical_forms_to_names
from metassay.perturbations.words import WordEdit
from metassay.stats.streams import Keys, Stream
from metassay.text import resources
from metassay.text.slovnet_names import find_russian_names
from metassay.text.spacy_models import find_names_with_spacy, find_spacy_model
from metassay.text.words import Span, replace_spans

# What is needed in each language without a spaCy model.
_RESOURCES = {"en": ("HanTa", "simplemma"), "de": ("HanTa", "simplemma"), "ru": ("natasha", "pymorphy3")}
# Texts whose names are kept between `collect_replacement_material` and `apply`. More are searched twice.
_CACHED_TEXTS = 1 << 17
_CACHED_NAMES = 1 << 13


@dataclass(frozen=True)
class EntitySubstitution(WordEdit):
    """Replaces random names by names of the same kind (person, place, organisation) from the data set.

    Names are found by a spaCy model if one is installed; else by slovnet (Russian), or by capitals, the tags
    of HanTa and lists (English, German). A name is replaced only by one in the same form: with equal gender,
    number and case in Russian, with the same article in German, full names by full names everywhere.
    """

    name: ClassVar[str] = "entity"
    languages: ClassVar[frozenset[str] | None] = frozenset(_RESOURCES)
    tagged_languages: ClassVar[frozenset[str]] = frozenset(_RESOURCES)
    summary: ClassVar[str] = "replaces a random name by another from the data set (en, de, ru)"

    def get_installation_hint_for_language(self, language: str) -> str | None:
        """Return how to install a missing package that is needed to find names, or None if none is missing.

        A spaCy model replaces all of them but pymorphy3.
        """
        # spaCy finds the names, but their case and gender in Russian come from pymorphy3.
        needed = [
            name for name in _RESOURCES[language] if name == "pymorphy3" or not find_spacy_model(language)
        ]
        return resources.describe_missing_resource(*needed, language=language)

    def precompute_text_analyses(self, texts: Sequence[str], language: str | None) -> list[Any] | None:
        """Find the names that each text mentions."""
        if language not in _RESOURCES or self.get_installation_hint_for_language(language):
            return None
        return find_names_in_texts(texts, language)

    def collect_replacement_material(
        self, texts: Sequence[str], language: str | None, text_analyses: Iterable[Any]
    ) -> Any:
        """Collect all names in the texts of the data set, with the kind of each name and the names that can
        replace it.
        """
        if language not in _RESOURCES or self.get_installation_hint_for_language(language):
            return None
        counts = MentionCounts()
        for text, mentions in zip(texts, text_analyses):
            counts.count_names_in_text(text, mentions)
            # `apply` reads the same texts next, and would search them again.
            _cache_names_found_in_text(text, language, mentions)
        return build_name_replacement_table(counts, language)

    def apply(self, output_view: View[str], random_stream: Stream) -> str | None:
        """Return the output with random names replaced."""
        return self._replace_random_names(
            output_view,
            _load_or_find_names_in_texts([output_view.output], output_view.language or "")[0],
            random_stream,
        )

    def perturb_many_outputs(self, output_views: Sequence[View[str]], random_keys: Keys) -> list[str | None]:
        """Replace random names in outputs of one language. The names of all outputs are found together, which
        is faster.
        """
        language = output_views[0].language or "" if output_views else ""
        mentions = _load_or_find_names_in_texts([view.output for view in output_views], language)
        return [
            self._replace_random_names(view, view_mentions, Stream(key))
            for view, view_mentions, key in zip(output_views, mentions, random_keys.tolist())
        ]

    def _replace_random_names(
        self, output_view: View[str], mentions: Sequence[Mention], random_stream: Stream
    ) -> str | None:
        """Replace random names of an output. `mentions` says where the output mentions names."""
        if len(mentions) < self.strength:
            return None
        text = output_view.output
        replaceable = _find_replaceable_names(
            text, mentions, output_view.collected[self.name], output_view.language or ""
        )
        if len(replaceable) < self.strength:
            return None
        drawn = sorted(random_stream.sample(len(replaceable), self.strength))
        edits = []
        for span, names in (replaceable[i] for i in drawn):
            absent_names = [name for name in names if name not in text]
            edits.append((span, random_stream.choice(absent_names)))
        return replace_spans(text, edits)


def _find_replaceable_names(
    text: str, mentions: Sequence[Mention], name_census: Census, language: str
) -> list[tuple[Span, list[str]]]:
    """Find the names in a text that can be replaced, each with the names that can replace it."""
    replaceable = []
    for start, end, mention_kind, mention_form in mentions:
        resolved = normalise_name_mention(
            text[start:end], mention_kind, mention_form, name_census["kinds"], language
        )
        if resolved is None:
            continue
        name, kind, form = resolved
        names = name_census["others"].get(describe_grammatical_role_of_name(name, kind, form, language)[0])
        fitting_names = _find_names_that_can_replace(name, form, _CachedNameList(names)) if names else []
        if any(other not in text for other in fitting_names):
            # Not `end`: the -s of a German genitive stays after the new name.
            replaceable.append(((start, start + len(name)), fitting_names))
    return replaceable


class _CachedNameList:
    """A list of names that can be part of a cache key. It equals only itself, because comparing long lists is
    slow.
    """

    __slots__ = ("names",)

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CachedNameList) and self.names is other.names

    def __hash__(self) -> int:
        return id(self.names)


@functools.lru_cache(maxsize=_CACHED_NAMES)
def _find_names_that_can_replace(name: str, grammatical_form: str, candidates: _CachedNameList) -> list[str]:
    """List the names among the candidates that can replace a name in its grammatical form."""
    return [other for other in candidates.names if can_replace_name(name, other, grammatical_form)]


# The names that texts mention, by language and text. Emptied when it is full.
_known_mentions: dict[tuple[str, str], Sequence[Mention]] = {}


def _cache_names_found_in_text(text: str, language: str, mentions: Sequence[Mention]) -> None:
    """Remember the names that were found in a text, because other perturbations of the text probably need
    them again.
    """
    if len(_known_mentions) >= _CACHED_TEXTS:
        _known_mentions.clear()
    _known_mentions[language, text] = mentions


def _load_or_find_names_in_texts(texts: Sequence[str], language: str) -> list[Sequence[Mention]]:
    """Return the names that each text mentions. Names of texts that were read before come from a cache."""
    new_texts = [text for text in dict.fromkeys(texts) if (language, text) not in _known_mentions]
    new_mentions = dict(zip(new_texts, find_names_in_texts(new_texts, language)))
    # Read before the new texts are added, because adding them may empty the cache.
    mentions = []
    for text in texts:
        mentions.append(new_mentions[text] if text in new_mentions else _known_mentions[language, text])
    for text, text_mentions in new_mentions.items():
        _cache_names_found_in_text(text, language, text_mentions)
    return mentions


def find_names_in_texts(texts: Sequence[str], language: str) -> list[Sequence[Mention]]:
    """Find the names that each text mentions, by word lists and by the best name finder that is installed."""
    mentions = []
    for text, names in zip(texts, _find_names_with_installed_model(texts, language)):
        listed_names = find_nationalities_and_dates(text, language)
        mentions.append(_merge_overlapping_names(names, listed_names))
    return mentions


def _merge_overlapping_names(
    names_from_model: Sequence[Mention], names_from_word_lists: Sequence[Mention]
) -> Sequence[Mention]:
    """Merge two lists of names that were found in a text. A name from a word list replaces names of a model
    that overlap with it.
    """
    if not names_from_model or not names_from_word_lists:
        return names_from_model or names_from_word_lists
    others = [
        mention for mention in names_from_model if not _overlaps_with_any_name(mention, names_from_word_lists)
    ]
    return sorted([*names_from_word_lists, *others])


def _overlaps_with_any_name(name: Mention, other_names: Sequence[Mention]) -> bool:
    """Return whether a name in a text overlaps with any of the other names."""
    return any(name[0] < end and start < name[1] for start, end, _, _ in other_names)


def _find_names_with_installed_model(texts: Sequence[str], language: str) -> list[list[Mention]]:
    """Find the names in texts with an installed spaCy model, in Russian with slovnet, or else by rules."""
    has_spacy_model = find_spacy_model(language)
    if not has_spacy_model and language != "ru":
        return [list(find_names(text, language)) for text in texts]
    entities = find_names_with_spacy(texts, language) if has_spacy_model else find_russian_names(texts)
    if language == "ru":
        return [add_grammatical_forms_to_names(text, names) for text, names in zip(texts, entities)]
    return [find_grammatical_forms_of_names(text, names, language) for text, names in zip(texts, entities)]


PERTURBATIONS = (EntitySubstitution,)
