"""Pairs that metrics got wrong, as a run keeps them."""

from __future__ import annotations

import polars as pl
import pytest

import metassay


def test_pairs_with_a_doubtful_label_come_last_and_are_counted():
    """The first worse output is its reference."""
    texts = [
        ("a b c d", "a b c x", "a b c d"),
        ("e f g h", "e f g h", "e f g"),
        ("i j k l", "i j k l", "l k j i"),
    ]
    rows = [
        {
            "item": f"i{n}",
            "output": output,
            "worse": worse,
            "ref": reference,
            "perturbation": "made",
            "domain": "xyz"[n],
        }
        for n, (reference, output, worse) in enumerate(texts)
    ]
    few = {"resamples": 20, "permutations": 19, "contexts": ["domain"]}
    result = metassay.assay(None, pairs=pl.DataFrame(rows), metrics="bleu,chrf", **few)
    wrong_pairs = result.collect_misordered_pairs()
    assert (wrong_pairs.checked, wrong_pairs.doubtful) == (3, 1)
    doubtful = [pair.is_doubtful for pair in wrong_pairs.pairs]
    assert doubtful == sorted(doubtful)
    last = wrong_pairs.pairs[-1]
    assert (last.item, last.is_doubtful, last.contexts) == ("i0", True, {"domain": "x"})
    outcome = last.outcomes["chrf"]
    assert outcome.score < outcome.worse_score == pytest.approx(100)
    assert outcome.outcome == -1


def test_labels_by_human_score_are_not_doubted_because_of_word_overlap():
    """People prefer the paraphrase to the output that repeats the words of the reference."""
    rows = [
        {"seg_id": n, "system": system, "output": output, "ref": f"a b c d {n}", "mqm": score}
        for n in range(4)
        for system, output, score in (("good", f"w x y z {n}", 0.0), ("bad", f"a b c d e {n}", -5.0))
    ]
    few = {"resamples": 20, "permutations": 19, "contexts": ["system"]}
    result = metassay.assay(pl.DataFrame(rows), pairs="human", metrics="bleu,chrf", **few)
    wrong_pairs = result.collect_misordered_pairs()
    assert (wrong_pairs.checked, wrong_pairs.doubtful) == (None, None)
    assert [pair.is_doubtful for pair in wrong_pairs.pairs] == [False] * 4
