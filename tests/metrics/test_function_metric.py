"""Functions and classes of users as metrics, from Python and from files."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

from metassay import plugins
from metassay.errors import InputError
from metassay.metrics.base import Batch, Metric
from metassay.metrics.conversion import convert_to_metric
from metassay.metrics.registry import parse_metric, parse_metrics

BATCH = Batch.from_texts(["a b c", "d"], [["a b"], ["d e", "d"]], source=["x", "y"])


def count_shared_words(outputs, references):
    return [len(set(o.split()) & set(r[0].split())) for o, r in zip(outputs, references)]


def count_shared_words_of_one_output(output, references):
    return float(len(set(output.split()) & set(references[0].split())))


def count_words(output):
    return len(output.split())


def add_source_length(output, src):
    return len(output) + len(src)


def return_no_numbers(_outputs):
    return "nothing"


@pytest.mark.parametrize(
    "function",
    [count_shared_words, count_shared_words_of_one_output, lambda o: np.float64(len(o.split()) - 1) or 1.0],
)
def test_a_function_takes_all_outputs_or_one(function):
    assert parse_metric(function).score(BATCH).tolist() == [2.0, 1.0]


def test_the_fields_a_function_reads_follow_from_its_parameters():
    assert convert_to_metric(count_words).needs == {"output"}
    assert convert_to_metric(count_words).score(BATCH).tolist() == [3.0, 1.0]
    assert convert_to_metric(add_source_length).needs == {"output", "source"}
    assert convert_to_metric(add_source_length).score(BATCH).tolist() == [6.0, 2.0]


def test_a_parameter_reference_gets_the_only_reference_as_a_text():
    def common(output, reference):
        return len({*output} & {*reference})

    assert convert_to_metric(common).score(Batch.from_texts(["ab"], [["bc"]])).tolist() == [1.0]
    with pytest.raises(InputError, match="takes one reference, but some outputs have several"):
        convert_to_metric(common).score(BATCH)


def test_direction_and_name_come_from_the_function():
    def distance(output, references):
        return abs(len(output) - len(references[0]))

    distance.higher_is_better = False  # type: ignore[attr-defined]
    metric = convert_to_metric(distance)
    assert (metric.spec, metric.label, metric.higher_is_better) == ("distance", "distance", False)
    assert [m.spec for m in parse_metrics(["bleu,chrf", distance])] == ["bleu", "chrf", "distance"]


def test_a_function_that_returns_no_numbers_is_an_error_at_its_line():
    with pytest.raises(
        InputError,
        match=r"test_function_metric.py, line \d+: return_no_numbers did not return a number for each of 2",
    ):
        convert_to_metric(return_no_numbers).score(BATCH)


class MetricWithoutName(Metric):
    def score(self, batch):
        return np.zeros(len(batch))


class ClassThatIsNoMetric:
    pass


class MetricWithoutScore(Metric):
    name = "unfinished"


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        (MetricWithoutName, r"test_function_metric.py, line \d+: the metric MetricWithoutName has no name."),
        (
            ClassThatIsNoMetric,
            r"test_function_metric.py, line \d+: the class ClassThatIsNoMetric is not a metric.",
        ),
        (
            MetricWithoutScore,
            r"test_function_metric.py, line \d+: the metric MetricWithoutScore cannot be created",
        ),
        (3, "3 is not a metric"),
    ],
)
def test_candidates_that_are_no_metric_are_refused_with_their_place(candidate, message):
    with pytest.raises(InputError, match=message):
        convert_to_metric(candidate)


def test_only_signatures_of_user_metrics_have_a_source_hash():
    assert plugins.hash_user_code(parse_metric("bleu")) == ""
    assert "source:" not in parse_metric("bleu").signature
    assert "|source:" in convert_to_metric(count_shared_words).signature
    Named = type("Named", (MetricWithoutName,), {"name": "named", "__module__": __name__})
    assert "|source:" in Named().signature


@pytest.mark.parametrize("kind", ["function", "class"])
def test_editing_the_file_changes_the_signature(tmp_path, kind):
    code = {
        "function": "def mine(outputs, references):\n    return [len(o) for o in outputs]\n",
        "class": "import numpy as np\nfrom metassay.metrics.base import Metric\n"
        "class mine(Metric):\n    name = 'mine'\n"
        "    def score(self, batch):\n        return np.array([len(o) for o in batch.output])\n",
    }[kind]
    signatures = []
    for text in (code, code.replace("len(o)", "-len(o)"), code):
        (tmp_path / "mine.py").write_text(text)
        signatures.append(
            convert_to_metric(plugins.load_object_from_python_file(f"{tmp_path}/mine.py:mine")).signature
        )
    assert signatures[0] == signatures[2] != signatures[1]


def test_the_signature_of_a_packaged_metric_changes_with_its_source(tmp_path, monkeypatch):
    (tmp_path / "other_package.py").write_text("def mine(output, references):\n    return 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    first = convert_to_metric(importlib.import_module("other_package").mine).signature
    (tmp_path / "other_package.py").write_text("def mine(output, references):\n    return 2.0 * 1\n")
    sys.modules.pop("other_package")
    importlib.invalidate_caches()
    assert convert_to_metric(importlib.import_module("other_package").mine).signature != first


def test_scores_of_closures_are_not_cached():
    def scaled(by):
        return lambda output: by * len(output)

    assert not convert_to_metric(scaled(2)).is_cacheable
    assert convert_to_metric(count_shared_words).is_cacheable
