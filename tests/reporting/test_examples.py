from __future__ import annotations

import random

import jiwer
import polars as pl
import pytest

import metassay
from metassay.reporting.findings import find
from metassay.reporting.sections.examples import edit_counts, examples, word_edits


@pytest.mark.parametrize("seed", range(30))
def test_counts_are_those_of_the_word_error_rate(seed):
    rng = random.Random(seed)
    reference, output = (" ".join(rng.choices("abcde", k=rng.randint(2, 15))) for _ in range(2))
    official = jiwer.process_words(reference, output)
    counts = edit_counts(word_edits(reference, output))
    ours = sum(counts.get(kind, 0) for kind in ("gone", "new", "replaced"))
    assert ours == official.substitutions + official.deletions + official.insertions


@pytest.mark.parametrize("seed", range(30))
def test_the_edits_hold_both_texts(seed):
    rng = random.Random(seed)
    before, after = (" ".join(rng.choices(["the", "a", "cat", "<b>"], k=rng.randint(2, 9))) for _ in range(2))
    edits = word_edits(before, after)
    assert " ".join(edit.before for edit in edits if edit.before) == before
    assert " ".join(edit.after for edit in edits if edit.after) == after


def test_texts_without_spaces_go_by_character():
    kinds = [(edit.kind, edit.before, edit.after) for edit in word_edits("我喜欢猫", "我不喜欢猫")]
    assert kinds == [("same", "我", "我"), ("new", "", "不"), ("same", "喜欢猫", "喜欢猫")]


def test_empty_texts():
    assert word_edits("", "") == []
    assert [edit.kind for edit in word_edits("", "a b")] == ["new"]


def pairs_of():
    """What an assay keeps for its page: of three items, the copy of one comes nearer to its reference."""
    texts = [("a b c d", "a b c x"), ("e f g h", "e f g h"), ("i j k l", "i j k l")]
    rows = [
        {
            "item": f"i{n}",
            "output": output,
            "worse": worse,
            "ref": reference,
            "perturbation": "made",
            "domain": "xyz"[n],
        }
        for n, ((reference, output), worse) in enumerate(zip(texts, ("a b c d", "e f g", "l k j i")))
    ]
    few = {"resamples": 20, "permutations": 19, "contexts": ["domain"]}
    return metassay.assay(None, pairs=pl.DataFrame(rows), metrics="bleu,chrf", **few).examples()


def test_pairs_with_a_doubtful_label_come_last_and_are_counted():
    """The first copy is its reference."""
    found = pairs_of()
    assert (found["looked_at"], found["doubtful"]) == (3, 1)
    kept = found["pairs"]
    assert [pair["doubtful"] for pair in kept] == sorted(pair["doubtful"] for pair in kept)
    last = kept[-1]
    assert (last["item"], last["doubtful"], last["contexts"]) == ("i0", True, {"domain": "x"})
    assert last["judgements"]["chrf"][0] < last["judgements"]["chrf"][1] == pytest.approx(100)
    assert last["judgements"]["chrf"][2] == -1


def test_pairs_as_earlier_versions_left_them_are_shown(result):
    """A list, each pair under one metric with its two scores: the pairs that this metric got wrong."""
    old = {"item": "17", "system": "s", "perturbation": "removal", "output": "a b c", "worse": "a c"}
    result["examples"] = [
        {**old, "metric": "bleu", "score": 40.5, "score_worse": 100.0, "references": ["a c"]},
        {**old, "metric": "chrf", "score": 7.0, "score_worse": 7.0, "references": ["a c"]},
    ]
    shown = examples(find(result))
    first, second = shown["pairs"]
    names = shown["metrics"]
    assert [(names[m], kept, worse, said) for m, kept, worse, said in first["judged"]] == [
        ("BLEU", "40.5", "100", -1)
    ]
    assert [(names[m], said) for m, *_, said in second["judged"]] == [("chrF", 0)]
    assert first["edits"] == [[0, "a"], [1, "b", ""], [0, "c"]]
    assert shown["rate"] == ""
