"""A summarisation data set in a plain table works with all commands and `--task text`."""

from __future__ import annotations

import json

import polars as pl
import pytest
from rouge_score import rouge_scorer

from metassay.cli import run_command_line as run
from metassay.sample import get_bundled_sample_path
from metassay.workflows.read import read

SUMMARIES = str(get_bundled_sample_path("text"))
CRITERIA = {"coherence", "consistency", "fluency", "relevance"}
METRICS = {"bleu", "chrf", "chrf(word_order=2)", "ter", "rouge1", "rouge2", "rougel"}
SENTENCE_EDITS = {"sentence_removal", "sentence_swapping", "sentence_repetition", "sentence_borrowing"}


def shown(capsys, verb: str, *options: str) -> dict:
    assert run([verb, SUMMARIES, "--task", "text", *options, "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def scores(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("scores") / "scores.parquet"
    assert run(["score", SUMMARIES, "--task", "text", "--per-segment", str(path), "--quiet"]) == 0
    return str(path)


@pytest.fixture(scope="module")
def rouge() -> pl.DataFrame:
    """The table with ROUGE-L as the official package computes it."""
    scorer = rouge_scorer.RougeScorer(["rougeL"])
    rows = pl.read_parquet(SUMMARIES)
    texts = rows.select("ref1", "ref2", "output").iter_rows()
    scored = [scorer.score_multi([ref1, ref2], output)["rougeL"].fmeasure for ref1, ref2, output in texts]
    return rows.with_columns(rougeL=pl.Series(scored))


def test_check_recognises_references_source_and_human_scores(capsys) -> None:
    found = shown(capsys, "check")
    assert found["task"] == "text"
    assert found["human"] == dict.fromkeys(sorted(CRITERIA), 216)
    assert found["references"] == {"2": 216}
    assert found["items"] == 27
    rows = pl.read_parquet(SUMMARIES).sort("id", "system")
    outputs = read(SUMMARIES, task="text").outputs.sort("item", "system")
    assert outputs["source"].to_list() == rows["document"].to_list()
    assert outputs["references"].to_list() == [list(pair) for pair in rows.select("ref1", "ref2").iter_rows()]


def test_assay_includes_edits_of_whole_sentences(capsys) -> None:
    found = shown(capsys, "assay", "--resamples", "50", "--permutations", "19")
    assert found["task"] == "text"
    assert found["items"] == 27
    assert {row["metric"] for row in found["global"]} == METRICS
    assert found["perturbations"].keys() >= SENTENCE_EDITS


@pytest.mark.parametrize("criterion", sorted(CRITERIA))
def test_rank_compares_with_any_human_score(scores, rouge, criterion, capsys) -> None:
    found = shown(
        capsys, "rank", "--join", scores, "--human", criterion, "--meta", "pearson", "--draws", "50"
    )
    (one,) = found["results"]
    values = {row["metric"]: row["value"] for row in one["metrics"] if not row["baseline"]}
    assert values.keys() == METRICS
    means = rouge.group_by("system").agg(pl.col("rougeL", criterion).mean())
    assert values["rougel"] == pytest.approx(means.select(pl.corr("rougeL", criterion)).item())


def test_depend_compares_with_the_named_human_score(scores, capsys) -> None:
    options = ("--join", scores, "--human", "coherence", "--bootstraps", "10", "--draws", "19")
    found = shown(capsys, "depend", *options)
    assert {row["metric"] for row in found["metrics"]} == METRICS
    assert found["human"] == "coherence"
