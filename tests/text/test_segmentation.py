"""Words where no space parts them: nothing is lost, scripts are not mixed, and edits add no space."""

import re
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metassay.text import resources
from metassay.text.segmentation import (
    coded_words,
    cut_out,
    pieces,
    put_in,
    segmented,
    written_without_spaces,
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
def own_rule(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from metassay.text import segmentation

    monkeypatch.setattr(segmentation, "has_package", lambda _: False)
    segmentation._segmenter.cache_clear()
    yield
    segmentation._segmenter.cache_clear()


@pytest.mark.usefixtures("own_rule")
@pytest.mark.parametrize("language", TEXTS)
def test_every_letter_belongs_to_one_word_and_no_mark_is_cut_off(language: str) -> None:
    text = TEXTS[language]
    spans = segmented(text, language)
    inside = {place for start, end in spans for place in range(start, end)}
    assert len(inside) == sum(end - start for start, end in spans)
    assert all(place in inside for place, character in enumerate(text) if character.isalnum())
    assert all(not unicodedata.category(text[start]).startswith("M") for start, _ in spans)
    assert len(spans) >= 3


@pytest.mark.usefixtures("own_rule")
def test_scripts_are_told_apart() -> None:
    text = TEXTS["ja"]
    words = [text[start:end] for start, end in segmented(text, "ja")]
    assert words[:6] == ["東京", "タワー", "は", "1958", "年", "に"]


@given(st.text(alphabet="我的 用電a1.，のカไทย", max_size=20))
def test_pieces_are_all_but_space(text: str) -> None:
    assert "".join(text[start:end] for start, end in pieces(text)) == "".join(text.split())


@given(st.text(alphabet="我的 用電a1.，の", max_size=12))
def test_a_word_cut_out_takes_only_itself_and_space(text: str) -> None:
    for start, end in segmented(text, None):
        left = cut_out(text, [(start, end)])
        assert "".join(left.split()) == "".join((text[:start] + text[end:]).split())


def test_a_word_put_in_is_spaced_only_from_letters_it_would_run_into() -> None:
    assert put_in("用Python写", 1, "Java") == "Java "
    assert put_in("用Python写", 7, "Java") == " Java"
    assert put_in("用Python写", 7, "代码") == "代码"


def test_the_script_decides_where_the_language_is_unknown() -> None:
    assert written_without_spaces(TEXTS["zh"], None)
    assert not written_without_spaces("Hallo 世界, wie geht es?", None)
    assert not written_without_spaces(TEXTS["zh"], "en")


@pytest.mark.parametrize(("language", "package", "words"), [
    ("zh", "jieba", ["我", "来到", "北京", "清华大学"]),
    ("ja", "fugashi", ["東京", "に", "住ん", "で", "い", "ます"]),
])  # fmt: skip
def test_an_installed_segmenter_finds_the_words(language: str, package: str, words: list[str]) -> None:
    if not resources.has_package(package):
        pytest.skip(f"{package} is not installed")
    text = "".join(words) + "。"
    assert [text[start:end] for start, end in segmented(text, language)] == words


@given(
    st.lists(st.text(st.sampled_from("aAß_-'é²٣ \n。я"), max_size=12), max_size=8), st.sampled_from(["", "-"])
)
def test_words_are_numbered_as_a_regular_expression_finds_them(texts: list[str], joints: str) -> None:
    words = coded_words(texts, joints)
    found = [re.findall(rf"[\w{joints}]+", text) for text in texts]
    rows = [words.numbers[i:j].tolist() for i, j in zip(words.starts, words.starts[1:])]
    assert [[words.vocabulary[number] for number in row] for row in rows] == found
    assert words.vocabulary == list(dict.fromkeys(word for row in found for word in row))
    assert words.texts_with(str.isupper).tolist() == [any(map(str.isupper, row)) for row in found]


def test_many_distinct_words_keep_their_numbers() -> None:
    texts = [" ".join(f"w{i % 30_000}" for i in range(start, start + 50)) for start in range(0, 60_000, 50)]
    words = coded_words(texts)
    assert words.vocabulary == [f"w{i}" for i in range(30_000)]
    assert words.numbers.tolist() == [i % 30_000 for i in range(60_000)]
