"""Perturbed outputs that another system wrote are compared by the human scores of both texts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from scripts.validity.human_evidence import count_verdicts, list_rated_texts
from scripts.validity.readings import HUMAN_COUNTS, VERDICTS, read_rows

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("shorter_score", "expected"), [(-5.0, {"worse": 1}), (0.0, {"equal": 1}), (1.0, {"better": 1})]
)
def test_a_removed_word_is_judged_by_the_score_of_the_system_that_wrote_it(shorter_score, expected) -> None:
    table = pl.DataFrame(
        {
            "seg_id": [1, 1, 1, 2],
            "hyp": ["the big cat sat", "the cat sat", "a dog ran far", "the cat sat"],
            "mqm": [0.0, shorter_score, -9.0, 7.0],
        }
    )
    texts = list(list_rated_texts(table))
    assert len(texts) == 4
    assert count_verdicts(texts, "removal", "en").of_all_draws == expected


def test_equal_texts_of_several_systems_have_their_mean_score() -> None:
    table = pl.DataFrame({"seg_id": [1, 1, 1], "hyp": ["a b c", "a b c", "a b"], "mqm": [0.0, -4.0, -1.0]})
    assert count_verdicts(list(list_rated_texts(table)), "removal", "en").of_all_draws == {"better": 1}


def test_one_draw_removes_each_of_four_words_with_equal_probability() -> None:
    table = pl.DataFrame({"seg_id": [1, 1], "hyp": ["one two three four", "one three four"], "mqm": [0, -1]})
    counts = count_verdicts(list(list_rated_texts(table)), "removal", "en")
    assert counts.of_all_draws == {"worse": 1}
    # Binomial with 50 draws and probability 1/4: a mean outside of this range has a probability below 1e-4.
    assert 0.04 < counts.of_one_draw["worse"] < 0.5


def test_the_page_shows_the_counts_and_says_who_read() -> None:
    page = (ROOT / "docs" / "validity.md").read_text(encoding="utf-8")
    for draws in ("1", "50"):
        rows = [
            row
            for row in read_rows(HUMAN_COUNTS)
            if (row["perturbation"], row["draws"]) == ("removal", draws)
        ]
        assert len(rows) == 8
        sums = [sum(float(row[verdict]) for row in rows) for verdict in VERDICTS]
        assert " | ".join(f"{total:.0f}" for total in sums) in page
    assert "biased selection" in page
    assert "Language models, not people, compared" in page.partition("##")[0]
