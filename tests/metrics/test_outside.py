"""Metrics that run outside: programs and objects that compute."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import sacrebleu

from metassay.cli import run
from metassay.errors import InputError
from metassay.metrics.base import Batch
from metassay.metrics.compute_metric import ComputeMetric
from metassay.metrics.conversion import convert_to_metric
from metassay.metrics.program_metric import ProgramMetric
from metassay.metrics.registry import parse_metric
from metassay.workflows.read import collect_metrics

OUTPUTS = ["the cat sat on the mat", "", "we ran home – quickly"]
REFERENCES = [["the cat sat on a mat"], ["so it was"], ["we ran home quickly"]]
BATCH = Batch.of(OUTPUTS, REFERENCES, source=["x", "y", "z"])


@pytest.fixture
def program(tmp_path):
    """A function that makes a program of a Python expression over `row`."""

    def made(expression: str, *, before: str = "", name: str = "mine") -> str:
        file = tmp_path / name
        file.write_text(
            f"#!{sys.executable}\nimport json, sys\n{before}\n"
            f"for line in sys.stdin:\n    row = json.loads(line)\n    print({expression})\n"
        )
        file.chmod(0o755)
        return str(file)

    return made


@pytest.mark.posix
def test_a_program_scores_what_it_reads(program) -> None:
    metric = ProgramMetric(program("len(row['output'])"))
    assert metric.name == "mine"
    assert metric.score(BATCH).tolist() == [len(output) for output in OUTPUTS]
    told = ProgramMetric(program("json.dumps(None) if 'source' in row else 1.0"))
    assert np.isnan(told.score(BATCH)).all()
    assert told.score(Batch.of(OUTPUTS)).tolist() == [1.0] * 3  # it is told what the data has


@pytest.mark.posix
def test_a_program_with_official_bleu_is_bleu(program, tmp_path, capsys) -> None:
    file = program(
        "bleu.sentence_score(row['output'], row['references']).score",
        before="from sacrebleu.metrics import BLEU\nbleu = BLEU(effective_order=True)",
    )
    rows = [
        {"seg_id": i, "system": system, "hyp": f"{word} number {i} sat", "ref": f"good number {i} sat"}
        for i in range(8)
        for system, word in (("a", "good old"), ("b", "bad"))
    ]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = {}
    for name, how in {"mine": ["--metric-file", file], "bleu": ["--metrics", "bleu"]}.items():
        assert run(["assay", str(data), *how, "--json", "--quiet", "--language", "en"]) == 0
        found[name] = json.loads(capsys.readouterr().out)["global"][0]
    assert found["mine"] == found["bleu"] | {"metric": "mine"}


@pytest.mark.posix
@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1, end=''", r"mine: the program wrote 1 lines for 3 outputs"),
        ("'good'", r"mine: the program wrote 'good' in line 1, which is no number"),
        ("1 / 0", r"mine: the program ended with status 1: ZeroDivisionError: division by zero"),
        ("float('inf')", "which is no number"),
    ],
)
def test_what_a_program_does_wrong_is_said_of_the_program(program, expression, message) -> None:
    with pytest.raises(InputError, match=message):
        ProgramMetric(program(expression)).score(BATCH)


@pytest.mark.posix
def test_a_program_that_hangs_is_ended(program) -> None:
    with pytest.raises(InputError, match=r"did not answer within 0\.2 seconds"):
        ProgramMetric(program("1", before="import time; time.sleep(60)"), timeout=0.2).score(BATCH)


@pytest.mark.posix
def test_a_program_is_known_by_its_content(program, tmp_path) -> None:
    first = ProgramMetric(program("1"))
    assert first.signature != ProgramMetric(program("2", name="other")).signature.replace("other", "mine")
    assert first.with_direction(higher_is_better=False).signature != first.signature
    (metric,) = collect_metrics(None, [program("1")]) or []
    assert isinstance(metric, ProgramMetric)
    (tmp_path / "plain").write_text("no program")
    with pytest.raises(InputError, match="no program that can be run"):
        collect_metrics(None, [f"{tmp_path}/plain"])
    with pytest.raises(InputError, match="there is no such file"):
        collect_metrics(None, [f"{tmp_path}/absent"])


class Corpus:
    """As sacrebleu in `evaluate`: one number for all outputs of a call."""

    name = "sacrebleu"

    def compute(self, *, predictions, references):
        bleu = sacrebleu.BLEU(effective_order=True)
        found = bleu.corpus_score(predictions, [references])
        return {"score": found.score, "counts": found.counts, "sys_len": found.sys_len}


class Each:
    """As bertscore: a list for each result."""

    def __init__(self) -> None:
        self.calls = 0

    def compute(self, *, predictions, references):
        self.calls += 1
        scores = [sacrebleu.sentence_chrf(o, [r]).score for o, r in zip(predictions, references)]
        return {"precision": [0.0] * len(scores), "f1": np.array(scores), "hashcode": "roberta"}


class WithSources:
    def compute(self, predictions, references, sources):
        return [float(len(o) + len(r) + len(s)) for o, r, s in zip(predictions, references, sources)]


def test_an_object_that_computes_one_number_is_asked_for_each_output() -> None:
    metric = convert_to_metric(Corpus())
    assert metric.name == "sacrebleu"
    expected = [sacrebleu.sentence_bleu(o, r).score for o, r in zip(OUTPUTS, REFERENCES)]
    assert metric.score(BATCH).tolist() == pytest.approx(expected)


def test_an_object_that_computes_lists_is_asked_once() -> None:
    thing = Each()
    assert convert_to_metric(thing).score(BATCH).tolist() == parse_metric("chrf").score(BATCH).tolist()
    assert thing.calls == 2  # to see what it returns, and then for all
    assert ComputeMetric(thing, "precision").score(BATCH).tolist() == [0.0] * 3


def test_sources_are_given_where_they_are_asked_for() -> None:
    metric = convert_to_metric(WithSources())
    assert metric.needs == {"output", "references", "source"}
    expected = [len(o) + len(r[0]) + 1 for o, r in zip(OUTPUTS, REFERENCES)]
    assert metric.score(BATCH).tolist() == expected


def test_several_references_are_given_as_lists_and_unclear_results_are_refused() -> None:
    class Several:
        def compute(self, *, predictions, references):  # noqa: ARG002
            return {"first": 1.0, "second": float(len(references[0]))}

    batch = Batch.of(["a"], [["b", "c"]])
    with pytest.raises(InputError, match="Several computes first, second; which is meant is not clear"):
        convert_to_metric(Several()).score(batch)
    assert ComputeMetric(Several(), "second").score(batch).tolist() == [2.0]
