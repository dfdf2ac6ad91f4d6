"""Words in raw text."""

from hypothesis import given
from hypothesis import strategies as st

from metassay.text.words import bare, without, word_list, word_spans


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
