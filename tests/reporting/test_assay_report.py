"""The order in which a page shows metrics and contexts."""

from __future__ import annotations

import pytest

from assay_builders import make_accuracy, make_column, make_content
from metassay.reporting.assay_report import prepare_assay_report
from metassay.results.assay import OverallRecommendation


def report_contexts(accuracies):
    rows = [make_accuracy("bleu", accuracy, context=context) for context, accuracy in accuracies.items()]
    return prepare_assay_report(make_content([], {"col": make_column(rows)})).context_columns[0]


@pytest.mark.parametrize(
    ("contexts", "order"),
    [
        ({"2022": 0.9, "2021": 0.95, "999": 0.1}, ("999", "2021", "2022")),
        ({"[-3,0]": 0.9, "[-25,-10]": 0.5, "[-10,-3]": 0.7}, ("[-25,-10]", "[-10,-3]", "[-3,0]")),
        ({"news": 0.8, "social": 0.9, "2022": 0.7}, ("social", "news", "2022")),
        ({"b": 0.8, "a": 0.8, "nan": 0.1}, ("a", "b", "nan")),
    ],
)
def test_contexts_are_sorted_by_their_position_or_by_accuracy(contexts, order):
    assert report_contexts(contexts).contexts == order


def test_metrics_are_sorted_by_accuracy_and_sentinels_follow():
    accuracies = {"ter": 0.7, "length": 0.99, "bleu": 0.8, "x": None}
    overall = [make_accuracy(metric, accuracy) for metric, accuracy in accuracies.items()]
    answer = OverallRecommendation(metric="bleu", top_group=["bleu"], exceptions=[])
    report = prepare_assay_report(
        make_content(overall, sentinels=[make_accuracy("random", 0.9)], answer=answer)
    )
    assert report.metrics == ["length", "bleu", "ter", "x"]
    assert report.all_metrics[4:] == ["random"]
    assert report.best_metric is not None
    assert report.best_metric.metric == "bleu"
    assert report.metrics_that_ignore_quality == {"length", "random"}


def test_metrics_that_decide_alike_share_a_row():
    overall = [make_accuracy(metric, 0.7) for metric in ("wil", "wip", "cer")]
    report = prepare_assay_report(make_content(overall, same_decisions=[["wil", "wip"]]))
    assert [report.labels[metric] for metric in report.metrics] == ["CER", "WIL = WIP"]


def test_a_result_without_an_answer_has_no_best_metric():
    report = prepare_assay_report(make_content([make_accuracy("bleu", None)]))
    assert report.best_metric is None
    assert report.context_columns == []


def test_many_contexts_are_limited_evenly_from_first_to_last():
    column = report_contexts({str(n): 0.5 for n in range(301)})
    assert column.sample_evenly_spaced_contexts(4).contexts == ("0", "100", "200", "300")
    assert column.sample_evenly_spaced_contexts(301).contexts == column.contexts
