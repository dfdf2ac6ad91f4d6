"""What people see: tables that fit, help with an example for every command, completion of values."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from metassay.cli import progress
from metassay.cli import run_command_line as run
from metassay.cli.application import COMMAND_GROUPS, build_command_line
from metassay.cli.printing import format_table_cell, print_lines_tables_and_notes, print_table
from metassay.sample import get_bundled_sample_path
from metassay.workflows.terminal_blocks import Details, Line, Table

NUMBER = re.compile(r"[-−]?\d[\d.,]*(?:e-?\d+)?")
WIDE = 400


TASKS = ("mt", "asr", "ranking")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Assays of three samples, small."""
    folder = tmp_path_factory.mktemp("runs")
    for task in ("mt", "asr"):
        frame = pl.read_parquet(get_bundled_sample_path(task))
        item = "seg_id" if task == "mt" else "utt_id"
        few = pl.col(item).is_in(frame[item].unique().sort()[:20].implode())
        frame.filter(few).write_parquet(folder / f"{task}.parquet")
    for task in TASKS:
        quick = ["--resamples", "10", "--permutations", "9", "--quiet", "--out", str(folder / task)]
        assert run(["assay", *data(folder, task), *quick]) == 0
    return folder


def data(folder: Path, task: str) -> list[str]:
    """What to type for a sample."""
    if task != "ranking":
        return [str(folder / f"{task}.parquet"), "--task", task]
    path = get_bundled_sample_path(task)
    return [str(path / "runs"), "--qrels", str(path / "qrels.txt")]


def tables(capfd, monkeypatch, columns: int, arguments: list[str]) -> list[str]:
    """The lines of tables that a command prints on so many columns; commands to type are never broken."""
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run(arguments) == 0
    out = capfd.readouterr().out
    indented = [line.rstrip() for line in out.splitlines() if line.startswith(("  ", " ─"))]
    return [line for line in indented if "  metassay " not in line]


def broken_numbers(capfd, monkeypatch, arguments) -> set[str]:
    """Numbers of tables that fit 80 columns and that a wide terminal does not have: parts of others."""
    narrow = tables(capfd, monkeypatch, 80, arguments)
    assert narrow, arguments
    assert [line for line in narrow if len(line) > 80] == []
    wide = {number for line in tables(capfd, monkeypatch, WIDE, arguments) for number in NUMBER.findall(line)}
    return {number for line in narrow for number in NUMBER.findall(line)} - wide


def test_every_table_of_the_samples_fits_and_breaks_no_number(capfd, monkeypatch, runs) -> None:
    """A number that was broken over two lines would leave a piece that no wide table has."""
    few = ["--human", "mqm", "--metrics", "bleu,chrf", "--draws", "9", "--quiet"]
    mt = str(runs / "mt.parquet")
    commands = [
        *(["recommend", str(runs / task), "-v"] for task in TASKS),
        *(["compare", str(runs / task), str(runs / task)] for task in TASKS),
        *(["score", *data(runs, task), "-q", "-v"] for task in TASKS),
        *(["check", *data(runs, task), "-v"] for task in TASKS),
        ["score", mt, "--metrics", "bleu,chrf", "--test", "bootstrap", "--draws", "9", "-q"],
        ["rank", mt, *few, "--meta", "spa,pearson", "-v"],
        ["depend", mt, *few, "--bootstraps", "5", "-v"],
        ["aggregate", mt, "--resamples", "9", "--repeats", "3", "--quiet", "-v"],
        *(["list", kind] for kind in ("metrics", "perturbations", "readers")),
    ]
    for arguments in commands:
        broken = broken_numbers(capfd, monkeypatch, arguments)
        if arguments[0] != "check":  # which measures time
            assert broken == set(), arguments


