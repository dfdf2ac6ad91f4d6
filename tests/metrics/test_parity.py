"""Every lexical metric equals its official implementation on real outputs, and on worse versions of them."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import JIWER, MAIN, ROUGE, SACREBLEU, TRANSLATION, compute_official_corpus_score, get_oracle

from metassay.metrics.base import Batch, StatisticsMetric
from metassay.metrics.registry import parse_metric


def score_with_metassay(spec, texts):
    return parse_metric(spec).score(Batch.from_texts(texts.outputs, [[r] for r in texts.references]))


def score_with_oracle(spec, texts):
    oracle = get_oracle(spec)
    return np.array([oracle(o, [r]) for o, r in zip(texts.outputs, texts.references)])


def assert_identical(scores, expected_scores):
    np.testing.assert_allclose(scores, expected_scores, rtol=1e-9, atol=0)


def assert_same_order(scores, worse_scores, expected_scores, expected_worse_scores):
    """The same sign of the difference on every pair: ties stay ties."""
    np.testing.assert_array_equal(
        np.sign(scores - worse_scores), np.sign(expected_scores - expected_worse_scores)
    )


def check_parity(spec, texts):
    worse = texts.perturb()
    scores, worse_scores = score_with_metassay(spec, texts), score_with_metassay(spec, worse)
    expected_scores, expected_worse_scores = score_with_oracle(spec, texts), score_with_oracle(spec, worse)
    assert_identical(scores, expected_scores)
    assert_identical(worse_scores, expected_worse_scores)
    assert_same_order(scores, worse_scores, expected_scores, expected_worse_scores)


@pytest.mark.parametrize("spec", TRANSLATION)
def test_translation_metrics_equal_the_official_ones_on_a_sample(spec, translations, latin_translations):
    texts = latin_translations if spec in ROUGE else translations
    if spec.startswith("ter"):  # the official TER takes up to a second on a long output
        texts = texts.sample(400).shorter_than(250)
    size = 40 if spec.startswith("ter") else 2000 if spec in MAIN else 300
    # the same sample for one family, whose official scores come together
    check_parity(spec, texts.sample(size, seed=0 if spec in ROUGE else choose_seed(spec)))


def test_ter_equals_sacrebleu_on_a_larger_sample_of_short_outputs(translations):
    texts = translations.sample(5000).shorter_than(160).sample(2000)
    assert len(texts.outputs) == 2000
    assert_identical(score_with_metassay("ter", texts), score_with_oracle("ter", texts))


@pytest.mark.parametrize("spec", JIWER)
def test_speech_metrics_equal_jiwer_on_a_sample(spec, speech):
    check_parity(spec, speech.sample(2000, seed=choose_seed(spec)))


def choose_seed(spec):
    """A seed that differs from metric to metric and not from process to process."""
    return sum(map(ord, spec))


@pytest.mark.parametrize("spec", [spec for spec in (*SACREBLEU, "nltk_bleu") if not spec.startswith("ter(")])
def test_corpus_scores_of_translations_equal_the_official_ones(spec, translations):
    texts = translations.sample(300, seed=1).shorter_than(200)
    metric = parse_metric(spec)
    assert isinstance(metric, StatisticsMetric)
    scores = metric.corpus_score(Batch.from_texts(texts.outputs, [[r] for r in texts.references]))
    assert_identical(scores, compute_official_corpus_score(spec, texts.outputs, texts.references))


@pytest.mark.parametrize("spec", JIWER)
def test_corpus_scores_of_speech_equal_jiwer(spec, speech):
    texts = speech.sample(2000, seed=1)
    metric = parse_metric(spec)
    scores = metric.corpus_score(Batch.from_texts(texts.outputs, [[r] for r in texts.references]))
    assert_identical(scores, compute_official_corpus_score(spec, texts.outputs, texts.references))


@pytest.mark.parametrize("spec", [*SACREBLEU, *ROUGE, "meteor", "nltk_bleu"])
def test_scores_with_several_references_equal_the_official_ones(spec, latin_translations):
    """Up to three references per output: its reference, another output's and the output's reference beginning."""
    texts = latin_translations.sample(60, seed=2)
    references = [
        [reference, texts.references[i - 1], texts.outputs[i][:40]][: 1 + i % 3]
        for i, reference in enumerate(texts.references)
    ]
    scores = parse_metric(spec).score(Batch.from_texts(texts.outputs, references))
    oracle = get_oracle(spec)
    assert_identical(scores, [oracle(o, r) for o, r in zip(texts.outputs, references)])


def test_word_information_lost_and_preserved_order_outputs_alike(speech):
    texts = speech.sample(2000)
    lost, preserved = score_with_metassay("wil", texts), score_with_metassay("wip", texts)
    lost_worse, preserved_worse = (
        score_with_metassay("wil", texts.perturb()),
        score_with_metassay("wip", texts.perturb()),
    )
    np.testing.assert_array_equal(np.sign(lost_worse - lost), np.sign(preserved - preserved_worse))


@pytest.mark.slow
@pytest.mark.parametrize("spec", MAIN)
def test_every_translation_scores_like_the_official_metric(
    spec, translations, latin_translations, official_scores
):
    texts = latin_translations if spec in ROUGE else translations
    scores, expected_scores = score_with_metassay(spec, texts), official_scores(spec, texts)
    assert_identical(scores, expected_scores)
    if spec == "ter":  # an hour for all, so the order is checked on a part
        chosen = slice(None, None, max(len(scores) // 20_000, 1))  # at least 20,000
        texts, scores, expected_scores = texts.select(chosen), scores[chosen], expected_scores[chosen]
    worse = texts.perturb()
    worse_scores, expected_worse_scores = score_with_metassay(spec, worse), official_scores(spec, worse)
    assert_identical(worse_scores, expected_worse_scores)
    assert_same_order(scores, worse_scores, expected_scores, expected_worse_scores)


@pytest.mark.slow
@pytest.mark.parametrize("spec", JIWER)
def test_every_utterance_scores_like_jiwer(spec, speech, official_scores):
    worse = speech.perturb()
    scores, worse_scores = score_with_metassay(spec, speech), score_with_metassay(spec, worse)
    expected_scores, expected_worse_scores = official_scores(spec, speech), official_scores(spec, worse)
    assert_identical(scores, expected_scores)
    assert_identical(worse_scores, expected_worse_scores)
    assert_same_order(scores, worse_scores, expected_scores, expected_worse_scores)
