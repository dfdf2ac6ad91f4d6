"""Part-of-speech taggers, finders of names and morphological analysers, loaded when first needed."""

from __future__ import annotations

import functools
import importlib.util
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metassay.text.resources import spacy_model
from metassay.text.tokens import token_spans

_MODELS = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz"}


@dataclass(frozen=True)
class Tagged:
    """A token with its place and its part of speech, in the tag set of the model."""

    start: int
    end: int
    text: str
    tag: str


@functools.cache
def _hanta(language: str) -> Any:
    from HanTa.HanoverTagger import HanoverTagger

    return HanoverTagger(_MODELS[language])


@functools.lru_cache(maxsize=1 << 16)
def tagged(text: str, language: str) -> tuple[Tagged, ...]:
    """The tokens of a text with HanTa's tags (English: CLAWS C5; German: STTS)."""
    spans = token_spans(text)
    words = [text[start:end] for start, end in spans]
    tags = (tag for _, _, tag in _hanta(language).tag_sent(words)) if words else ()
    return tuple(Tagged(start, end, word, tag) for (start, end), word, tag in zip(spans, words, tags))


@functools.cache
def word_tags(word: str, language: str) -> tuple[str, ...]:
    """The tags that a word may have out of context, most likely first."""
    return tuple(str(tag) for tag, _ in _hanta(language).tag_word(word))


Entity = tuple[int, int, str]
"""Start, end and type: PER, LOC, ORG or NAME."""


def slovnet_entities(texts: Sequence[str]) -> list[list[Entity]]:
    """Names in Russian texts, by the news model that natasha carries."""
    written = [text for text in texts if text.strip()]  # the model fails on nothing at all
    found = {markup.text: markup.spans for markup in _slovnet().map(written)}
    return [[(span.start, span.stop, span.type) for span in found.get(text, ())] for text in texts]


def spacy_entities(texts: Sequence[str], language: str) -> list[list[Entity]]:
    """Names by an installed spaCy model; other types than persons, places and organisations are left out."""
    types = {"PERSON": "PER", "PER": "PER", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC", "ORG": "ORG"}
    documents = _spacy(language).pipe(texts)
    return [
        [(e.start_char, e.end_char, types[e.label_]) for e in document.ents if e.label_ in types]
        for document in documents
    ]


@functools.cache
def _slovnet() -> Any:
    from navec import Navec
    from slovnet import NER

    # The models lie inside natasha, which itself would import what newer setuptools lack.
    package = importlib.util.find_spec("natasha")
    assert package is not None
    assert package.origin is not None
    data = Path(package.origin).parent / "data"
    finder = NER.load(str(data / "model" / "slovnet_ner_news_v1.tar"))
    finder.navec(Navec.load(str(data / "emb" / "navec_news_v1_1B_250K_300d_100q.tar")))
    return finder


@functools.cache
def _spacy(language: str) -> Any:
    import spacy

    logging.getLogger("spacy").setLevel(logging.ERROR)
    return spacy.load(spacy_model(language) or "")


@functools.cache
def russian() -> Any:
    """pymorphy3's analyser."""
    from pymorphy3 import MorphAnalyzer

    return MorphAnalyzer(lang="ru")


@functools.cache
def known_lemma(form: str, language: str) -> str | None:
    """The base form of a word that simplemma's dictionary holds; None for other words."""
    import simplemma

    return str(simplemma.lemmatize(form, lang=language)) if simplemma.is_known(form, lang=language) else None


def german_lemma(form: str) -> str | None:
    """The base form of a German word."""
    return known_lemma(form, "de")


@functools.cache
def is_common(word: str, language: str) -> bool:
    """Whether the dictionary has the word in small letters, so that a capital may be the sentence's."""
    lemma = known_lemma(word.lower(), language)
    return lemma is not None and lemma.islower()
