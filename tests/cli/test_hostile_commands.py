"""Command lines that ask for the impossible: an exit code of 2 and two lines, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from metassay.cli import run_command_line as run

TABLE = "seg_id,system,domain,hyp,ref,mqm,other\n" + "".join(
    f"{item},{system},{'news' if item % 2 else 'chat'},the cat sat {item} {system},the cat sat {item},{item},1\n"
    for item in range(8)
    for system in "abc"
)


@pytest.fixture
def data(tmp_path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text(TABLE)
    return path


def refused(capfd, *arguments: object) -> str:
    status = run([str(argument) for argument in arguments])
    err = capfd.readouterr().err
    assert status == 2, err
    assert "Traceback" not in err
    said = [line for line in err.splitlines() if not line.startswith("The data is read as")]
    assert len(said) <= 2 or said[0].startswith("Usage"), err
    return "\n".join(said)


LINES = {
    "assay --seed -1": "seed is -1; it must be at least 0",
    "score --seed -1": "seed is -1; it must be at least 0",
    "rank --workers -1": "workers is -1; it must be at least 1",
    "rank --workers 100000": "workers is 100000; it must be at most 4,096",
    "assay --resamples 0": "resamples is 0; it must be at least 1",
    "assay --resamples 99999999999": "resamples is 99999999999; it must be at most 10,000,000",
    "aggregate --resamples 1": "resamples is 1; it must be at least 2",
    "assay --per-output 4294967296": "per_output is 4294967296; it must be at most 10,000",
    "perturb --per-output 4294967296": "per_output is 4294967296; it must be at most 10,000",
    "assay --min-gap nan": "minimum_gap is nan; it must be at least 0",
    "assay --llm-url http://localhost:9 --perturbations llm --llm-prompt absent.txt": "this prompt cannot be read",
    "perturb --llm-concurrency 0": "llm_concurrency is 0; it must be at least 1",
    "score --per-segment absent/scores.csv": "absent/scores.csv: there is no such folder",
    "score --per-segment scores.xls": "cannot tell the format",
    "score --per-segment x.csv/": "x.csv/: this is a folder",
    "score --per-segment " + "y" * 300 + ".csv": "cannot be written (File name too long)",
    "score --metric-file " + "y" * 300 + ".py:Mine": "there is no such file",
    "assay --metrics chrf --out " + "y" * 300: "cannot be written (File name too long)",
    "check --column item=" + "y" * 1_000_000: "there is no column",
    "check --task " + "y" * 1_000_000: "unknown task",
    "score --metrics " + "y" * 1_000_000: "unknown metric",
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:60])
def test_settings_out_of_bounds(capfd, data, line, monkeypatch) -> None:
    monkeypatch.chdir(data.parent)
    (data.parent / "x.csv").mkdir()
    command, *options = line.split()
    said = refused(capfd, command, data, *options, "--quiet")
    assert LINES[line] in said
    assert len(said) <= 500


def test_the_python_functions_refuse_the_same(data) -> None:
    from metassay import score
    from metassay.errors import InputError

    for keywords, said in (
        ({"seed": -1}, "seed is -1"),
        ({"workers": 0}, "workers is 0"),
        ({"workers": "two"}, "workers is 'two', which is not a number"),
        ({"draws": "many"}, "draws is 'many', which is not a number"),
        ({"per_segment": data}, "this file is also an input"),
    ):
        with pytest.raises(InputError, match=said):
            score(data, **keywords)


def test_check_of_nothing_is_refused(capfd, tmp_path, monkeypatch) -> None:
    (tmp_path / "data.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    assert "the name of a file is empty" in refused(capfd, "check", "")


@pytest.mark.posix
@pytest.mark.parametrize("name", ["data.csv", "./data.csv", "link.csv", "other.csv", "judged.csv"])
def test_no_input_is_written_over(capfd, data, name, monkeypatch) -> None:
    monkeypatch.chdir(data.parent)
    Path("link.csv").symlink_to(data)
    Path("other.csv").hardlink_to(data)
    Path("judged.csv").write_text("seg_id,system,speaker\n0,a,s\n")
    said = refused(capfd, "score", data, "--join", "judged.csv", "--per-segment", name, "--metrics", "chrf")
    assert "this file is also an input and would be overwritten" in said
    assert data.read_text() == TABLE
    assert Path("judged.csv").read_text().startswith("seg_id")


def test_neither_a_file_in_a_folder_of_data_nor_an_input_as_run_folder(capfd, data) -> None:
    folder = data.parent / "folder"
    folder.mkdir()
    inside = data.rename(folder / "data.csv")
    assert "this file is also an input" in refused(capfd, "score", folder, "--per-segment", inside)
    for command in ("assay", "perturb", "rank", "depend"):
        said = refused(capfd, command, inside, "--out", inside, "--quiet")
        assert "this exists and is not a run folder" in said
    assert inside.read_text() == TABLE


def shell(line: str, data: Path) -> subprocess.CompletedProcess[str]:
    command = f'run() {{ "{sys.executable}" -m metassay "$@"; }}; {line}'
    return subprocess.run(["bash", "-c", command, "bash", data], capture_output=True, text=True, check=False)


@pytest.mark.posix
def test_closed_streams_end_in_words_or_silence(data) -> None:
    closed = shell("run check - <&-", data)
    assert (closed.returncode, closed.stdout) == (2, "")
    assert closed.stderr.startswith("standard input is closed.")
    assert shell('run check "$1" 2>&-', data).returncode == 0
    assert shell("run check absent.csv 2>&-", data).returncode == 2
    assert shell('run check "$1" >&-', data).returncode == 0
    alone = shell('run check "$1" --json 2>&-', data)
    assert alone.stdout.startswith('{"schema_version"')
    assert alone.stdout.count("\n") == 1


@pytest.mark.posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "line", ['run check "$1"', 'run check "$1" --json', "run --help", "run list metrics"]
)
def test_output_to_a_full_device_is_an_error_of_one_line(data, line) -> None:
    full = shell(f"{line} > /dev/full", data)
    assert full.returncode == 2
    assert "The output cannot be written (No space left on device)." in full.stderr
    assert "Traceback" not in full.stderr
    assert "defect" not in full.stderr


def test_judge_of_the_root_folder_is_refused(capfd) -> None:
    assert run(["judge", "/"]) == 2
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("verb", ["depend", "rank", "estimate"])
def test_a_score_that_cannot_be_squared_is_refused_by_row(capfd, tmp_path, verb) -> None:
    table = tmp_path / "scores.csv"
    rows = [f"{n},{s},en-de,{n},{'1e308' if (n, s) == (3, 'b') else n}" for n in range(20) for s in "ab"]
    table.write_text("\n".join(["seg_id,system,lp,mqm,metric", *rows]))
    assert run([verb, str(table), "--human", "mqm", "--json"]) == 2
    assert "scores.csv, row 8, column metric: a score of 1e+308 is too large" in capfd.readouterr().err


@pytest.mark.posix
def test_a_process_substitution_is_read_whole(data) -> None:
    direct = shell('run score "$1" --json --quiet', data)
    through = shell('run score <(cat "$1") --json --quiet', data)
    assert through.returncode == 0, through.stderr
    assert through.stdout == direct.stdout


PLUGIN = """
class Reader:
    def sniff(self, path):
        return path.endswith(".mine")

    def read(self, path):
        return [][0]

