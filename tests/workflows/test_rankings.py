"""Rankings through the functions and the command line: scores, assays, and the error message for each bad
file.
"""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import polars as pl
import pytest

import metassay
from metassay.cli import run_command_line as command_line
from metassay.errors import InputError
from metassay.perturbations.pairs import make_perturbed_output_pairs
from metassay.perturbations.ranking_pairs import compare_gains_of_reordered_lists
from metassay.workflows.assay import read_bundled_sample
from metassay.workflows.ranking_validity import check_if_rankings_became_worse

GOOD = "q1 Q0 a 1 3 bm25\nq1 Q0 b 2 2 bm25\nq1 Q0 c 3 1 bm25\nq2 Q0 a 1 3 bm25\n"
OTHER = "q1 Q0 c 1 3 dense\nq1 Q0 a 2 2 dense\nq2 Q0 b 1 1 dense\n"
QRELS = "q1 0 a 1\nq1 0 c 2\nq2 0 b 1\nq3 0 z 1\n"


@pytest.fixture
def run(capfd):
    """Run the command line. Returns exit status, standard output and standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = command_line(list(arguments))
        captured = capfd.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one.run").write_text(GOOD)
    (tmp_path / "runs" / "two.gz").write_bytes(gzip.compress(OTHER.encode()))
    (tmp_path / "qrels.txt").write_text(QRELS)
    return tmp_path


def test_a_folder_of_runs_is_scored(folder):
    result = metassay.score(
        metassay.read(folder / "runs", qrels=folder / "qrels.txt"), metrics="map,RR,P@1,success_5"
    )
    table = {(row["system"], row["metric"]): row for row in result.to_dict()["systems"]}
    assert table["bm25", "map"]["corpus"] == pytest.approx((1 + 2 / 3) / 2 / 3)
    assert table["dense", "recip_rank"]["segment"] == pytest.approx((1 + 1) / 3)
    assert table["dense", "p_1"]["corpus"] == table["dense", "p_1"]["segment"]


def test_topics_without_a_list_are_left_out_on_request(folder):
    data = metassay.read(folder / "runs", qrels=folder / "qrels.txt", complete=False)
    systems = metassay.score(data, metrics="recip_rank").to_dict()["systems"]
    assert {row["system"]: row["segment"] for row in systems} == {"bm25": 0.5, "dense": 1.0}


def test_the_command_prints_trec_eval_s_numbers(run, real_data, tmp_path):
    folder = real_data("trec_eval/out.test.aqcM").parent
    written = tmp_path / "topics.csv"
    status, out, err = run(
        "score", str(folder / "results.trunc"), "--task", "ranking", "--qrels", str(folder / "qrels.test"),
        "--metrics", "map(depth=100),P_5(depth=100),bpref(depth=100)", "--per-segment", str(written), "--json",
    )  # fmt: skip
    assert status == 0, err
    ours = {row["metric"].partition("(")[0]: row["corpus"] for row in json.loads(out)["systems"]}
    official = {}
    for line in (folder / "out.test.aqcM").read_text().splitlines():
        name, topic, value = (part.strip() for part in line.split("\t"))
        official[name.lower(), topic] = value
    assert {name: f"{value:.4f}" for name, value in ours.items()} == {
        name: official[name, "all"] for name in ours
    }
    for item, _, metric, score in pl.read_csv(written, schema_overrides={"item": pl.String}).iter_rows():
        assert f"{score:.4f}" == official[metric.partition("(")[0], item]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("q1 Q0 a 1 nan t\n", 1),
        ("q1 Q0 a 1 2 t\nq1 Q0 a 2 1 t\n", 2),
        ("# comment\nq9 Q0 a 1 2 t\n", 2),
        ("q1 Q0 a 1 2 t\nq1 Q0 b 2 1\n", 2),
    ],
)
def test_bad_runs_exit_with_file_and_line(run, folder, text, line):
    path = folder / "bad.run"
    path.write_text(text)
    status, _, err = run(
        "score", str(path), "--task", "ranking", "--qrels", str(folder / "qrels.txt"), "--metrics", "map"
    )
    assert status == 2
    assert f"{path}, line {line}: " in err
    assert "Traceback" not in err


def test_errors_for_an_empty_run_and_decimal_grades_name_the_file(run, folder):
    (folder / "empty.run").write_text("")
    (folder / "floats.txt").write_text("q1 0 a 1\nq1 0 b 0.5\n")
    good, qrels = str(folder / "runs"), str(folder / "qrels.txt")
    empty = run("score", str(folder / "empty.run"), "--task", "ranking", "--qrels", qrels)
    floats = run("score", good, "--qrels", str(folder / "floats.txt"))
    assert (empty[0], floats[0]) == (2, 2)
    assert f"{folder / 'empty.run'}, line 1: the file is empty." in empty[2]
    assert f"{folder / 'floats.txt'}, line 2: the grade '0.5' is not a whole number." in floats[2]


def test_rankings_without_judgements_say_what_is_missing(folder):
    with pytest.raises(InputError, match='with qrels="FILE"'):
        metassay.read(folder / "runs")


def test_an_assay_of_rankings(real_data):
    runs = pl.read_parquet(real_data("trec_covid/runs_top100.parquet"))
    some = runs["run"].unique().sort()[:6].to_list()
    data = metassay.read(
        real_data("trec_covid/runs_top100.parquet"),
        qrels=real_data("trec_covid/qrels-round1.txt"),
        systems=some,
    )
    result = metassay.assay(data, metrics=None, contexts=["system"], resamples=100, permutations=99)
    found = result.to_dict()
    assert len(found["global"]) == 23
    assert found["pairs"] == sum(found["perturbations"].values())
    accuracy = {row["metric"]: row["accuracy"] for row in found["global"]}
    assert accuracy["p_10"] == accuracy["recall_10"]  # they differ by a factor that both sides share
    assert accuracy["map"] > accuracy["recip_rank"]
    again = metassay.assay(data, contexts=["system"], resamples=100, permutations=99, workers=1)
    assert again.to_dict() == found
    np.testing.assert_array_equal(again.scored_pairs.worse, result.scored_pairs.worse)


def test_rankings_that_did_not_get_worse_are_counted_and_can_be_dropped(real_data):
    data = metassay.read(
        real_data("trec_covid/runs_top100.parquet"),
        qrels=real_data("trec_covid/qrels-round1.txt"),
        systems=["run1", "BBGhelani1", "udel_fang_run3"],
    )
    quick = {"metrics": "ndcg,recip_rank", "contexts": ["system"], "resamples": 50, "permutations": 49}
    every = metassay.assay(data, valid_pairs=False, **quick).to_dict()
    assert not every["valid_pairs_only"]
    assert any("have lower discounted gain" in note for note in every["notes"])
    validity = every["validity"]
    kinds = ("worse", "equal", "better")
    assert sum(row[kind] for row in validity for kind in kinds) == every["pairs"]
    valid = metassay.assay(data, **quick).to_dict()
    assert valid["valid_pairs_only"]
    assert valid["pairs"] == sum(row["worse"] for row in validity)
    assert valid["global"][0] | {"accuracy": 1.0, "metric": "ndcg"} == valid["global"][0]


def test_scores_equal_the_official_leaderboard(real_data):
    """All 143 runs through `read` and `score`; some return one list for every topic."""
    data = metassay.read(
        real_data("trec_covid/runs_top100.parquet"), qrels=real_data("trec_covid/qrels-round1.txt")
    )
    ours = metassay.score(data, metrics="nDCG@10").to_frame().select(run="system", ours="corpus")
    board = pl.read_csv(real_data("trec_covid/leaderboard-round1.csv")).join(ours, on="run")
    assert board.height == 143
    assert [f"{own:.4f}" for own in board["ours"]] == [f"{official:.4f}" for official in board["ndcg@10"]]


def test_contexts_of_topics_are_joined(folder):
    (folder / "topics.tsv").write_text("topic\tdomain\nq1\tnews\nq2\tlaw\nq3\tnews\n")
    data = metassay.read(folder / "runs", qrels=folder / "qrels.txt", join=folder / "topics.tsv")
    assert data.metadata == ("domain",)
    found = dict(data.outputs.select("item", "domain").unique().iter_rows())
    assert found["q1"] == "news"
    assert found["q2"] == "law"


def test_a_run_from_standard_input_and_one_with_the_ending_of_a_table(folder, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(GOOD.encode()))))
    piped = metassay.read("-", qrels=folder / "qrels.txt")
    (folder / "bm25.tsv").write_text(GOOD.replace(" ", "\t"))
    named = metassay.read(folder / "bm25.tsv", qrels=folder / "qrels.txt")
    assert piped.outputs.equals(named.outputs)
    assert piped.systems == ("bm25",)


def test_perturbation_that_improves_rankings_as_often_as_not_is_refused(tmp_path):
    """Both lists have their only relevant document last, so that any change improves them."""
    (tmp_path / "run.txt").write_text(
        "".join(f"{t} Q0 d{r} {r} {10 - r} last\n" for t in ("q1", "q2") for r in range(1, 6))
    )
    (tmp_path / "qrels.txt").write_text("q1 0 d5 1\nq2 0 d5 1\n")
    data = metassay.read(tmp_path / "run.txt", qrels=tmp_path / "qrels.txt")
    pairs = make_perturbed_output_pairs(data, perturbations="shuffle", per_output=None, seed=0)
    gained = compare_gains_of_reordered_lists(pairs.lists.select_lists(pairs.rows), pairs.copies)
    assert (gained.change >= 0).all()
    with pytest.raises(InputError, match="no pair is valid"):
        check_if_rankings_became_worse(pairs, valid_only=True)
    assert len(check_if_rankings_became_worse(pairs, valid_only=False)) == len(pairs)


def test_refused_perturbation_is_named_and_its_pairs_are_dropped():
    """Of shuffle's pairs that lost gain all but a few are taken away: the rest gained as often as not."""
    data = read_bundled_sample("ranking")
    pairs = make_perturbed_output_pairs(data, perturbations="rank_swapping,shuffle", per_output=None, seed=0)
    found = compare_gains_of_reordered_lists(pairs.lists.select_lists(pairs.rows), pairs.copies)
    methods = pairs.frame["perturbation"].to_numpy()
    bad = np.flatnonzero((methods == "shuffle") & (found.change < 0))[3:]
    kept = np.ones(len(pairs), dtype=bool)
    kept[bad] = False  # of shuffle three pairs that lost remain, among those that gained
    lame = pairs.filter_pairs(kept)
    gained = int(((methods == "shuffle") & (found.change > 0)).sum())
    assert gained >= 3
    result = check_if_rankings_became_worse(lame, valid_only=True)
    assert set(result.frame["perturbation"]) == {"rank_swapping"}
    assert result.validity["shuffle"]["refused"] == 1
    assert "refused" not in result.validity["rank_swapping"]
