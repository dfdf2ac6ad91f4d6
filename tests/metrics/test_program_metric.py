"""Programs of users as metrics."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from metassay.cli import run_command_line as run
from metassay.errors import InputError
from metassay.metrics.base import Batch
from metassay.metrics.program_metric import ProgramMetric
from metassay.workflows.metric_files import collect_requested_metrics

OUTPUTS = ["the cat sat on the mat", "", "we ran home – quickly"]
REFERENCES = [["the cat sat on a mat"], ["so it was"], ["we ran home quickly"]]
BATCH = Batch.from_texts(OUTPUTS, REFERENCES, source=["x", "y", "z"])


@pytest.fixture
def program(tmp_path):
    """Write a program that prints a Python expression over each `row` that it reads."""

    def write_program(expression: str, *, before: str = "", name: str = "mine") -> str:
        file = tmp_path / name
        file.write_text(
            f"#!{sys.executable}\nimport json, sys\n{before}\n"
            f"for line in sys.stdin:\n    row = json.loads(line)\n    print({expression})\n"
        )
        file.chmod(0o755)
        return str(file)

    return write_program


@pytest.mark.posix
def test_a_program_gets_the_fields_that_the_data_has(program) -> None:
    metric = ProgramMetric(program("len(row['output'])"))
    assert metric.name == "mine"
    assert metric.score(BATCH).tolist() == [len(output) for output in OUTPUTS]
    source_detector = ProgramMetric(program("json.dumps(None) if 'source' in row else 1.0"))
    assert np.isnan(source_detector.score(BATCH)).all()
    assert (
        source_detector.score(Batch.from_texts(OUTPUTS)).tolist() == [1.0] * 3
    )  # it is source_detector what the data has


@pytest.mark.posix
def test_a_program_that_computes_bleu_is_assayed_like_bleu(program, tmp_path, capsys) -> None:
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
    results = {}
    for name, options in {"mine": ["--metric-file", file], "bleu": ["--metrics", "bleu"]}.items():
        assert run(["assay", str(data), *options, "--json", "--quiet", "--language", "en"]) == 0
        results[name] = json.loads(capsys.readouterr().out)["global"][0]
    assert results["mine"] == results["bleu"] | {"metric": "mine"}


@pytest.mark.posix
@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1, end=''", r"mine: the program wrote 1 lines for 3 outputs"),
        ("'good'", r"mine: the program wrote 'good' in line 1, which is not a number"),
        ("1 / 0", r"mine: the program ended with status 1: ZeroDivisionError: division by zero"),
        ("float('inf')", "which is not a number"),
    ],
)
def test_errors_of_a_program_name_the_program(program, expression, message) -> None:
    with pytest.raises(InputError, match=message):
        ProgramMetric(program(expression)).score(BATCH)


@pytest.mark.posix
def test_a_program_that_hangs_is_stopped(program) -> None:
    with pytest.raises(InputError, match=r"did not answer within 0\.2 seconds"):
        ProgramMetric(program("1", before="import time; time.sleep(60)"), timeout=0.2).score(BATCH)


@pytest.mark.posix
def test_the_signature_of_a_program_changes_with_its_content(program, tmp_path) -> None:
    first = ProgramMetric(program("1"))
    assert first.signature != ProgramMetric(program("2", name="other")).signature.replace("other", "mine")
    assert first.copy_with_direction(higher_is_better=False).signature != first.signature
    (metric,) = collect_requested_metrics(None, [program("1")]) or []
    assert isinstance(metric, ProgramMetric)
    (tmp_path / "plain").write_text("no program")
    with pytest.raises(InputError, match="not an executable program"):
        collect_requested_metrics(None, [f"{tmp_path}/plain"])
    with pytest.raises(InputError, match="there is no such file"):
        collect_requested_metrics(None, [f"{tmp_path}/absent"])
