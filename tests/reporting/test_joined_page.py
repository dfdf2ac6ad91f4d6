"""One page for several runs: what it joins, what it refuses, and that it says what the runs say."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import msgspec
import polars as pl
import pytest

from metassay.cli import run_command_line as command
from metassay.data.fingerprint import hash_outputs_and_human_scores
from metassay.errors import InputError
from metassay.reporting.joined_page import build_joined_page
from metassay.results.aggregate import AggregateContent
from metassay.results.assay import AssayContent
from metassay.results.depend import DependContent
from metassay.results.rank import RankContent
from metassay.sample import get_bundled_sample_path
from metassay.workflows.report import report

QUICK = ["--metrics", "bleu,chrf", "--quiet", "--out"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each verb on one part of the sample, and one of `rank` on another part."""
    folder = tmp_path_factory.mktemp("runs")
    rows = pl.read_parquet(get_bundled_sample_path("mt"))
    here, there = folder / "here.parquet", folder / "there.parquet"
    rows.filter(pl.col("domain") == "news").write_parquet(here)
    rows.filter(pl.col("domain") == "howto").write_parquet(there)
    few = ["--resamples", "60", "--permutations", "39", "--perturbations", "removal,swapping"]
    assert command(["assay", str(here), *few, *QUICK, str(folder / "assay")]) == 0
    assert command(["rank", str(here), "--draws", "99", *QUICK, str(folder / "rank")]) == 0
    depend = ["depend", str(here), "--draws", "99", "--bootstraps", "20", *QUICK, str(folder / "depend")]
    assert command(depend) == 0
    few = ["--resamples", "50", "--repeats", "50"]
    assert command(["aggregate", str(here), *few, *QUICK, str(folder / "aggregate")]) == 0
    assert command(["rank", str(there), "--draws", "99", *QUICK, str(folder / "elsewhere")]) == 0
    return folder


def results(runs: Path) -> dict[str, dict]:
    return {
        verb: json.loads((runs / verb / "results" / f"{verb}.json").read_text("utf-8"))
        for verb in ("assay", "rank", "depend", "aggregate")
    }


def build_page(found):
    ranking = msgspec.convert(found["rank"], RankContent) if "rank" in found else None
    dependence = msgspec.convert(found["depend"], DependContent) if "depend" in found else None
    aggregation = msgspec.convert(found["aggregate"], AggregateContent) if "aggregate" in found else None
    assay = msgspec.convert(found["assay"], AssayContent) if "assay" in found else None
    return build_joined_page(assay, ranking, dependence, aggregation)


def test_every_metric_has_one_row_with_what_each_run_found(runs):
    found = results(runs)
    page = build_page(found)
    (table,) = page.sections[0].grids
    rows = {row["metric"].spec: row for row in table.rows}
    assert set(rows) == {"bleu", "chrf"}
    for name, row in rows.items():
        overall = next(each for each in found["assay"]["global"] if each["metric"] == name)
        assert row["accuracy"].startswith(f"{100 * overall['accuracy']:.0f}")
        (spa,) = [each for each in found["rank"]["results"] if each["meta"] == "spa"]
        agreed = next(each for each in spa["metrics"] if each["metric"] == name)
        assert (row["meta-metric spa"], row["cluster"]) == (agreed["value"], agreed["rank"])
        (entry,) = [each for each in found["depend"]["metrics"] if each["metric"] == name]
        assert row["sysdep"] == entry["sysdep"]
        corpus = [
            each["pearson"]
            for each in found["aggregate"]["human"]
            if (each["metric"], each["aggregation"], each["group"]) == (name, "corpus", "mean")
        ]
        assert [row["corpus"]] == corpus
        assert row["summary"].startswith(f"{row['metric']} is right in ")
        assert f"SPA {agreed['value']:.3f}" in row["summary"]
        assert not re.search(r"—|None|nan|,\.|  ", row["summary"])


def test_the_first_sentence_is_the_choice_of_the_assay_as_people_see_it(runs):
    found = results(runs)
    choice = found["assay"]["answer"]["metric"]
    (spa,) = [each for each in found["rank"]["results"] if each["meta"] == "spa"]
    rank = next(each["rank"] for each in spa["metrics"] if each["metric"] == choice)
    lead = build_page(found).lead
    label = {"bleu": "BLEU", "chrf": "chrF"}[choice]
    assert lead[0].startswith(f"Use {label}")
    assert lead[1].startswith(f"{label} in the other results: it ")
    assert ("it is also first or tied by agreement with people (SPA)" in lead[1]) == (rank == 1)


