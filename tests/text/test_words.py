"""Words in raw text, and where sentences begin and end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metassay.text.words import bare, sentence_spans, without, word_list, word_spans


@given(st.text())
def test_words_are_the_runs_between_spaces_that_hold_a_letter_or_digit(text: str) -> None:
    expected = [run for run in text.split() if any(c.isalnum() for c in run)]
    assert [text[start:end] for start, end in word_spans(text)] == expected


@given(st.lists(st.text("ab.", min_size=1), min_size=2), st.data())
def test_dropping_words_leaves_the_others_singly_spaced(runs: list[str], data: st.DataObject) -> None:
    text = " ".join(runs)
    spans = word_spans(text)
    drop = data.draw(
        st.sets(st.sampled_from(range(len(spans))), max_size=max(len(runs) - 1, 0))
        if spans
        else st.just(set())
    )
    dropped = {spans[i] for i in drop}
    kept, place = [], 0
    for run in runs:
        if (place, place + len(run)) not in dropped:
            kept.append(run)
        place += len(run) + 1
    assert without(text, sorted(dropped)) == " ".join(kept)


def test_other_white_space_stays() -> None:
    text = "  one\ttwo  three\u00a0four \n"
    assert [without(text, [span]) for span in word_spans(text)] == [
        "  two  three\u00a0four \n",
        "  one\tthree\u00a0four \n",
        "  one\ttwo  four \n",
        "  one\ttwo  three \n",
    ]


def test_bare_words_keep_what_is_inside() -> None:
    assert [bare(word) for word in ("“don't!”", "(well-known)", "...", "a.")] == [
        "don't",
        "well-known",
        "",
        "a",
    ]


def test_the_word_list_leaves_out_names_but_not_german_nouns() -> None:
    texts = ["Das Haus von Anna.", "das 3-D-Kino, a und\u00a0und"]
    assert word_list(texts, "de") == ["Anna", "Haus", "das", "und", "von"]
    assert word_list(texts, "en") == ["das", "und", "von"]
    assert word_list(["ALL IN CAPITALS"], "en") == ["ALL", "CAPITALS", "IN"]


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


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
def test_sentences_joined_by_spaces_come_apart_again(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected", [["你好。", "他说：「好！」", "真的吗？", "再见"], ["はい。", "そうです。"]]
)
def test_full_width_stops_need_no_space(expected: list[str]) -> None:
    assert sentences("".join(expected)) == expected


def test_small_letters_begin_sentences_in_text_without_capitals_and_after_a_lone_stop() -> None:
    assert sentences("it rained. we stayed in... of course. mr. x left") == [
        *("it rained.", "we stayed in... of course.", "mr. x left")
    ]
    assert sentences("Paul restarted his row . the man came on . Good ... or not .") == [
        *("Paul restarted his row .", "the man came on .", "Good ... or not .")
    ]


def test_a_line_end_ends_a_sentence_and_lines_without_words_are_none() -> None:
    assert sentences("A title\n\n- one thing\r\n---\nDr.\nanother") == [
        *("A title", "- one thing", "Dr.", "another")
    ]
    assert sentences("") == sentences(" ... ") == []


@given(st.one_of(st.text(), st.text('aB1. !?…。」”"\n(')))
def test_every_letter_and_digit_stands_in_one_sentence(text: str) -> None:
    spans = sentence_spans(text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    inside = [text[start:end] for start, end in spans]
    assert all(one == one.strip() and any(map(str.isalnum, one)) for one in inside)
    assert [c for one in inside for c in one if c.isalnum()] == [c for c in text if c.isalnum()]
