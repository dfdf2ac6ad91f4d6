"""Metrics of first family share a batch but not each second's settings; every setting is in the signature."""

from __future__ import annotations

import pytest
from rouge_score.rouge_scorer import RougeScorer

from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric

OUTPUTS = ["the cats were running home", "a running cat was there", "it was as good as its word"]
REFERENCES = [["the cat runs home now"], ["running cats were here", "a cat ran"], ["its words were good"]]
ROUGE_TYPES = {"rouge1": "rouge1", "rouge2": "rouge2", "rougel": "rougeL"}


@pytest.mark.parametrize("measure", ["precision", "recall", "fmeasure"])
@pytest.mark.parametrize("name", ROUGE_TYPES)
def test_precision_and_recall_equal_rouge_score(name, measure):
    """Of several references the one with the highest F counts, as in `score_multi`."""
    for stemming in (False, True):
        scorer = RougeScorer([ROUGE_TYPES[name]], use_stemmer=stemming)
        expected = [
            getattr(scorer.score_multi(references, text)[ROUGE_TYPES[name]], measure)
            for text, references in zip(OUTPUTS, REFERENCES)
        ]
        metric = parse_metric(f"{name}(stemming={str(stemming).lower()},measure={measure})")
        assert metric.score(Batch.from_texts(OUTPUTS, REFERENCES)).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("rouge1", "rouge1(stemming=true)"),
        ("rouge1(tokenizer=unicode)", "rouge1(tokenizer=characters)"),
        ("rouge1(tokenizer=official)", "rouge1(tokenizer=unicode)"),
        ("bleu", "bleu(lowercase=true)"),
        ("bleu(tokenizer=char)", "bleu"),
        ("chrf", "chrf(whitespace=true)"),
        ("chrf", "chrf(lowercase=true)"),
        ("chrf(word_order=2)", "chrf(word_order=2,lowercase=true)"),
        ("ter", "ter(normalized=true)"),
    ],
)
def test_metrics_that_share_a_batch_keep_their_own_settings(first, second):
    texts = ["Die Katzen, 走った über naïve wörter", "The running cats"]
    references = [["die Katze 走る uber naive Wörter"], ["the Running cat"]]
    shared_batch = Batch.from_texts(texts, references)
    together = [parse_metric(spec).score(shared_batch).tolist() for spec in (first, second, first)]
    alone = [
        parse_metric(spec).score(Batch.from_texts(texts, references)).tolist()
        for spec in (first, second, first)
    ]
    assert together == alone
    assert alone[0] != alone[1]


def test_every_setting_is_in_the_signature():
    chrf = parse_metric("chrf")
    assert chrf.signature.startswith("chrf|char_order:6|word_order:0|beta:2.0|")
    different = ["chrf", "chrf(beta=3)", "chrf(char_order=5)", "chrf(word_order=2)", "chrf(lowercase=true)"]
    assert len({parse_metric(spec).signature for spec in different}) == len(different)
    assert f"|implementation:{chrf.implementation}" in chrf.signature
    assert (
        chrf.copy_metric_for_languages(["en"], "lowercased").signature == f"{chrf.signature}|text:lowercased"
    )
