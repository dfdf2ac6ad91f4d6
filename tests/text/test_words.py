"""Words in raw text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metassay.text.words import find_words, list_vocabulary, remove_words, strip_punctuation


@given(st.text())
def test_words_are_runs_of_non_space_with_a_letter_or_digit(text: str) -> None:
    expected = [run for run in text.split() if any(c.isalnum() for c in run)]
    assert [text[start:end] for start, end in find_words(text)] == expected


@given(st.lists(st.text("ab.", min_size=1), min_size=2), st.data())
def test_removing_words_leaves_single_spaces(runs: list[str], data: st.DataObject) -> None:
    text = " ".join(runs)
    spans = find_words(text)
    drop = data.draw(
        st.sets(st.sampled_from(range(len(spans))), max_size=max(len(runs) - 1, 0))
        if spans
        else st.just(set())
    )
    removed = {spans[i] for i in drop}
    remaining = []
    position = 0
    for run in runs:
        if (position, position + len(run)) not in removed:
            remaining.append(run)
        position += len(run) + 1
    assert remove_words(text, sorted(removed)) == " ".join(remaining)


def test_removing_words_keeps_other_white_space() -> None:
    text = "  one\ttwo  three\u00a0four \n"
    assert [remove_words(text, [span]) for span in find_words(text)] == [
        "  two  three\u00a0four \n",
        "  one\tthree\u00a0four \n",
        "  one\ttwo  four \n",
        "  one\ttwo  three \n",
    ]


def test_punctuation_inside_words_is_kept() -> None:
    assert [strip_punctuation(word) for word in ("“don't!”", "(well-known)", "...", "a.")] == [
        "don't",
        "well-known",
        "",
        "a",
    ]


def test_the_vocabulary_has_no_names_but_german_nouns() -> None:
    texts = ["Das Haus von Anna.", "das 3-D-Kino, a und\u00a0und"]
    assert list_vocabulary(texts, "de") == ["Anna", "Haus", "das", "und", "von"]
    assert list_vocabulary(texts, "en") == ["das", "und", "von"]
    assert list_vocabulary(["ALL IN CAPITALS"], "en") == ["ALL", "CAPITALS", "IN"]
