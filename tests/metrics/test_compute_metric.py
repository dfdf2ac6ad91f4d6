"""Objects with `compute`, as in Hugging Face `evaluate`, as metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sacrebleu

from metassay.errors import InputError
from metassay.metrics.base import Batch
from metassay.metrics.compute_metric import ComputeMetric
from metassay.metrics.conversion import convert_to_metric
from metassay.metrics.registry import parse_metric

OUTPUTS = ["the cat sat on the mat", "", "we ran home – quickly"]
REFERENCES = [["the cat sat on a mat"], ["so it was"], ["we ran home quickly"]]
BATCH = Batch.from_texts(OUTPUTS, REFERENCES, source=["x", "y", "z"])


class CorpusBleu:
    """Returns one number for all outputs of a call, like sacrebleu in `evaluate`."""

    name = "sacrebleu"

    def compute(self, *, predictions, references):
        bleu = sacrebleu.BLEU(effective_order=True)
        result = bleu.corpus_score(predictions, [references])
        return {"score": result.score, "counts": result.counts, "sys_len": result.sys_len}


class ChrfOfEachOutput:
    """Returns a list for each result, like bertscore in `evaluate`."""

    def __init__(self) -> None:
        self.calls = 0

    def compute(self, *, predictions, references):
        self.calls += 1
        scores = [sacrebleu.sentence_chrf(o, [r]).score for o, r in zip(predictions, references)]
        return {"precision": [0.0] * len(scores), "f1": np.array(scores), "hashcode": "roberta"}


class LengthWithSources:
    def compute(self, predictions, references, sources):
        return [float(len(o) + len(r) + len(s)) for o, r, s in zip(predictions, references, sources)]


class LengthOfEvaluate:
    """Names its parameters in `_compute` only, like the metrics of `evaluate`."""

    def compute(self, **columns):
        return self._compute(**columns)

    def _compute(self, predictions, references, sources):
        return LengthWithSources().compute(predictions, references, sources)


def test_an_object_that_returns_one_number_is_called_for_each_output() -> None:
    metric = convert_to_metric(CorpusBleu())
    assert metric.name == "sacrebleu"
    expected = [sacrebleu.sentence_bleu(o, r).score for o, r in zip(OUTPUTS, REFERENCES)]
    assert metric.score(BATCH).tolist() == pytest.approx(expected)


def test_an_object_that_returns_lists_is_called_once_for_all_outputs() -> None:
    computer = ChrfOfEachOutput()
    assert convert_to_metric(computer).score(BATCH).tolist() == parse_metric("chrf").score(BATCH).tolist()
    assert computer.calls == 2  # once to see what it returns, then for all outputs
    assert ComputeMetric(computer, "precision").score(BATCH).tolist() == [0.0] * 3


@pytest.mark.parametrize("computer", [LengthWithSources(), LengthOfEvaluate()])
def test_sources_are_passed_to_objects_that_take_them(computer: Any) -> None:
    metric = convert_to_metric(computer)
    assert metric.needs == {"output", "references", "source"}
    expected = [len(o) + len(r[0]) + 1 for o, r in zip(OUTPUTS, REFERENCES)]
    assert metric.score(BATCH).tolist() == expected


def test_several_references_are_passed_as_lists_and_unclear_results_are_refused() -> None:
    class TwoResults:
        def compute(self, *, predictions, references):  # noqa: ARG002
            return {"first": 1.0, "second": float(len(references[0]))}

    batch = Batch.from_texts(["a"], [["b", "c"]])
    with pytest.raises(InputError, match="TwoResults computes several scores: first, second"):
        convert_to_metric(TwoResults()).score(batch)
    assert ComputeMetric(TwoResults(), "second").score(batch).tolist() == [2.0]
