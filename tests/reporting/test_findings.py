from __future__ import annotations

import math

import pytest

from metassay.reporting.findings import find


def _result(contexts, **extra):
    rows = [
        {"context": c, "metric": "bleu", "accuracy": a, "low": None, "high": None}
        for c, a in contexts.items()
    ]
    return {"contexts": {"col": {"local_accuracy": rows, "h1": None, "h2": None}}, "global": [], **extra}


@pytest.mark.parametrize(
    ("contexts", "order"),
    [
        ({"2022": 0.9, "2021": 0.95, "999": 0.1}, ("999", "2021", "2022")),
        ({"[-3,0]": 0.9, "[-25,-10]": 0.5, "[-10,-3]": 0.7}, ("[-25,-10]", "[-10,-3]", "[-3,0]")),
        ({"news": 0.8, "social": 0.9, "2022": 0.7}, ("social", "news", "2022")),
        ({"b": 0.8, "a": 0.8, "nan": 0.1}, ("a", "b", "nan")),
    ],
)
def test_contexts_come_in_their_own_order_or_by_accuracy(contexts, order):
    assert find(_result(contexts)).columns[0].contexts == order


def test_global_rows_are_not_a_context():
    assert find(_result({"global": 0.9, "news": 0.8})).columns[0].contexts == ("news",)


def test_metrics_best_first_and_sentinels_apart():
    rows = [
        {"metric": name, "accuracy": accuracy}
        for name, accuracy in {"ter": 0.7, "length": 0.99, "bleu": 0.8, "x": None}.items()
    ]
    findings = find({"global": rows, "sentinels": [{"metric": "probe", "accuracy": 0.9}]})
    assert findings.metrics == ("length", "BLEU", "TER", "x")
    assert findings.ordered[4:] == ("probe",)
    assert findings.best is not None
    assert findings.best.metric == "BLEU"  # what knows nothing of quality never comes first


def test_where_no_result_marks_sentinels_they_are_known_by_name():
    rows = [{"metric": "bleu", "accuracy": 0.8}, {"metric": "random(seed=3)", "accuracy": 0.9}]
    findings = find({"global": rows})
    assert findings.metrics == ("BLEU",)
    assert findings.ordered[1:] == ("random (seed=3)",)


def test_nan_is_missing():
    assert find({"global": [{"metric": "bleu", "accuracy": math.nan}]}).best is None


def test_an_empty_result_has_no_best():
    findings = find({})
    assert findings.best is None
    assert findings.columns == ()
