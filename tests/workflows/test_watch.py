"""`watch`: stable runs raise no alarm, a changed run does, and the exit status says so."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import polars as pl
import pytest

import metassay
from metassay.cli import run_command_line as run
from metassay.errors import InputError
from metassay.results.watch import ACCURACY, HUMAN_AGREEMENT, JUDGE_ACCURACY, JUDGE_CONSISTENCY
from metassay.schemas import build_json_schema_of_output

ITEMS = 200


def make_run(folder, share_right: float, seed: int, items: int = ITEMS):
    """Assay pairs of which the longer output is the better one with this probability."""
    generator = np.random.default_rng(seed)
    is_right = generator.random(items) < share_right
    long = "a longer text of six words"
    pairs = pl.DataFrame(
        {
            "item": [f"{seed}-{n}" for n in range(items)],
            "output": [long if right else "short" for right in is_right],
            "worse": ["short" if right else long for right in is_right],
            "ref": "a reference",
            "subset": ["x" if n % 2 else "y" for n in range(items)],
        }
    )
    metassay.assay(
        None,
        pairs=pairs,
        metrics="length",
        contexts=["subset"],
        resamples=50,
        permutations=19,
        out=folder,
    )
    return is_right.mean()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Eight runs with accuracy .9, then six with accuracy .6."""
    folder = tmp_path_factory.mktemp("runs")
    shares = [make_run(folder / f"run{n:02d}", 0.9 if n < 8 else 0.6, seed=n) for n in range(14)]
    return folder, shares


def test_a_changed_accuracy_is_reported(runs) -> None:
    folder, shares = runs
    result = metassay.watch(folder)
    series = next(entry for entry in result.series if entry.metric == "length")
    assert [point.value for point in series.runs] == pytest.approx(shares)
    assert result.changed
    assert series.change.first_run.endswith("run08")
    assert series.change.before.value > series.change.after.value
    assert {entry.measure for entry in result.series} <= {ACCURACY, HUMAN_AGREEMENT}


def test_stable_runs_raise_no_alarm(runs) -> None:
    folder, _ = runs
    result = metassay.watch(*[folder / f"run{n:02d}" for n in range(8)])
    assert not result.changed
    assert "No change is shown in 8 runs." in result.build_page().lead[0]


def test_exit_status_is_3_on_change(runs, tmp_path, capsys) -> None:
    folder, _ = runs
    page = tmp_path / "watch.html"
    assert run(["watch", str(folder), "--fail-on", "change", "--json", "--page", str(page)]) == 3
    content = json.loads(capsys.readouterr().out)
    jsonschema.validate(content, build_json_schema_of_output("watch"))
    assert "Did anything change?" in page.read_text()
    stable = [str(folder / f"run{n:02d}") for n in range(4)]
    assert run(["watch", *stable, "--fail-on", "change"]) == 0
    assert "No change is shown" in capsys.readouterr().out


def test_one_run_is_refused(runs) -> None:
    folder, _ = runs
    with pytest.raises(InputError, match="only one run"):
        metassay.watch(folder / "run00")


def make_ranking_run(folder, noise: float, seed: int, items: int = 60) -> float:
    """Rank a metric whose scores are human scores plus noise; return its SPA."""
    generator = np.random.default_rng(seed)
    quality = np.linspace(0, 1.5, 6)[:, None]
    human = quality + generator.normal(size=(6, items))
    system, item = (axis.ravel() for axis in np.indices(human.shape))
    table = pl.DataFrame(
        {
            "system": [f"s{number}" for number in system],
            "seg_id": item,
            "mqm": human.ravel(),
            "metric": (human + noise * generator.normal(size=human.shape)).ravel(),
        }
    )
    result = metassay.rank(table, human="mqm", meta="acc_eq", draws=20, out=folder)
    return next(metric.value for metric in result.rankings[0].metrics if metric.metric == "metric")


def test_a_changed_ranking_is_reported(tmp_path) -> None:
    values = [make_ranking_run(tmp_path / f"r{n}", 0.5 if n < 6 else 3.0, n) for n in range(10)]
    result = metassay.watch(tmp_path)
    series = next(entry for entry in result.series if entry.metric == "metric")
    assert series.measure == "acc_eq"
    assert [point.value for point in series.runs] == pytest.approx(values)
    assert series.change.first_run.endswith("r6")
    assert "changed from" in result.build_page().lead[0]
    assert not metassay.watch(*[tmp_path / f"r{n}" for n in range(6)]).changed


