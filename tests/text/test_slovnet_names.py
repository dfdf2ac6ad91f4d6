"""Russian names in compiled code beside slovnet itself, and words beside razdel, whose rules they follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metassay.text import slovnet_names
from metassay.text.slovnet_names import Entity, slovnet, slovnet_entities

pytest.importorskip("slovnet")

EVERYWHERE = 1 << 31
"""A reach beyond that of any capital, and where there is none."""

TEXTS = [
    "Вчера Владимир Путин и Анна Ахматова прилетели в Санкт-Петербург.",
    "   ",
    "Компания «Газпром нефть» купила Apple Inc. в 2020, 15 мая –Москва- и т.д.",
    "Нет.",
    "США, ООН и МИД России: Минобороны -Крым. Д`Артаньян! yahoo! 3 .5",
]


def theirs(texts: Sequence[str]) -> list[list[Entity]]:
    found = {markup.text: markup.spans for markup in slovnet().map([text for text in texts if text.strip()])}
    return [[(span.start, span.stop, span.type) for span in found.get(text, ())] for text in texts]


def test_names_are_those_of_slovnet() -> None:
    found = slovnet_entities(TEXTS)
    assert found == theirs(TEXTS)
    assert sum(map(len, found)) > 8


@pytest.mark.slow
def test_names_of_all_real_outputs_are_those_of_slovnet(
    real_data: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them where every word is read; else all but those that go further from capitals."""
    texts = pl.read_parquet(real_data("wmt22/wmt22_en-ru.parquet"))["hyp"].unique().sort().to_list()
    found, own = slovnet_entities(texts), theirs(texts)
    differing = [(text, names) for text, names, mine in zip(texts, own, found) if mine != names]
    assert all(goes_far(text, names) for text, names in differing)
    assert len(differing) == 66
    monkeypatch.setattr(slovnet_names, "REACH", EVERYWHERE)
    assert slovnet_entities(texts) == own


def goes_far(text: str, names: Sequence[Entity]) -> bool:
    """Whether some word of a name has no capital, and neither have those beside it."""
    from razdel import tokenize

    words = list(tokenize(text))
    capitals = [word.text != word.text.lower() for word in words]
    far = {word.start for i, word in enumerate(words) if not any(capitals[max(i - 1, 0) : i + 2])}
    return any(start <= place < end for start, end, _ in names for place in far)


def test_a_word_is_in_no_name_that_is_further_from_capitals(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Агентство по охране окружающей среды США закрыто.", "Он видел де Клерка и пил."]
    near = slovnet_entities(texts)
    monkeypatch.setattr(slovnet_names, "REACH", EVERYWHERE)
    assert slovnet_entities(texts) == theirs(texts)
    assert [text[start:end] for text, own in zip(texts, near) for start, end, _ in own] == [
        "США",
        "де Клерка",
    ]


def test_a_text_has_the_same_names_in_any_company(monkeypatch: pytest.MonkeyPatch) -> None:
    together = slovnet_entities(TEXTS)
    monkeypatch.setattr(slovnet_names, "AT_ONCE", 1)
    assert slovnet_entities(TEXTS) == together


@given(st.lists(st.text(st.sampled_from("аЯёzQ17.,-–_/\\!?…»(«\"):;%Δ'* \u00a0"), max_size=14), max_size=4))
def test_words_are_cut_as_by_razdel(texts: list[str]) -> None:
    from razdel import tokenize

    words, rows = slovnet_names._finder()._words.of(texts, EVERYWHERE)
    places = [0, *(sum(map(len, texts[: i + 1])) for i in range(len(texts)))]
    for i, text in enumerate(texts):
        spans = (words[rows[i] : rows[i + 1], 1:3] - places[i]).tolist()
        assert spans == [[word.start, word.stop] for word in tokenize(text)]
