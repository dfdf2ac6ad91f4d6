"""Texts without spaces: every letter belongs to a word, and edits add no spaces."""

import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metassay.text import resources
from metassay.text.segmentation import (
    add_spaces_around_inserted_word,
    find_words_and_punctuation,
    find_words_in_text_without_spaces,
    is_written_without_spaces,
    remove_words_from_text_without_spaces,
)

TEXTS = {
    "zh": "我们在2022年用iPhone 14拍摄了这部电影，真的很好看。",
    "ja": "東京タワーは1958年に完成しました。「すごい」と彼は言った。",
    "th": "ประเทศไทยมีประชากร 70 ล้านคน",
    "km": "ខ្ញុំស្រឡាញ់ភាសាខ្មែរ",
    "my": "မြန်မာဘာသာစကားကို ချစ်တယ်",
    "lo": "ພາສາລາວເປັນພາສາທາງການ",
    "bo": "བོད་སྐད་ནི་སྐད་ཡིག་ཅིག་ཡིན།",
}


@pytest.fixture
def without_packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from metassay.text import segmentation

    monkeypatch.setattr(segmentation, "is_package_installed", lambda _: False)
    segmentation._load_word_segmenter.cache_clear()
    yield
    segmentation._load_word_segmenter.cache_clear()


@pytest.mark.usefixtures("without_packages")
@pytest.mark.parametrize("language", TEXTS)
def test_every_letter_belongs_to_one_word_together_with_its_marks(language: str) -> None:
    text = TEXTS[language]
    spans = find_words_in_text_without_spaces(text, language)
    inside = {place for start, end in spans for place in range(start, end)}
    assert len(inside) == sum(end - start for start, end in spans)
    assert all(place in inside for place, character in enumerate(text) if character.isalnum())
    assert all(not unicodedata.category(text[start]).startswith("M") for start, _ in spans)
    assert len(spans) >= 3


@pytest.mark.usefixtures("without_packages")
def test_a_word_ends_where_the_script_changes() -> None:
    text = TEXTS["ja"]
    words = [text[start:end] for start, end in find_words_in_text_without_spaces(text, "ja")]
    assert words[:6] == ["東京", "タワー", "は", "1958", "年", "に"]


@given(st.text(alphabet="我的 用電a1.，のカไทย", max_size=20))
def test_words_and_signs_are_everything_but_space(text: str) -> None:
    assert "".join(text[start:end] for start, end in find_words_and_punctuation(text)) == "".join(
        text.split()
    )


@given(st.text(alphabet="我的 用電a1.，の", max_size=12))
def test_removing_a_word_removes_nothing_else_but_space(text: str) -> None:
    for start, end in find_words_in_text_without_spaces(text, None):
        left = remove_words_from_text_without_spaces(text, [(start, end)])
        assert "".join(left.split()) == "".join((text[:start] + text[end:]).split())


def test_an_inserted_word_gets_spaces_only_beside_letters_with_spaces() -> None:
    assert add_spaces_around_inserted_word("用Python写", 1, "Java") == "Java "
    assert add_spaces_around_inserted_word("用Python写", 7, "Java") == " Java"
    assert add_spaces_around_inserted_word("用Python写", 7, "代码") == "代码"


def test_the_script_decides_if_the_language_is_unknown() -> None:
    assert is_written_without_spaces(TEXTS["zh"], None)
    assert not is_written_without_spaces("Hallo 世界, wie geht es?", None)
    assert not is_written_without_spaces(TEXTS["zh"], "en")


@pytest.mark.parametrize(("language", "package", "words"), [
    ("zh", "jieba", ["我", "来到", "北京", "清华大学"]),
    ("ja", "fugashi", ["東京", "に", "住ん", "で", "い", "ます"]),
])  # fmt: skip
def test_an_installed_segmenter_is_used(language: str, package: str, words: list[str]) -> None:
    if not resources.is_package_installed(package):
        pytest.skip(f"{package} is not installed")
    text = "".join(words) + "。"
    assert [text[start:end] for start, end in find_words_in_text_without_spaces(text, language)] == words