reader = Reader()
"""


def test_a_plug_in_that_fails_is_named_with_its_file_and_line(tmp_path) -> None:
    site = tmp_path / "site"
    (site / "theirs-1.dist-info").mkdir(parents=True)
    (site / "theirs-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (site / "theirs-1.dist-info" / "entry_points.txt").write_text(
        "[metassay.readers]\nmine = theirs:reader\n"
    )
    (site / "theirs.py").write_text(textwrap.dedent(PLUGIN))
    (tmp_path / "a.mine").write_text("x")
    paths = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])

    def said() -> str:
        done = subprocess.run(
            [sys.executable, "-m", "metassay", "check", tmp_path / "a.mine"],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": paths},
        )
        assert done.returncode == 2, done.stderr
        return done.stderr

    assert f"{site / 'theirs.py'}, line 7: IndexError: list index out of range\n" in said()
    assert "a failure of the plug-in mine (metassay.readers: theirs:reader), not of metassay" in said()
    (site / "theirs.py").write_text("import nothing_of_that_name\n")
    assert "theirs.py, line 1: ModuleNotFoundError" in said()
    (site / "theirs.py").unlink()
    assert "the plug-in mine (metassay.readers: theirs:reader) cannot be loaded" in said()


def test_a_panic_below_python_does_not_pass_the_last_door(capfd, data, monkeypatch) -> None:
    from polars.exceptions import PanicException

    def panic(*_: object, **__: object) -> None:
        raise PanicException("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr("metassay.data.reading.read_tables", panic)
    assert run(["check", str(data)]) == 1
    assert "This is a defect of metassay" in capfd.readouterr().err


def test_names_longer_than_a_file_may_have(capfd, tmp_path) -> None:
    """A data set, a system and a metric each have one here; file systems take 255 bytes."""
    long = "é" * 200
    rows = TABLE.replace("seg_id,", "testset,seg_id,").replace(",other", f",{long}").split("\n")
    lines = [rows[0], *(f"{long},{row}".replace(",a,", f",{long},") for row in rows[1:] if row)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    for command in ("rank", "depend"):
        status = run([command, str(path), "--out", str(tmp_path / command), "--quiet", "--draws", "9"])
        assert status == 0, capfd.readouterr().err


def test_more_memory_than_there_is_is_no_defect_of_ours(data, tmp_path, capfd) -> None:
    own = tmp_path / "own.py"
    own.write_text("import numpy as np\ndef big(output: str) -> float:\n    return np.ones(10**17).sum()\n")
    said = refused(capfd, "score", data, "--task", "mt", "--metric-file", f"{own}:big", "--quiet")
    assert said.startswith("There is not enough memory")
