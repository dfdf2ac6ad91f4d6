"""Where sentences begin and end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metassay.text.sentences import find_sentences


def split_sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in find_sentences(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["It rained.", "We stayed in!", "Why not?"],
        ["He said “Stop!”", "Nobody did.", "(So it goes.)", "«Oui.»", "¿Y ahora?"],
        ["Dr. Smith met Mrs. J. Doe at St. Mary's on Jan. 5 vs. nobody.", "They left."],
        ["See No. 5 and fig. 2.", "The answer was no.", "Then silence."],
        ["It costs 3.5 dollars, e.g. Tuesdays.", "The U.S. Senate agreed."],
        ["Wait... what is this… now?", "No idea."],
        ["Er kommt ca. übermorgen.", "Ändern wir das!"],  # a small letter that is not ASCII begins nothing
        ["Это ул. ленина.", "Он ушёл."],
        ["हाँ।", "ठीक है।"],
        ["هل هذا صحيح؟", "نعم."],
    ],
)
def test_sentences_joined_by_spaces_are_split_again(expected: list[str]) -> None:
    assert split_sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected", [["你好。", "他说：「好！」", "真的吗？", "再见"], ["はい。", "そうです。"]]
)
def test_full_width_stops_need_no_space(expected: list[str]) -> None:
    assert split_sentences("".join(expected)) == expected


def test_sentences_may_begin_with_small_letters_without_capitals_or_after_a_separate_stop() -> None:
    assert split_sentences("it rained. we stayed in... of course. mr. x left") == [
        *("it rained.", "we stayed in... of course.", "mr. x left")
    ]
    assert split_sentences("Paul restarted his row . the man came on . Good ... or not .") == [
        *("Paul restarted his row .", "the man came on .", "Good ... or not .")
    ]


def test_the_end_of_a_line_ends_a_sentence() -> None:
    assert split_sentences("A title\n\n- one thing\r\n---\nDr.\nanother") == [
        *("A title", "- one thing", "Dr.", "another")
    ]
    assert split_sentences("") == split_sentences(" ... ") == []


@given(st.one_of(st.text(), st.text('aB1. !?…。」”"\n(')))
def test_every_letter_and_digit_is_in_one_sentence(text: str) -> None:
    spans = find_sentences(text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    sentences = [text[start:end] for start, end in spans]
    assert all(sentence == sentence.strip() for sentence in sentences)
    assert all(any(map(str.isalnum, sentence)) for sentence in sentences)
    assert list(filter(str.isalnum, "".join(sentences))) == list(filter(str.isalnum, text))