def test_tables_of_judges_models_and_the_cache_fit(capfd, monkeypatch, tmp_path, runs) -> None:
    """With names as long as models have; what cannot be measured takes no room."""
    judges = ("gpt-4o-2024-08-06", "meta-llama/Llama-3.1-70B-Instruct", "prometheus-2")
    verdicts = [
        {"item": item, "judge": judge, "winner": 1 + (item * 7 + n) % 3 % 2, "better": 1 + item % 2}
        | {"domain": ("news", "conversation")[item % 2], "swapped": swapped}
        for item in range(20)
        for n, judge in enumerate(judges)
        for swapped in (False, True)
    ]
    scores = [
        {
            "item": item,
            "system": f"s{s}",
            "family": "FG"[s // 2],
            "judge": judge,
            "score": (item * 3 + s * n) % 7,
        }
        | {"human": (item * 5 + s) % 11, "ann": (item + s) % 5, "bea": (item + s) % 6, "cid": (item + s) % 7}
        for item in range(20)
        for s in range(4)
        for n, judge in enumerate(judges)
    ]
    for name, rows in (("verdicts", verdicts), ("scores", scores)):
        pl.DataFrame(rows).write_csv(tmp_path / f"{name}.csv")
    hub, cache = tmp_path / "hub", tmp_path / "cache"
    for name in ("FacebookAI/roberta-large-with-a-long-name", "Unbabel/wmt22-cometkiwi-da"):
        snapshot = hub / f"models--{name.replace('/', '--')}" / "snapshots" / "abc"
        snapshot.mkdir(parents=True)
        (snapshot / "config.json").write_text('{"model_type": "bert"}')
        (snapshot / "model.safetensors").write_text("w")
    monkeypatch.setenv("HF_HUB_CACHE", str(hub))
    quick = ["--resamples", "10", "--permutations", "9", "--quiet", "--metrics", "bleu,chrf,ter"]
    assert (
        run(["assay", *data(runs, "mt"), *quick, "--cache", str(cache), "--out", str(tmp_path / "run")]) == 0
    )
    capfd.readouterr()
    commands = [
        ["judge", str(tmp_path / "verdicts.csv"), "--context", "domain", "-v"],
        ["judge", str(tmp_path / "scores.csv"), "--human", "human", "--people", "ann,bea,cid", "-v"],
        ["models"],
        *(["cache", action, "--cache", str(cache)] for action in ("info", "verify", "prune")),
    ]
    for arguments in commands:
        assert broken_numbers(capfd, monkeypatch, arguments) == set(), arguments


def test_names_of_measures_are_not_pulled_apart(capfd, runs) -> None:
    assert run(["score", *data(runs, "ranking"), "--metrics", "recip_rank,iprec_at_recall_0.10", "-q"]) == 0
    assert capfd.readouterr().out.splitlines()[1].split() == ["system", "recip_rank", "iprec_at_recall_0.10"]


def test_assays_fit(capfd, monkeypatch, runs) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for task in TASKS:
        monkeypatch.chdir(runs)
        assert run(["resume", str(runs / task), "--quiet"]) == 0
        lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith(("  ", " ─"))]
        assert lines
        assert [line for line in lines if len(line.rstrip()) > 80] == []


def test_what_matters_least_goes_first_and_is_named(capfd, monkeypatch) -> None:
    row = {"metric": "chrF++", "chi2": 123.456, "why": "it is " * 20, "p_holm": 0.012345, "wide": "x" * 30}
    monkeypatch.setenv("COLUMNS", "60")
    print_table(Table([row, row], most_important=("metric", "p_holm")))
    out = capfd.readouterr().out
    assert "0.012" in out
    assert "Too wide for 60 columns, so left out: wide. --json has everything." in out
    assert max(map(len, out.splitlines()[:-1])) <= 60
    monkeypatch.setenv("COLUMNS", "200")
    print_table(Table([row, row], most_important=("metric", "p_holm")))
    assert "left out" not in capfd.readouterr().out


