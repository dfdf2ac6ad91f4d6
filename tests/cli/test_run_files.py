"""Runs from files of options, and runs that go on: the same bytes as the command line, also after a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from metassay.cli import run_command_line as run
from metassay.cli.application import build_command_line
from metassay.cli.configuration_files import COMMANDS, build_configuration_schema
from metassay.engine import batches

TABLE = "seg_id,system,domain,hyp,ref\n" + "".join(
    f"{item},{system},{'news' if item % 2 else 'chat'},the cat sat {item} {system} times,the cat sat {item}\n"
    for item in range(12)
    for system in "abc"
)
CONFIG = """\
command = "assay"
data = "data.csv"
task = "mt"
language = "en"
metrics = ["chrf(word_order=2)", "bleu"]
contexts = ["domain"]
perturbations = "removal,swapping"
where = { system = ["a", "b"] }
resamples = 20
permutations = 19
seed = 3
keep_references = true
quiet = true
out = "from-file"
"""
TYPED = [
    "assay", "data.csv", "--task", "mt", "--language", "en", "--metrics", "chrf(word_order=2),bleu", "--context", "domain",
    "--perturbations", "removal,swapping", "--where", "system=a", "--where", "system=b", "--resamples", "20",
    "--permutations", "19", "--seed", "3", "--keep-references", "--quiet", "--out", "typed",
]  # fmt: skip
UNPROMISED = {"timings.json", "call.json"}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "config.toml").write_text(CONFIG)
    return tmp_path


def contents(run_folder: Path) -> dict[str, bytes]:
    files = [file for file in run_folder.rglob("*") if file.is_file() and file.name not in UNPROMISED]
    return {str(file.relative_to(run_folder)): file.read_bytes() for file in files}


def test_a_file_of_options_is_the_command_line(folder, capsys) -> None:
    assert run(["run", "config.toml"]) == 0
    assert run(TYPED) == 0
    assert contents(folder / "from-file") == contents(folder / "typed")
    assert len(contents(folder / "typed")) > 10
    calls = [json.loads((folder / name / "call.json").read_text()) for name in ("from-file", "typed")]
    assert calls[0] == calls[1]
    assert calls[0]["where"] == ["system=a", "system=b"]
    shutil.copy(folder / "typed" / "call.json", folder / "again.json")
    capsys.readouterr()
    assert run(["run", "again.json"]) == 0
    (made,) = folder.glob("metassay-run-*")
    assert contents(made) == contents(folder / "typed")


WRONG = {
    'command = "assay"\nmetrix = "bleu"\n': "unknown option of assay 'metrix'. Did you mean metrics?",
    'command = "assay"\n[where]\nsystem = ["a", {}]\n': None,
    'command = "assai"\n': "command is 'assai'.",
    'metrics = "bleu"\n': "command is None.",
    "command = \n": "this is not TOML",
    'command = "assay"\nkeep_references = "yes"\n': "keep_references is 'yes', neither true nor false.",
    'command = "assay"\ndata = "data.csv"\nseed = 1979-05-27\n': "neither text nor number",
    'command = "assay"\nfolder = "nowhere"\n': "the folder 'nowhere' no longer exists.",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_file_that_is_wrong_is_refused_by_name(folder, capsys, text) -> None:
    (folder / "wrong.toml").write_text(text)
    status = run(["run", "wrong.toml"])
    said = capsys.readouterr().err
    assert status == 2, said
    assert "Traceback" not in said
    if WRONG[text] is not None:
        assert said.startswith("wrong.toml: "), said
        assert WRONG[text] in said


def test_a_value_of_the_wrong_kind_is_refused_as_on_the_command_line(folder, capsys) -> None:
    (folder / "wrong.toml").write_text('command = "assay"\ndata = "data.csv"\nresamples = "many"\n')
    assert run(["run", "wrong.toml"]) == 2
    assert "--resamples" in capsys.readouterr().err


def test_the_schema_knows_every_option_and_takes_what_is_written(folder, capsys) -> None:
    import tomllib

    assert run(["run", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema == build_configuration_schema()
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    for one in schema["oneOf"]:
        options = {parameter.name for parameter in build_command_line().commands[one["title"]].params} - {
            "help"
        }
        assert set(one["properties"]) == options | {"command", "folder"}
    assert [one["title"] for one in schema["oneOf"]] == list(COMMANDS)
    config = tomllib.loads(CONFIG)
    validator.validate(config)
    assert not validator.is_valid(config | {"metrix": "bleu"})
    assert not validator.is_valid(config | {"seed": "three"})
    assert not validator.is_valid({"command": "serve"})
    assert run(TYPED) == 0
    validator.validate(json.loads((folder / "typed" / "call.json").read_text()))


SLOW = """
from dataclasses import dataclass
import os, time
from pathlib import Path
import numpy as np
from metassay.metrics.base import Metric

