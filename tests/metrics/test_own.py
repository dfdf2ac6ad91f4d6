"""Metrics of the user: functions and classes, from Python and from files."""

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

BATCH = Batch.of(["a b c", "d"], [["a b"], ["d e", "d"]], source=["x", "y"])


def shared(outputs, references):
    return [len(set(o.split()) & set(r[0].split())) for o, r in zip(outputs, references)]


def shared_of_one(output, references):
    return float(len(set(output.split()) & set(references[0].split())))


def words(output):
    return len(output.split())


def with_source(output, src):
    return len(output) + len(src)


def no_numbers(_outputs):
    return "nothing"


@pytest.mark.parametrize("function", [shared, shared_of_one, lambda o: np.float64(len(o.split()) - 1) or 1.0])
def test_a_function_of_all_outputs_or_of_one(function):
    assert parse_metric(function).score(BATCH).tolist() == [2.0, 1.0]


def test_what_a_function_reads_follows_from_its_parameters():
    assert convert_to_metric(words).needs == {"output"}
    assert convert_to_metric(words).score(BATCH).tolist() == [3.0, 1.0]
    assert convert_to_metric(with_source).needs == {"output", "source"}
    assert convert_to_metric(with_source).score(BATCH).tolist() == [6.0, 2.0]


def test_one_reference_as_a_text():
    def common(output, reference):
        return len({*output} & {*reference})

    assert convert_to_metric(common).score(Batch.of(["ab"], [["bc"]])).tolist() == [1.0]
    with pytest.raises(InputError, match="takes one reference, and some outputs have several"):
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
        InputError, match=r"test_own.py, line \d+: no_numbers did not return a number for each of 2"
    ):
        convert_to_metric(no_numbers).score(BATCH)


class Nameless(Metric):
    def score(self, batch):
        return np.zeros(len(batch))


class NoMetric:
    pass


class Unfinished(Metric):
    name = "unfinished"


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (Nameless, r"test_own.py, line \d+: the metric Nameless has no name."),
        (NoMetric, r"test_own.py, line \d+: the class NoMetric is no metric."),
        (Unfinished, r"test_own.py, line \d+: the metric Unfinished cannot be made"),
        (3, "3 is no metric"),
    ],
)
def test_what_is_no_metric_is_refused_with_its_place(thing, message):
    with pytest.raises(InputError, match=message):
        convert_to_metric(thing)


def test_our_metrics_have_no_source_in_their_signature_and_others_do():
    assert plugins.hash_user_source(parse_metric("bleu")) == ""
    assert "source:" not in parse_metric("bleu").signature
    assert "|source:" in convert_to_metric(shared).signature
    Named = type("Named", (Nameless,), {"name": "named", "__module__": __name__})
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
        signatures.append(convert_to_metric(plugins.load_from_file(f"{tmp_path}/mine.py:mine")).signature)
    assert signatures[0] == signatures[2] != signatures[1]


def test_a_metric_of_an_installed_package_is_known_by_its_source(tmp_path, monkeypatch):
    (tmp_path / "other_package.py").write_text("def mine(output, references):\n    return 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    first = convert_to_metric(importlib.import_module("other_package").mine).signature
    (tmp_path / "other_package.py").write_text("def mine(output, references):\n    return 2.0 * 1\n")
    sys.modules.pop("other_package")
    importlib.invalidate_caches()
    assert convert_to_metric(importlib.import_module("other_package").mine).signature != first


def test_what_a_closure_holds_is_never_kept():
    def scaled(by):
        return lambda output: by * len(output)

    assert not convert_to_metric(scaled(2)).is_cacheable
    assert convert_to_metric(shared).is_cacheable
