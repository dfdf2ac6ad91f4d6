"""Word edits between two texts, as the page shows them."""

from __future__ import annotations

import random

import jiwer
import pytest

from metassay.reporting.word_edits import count_edited_words, find_word_edits_between_texts


@pytest.mark.parametrize("seed", range(30))
def test_counts_are_those_of_the_word_error_rate(seed):
    rng = random.Random(seed)
    reference, output = (" ".join(rng.choices("abcde", k=rng.randint(2, 15))) for _ in range(2))
    official = jiwer.process_words(reference, output)
    counts = count_edited_words(find_word_edits_between_texts(reference, output))
    ours = sum(counts.get(kind, 0) for kind in ("gone", "new", "replaced"))
    assert ours == official.substitutions + official.deletions + official.insertions


@pytest.mark.parametrize("seed", range(30))
def test_the_edits_hold_both_texts(seed):
    rng = random.Random(seed)
    before, after = (" ".join(rng.choices(["the", "a", "cat", "<b>"], k=rng.randint(2, 9))) for _ in range(2))
    edits = find_word_edits_between_texts(before, after)
    assert " ".join(edit.before for edit in edits if edit.before) == before
    assert " ".join(edit.after for edit in edits if edit.after) == after


def test_texts_without_spaces_go_by_character():
    kinds = [
        (edit.kind, edit.before, edit.after)
        for edit in find_word_edits_between_texts("我喜欢猫", "我不喜欢猫")
    ]
    assert kinds == [("same", "我", "我"), ("new", "", "不"), ("same", "喜欢猫", "喜欢猫")]


def test_empty_texts():
    assert find_word_edits_between_texts("", "") == []
    assert [edit.kind for edit in find_word_edits_between_texts("", "a b")] == ["new"]
