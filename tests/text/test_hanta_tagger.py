"""The tagger in compiled code beside the package whose models it reads."""

from __future__ import annotations

from typing import Any

import pytest

from metassay.text.hanta_morphemes import MorphemeSplitter
from metassay.text.hanta_tagger import load_pos_tagger
from metassay.text.tagged_words import rank_pos_tags_of_word
from metassay.text.tokens import tokenize_words

TEXTS = {
    "en": [
        "The committee postponed its vote until Tuesday, and Mrs. Okafor left.",
        "blurbifying zorks (see §7b) wasn't THE point – it’s a “proto-flumping” 3.5-ton thing!",
        "Scientists at UMIST found x.",
        "?",
    ],
    "de": [
        "Der Donaudampfschifffahrtskapitän verabschiedete sich von Frau Öztürk-Meier.",
        "Wegen der Impfpriorisierungsverordnungen gab's 2021 in Gelsenkirchen-Buer Ärger.",
        "quux Blafasel zermatschte die flurbigen Gnorke",
    ],
}


def load_hanta(language: str) -> Any:
    hanta = pytest.importorskip("HanTa.HanoverTagger")
    return hanta.HanoverTagger({"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz"}[language])


@pytest.mark.parametrize("language", ["en", "de"])
def test_tags_are_those_of_hanta(language: str) -> None:
    hanta = load_hanta(language)
    for text in TEXTS[language]:
        words = tokenize_words(text)
        assert load_pos_tagger(language).tag_parts_of_speech(words) == hanta.tag_sent(words, taglevel=0)
        for word in words:
            assert list(rank_pos_tags_of_word(word, language)) == [tag for tag, _ in hanta.tag_word(word)]


@pytest.mark.parametrize("language", ["en", "de"])
def test_probabilities_of_unlisted_words_are_those_of_hanta(language: str) -> None:
    hanta = load_hanta(language)
    splitter = MorphemeSplitter(hanta)
    unlisted = [
        "blurbifying",
        "x7",
        "donaudampfschiff",
        "zermatschte",
        "öztürk-meier",
        "i",
        "umist",
        "a" * 40,
    ]
    for word in unlisted:
        assert splitter.rank_pos_tags(word) == hanta.analyze_forward(word)
