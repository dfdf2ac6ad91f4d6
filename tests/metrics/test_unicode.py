"""Lexical metrics equal their official implementations on arbitrary Unicode, and work on long texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import JIWER, ROUGE, TRANSLATION, get_oracle

from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric

# Few words, so that they repeat and match; with combining marks, right-to-left script, emoji, odd white space,
# entities and punctuation that tokenisers treat in their output_references ways.
WORDS = ["a", "the", "The", "running", "runs", "dog", "3.14", "1,000", "5-6", "x.", ",", "-", "e\u0301", "é"]
WORDS += [
    "שלום",
    "مرحبا",
    "👩‍👩‍👧",
    "🙂",
    "東京",
    "、",
    "ß",
    "İ",
    "ΑΣ",
    "“q”",
    "don't",
    "&amp;",
    "<skipped>",
    "n't",
    "''",
]
WORDS += [
    "can not",
    "cannot",
    "gonna",
    "``",
    "(b)",
    "[c]",
    "$5",
    "…",
    "..",
    "—",
    "2008.",
    "\u2028",
    "\x1c",
    "\xa0",
    "_",
]
SPACES = [" ", "  ", "\t", "\n", "-\n", "\u3000", "", "\r\n"]

tokens = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(SPACES)), max_size=30)
texts_of_odd_words = tokens.map(lambda parts: "".join(word + space for word, space in parts))
texts = st.one_of(texts_of_odd_words, st.text(max_size=60), texts_of_odd_words)


@pytest.mark.parametrize("spec", [*TRANSLATION, *JIWER])
@settings(max_examples=60, deadline=None)
@given(output=texts, reference=texts)
@example(output="", reference="")
@example(output="a", reference="")
@example(output="", reference="a")
@example(output="a", reference="a")
@example(output="a a a a a a a", reference="a a a")
def test_equals_the_official_score(spec, output, reference):
    if spec in {"wer", "cer"} and not reference.strip():
        assert np.isnan(score(spec, output, [reference]))
        return
    expected = get_oracle(spec)(output, [reference])
    np.testing.assert_allclose(score(spec, output, [reference]), expected, rtol=1e-9, atol=0)


def score(spec, output, references):
    # English, so that ROUGE does not choose its tokeniser by the script
    return parse_metric(spec).score(Batch.from_texts([output], [references], language="en"))[0]


@pytest.mark.parametrize("spec", [s for s in TRANSLATION if not s.startswith("ter(")])
@settings(max_examples=15, deadline=None)
@given(output=texts, references=st.lists(texts, min_size=2, max_size=4))
def test_equals_the_official_score_with_several_references(spec, output, references):
    expected = get_oracle(spec)(output, references)
    np.testing.assert_allclose(score(spec, output, references), expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("spec", ["bleu", "chrf(word_order=2)", "ter", "rougel", "meteor", "wil", "cer"])
def test_equals_the_official_score_at_300_tokens(spec):
    rng = np.random.default_rng(5)
    words = rng.choice(WORDS[:29], 300)
    changed = words.copy()
    changed[rng.integers(0, 300, 60)] = rng.choice(WORDS[:29], 60)
    changed[100:130], changed[200:230] = words[200:230], words[100:130]
    output, reference = " ".join(changed), " ".join(words)
    expected = get_oracle(spec)(output, [reference])
    np.testing.assert_allclose(score(spec, output, [reference]), expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("spec", ["mer", "wil", "cer"])
def test_equals_the_official_score_where_rapidfuzz_divides_the_problem(spec):
    rng = np.random.default_rng(6)
    output, reference = (" ".join(rng.choice(WORDS[:14], 3000)) for _ in range(2))
    expected = get_oracle(spec)(output, [reference])
    np.testing.assert_allclose(score(spec, output, [reference]), expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("spec", [*TRANSLATION, *JIWER])
def test_a_text_of_10_000_tokens_scores_best_against_itself(spec):
    """The official implementations cannot score texts of this length in reasonable time."""
    rng = np.random.default_rng(7)
    words = [str(number) for number in rng.integers(0, 3000, 10_000)]
    text, shuffled = " ".join(words), " ".join(rng.permutation(words))
    metric = parse_metric(spec)
    best, worse = metric.orient_scores(
        metric.score(Batch.from_texts([text, shuffled], [[text]] * 2, language="en"))
    )
    if spec in {"rouge1", "rouge1(stemming=true)"}:
        assert best == worse == 1.0
    else:
        assert best > worse
    limit = {"bleu": 100, "chrf": 100, "nltk_bleu": 1, "ter": 0, "meteor": 1, "wip": 1}
    limit |= dict.fromkeys(ROUGE, 1) | dict.fromkeys(("wer", "mer", "wil", "cer"), 0)
    assert best == pytest.approx(limit[spec if spec in limit else spec.partition("(")[0]], rel=1e-6)


@pytest.mark.parametrize("spec", [*TRANSLATION, *JIWER])
def test_scores_do_not_depend_on_the_other_rows_of_a_batch(spec):
    """Scores in one batch equal scores one by one, whatever the order and the repetitions."""
    rng = np.random.default_rng(8)
    outputs = [" ".join(rng.choice(WORDS, rng.integers(0, 12))) for _ in range(40)] * 2
    references = [[" ".join(rng.choice(WORDS, rng.integers(1, 12)))] for _ in range(40)] * 2
    together = parse_metric(spec).score(Batch.from_texts(outputs, references, language="en"))
    alone = [score(spec, output, output_references) for output, output_references in zip(outputs, references)]
    np.testing.assert_array_equal(together, alone)
