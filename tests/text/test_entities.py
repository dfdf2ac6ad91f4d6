"""Russian names in compiled code beside slovnet itself, and words beside razdel, whose rules they follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metassay.text import entities
from metassay.text.entities import Entity, slovnet, slovnet_entities

pytest.importorskip("slovnet")

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
def test_names_of_all_real_outputs_are_those_of_slovnet(real_data: Callable[[str], Path]) -> None:
    texts = pl.read_parquet(real_data("wmt22/wmt22_en-ru.parquet"))["hyp"].unique().sort().to_list()
    assert slovnet_entities(texts) == theirs(texts)


def test_a_text_has_the_same_names_in_any_company(monkeypatch: pytest.MonkeyPatch) -> None:
    together = slovnet_entities(TEXTS)
    monkeypatch.setattr(entities, "AT_ONCE", 1)
    assert slovnet_entities(TEXTS) == together


@given(st.lists(st.text(st.sampled_from("аЯёzQ17.,-–_/\\!?…»(«\"):;%Δ'* \u00a0"), max_size=14), max_size=4))
def test_words_are_cut_as_by_razdel(texts: list[str]) -> None:
    from razdel import tokenize

    words, rows = entities._finder()._words.of(texts)
    places = [0, *(sum(map(len, texts[: i + 1])) for i in range(len(texts)))]
    for i, text in enumerate(texts):
        spans = (words[rows[i] : rows[i + 1], 1:] - places[i]).tolist()
        assert spans == [[word.start, word.stop] for word in tokenize(text)]
