"""Every lexical metric equals its official implementation on real outputs, and on worse versions of them."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import JIWER, MAIN, ROUGE, SACREBLEU, TRANSLATION, official, official_corpus

from metassay.metrics.base import Batch, StatisticsMetric
from metassay.metrics.registry import parse_metric


def ours(spec, texts):
    return parse_metric(spec).score(Batch.of(texts.outputs, [[r] for r in texts.references]))


def theirs(spec, texts):
    oracle = official(spec)
    return np.array([oracle(o, [r]) for o, r in zip(texts.outputs, texts.references)])


def assert_identical(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=0)


def assert_same_order(found, found_worse, expected, expected_worse):
    """The same sign of the difference on every pair: ties stay ties."""
    np.testing.assert_array_equal(np.sign(found - found_worse), np.sign(expected - expected_worse))


def check(spec, texts):
    worse = texts.worse()
    found, found_worse = ours(spec, texts), ours(spec, worse)
    expected, expected_worse = theirs(spec, texts), theirs(spec, worse)
    assert_identical(found, expected)
    assert_identical(found_worse, expected_worse)
    assert_same_order(found, found_worse, expected, expected_worse)


@pytest.mark.parametrize("spec", TRANSLATION)
def test_translation_metrics_on_a_sample(spec, translations, latin_translations):
    texts = latin_translations if spec in ROUGE else translations
    if spec.startswith("ter"):  # the official TER takes up to a second on a long output
        texts = texts.sample(400).shorter_than(250)
    size = 40 if spec.startswith("ter") else 2000 if spec in MAIN else 300
    # the same sample for one family, whose official scores come together
    check(spec, texts.sample(size, seed=0 if spec in ROUGE else seed_of(spec)))


def test_ter_on_a_larger_sample_of_shorter_outputs(translations):
    texts = translations.sample(5000).shorter_than(160).sample(2000)
    assert len(texts.outputs) == 2000
    assert_identical(ours("ter", texts), theirs("ter", texts))


@pytest.mark.parametrize("spec", JIWER)
def test_speech_metrics_on_a_sample(spec, speech):
    check(spec, speech.sample(2000, seed=seed_of(spec)))


def seed_of(spec):
    """A seed that differs from metric to metric and not from process to process."""
    return sum(map(ord, spec))


@pytest.mark.parametrize("spec", [spec for spec in (*SACREBLEU, "nltk_bleu") if not spec.startswith("ter(")])
def test_corpus_scores_of_translations(spec, translations):
    texts = translations.sample(300, seed=1).shorter_than(200)
    metric = parse_metric(spec)
    assert isinstance(metric, StatisticsMetric)
    found = metric.corpus_score(Batch.of(texts.outputs, [[r] for r in texts.references]))
    assert_identical(found, official_corpus(spec, texts.outputs, texts.references))


@pytest.mark.parametrize("spec", JIWER)
def test_corpus_scores_of_speech(spec, speech):
    texts = speech.sample(2000, seed=1)
    metric = parse_metric(spec)
    found = metric.corpus_score(Batch.of(texts.outputs, [[r] for r in texts.references]))
    assert_identical(found, official_corpus(spec, texts.outputs, texts.references))


@pytest.mark.parametrize("spec", [*SACREBLEU, *ROUGE, "meteor", "nltk_bleu"])
def test_several_references(spec, latin_translations):
    """Up to three references per output: its own, another output's and the output's own beginning."""
    texts = latin_translations.sample(60, seed=2)
    references = [
        [own, texts.references[i - 1], texts.outputs[i][:40]][: 1 + i % 3]
        for i, own in enumerate(texts.references)
    ]
    found = parse_metric(spec).score(Batch.of(texts.outputs, references))
    oracle = official(spec)
    assert_identical(found, [oracle(o, r) for o, r in zip(texts.outputs, references)])


def test_word_information_lost_and_preserved_are_mirror_images(speech):
    texts = speech.sample(2000)
    lost, preserved = ours("wil", texts), ours("wip", texts)
    lost_worse, preserved_worse = ours("wil", texts.worse()), ours("wip", texts.worse())
    np.testing.assert_array_equal(np.sign(lost_worse - lost), np.sign(preserved - preserved_worse))


@pytest.mark.slow
@pytest.mark.parametrize("spec", MAIN)
def test_every_translation(spec, translations, latin_translations, official_scores):
    texts = latin_translations if spec in ROUGE else translations
    found, expected = ours(spec, texts), official_scores(spec, texts)
    assert_identical(found, expected)
    if spec == "ter":  # an hour for all, so the order is checked on a part
        chosen = slice(None, None, max(len(found) // 20_000, 1))  # at least 20,000
        texts, found, expected = texts.every(chosen), found[chosen], expected[chosen]
    worse = texts.worse()
    found_worse, expected_worse = ours(spec, worse), official_scores(spec, worse)
    assert_identical(found_worse, expected_worse)
    assert_same_order(found, found_worse, expected, expected_worse)


@pytest.mark.slow
@pytest.mark.parametrize("spec", JIWER)
def test_every_utterance(spec, speech, official_scores):
    worse = speech.worse()
    found, found_worse = ours(spec, speech), ours(spec, worse)
    expected, expected_worse = official_scores(spec, speech), official_scores(spec, worse)
    assert_identical(found, expected)
    assert_identical(found_worse, expected_worse)
    assert_same_order(found, found_worse, expected, expected_worse)