def test_fewer_runs_make_a_page_with_fewer_columns(runs):
    found = results(runs)
    page = build_page({verb: found[verb] for verb in ("rank", "aggregate")})
    (table,) = page.sections[0].grids
    assert [field.key for field in table.fields] == [
        "metric",
        "summary",
        "meta-metric spa",
        "cluster",
        "corpus",
        "segment",
    ]


def test_a_metric_that_one_run_does_not_have_is_a_doubt(runs):
    found = results(runs)
    kept = [row for row in found["aggregate"]["systems"] if row["metric"] == "bleu"]
    found["aggregate"] |= {"systems": kept, "human": []}
    assert "Not every run has chrF: their rows have gaps." in build_page(found).doubts


def test_the_command_writes_page_figures_and_tables(runs, tmp_path, capsys):
    page = tmp_path / "page.html"
    named = [str(runs / verb) for verb in ("assay", "rank", "depend", "aggregate")]
    status = command(["report", *named, "--out", str(page), "--figures", "svg", "--tables", "latex"])
    assert status == 0
    assert f"Report: {page}" in capsys.readouterr().out
    assert page.read_text("utf-8").startswith("<!doctype html>")
    drawn = sorted(each.name for each in (tmp_path / "figures").iterdir())
    assert {
        "accuracy-and-agreement-one.svg",
        "accuracy-and-agreement-two.svg",
        "residuals-es-en-one.svg",
    } <= set(drawn)
    assert (tmp_path / "tables" / "every-metric.tex").read_text("utf-8").count(r"\\") == 3


def test_runs_of_other_data_are_refused_with_a_reason(runs):
    with pytest.raises(InputError, match=r"of other data than .*assay: their human scores \(mqm\) differ"):
        report(runs / "assay", runs / "elsewhere", out=runs / "page.html")


def test_without_human_scores_items_and_systems_decide(runs, tmp_path):
    for name in ("assay", "elsewhere", "rank"):
        shutil.copytree(runs / name, tmp_path / name)
        manifest = json.loads((tmp_path / name / "manifest.json").read_text("utf-8"))
        manifest["data"]["human"] = {}
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="their items or systems differ"):
        report(tmp_path / "assay", tmp_path / "elsewhere", out=tmp_path / "page.html")
    assert report(tmp_path / "assay", tmp_path / "rank", out=tmp_path / "page.html").is_file()


def test_what_cannot_be_joined_is_said(runs, tmp_path):
    with pytest.raises(InputError, match="no file for the page was named"):
        report(runs / "assay", runs / "rank")
    with pytest.raises(InputError, match="a second run of `metassay rank`, in addition to"):
        report(runs / "rank", runs / "elsewhere", out=tmp_path / "page.html")
    shutil.copytree(runs / "rank", tmp_path / "judge")
    manifest = json.loads((tmp_path / "judge" / "manifest.json").read_text("utf-8"))
    manifest["identity"]["command"] = "judge"
    (tmp_path / "judge" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="a run of `metassay judge`, which has a page of its own"):
        report(runs / "rank", tmp_path / "judge", out=tmp_path / "page.html")
    del manifest["data"]
    manifest["identity"]["command"] = "depend"
    (tmp_path / "judge" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="does not name the data of the run"):
        report(runs / "rank", tmp_path / "judge", out=tmp_path / "page.html")


def test_a_page_that_cannot_be_written_is_said(runs, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        report(runs / "rank", out=tmp_path)


def test_marks_tell_data_apart_and_nothing_else():
    """The same whatever the order of rows and the sign of a score; another if a name or a score is another."""
    rows = {"item": ["1", "2", "1"], "system": ["a", "a", "b"], "mqm": [-1.0, None, 0.0]}
    frame = pl.DataFrame(rows)
    marks = hash_outputs_and_human_scores(frame, ["mqm"])
    assert (marks["items"], marks["systems"]) == (2, 2)
    assert hash_outputs_and_human_scores(frame[[2, 0, 1]].with_columns(-pl.col("mqm")), ["mqm"]) == marks
    other = hash_outputs_and_human_scores(frame.with_columns(mqm=pl.Series([-2.0, None, 0.0])), ["mqm"])
    assert (other["keys"], other["human"] != marks["human"]) == (marks["keys"], True)
    assert hash_outputs_and_human_scores(frame.with_columns(item=pl.lit("3")), [])["keys"] != marks["keys"]


@pytest.mark.parametrize("verb", ["rank", "depend", "aggregate", "assay"])
def test_a_page_made_again_is_the_same(runs, verb):
    before = (runs / verb / "report.html").read_bytes()
    assert report(runs / verb).read_bytes() == before
