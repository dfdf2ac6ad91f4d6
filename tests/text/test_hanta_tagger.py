"""The tagger in compiled code beside the package whose models it reads."""

from __future__ import annotations

from typing import Any

import pytest

from metassay.text.hanta_tagger import hanta, word_tags
from metassay.text.tokens import word_tokens

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


def model(language: str) -> Any:
    tagger = pytest.importorskip("HanTa.HanoverTagger")
    return tagger.HanoverTagger({"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz"}[language])


@pytest.mark.parametrize("language", ["en", "de"])
def test_tags_are_those_of_the_package(language: str) -> None:
    theirs = model(language)
    for text in TEXTS[language]:
        words = word_tokens(text)
        assert hanta(language).tags(words) == theirs.tag_sent(words, taglevel=0)
        for word in words:
            assert list(word_tags(word, language)) == [tag for tag, _ in theirs.tag_word(word)]


@pytest.mark.parametrize("language", ["en", "de"])
def test_chances_of_words_in_no_list_are_those_of_the_package(language: str) -> None:
    theirs, ours = model(language), hanta(language)
    unknown = ["blurbifying", "x7", "donaudampfschiff", "zermatschte", "öztürk-meier", "i", "umist", "a" * 40]
    for word in unknown:
        assert ours._morphemes.readings(word) == theirs.analyze_forward(word)
