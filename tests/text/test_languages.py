"""Language tags and language pairs."""

from __future__ import annotations

import pytest
from langcodes import standardize_tag

from metassay.text.languages import (
    find_target_language,
    get_base_language,
    parse_language,
    parse_target_language,
)

TARGETS = {
    "en-de": "de",
    "EN-DE": "de",
    "en-zh-Hans": "zh-hans",
    "en-zh-TW": "zh-tw",
    "en-cmn": "zh",
    "en-th": "th",
    "de-en-US": "en-us",
    "zh-TW-en": "en",
    "pt-BR-fr": "fr",
    "fr-CA-es": "es",
    "en-fr-CA": "fr-ca",
    "en-US-de-DE": "de-de",
    "sr-Latn-en": "en",
    "en_US-ja_JP": "ja-jp",
    "zho_Hans-eng_Latn": "en",
    "deu_Latn-tha_Thai": "th",
    "English-German": "de",
    "en-am": "am",
    "en-xx": "xx",
    "en-zh-Hant-HK": "zh-hant-hk",
    "zh-Hant-HK": "zh-hant-hk",
    "ja-JP": "ja-jp",
    "en-sr-Latn": "sr-latn",
    "en-yue-HK": "yue-hk",
    "en→zh": "zh",
    "en -> pt-BR": "pt-br",
    "English / Japanese": "ja",
    "en–de": "de",
}


@pytest.mark.parametrize("pair", TARGETS)
def test_target_of_a_language_pair(pair: str) -> None:
    assert find_target_language(pair) == TARGETS[pair]


@pytest.mark.parametrize("text", ["", "en", "en_de", "x-", "-"])
def test_text_without_two_languages_has_no_target(text: str) -> None:
    assert find_target_language(text) is None


@pytest.mark.parametrize("tag", ["en-GB", "zh-Hant-HK", "pt_BR", "deu", "es-419", "sr-Cyrl"])
def test_tags_are_those_of_langcodes_in_lower_case(tag: str) -> None:
    assert parse_language(tag) == standardize_tag(tag).lower()


@pytest.mark.parametrize("text", ["news", "the text itself", "us", "a", "", "de-en"])
def test_words_are_not_languages(text: str) -> None:
    assert parse_language(text) is None


@pytest.mark.parametrize("tag", ["zh", "zh-Hans", "zh_TW", "cmn", "cmn-Hant", "ZHO"])
def test_all_tags_of_chinese_have_one_base_language(tag: str) -> None:
    assert get_base_language(tag) == "zh"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("en-th", "th"),
        ("en-TH", "en-th"),
        ("EN-DE", "de"),
        ("pt-br", "pt-br"),
        ("de-de", "de-de"),
        ("en-zh-TW", "zh-tw"),
        ("de-en-US", "en-us"),
        ("Chinese", "zh"),
        ("tlh", "tlh"),
    ],
)
def test_user_may_name_the_language_by_a_pair(text: str, language: str) -> None:
    assert parse_target_language(text) == language
