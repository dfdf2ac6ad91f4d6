"""Labels of metrics."""

from __future__ import annotations

import pytest

from metassay.metrics.labels import get_metric_label, get_metric_labels
from metassay.metrics.ranking import PAPER_MEASURES
from metassay.metrics.registry import load_metric_classes, parse_metric

LABELS = {
    "bleu": "BLEU",
    "bleu(tokenizer=char)": "BLEU (tokenizer=char)",
    "bleu(smoothing=floor,smooth_value=0.5)": "BLEU (smoothing=floor, smooth_value=0.5)",
    "chrf": "chrF",
    "chrf(word_order=1)": "chrF+",
    "chrf(word_order=2)": "chrF++",
    "chrf(word_order=2,beta=3)": "chrF++ (beta=3)",
    "chrf(word_order=3)": "chrF (word_order=3)",
    "ter": "TER",
    "ter(normalized=true)": "TER (normalized=true)",
    "rouge1": "ROUGE-1",
    "rougel": "ROUGE-L",
    "meteor": "METEOR",
    "nltk_bleu": "NLTK BLEU",
    "wer": "WER",
    "cer": "CER",
    "map": "MAP",
    "rprec": "Rprec",
    "p_5": "P_5",
    "p_5(rel=2)": "P_5 (rel=2)",
    "ndcg_cut_10": "ndcg_cut_10",
    "iprec_at_recall_0.10": "iprec_at_recall_0.10",
    "length": "length",
}


@pytest.mark.parametrize(("spec", "label"), LABELS.items())
def test_labels_follow_the_spelling_of_the_field(spec, label):
    assert parse_metric(spec).label == label
    assert get_metric_label(parse_metric(spec).spec) == label


@pytest.mark.parametrize(
    "name", ["COMET", "BLEU", "chrF", "bleu-refA", "p_5:mean", "x(", "", "chrf(beta=nan)", "P_5"]
)
def test_names_of_precomputed_scores_are_their_own_labels(name):
    assert get_metric_label(name) == name


def test_no_two_metrics_share_a_label():
    metrics = [*(metric_class() for metric_class in load_metric_classes().values()), *PAPER_MEASURES]
    specs = {metric.spec for metric in metrics}
    assert len({get_metric_label(spec) for spec in specs}) == len(specs)


def test_metrics_that_would_share_a_label_keep_their_specs():
    assert get_metric_labels(["bleu", "BLEU", "ter"]) == {"bleu": "bleu", "BLEU": "BLEU", "ter": "TER"}