def test_rankings_over_many_more_items_are_not_compared(tmp_path) -> None:
    for number, items in enumerate((60, 62, 200)):
        make_ranking_run(tmp_path / f"r{number}", 0.5, number, items)
    result = metassay.watch(tmp_path)
    assert [len(entry.runs) for entry in result.series] == [2]
    assert any("another number of systems or items" in note for note in result.notes)


def make_judge_run(folder, share_right: float, seed: int, items: int = 100) -> float:
    """Let a judge compare two outputs in both orders; the first output is the better one."""
    generator = np.random.default_rng(seed)
    rows = []
    right = 0
    for item in range(items):
        for swapped in (False, True):
            is_right = generator.random() < share_right
            right += is_right
            winner = 1 if is_right else 2
            rows.append({"item": str(item), "judge": "J", "swapped": swapped, "winner": winner, "better": 1})
    metassay.judge(pl.DataFrame(rows), out=folder)
    return right / len(rows)


def test_a_judge_that_drifts_is_reported_and_other_runs_are_left_out(tmp_path) -> None:
    shares = [make_judge_run(tmp_path / f"j{n}", 0.9 if n < 5 else 0.65, n) for n in range(9)]
    table = pl.DataFrame(
        {"seg_id": [*range(30)] * 2, "system": ["a"] * 30 + ["b"] * 30, "M": np.arange(60.0), "mqm": 1.0}
    )
    metassay.annotate(table.drop("mqm"), count=5, out=tmp_path / "k")
    result = metassay.watch(tmp_path)
    by_measure = {entry.measure: entry for entry in result.series}
    assert set(by_measure) == {JUDGE_ACCURACY, JUDGE_CONSISTENCY}
    assert [point.value for point in by_measure[JUDGE_ACCURACY].runs] == pytest.approx(shares)
    assert by_measure[JUDGE_ACCURACY].change.first_run.endswith("j5")
    assert any("a run of `metassay annotate`" in note for note in result.notes)
    jsonschema.validate(json.loads(result.to_json()), build_json_schema_of_output("watch"))


def test_judge_runs_with_other_options_are_not_watched_together(tmp_path) -> None:
    rows = [
        {"item": str(item), "judge": "J", "swapped": swapped, "winner": 1 + item % 2, "better": 1}
        for item in range(40)
        for swapped in (False, True)
    ]
    metassay.judge(pl.DataFrame(rows), ties="half", out=tmp_path / "half")
    metassay.judge(pl.DataFrame(rows), ties="half", seed=1, epsilon=0.1, out=tmp_path / "seed")
    metassay.judge(pl.DataFrame(rows), ties="strict", out=tmp_path / "strict")
    assert not metassay.watch(tmp_path / "half", tmp_path / "seed").changed
    with pytest.raises(InputError, match=r"strict: .*half, .*\(ties: half before, strict now\)"):
        metassay.watch(tmp_path / "half", tmp_path / "strict")


def test_a_value_from_few_items_is_not_watched_and_the_result_says_so(runs, tmp_path):
    folder, _ = runs
    make_run(tmp_path / "small", 0.9, seed=99, items=29)
    result = metassay.watch(folder / "run00", folder / "run01", tmp_path / "small")
    (series,) = [entry for entry in result.series if entry.metric == "length"]
    assert len(series.runs) == 2
    (note,) = [note for note in result.notes if "fewer than 30" in note]
    assert "small" in note
    assert "run00" not in note
    assert [claim.sentence for claim in result.verdict] == [str(line) for line in result.build_page().lead]


def test_compare_has_its_sentences_as_verdict(runs):
    folder, _ = runs
    before, after = str(folder / "run00"), str(folder / "run13")
    claims = metassay.compare(before, after).to_dict()["verdict"]
    assert claims[0]["sentence"].startswith("length lost accuracy over all contexts: ")
    assert {claim["scope"] for claim in claims} == {f"{before} → {after}"}
    claims = metassay.compare(before, before).to_dict()["verdict"]
    assert [claim["sentence"] for claim in claims] == ["Nothing changed by more than chance."]
