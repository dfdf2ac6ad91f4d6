"""Texts of a megabyte are perturbed in seconds and without errors."""

from __future__ import annotations

import pytest

from metassay.perturbations.base import View
from metassay.perturbations.random_replacement import DisjointSpans
from metassay.perturbations.registry import parse_perturbation
from metassay.stats.streams import Stream
from metassay.text import spacy_models
from metassay.text.word_lists import WordLists

MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("number", "1" * MEGABYTE),
        ("clause_removal", "a b c d, " * (MEGABYTE // 9)),
        ("hallucinated_clause", "He is very good. " * (MEGABYTE // 17)),
        ("tense", "He is very good. " * (MEGABYTE // 17)),
        ("negation_removal", "He is not good. " * (MEGABYTE // 16)),
    ],
)
def test_long_texts_are_perturbed(name: str, text: str) -> None:
    output = parse_perturbation(name).apply(View(text, "1", "en"), Stream(0))
    assert output != text


def test_text_with_every_hallucinated_clause_is_left_alone() -> None:
    clauses = WordLists("metassay.perturbations.languages", "en").read_lines("hallucinated_clauses")
    text = f"He said so{''.join(clauses)}."
    assert parse_perturbation("hallucinated_clause").apply(View(text, "1", "en"), Stream(0)) is None


def test_texts_that_are_too_long_for_spacy_have_no_entities(monkeypatch: pytest.MonkeyPatch) -> None:
    class Model:
        """Refuses long texts, as spaCy does."""

        max_length = 10

        def pipe(self, texts):
            for text in texts:
                assert len(text) <= self.max_length
                yield self

        ents = ()

    monkeypatch.setattr(spacy_models, "_load_largest_spacy_model", lambda _: Model())
    assert spacy_models.find_names_with_spacy(["short", "longer than ten"], "en") == [[], []]


def test_spans_that_touch_do_not_overlap() -> None:
    spans = DisjointSpans()
    spans.add_span((10, 20))
    spans.add_span((0, 5))
    free = [
        span
        for span in ((5, 10), (4, 6), (9, 11), (12, 13), (20, 30), (0, 30))
        if spans.overlaps_no_stored_span(span)
    ]
    assert free == [(5, 10), (20, 30)]
