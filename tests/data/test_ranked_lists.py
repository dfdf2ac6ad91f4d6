"""Ranked lists as arrays: which judgements count."""

from __future__ import annotations

import polars as pl

from metassay.data.ranked_lists import UNJUDGED, build_ranked_lists


def test_documents_of_the_pool_that_nobody_judged_are_no_judgements():
    """A negative grade says that a document was pooled and not judged: it is neither relevant nor not."""
    qrels = pl.DataFrame({"item": ["q"] * 4, "document": list("abcd"), "grade": [1, -1, 0, 2]})
    lists = build_ranked_lists(pl.Series(["q"]), pl.Series([["b", "d", "x", "c"]]), qrels)
    assert lists.judgements.grades.tolist() == [2, 1, 0]
    assert lists.grades.tolist() == [UNJUDGED, 2, UNJUDGED, 0]
    assert lists.has_relevant_document.tolist() == [True]
    without = build_ranked_lists(pl.Series(["q"]), pl.Series([["b", "c"]]), qrels)
    assert without.has_relevant_document.tolist() == [False]
