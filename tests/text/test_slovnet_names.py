"""Russian names in compiled code beside slovnet itself, and words beside razdel, whose rules they follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metassay.text import slovnet_names
from metassay.text.slovnet_names import find_russian_names, load_slovnet
from metassay.text.spacy_models import Entity

pytest.importorskip("slovnet")

EVERYWHERE = 1 << 31
"""A reach at which every word is computed, even in texts without capitals."""

TEXTS = [
    "Вчера Владимир Путин и Анна Ахматова прилетели в Санкт-Петербург.",
    "   ",
    "Компания «Газпром нефть» купила Apple Inc. в 2020, 15 мая –Москва- и т.д.",
    "Нет.",
    "США, ООН и МИД России: Минобороны -Крым. Д`Артаньян! yahoo! 3 .5",
]


def find_names_with_slovnet(texts: Sequence[str]) -> list[list[Entity]]:
    markups = load_slovnet().map([text for text in texts if text.strip()])
    spans_of = {markup.text: markup.spans for markup in markups}
    return [[(span.start, span.stop, span.type) for span in spans_of.get(text, ())] for text in texts]


def test_names_are_those_of_slovnet() -> None:
    names = find_russian_names(TEXTS)
    assert names == find_names_with_slovnet(TEXTS)
    assert sum(map(len, names)) > 8


@pytest.mark.slow
def test_names_of_all_real_outputs_are_those_of_slovnet(
    real_data: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All names are equal if every word is computed; else only names far from capitals differ."""
    texts = pl.read_parquet(real_data("wmt22/wmt22_en-ru.parquet"))["hyp"].unique().sort().to_list()
    our_names = find_russian_names(texts)
    their_names = find_names_with_slovnet(texts)
    rows = zip(texts, our_names, their_names)
    differing = [(text, theirs) for text, ours, theirs in rows if ours != theirs]
    assert all(extends_far(text, names) for text, names in differing)
    assert len(differing) == 66
    monkeypatch.setattr(slovnet_names, "REACH", EVERYWHERE)
    assert find_russian_names(texts) == their_names


def extends_far(text: str, names: Sequence[Entity]) -> bool:
    """Whether some word of a name has no capital, and neither have those beside it."""
    from razdel import tokenize

    words = list(tokenize(text))
    capitals = [word.text != word.text.lower() for word in words]
    far = {word.start for i, word in enumerate(words) if not any(capitals[max(i - 1, 0) : i + 2])}
    return any(start <= place < end for start, end, _ in names for place in far)


def test_words_far_from_capitals_are_in_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Агентство по охране окружающей среды США закрыто.", "Он видел де Клерка и пил."]
    near = find_russian_names(texts)
    monkeypatch.setattr(slovnet_names, "REACH", EVERYWHERE)
    assert find_russian_names(texts) == find_names_with_slovnet(texts)
    assert [text[start:end] for text, names in zip(texts, near) for start, end, _ in names] == [
        "США",
        "де Клерка",
    ]


def test_names_do_not_depend_on_the_other_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    together = find_russian_names(TEXTS)
    monkeypatch.setattr(slovnet_names, "_BLOCK_LETTERS", 1)
    assert find_russian_names(TEXTS) == together


@given(st.lists(st.text(st.sampled_from("аЯёzQ17.,-–_/\\!?…»(«\"):;%Δ'* \u00a0"), max_size=14), max_size=4))
def test_words_are_those_of_razdel(texts: list[str]) -> None:
    from razdel import tokenize

    words = slovnet_names._load_name_finder()._vocabulary.split_texts_into_words(texts, EVERYWHERE)
    for i, text in enumerate(texts):
        text_words = slice(words.offsets[i], words.offsets[i + 1])
        spans = list(zip(words.starts[text_words].tolist(), words.ends[text_words].tolist()))
        assert spans == [(word.start, word.stop) for word in tokenize(text)]