def test_every_command_has_its_group_and_an_example_that_parses(capfd) -> None:
    commands = build_command_line().commands
    assert sorted(name for names in COMMAND_GROUPS.values() for name in names) == sorted(commands)
    for name, command in commands.items():
        example = command.example
        program, verb, *arguments = shlex.split(example)
        assert (program, verb) == ("metassay", name)
        command.make_context(name, arguments, resilient_parsing=False)
        assert run([name, "--help"]) == 0
        shown = capfd.readouterr().out
        assert f"Example:\n  {example}\n" in shown
        assert max(map(len, shown.splitlines())) <= 100
    assert run(["score", "--help-all"]) == 0
    headings = re.findall(r"^(\w[\w ]*):$", capfd.readouterr().out, re.MULTILINE)
    assert headings == ["Arguments", "Options", "Data", "Output", "Example"]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("--metrics bleu,chrf", ["bleu,chrf", "bleu,chrf++"]),
        ("--perturbations rem", ["removal", "removal_20"]),
        ("--context dom", ["domain"]),
        ("--task as", ["asr"]),
    ],
)
def test_the_shell_offers_values(typed, offered) -> None:
    words = f"metassay assay {get_bundled_sample_path('mt')} {typed}"
    environment = os.environ | {
        "_METASSAY_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "4"
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "metassay"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == offered


def test_progress_off_a_terminal_tells_rate_and_time_left(monkeypatch, capsys) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    show = progress.PlainProgress()
    for second, done in ((0, 0), (30, 50), (61, 122), (70, 140), (130, 260), (500, 1000)):
        clock[0] = float(second)
        show("scoring", done, 1000)
    assert capsys.readouterr().err.splitlines() == [
        "scoring: 122 of 1000, 2 a second, 7 min left",
        "scoring: 260 of 1000, 2 a second, 6 min left",
        "scoring: done (1000 of 1000)",
    ]


def test_a_table_with_an_interval_says_so(capfd) -> None:
    row = {"metric": "chrF", "accuracy": 0.9, "low": 0.8, "high": 0.95}
    print_table(Table([row], title="Accuracy."))
    print_table(Table([row], title="Accuracy with simultaneous intervals"))
    print_table(Table([{"metric": "chrF", "low": 0.8}], title="Lowest"))
    titles = [line for line in capfd.readouterr().out.splitlines() if re.match("Accuracy|Lowest", line)]
    assert titles == [
        "Accuracy; low and high: 95 % interval",
        "Accuracy with simultaneous intervals",
        "Lowest",
    ]


def test_columns_that_only_later_rows_have_are_printed(capfd) -> None:
    print_table(Table([{"left out": "systems", "correlation": 0.9}, {"left out": "items", "lowest": 0.61}]))
    shown = capfd.readouterr().out.splitlines()
    assert [line.split() for line in shown if "systems" in line or "items" in line] == [
        ["systems", "0.900", "–"],
        ["items", "–", "0.610"],
    ]
    assert any("lowest" in line for line in shown)


def test_details_and_long_tables_wait_for_verbose(capfd) -> None:
    rows = [{"metric": f"M{number}"} for number in range(12)]
    blocks = [Table(rows, most_rows=10), Details([Line("all tests")])]
    print_lines_tables_and_notes(blocks)
    short = capfd.readouterr().out
    assert "M9" in short
    assert "M10" not in short
    assert "2 more rows: --verbose" in short
    assert "all tests" not in short
    print_lines_tables_and_notes(blocks, verbose=True)
    complete = capfd.readouterr().out
    assert "M11" in complete
    assert "more rows" not in complete
    assert "all tests" in complete


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0.5, 3, "0.500"), (0.00012, 3, "0.00012"), (0.00012, 2, "0.00"), (0.0, 3, "0.000"), (None, 3, "–")],
)
def test_small_numbers_keep_their_digits_if_a_column_has_three(value, digits, text) -> None:
    assert format_table_cell(value, digits) == text
