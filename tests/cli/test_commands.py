"""The command line as people and scripts use it: exit codes, one JSON object, errors of one or two lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import polars as pl
import pytest

from metassay.cli import run_command_line as run
from metassay.cli.application import build_command_line
from metassay.data import memory
from metassay.errors import UnknownName
from metassay.sample import get_bundled_sample_path
from metassay.schemas import RESULT_TYPES, build_json_schema_of_output
from metassay.workflows.read import read

HEADER = "seg_id,system,domain,hyp,ref\n"
TEXTS = (
    "the cat sat on the mat",
    "a dog ran over the hill",
    "we saw two red birds today",
    "rain fell all night long",
)


def table(rows: int = 12) -> str:
    lines = []
    for item in range(rows):
        reference = f"{TEXTS[item % 4]} number {item}"
        for system, cut in (("a", 0), ("b", 1), ("c", 2)):
            output = " ".join(reference.split()[cut:]) + " indeed"
            lines.append(f"{item},{system},{'news' if item % 2 else 'chat'},{output},{reference}")
    return HEADER + "\n".join(lines) + "\n"


@pytest.fixture
def data(tmp_path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text(table())
    return path


def metassay(capfd, *arguments: str | Path) -> tuple[int, str, str]:
    status = run([str(argument) for argument in arguments])
    captured = capfd.readouterr()
    return status, captured.out, captured.err


def as_json(capfd, *arguments: str | Path) -> dict:
    status, out, err = metassay(capfd, *arguments, "--json", "--quiet")
    assert status == 0, err
    found = json.loads(out)
    assert out.count("\n") == 1
    assert next(iter(found)) == "schema_version"
    return found


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (
            "assay",
            ["--metrics", "bleu,chrf", "--context", "system", "--context", "domain", "--resamples", "50"],
        ),
        ("assay", ["--metrics", "chrF++", "--context", "system+domain", "--permutations", "19"]),
        ("score", ["--metrics", "bleu,chrf(word_order=2),ter"]),
        ("perturb", []),
        ("check", []),
    ],
)
def test_json_follows_its_schema(capfd, data, command, options) -> None:
    found = as_json(capfd, command, data, *options, "--language", "en")
    jsonschema.validate(found, build_json_schema_of_output(command))


@pytest.mark.parametrize("command", RESULT_TYPES)
def test_every_command_has_a_schema_that_requires_the_keys_of_its_result(command) -> None:
    generated = build_json_schema_of_output(command)
    jsonschema.Draft202012Validator.check_schema(generated)
    validator = jsonschema.Draft202012Validator(generated)
    assert validator.is_valid({"schema_version": 1}) is False


def test_a_command_without_json_has_no_schema() -> None:
    with pytest.raises(UnknownName, match="serve"):
        build_json_schema_of_output("serve")


def test_json_and_no_out_write_nothing(capfd, data, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    as_json(capfd, "assay", data, "--metrics", "bleu", "--perturbations", "removal")
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_without_out_the_folder_is_named_after_the_run_and_found_again(
    capfd, data, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        status, out, _ = metassay(capfd, "assay", data, "--metrics", "bleu", "--perturbations", "removal")
        assert status == 0
        assert "report.html" in out
    folders = list(tmp_path.glob("metassay-run-*"))
    assert len(folders) == 1


def test_metric_names_print_canonically(capfd, data) -> None:
    found = as_json(capfd, "score", data, "--metrics", "BLEU,chrF++,chrf(word_order=1,beta=3)")
    assert {row["metric"] for row in found["systems"]} == {
        "bleu",
        "chrf(word_order=2)",
        "chrf(word_order=1,beta=3)",
    }


def test_segment_scores_go_to_any_table_format(capfd, data, tmp_path) -> None:
    frames = []
    for name, reader in (("s.parquet", pl.read_parquet), ("s.csv", pl.read_csv), ("s.jsonl", pl.read_ndjson)):
        as_json(capfd, "score", data, "--metrics", "bleu", "--per-segment", tmp_path / name)
        frames.append(reader(tmp_path / name))
    assert frames[0].columns == ["item", "system", "metric", "score"]
    assert frames[0].height == 36
    for frame in frames[1:]:
        assert frame["score"].to_list() == pytest.approx(frames[0]["score"].to_list())
    status, _, err = metassay(capfd, "score", data, "--per-segment", tmp_path / "s.xlsx")
    assert status == 2
    assert "cannot tell the format from the ending '.xlsx'" in err


def test_plain_text_files_as_with_sacrebleu(capfd, tmp_path) -> None:
    (tmp_path / "ref.txt").write_text("a b c\nd e f\n")
    (tmp_path / "one.txt").write_text("a b c\nd e\n")
    (tmp_path / "two.txt").write_text("a\nd e f\n")
    options = [
        "--reference",
        tmp_path / "ref.txt",
        "--hypothesis",
        tmp_path / "one.txt",
        tmp_path / "two.txt",
    ]
    found = as_json(capfd, "score", "--metrics", "chrf", *options)
    assert [row["system"] for row in found["systems"]] == ["one", "two"]


def test_a_metric_of_the_users_own_file(capfd, data, tmp_path) -> None:
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "import numpy as np\n"
        "from metassay.metrics.base import Metric\n"
        "@dataclass(frozen=True)\n"
        "class Vowels(Metric):\n"
        "    name = 'vowels'\n"
        "    task = 'any'\n"
        "    needs = frozenset({'output'})\n"
        "    def score(self, batch):\n"
        "        return np.array([sum(c in 'aeiou' for c in text) for text in batch.output], dtype=float)\n"
    )
    found = as_json(
        capfd, "assay", data, "--metric-file", f"{tmp_path}/mine.py:Vowels", "--perturbations", "removal"
    )
    assert [row["metric"] for row in found["global"]] == ["vowels"]


def test_a_function_in_the_users_own_file(capfd, data, tmp_path) -> None:
    code = "def vowels(outputs):\n    return [sum(c in 'aeiou' for c in text) for text in outputs]\n"
    (tmp_path / "mine.py").write_text(code)
    options = [
        "--metrics",
        "bleu",
        "--metric-file",
        f"{tmp_path}/mine.py:vowels",
        "--perturbations",
        "removal",
    ]
    accuracy = {row["metric"]: row["accuracy"] for row in as_json(capfd, "assay", data, *options)["global"]}
    assert sorted(accuracy) == ["bleu", "vowels"]
    assert accuracy["vowels"] > 0.5


def test_an_edited_metric_never_serves_old_scores(capfd, data, tmp_path) -> None:
    mine, folder, other = tmp_path / "mine.py", tmp_path / "run", tmp_path / "other"
    command = ["assay", data, "--metric-file", f"{mine}:mine", "--perturbations", "removal", "--out"]
    mine.write_text("def mine(output, references):\n    return float(len(output))\n")
    first = as_json(capfd, *command, folder)
    assert first["global"][0]["accuracy"] == 1
    assert as_json(capfd, *command, folder) == first
    mine.write_text("def mine(output, references):\n    return -float(len(output))\n")
    status, _, err = metassay(capfd, *command, folder)
    assert status == 2
    assert "this folder holds another run" in err
    other.mkdir()
    second = as_json(capfd, *command, other)
    assert second["global"][0]["accuracy"] == 0
    scores = [{file.name for file in (run / "scores").iterdir()} for run in (folder, other)]
    assert not scores[0] & scores[1]


_CLASS = "from metassay.metrics.base import Metric\nclass mine(Metric):\n"
_NAMED = f"{_CLASS}    name = 'mine'\n    def score(self, batch):\n        return "
OWN_ERRORS = {
    "def mine(outputs, references):\n    return 1 / 0\n": "line 2: ZeroDivisionError: division by zero",
    "def mine(outputs, references)\n    return 1\n": "line 1: SyntaxError: expected ':'",
    "import nowhere_at_all\n": "line 1: ModuleNotFoundError: No module named 'nowhere_at_all'",
    "class mine:\n    pass\n": "line 1: the class mine is not a metric.",
    f"{_CLASS}    def score(self, batch):\n        return []\n": "line 2: the metric mine has no name.",
    f"{_NAMED}undefined\n": "line 5: NameError: name 'undefined' is not defined",
    f"{_NAMED}[1.0]\n": "line 2: mine returned (1,) scores",
    "def mine(outputs):\n    return outputs\n": "line 1: mine did not return a number for each",
    "def mine():\n    return 1\n": "line 1: mine has no parameter for outputs.",
}


@pytest.mark.parametrize("verb", ["score", "assay"])
@pytest.mark.parametrize("code", OWN_ERRORS)
def test_errors_of_the_users_code_are_the_users_with_file_and_line(capfd, data, tmp_path, code, verb) -> None:
    (tmp_path / "mine.py").write_text(code)
    location, more = f"{tmp_path}/mine.py:mine", ["--json"] if verb == "assay" else []
    status, _, err = metassay(capfd, verb, data, "--metric-file", location, "--quiet", *more)
    assert f"{tmp_path}/mine.py, {OWN_ERRORS[code]}" in err
    assert "defect" not in err
    assert "Traceback" not in err
    assert status == 2


def test_tables_and_sentences_have_labels_and_json_has_specs(capfd, data, tmp_path) -> None:
    asked = ["--metrics", "bleu,chrf++,rougel"]
    for command in (
        ["score", data],
        ["score", data, "--format", "markdown"],
        ["score", data, "--format", "latex"],
        ["assay", data, "--out", tmp_path / "run", "--perturbations", "removal", "--verbose"],
        ["check", data, "--verbose"],
    ):
        status, out, _ = metassay(capfd, *command, *asked, "--quiet")
        assert status == 0
        shown = "\n".join(line for line in out.splitlines() if "implementation:" not in line)
        assert {name: name in shown for name in ("BLEU", "chrF++", "ROUGE-L")} == dict.fromkeys(
            ("BLEU", "chrF++", "ROUGE-L"), True
        )
        assert not [name for name in ("bleu", "chrf(", "rougel") if name in shown]
    for command in (["recommend", tmp_path / "run"], ["compare", tmp_path / "run", tmp_path / "run"]):
        status, out, _ = metassay(capfd, *command)
        assert status == 0
        assert "chrF++" in out
        assert "chrf(" not in out
    _, out, _ = metassay(capfd, "score", data, *asked, "--format", "csv", "--quiet")
    assert "chrf(word_order=2)" in out
    assert "chrF++" not in out
    specs = {row["metric"] for row in as_json(capfd, "score", data, *asked)["systems"]}
    assert specs == {"bleu", "chrf(word_order=2)", "rougel"}


ERRORS = {
    "no file": (["check", "absent.csv"], "absent.csv: there is no such file."),
    "unknown metric": (["score", "DATA", "--metrics", "blue"], "unknown metric 'blue'. Did you mean bleu?"),
    "unknown parameter": (["score", "DATA", "--metrics", "chrf(word=2)"], "unknown parameter of chrf 'word'"),
    "metric twice": (["score", "DATA", "--metrics", "bleu,BLEU"], "bleu is asked for twice."),
    "unknown context": (["assay", "DATA", "--context", "domian"], "unknown context 'domian'. Did you mean domain?"),
    "no context varies": (["assay", "DATA", "--systems", "a", "--context", "system"], "system has only one value, so there are no contexts to compare"),
    "unknown perturbation": (["assay", "DATA", "--perturbations", "remove"], "'remove'"),
    "bad assignment": (["check", "DATA", "--where", "domain"], "--where 'domain' is not NAME=VALUE."),
    "no data": (["check"], "no data was named."),
    "not a run": (["report", "DATA"], "this is not a run folder"),
    "unknown list": (["list", "metric"], "unknown list 'metric'. Did you mean metrics?"),
    "unknown option": (["check", "DATA", "--bogus"], "No such option: --bogus"),
    "unknown task": (["check", "DATA", "--task", "nmt"], "unknown task 'nmt'. Did you mean mt?"),
    "no workers": (["score", "DATA", "--workers", "0"], "workers is 0; it must be at least 1."),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors_go_to_standard_error_with_exit_2(capfd, data, case) -> None:
    arguments, expected = ERRORS[case]
    status, out, err = metassay(capfd, *(str(data) if a == "DATA" else a for a in arguments))
    assert status == 2
    assert out == ""
    assert expected in err
    assert "Traceback" not in err


def test_an_output_folder_of_another_run_is_refused(capfd, data, tmp_path) -> None:
    options = [
        "assay",
        data,
        "--metrics",
        "bleu",
        "--perturbations",
        "removal",
        "--out",
        tmp_path / "run",
        "--quiet",
    ]
    assert metassay(capfd, *options)[0] == 0
    status, _, err = metassay(capfd, *options, "--seed", "7")
    assert status == 2
    assert "this folder holds another run (its configuration differs)" in err
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    status, _, err = metassay(capfd, *options[:-3], "--out", tmp_path / "other")
    assert status == 2
    assert "not a run folder" in err


def test_a_defect_of_ours_is_exit_1_and_says_so(capfd, data, monkeypatch) -> None:

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("surprise")

    monkeypatch.setattr("metassay.workflows.check.check", broken)
    status, _, err = metassay(capfd, "check", data)
    assert status == 1
    assert "surprise" in err
    assert "This is a defect of metassay" in err


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from metassay.cli import run_command_line as run; run(['--help']);"
        "heavy = {'numpy', 'polars', 'scipy', 'numba', 'sacrebleu', 'pyarrow'} & set(sys.modules);"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for command in build_command_line().commands:
        assert f"\n  {command} " in done.stdout


def test_scoring_a_few_lines_with_bleu_imports_no_statistics_library(tmp_path) -> None:
    """SciPy and Numba each take longer to import than scoring takes."""
    (tmp_path / "outputs.txt").write_text("a cat sat on the mat\n")
    (tmp_path / "references.txt").write_text("the cat sat on the mat\n")
    code = (
        "import sys; from metassay.cli import run_command_line as run;"
        "run(['score', 'outputs.txt', '--reference', 'references.txt', '--metrics', 'bleu', '-b']);"
        "heavy = {'scipy', 'numba', 'pyarrow'} & set(sys.modules);"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0


def test_version(capfd) -> None:
    import metassay as package

    assert metassay(capfd, "--version") == (0, f"metassay {package.__version__}\n", "")


@pytest.mark.parametrize("kind", ["metrics", "perturbations", "readers", "resources"])
def test_lists(capfd, kind) -> None:
    status, out, _ = metassay(capfd, "list", kind, "--json")
    assert status == 0
    assert json.loads(out)[kind]
    assert metassay(capfd, "list", kind)[0] == 0


@pytest.mark.posix
def test_an_interrupted_run_exits_130_and_goes_on_to_the_same_bytes(tmp_path) -> None:
    """SIGINT, then SIGTERM, while a slow metric scores; the third call finishes from parts that were kept."""
    slow = tmp_path / "slow.py"
    slow.write_text(
        "from dataclasses import dataclass\n"
        "import os, time\n"
        "import numpy as np\n"
        "from metassay.metrics.base import Metric\n"
        "@dataclass(frozen=True)\n"
        "class Slow(Metric):\n"
        "    name = 'slow'\n"
        "    task = 'any'\n"
        "    needs = frozenset({'output'})\n"
        "    def score(self, batch):\n"
        "        open(os.environ['STARTED'], 'a').write('x')\n"
        "        time.sleep(float(os.environ.get('NAP', '0')))\n"
        "        return np.array([len(text) for text in batch.output], dtype=float)\n"
    )
    command = [
        sys.executable, "-m", "metassay", "assay", str(get_bundled_sample_path("mt")), "--metric-file", f"{slow}:Slow",
        "--metrics", "bleu", "--perturbations", "removal", "--resamples", "50", "--permutations", "19", "--quiet", "--out",
    ]  # fmt: skip
    started = tmp_path / "started"
    environment = os.environ | {"STARTED": str(started)}
    for sent in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen(
            [*command, str(tmp_path / "a")],
            env=environment | {"NAP": "30"},
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            deadline = time.monotonic() + 60
            while not started.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(sent)
            _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert f"Interrupted. Finished parts are kept in {tmp_path / 'a'}" in err
        assert list((tmp_path / "a" / "scores").glob("part-bleu-*"))
        started.unlink()
    for folder in ("a", "b"):
        subprocess.run([*command, str(tmp_path / folder)], env=environment, check=True, capture_output=True)
    for file in sorted((tmp_path / "b").rglob("*")):
        if file.is_file() and file.name != "timings.json":
            assert file.read_bytes() == (tmp_path / "a" / file.relative_to(tmp_path / "b")).read_bytes(), file


@pytest.mark.parametrize("keeps_parts", [True, False])
def test_an_interruption_promises_only_what_was_kept(capfd, monkeypatch, tmp_path, keeps_parts) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("metassay.workflows.assay_outcome.analyze_pairs", interrupt)
    out = ("--out", tmp_path / "run") if keeps_parts else ("--json",)
    asked = (
        "assay",
        get_bundled_sample_path("text"),
        "--metrics",
        "rouge1",
        "--perturbations",
        "removal",
        *out,
    )
    code, _, error = metassay(capfd, *asked)
    assert code == 130
    assert ("Finished parts are kept in" in error) is keeps_parts
    assert ("Nothing was kept" in error) is not keeps_parts


def test_less_memory_changes_no_result(capfd, monkeypatch) -> None:
    """All tables are mapped from disk then."""
    monkeypatch.setattr(memory, "_memory_target", memory._memory_target)
    asked = "assay", get_bundled_sample_path("text"), "--metrics", "rouge1,rougel", "--workers", "1"
    usual = as_json(capfd, *asked)
    assert not memory.is_table_too_large_for_memory(len(read(get_bundled_sample_path("text"))))
    assert as_json(capfd, *asked, "--memory", "1MB") == usual
    assert memory.is_table_too_large_for_memory(len(read(get_bundled_sample_path("text"))))
    for size in ("4", "lots", "-1GB", "0.1MB"):
        code, _, error = metassay(capfd, *asked, "--memory", size)
        assert (code, "Write it as 4GB" in error) == (2, True)


def test_out_writes_for_every_command_that_has_it(capfd, data, tmp_path) -> None:
    """A manifest that says the run is finished, and a result."""
    rated = tmp_path / "rated.csv"
    rows = pl.read_csv(data).with_columns(mqm=-pl.col("hyp").str.len_chars().cast(pl.Float64))
    rows.with_columns(m=pl.col("mqm") / 2 + pl.col("seg_id")).write_csv(rated)
    verdicts = tmp_path / "verdicts.csv"
    verdicts.write_text("item,judge,winner,human\n" + "".join(f"{i},j,{i % 2 + 1},1\n" for i in range(9)))
    few = ["--resamples", "9", "--quiet"]
    asked = {
        "assay": [data, "--perturbations", "removal", "--metrics", "bleu", *few],
        "demo": ["--quiet"],
        "score": [data, "--metrics", "bleu", *few],
        "align": [data],
        "check": [data, "--metrics", "bleu"],
        "perturb": [data, "--perturbations", "removal", "--quiet"],
        "rank": [rated, "--human", "mqm", "--draws", "9", "--quiet"],
        "depend": [rated, "--human", "mqm", "--draws", "9", "--bootstraps", "3", "--quiet"],
        "aggregate": [data, "--repeats", "3", *few],
        "judge": [verdicts],
        "estimate": [rated, "--human", "mqm", "--resamples", "100"],
        "annotate": [rated, "--human", "mqm", "--count", "5"],
    }
    takers = {
        name
        for name, one in build_command_line().commands.items()
        if any(own.name == "out" for own in one.params)
    }
    for name in sorted(takers - {"demo", "report"}):  # which have their own tests
        status, _, err = metassay(capfd, name, *asked[name], "--out", tmp_path / name)
        assert status == 0, (name, err)
        assert json.loads((tmp_path / name / "manifest.json").read_text())["state"] == "finished", name
        assert len([path for path in (tmp_path / name).rglob("*") if path.is_file()]) >= 3, name


@pytest.mark.parametrize("workers", [1, 3])
def test_polars_takes_as_many_threads_as_there_are_workers(workers, data) -> None:
    code = (
        "import sys; from metassay.cli import run_command_line as run; status = run(sys.argv[1:]);"
        "import polars; print(status, polars.thread_pool_size())"
    )
    asked = ["check", str(data), "--metrics", "bleu", "--workers", str(workers), "--json"]
    free = {name: value for name, value in os.environ.items() if name != "POLARS_MAX_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code, *asked], env=free, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == f"0 {workers}"