@dataclass(frozen=True)
class Slow(Metric):
    name = "slow"
    task = "any"
    needs = frozenset({"output"})
    def score(self, batch):
        Path("started").touch()
        time.sleep(float(os.environ.get("NAP", "0")))
        return np.array([len(text) for text in batch.output], dtype=float)
"""


@pytest.mark.posix
def test_a_killed_run_is_resumed_from_anywhere_to_the_same_bytes(folder, monkeypatch, capsys) -> None:
    (folder / "slow.py").write_text(SLOW)
    plain = [argument for argument in TYPED if argument != "typed"] + [
        "killed",
        "--metric-file",
        "slow.py:Slow",
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "metassay", *plain], env=os.environ | {"NAP": "60"}
    ) as process:
        deadline = time.monotonic() + 120
        while not (folder / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    assert not (folder / "killed" / "results").exists()
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert run(["resume", "../killed", "--workers", "2", "--trust"]) == 0
    monkeypatch.chdir(folder)
    assert run([*plain[: plain.index("killed")], "whole", *plain[plain.index("killed") + 1 :]]) == 0
    assert contents(folder / "killed") == contents(folder / "whole")
    before = contents(folder / "killed")
    assert run(["run", "killed/manifest.json", "--trust"]) == 0
    assert contents(folder / "killed") == before
    capsys.readouterr()
    (folder / "killed" / "call.json").unlink()
    assert run(["resume", "killed"]) == 2
    assert "the run folder does not record which command started it" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["resume", "run"], ["work", "run", "--part", "0"], ["run", "run/manifest.json"]]
)
def test_code_that_a_run_folder_names_is_not_executed_without_trust(folder, capsys, command) -> None:
    (folder / "evil.py").write_text("from pathlib import Path\nPath('executed').touch()\n")
    (folder / "run").mkdir()
    call = {
        "command": "assay",
        "data": ["data.csv"],
        "metric_file": ["evil.py:Metric"],
        "folder": str(folder),
    }
    (folder / "run" / "call.json").write_text(json.dumps(call))
    (folder / "run" / "manifest.json").write_text("{}")
    assert run(command) == 2
    message = capsys.readouterr().err
    assert "call.json asks to execute evil.py:Metric." in message
    assert "--trust" in message
    assert not (folder / "executed").exists()
    run([*command, "--trust"])
    assert (folder / "executed").exists()


@pytest.mark.parametrize(("answer", "is_executed"), [(True, True), (False, False)])
def test_on_a_terminal_the_user_is_asked_for_trust(folder, monkeypatch, answer, is_executed) -> None:
    (folder / "evil.py").write_text("from pathlib import Path\nPath('executed').touch()\n")
    (folder / "run").mkdir()
    call = {"command": "assay", "data": ["data.csv"], "metric_file": ["evil.py:Metric"]}
    (folder / "run" / "call.json").write_text(json.dumps(call))
    questions = []
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda question, **_: questions.append(question) or answer)
    assert run(["resume", "run"]) == 2
    assert "execute evil.py:Metric" in questions[0]
    assert (folder / "executed").exists() is is_executed


def test_a_language_model_that_a_run_folder_names_is_not_asked_without_trust(folder, capsys) -> None:
    (folder / "run").mkdir()
    call = {"command": "assay", "data": ["data.csv"], "llm_url": "http://evil.example", "llm_model": "m"}
    (folder / "run" / "call.json").write_text(json.dumps(call))
    assert run(["resume", "run"]) == 2
    assert "send data and the key of the language model to http://evil.example" in capsys.readouterr().err


def test_what_came_from_standard_input_cannot_be_read_again(folder, capsys) -> None:
    (folder / "run").mkdir()
    (folder / "run" / "call.json").write_text('{"command": "assay", "data": ["-"]}')
    assert run(["resume", "run"]) == 2
    assert "its data came from standard input" in capsys.readouterr().err


def test_parts_that_several_processes_score_make_one_run(folder, monkeypatch, capsys) -> None:
    from metassay.metrics.chrf import Chrf

    monkeypatch.setattr(batches, "BATCH_ROWS", 20)
    assert run([*TYPED, "--workers", "1"]) == 0
    parts = len(list((folder / "typed" / "scores").glob("part-bleu-*")))
    assert parts > 3
    (folder / "config.toml").write_text(CONFIG.replace("from-file", "shared"))
    capsys.readouterr()
    assert run(["work", "config.toml", "--part", "1"]) == 0
    assert f"Scored 1 of {parts} parts, from 1 to 1." in capsys.readouterr().out
    assert len(list((folder / "shared" / "scores").glob("part-bleu-*-00001-*"))) == 1
    assert run(["work", "shared", "--parts", "0-1"]) == 0
    assert run(["work", "shared", "--parts", "2-99", "--workers", "2"]) == 0
    assert not (folder / "shared" / "report.html").exists()
    scored: list[int] = []
    score = Chrf.score
    monkeypatch.setattr(Chrf, "score", lambda self, batch: scored.append(len(batch)) or score(self, batch))
    assert run(["resume", "shared"]) == 0
    assert len(scored) == 2, "only to learn what it costs"
    assert contents(folder / "shared") == contents(folder / "typed")


@pytest.mark.posix
def test_a_worker_that_stands_still_holds_nobody_up_and_may_go_on_later(folder) -> None:
    (folder / "slow.py").write_text(SLOW)
    plain = [*TYPED[:-1], "shared", "--metric-file", "slow.py:Slow"]
    with subprocess.Popen(
        [sys.executable, "-m", "metassay", *plain, "--parts", "0"], env=os.environ | {"NAP": "2"}
    ) as worker:
        deadline = time.monotonic() + 120
        while not (folder / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        worker.send_signal(signal.SIGSTOP)
        try:
            assert run(["resume", "shared", "--trust"]) == 0
            finished = contents(folder / "shared")
        finally:
            # `Popen.__exit__` would wait for a stopped process for ever.
            worker.send_signal(signal.SIGCONT)
        assert worker.wait(timeout=120) == 0
    assert contents(folder / "shared") == finished
    assert run([*TYPED, "--metric-file", "slow.py:Slow"]) == 0
    assert contents(folder / "typed") == finished


@pytest.mark.parametrize("parts", ["99", "x", "3-1", "-1", "", "1-2-3", "1" * 30])
@pytest.mark.usefixtures("folder")
def test_parts_that_there_are_not(capsys, parts) -> None:
    assert run(["work", "config.toml", f"--parts={parts}"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_only_an_assay_has_parts(folder, capsys) -> None:
    (folder / "rank.toml").write_text('command = "rank"\ndata = "data.csv"\n')
    assert run(["work", "rank.toml", "--part", "0"]) == 2
    assert "unknown option of rank 'parts'" in capsys.readouterr().err
