"""Pairs from human scores and from files, weights of outputs, and properties of contexts."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
import sacrebleu

from metassay.cli import run_command_line as run
from metassay.data.clusters import assign_outputs_to_clusters
from metassay.data.context import group_outputs_by_context
from metassay.data.dataset import Dataset
from metassay.errors import InputError, UnknownName
from metassay.sample import get_bundled_sample_path
from metassay.workflows.assay import assay
from metassay.workflows.context_facts import summarize_outputs_by_context
from metassay.workflows.human_pairs import (
    _arrange_scores_by_system_and_item,
    find_human_column,
    pair_outputs_by_human_score,
)
from metassay.workflows.output_weights import compute_weight_of_each_output
from metassay.workflows.read import read

FAST = {"resamples": 60, "permutations": 39}


@pytest.fixture
def data() -> Dataset:
    rows = [
        ("1", "a", "w x y", 0.0, 1.0), ("1", "b", "w x", -1.0, 2.0), ("1", "c", "w", -6.0, 1.0),
        ("2", "a", "p", -2.0, 3.0), ("2", "b", "q", -2.0, 1.0), ("2", "c", "q r", None, 1.0),
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "system", "output", "mqm", "views"], orient="row")
    return Dataset("mt", frame.with_columns(references=pl.lit(["w x y z"])), human=("mqm",))


def test_human_pairs_are_all_outputs_with_different_human_scores(data) -> None:
    pairs = (
        pair_outputs_by_human_score(data, "mqm")
        .frame.select("item", "system", "worse_system", "output", "worse")
        .rows()
    )
    assert pairs == [
        ("1", "a", "b", "w x y", "w x"),
        ("1", "a", "c", "w x y", "w"),
        ("1", "b", "c", "w x", "w"),
    ]
    assert pair_outputs_by_human_score(data, "mqm", 1).frame.height == 2
    with pytest.raises(InputError, match="by more than 6"):
        pair_outputs_by_human_score(data, "mqm", 6)


def test_human_score_must_exist_and_be_unique(data) -> None:
    assert find_human_column(data, None) == "mqm"
    with pytest.raises(UnknownName, match="Did you mean mqm"):
        find_human_column(data, "mqn")
    with pytest.raises(InputError, match="exactly one human score is needed, but the data has: none"):
        find_human_column(Dataset("mt", data.outputs), None)


def test_assay_of_human_pairs(data) -> None:
    found = assay(data, metrics="length,chrf", pairs="human", contexts=["system"], **FAST).to_dict()
    assert {row["metric"]: row["accuracy"] for row in found["global"]} == {"length": 1.0, "chrf": 1.0}
    assert found["perturbations"] == {"human": 3}


def test_weights_from_a_column(data) -> None:
    weights = compute_weight_of_each_output(data, "views", [group_outputs_by_context(data, "system")])
    assert weights.tolist() == [1, 2, 1, 3, 1, 1]
    assert compute_weight_of_each_output(data, "uniform", []) is None
    with pytest.raises(InputError, match="weights are positive numbers"):
        compute_weight_of_each_output(data, "mqm", [])
    with pytest.raises(UnknownName):
        compute_weight_of_each_output(data, "vews", [])


def test_density_gives_typical_outputs_more_weight() -> None:
    lengths = [10] * 30 + [60]
    frame = pl.DataFrame(
        {"item": [f"{i:02d}" for i in range(31)], "system": "s", "output": ["w " * n for n in lengths]}
    )
    data = Dataset("mt", frame)
    weights = compute_weight_of_each_output(data, "density", [group_outputs_by_context(data, "system")])
    assert weights[-1] < weights[0]
    assert weights.mean() == pytest.approx(1)


def test_metadata_of_contexts_is_constant_in_each(data) -> None:
    frame = data.outputs.with_columns(
        family=pl.col("system").replace_strict({"a": "x", "b": "x", "c": "y"}), nothing=pl.lit("same")
    )
    found = summarize_outputs_by_context(
        Dataset("mt", frame, human=("mqm",)), [group_outputs_by_context(data, "system")]
    )
    known = found["system"]
    assert known["family"] == ["x", "x", "y"]
    assert known["output_length"] == [2.0, 1.5, 1.5]
    assert known["mean_mqm"] == [-1.0, -1.5, -6.0]
    assert "nothing" not in known
    assert "views" not in known


def test_systems_are_compared_on_segments_with_human_scores_for_all() -> None:
    """Two test sets, a system without scores in one, and segments with missing scores, compared with a search
    by hand.
    """
    rng = np.random.default_rng(3)
    rows = [
        {"item": f"{lp}-{item}", "system": system, "output": "x", "lp": lp, "mqm": float(rng.normal())}
        for lp in ("en-de", "en-ru")
        for item in range(30)
        for system in ("Z", "a", "b")
        if (lp, system) != ("en-ru", "a") and rng.random() > 0.1
    ]
    rows = [row | {"mqm": row["mqm"] if rng.random() > 0.1 else None} for row in rows]
    dataset = Dataset("mt", pl.DataFrame(rows, infer_schema_length=None), human=("mqm",))
    unit, scores = assign_outputs_to_clusters(dataset, None), rng.normal(size=(2, len(rows)))
    places = {(row["item"], row["system"]): n for n, row in enumerate(dataset.outputs.to_dicts())}
    scored = {key for key, n in places.items() if dataset.outputs["mqm"][n] is not None}
    expected = []
    for lp, systems in (("en-de", ("Z", "a", "b")), ("en-ru", ("Z", "b"))):
        items = dict.fromkeys(item for item, _ in places if item.startswith(lp))
        whole = [item for item in items if all((item, system) in scored for system in systems)]
        assert 0 < len(whole) < len(items)
        expected.append([[places[item, system] for item in whole] for system in systems])
    found = _arrange_scores_by_system_and_item(dataset, "mqm", unit, scores)
    assert len(found) == 2
    for one, rows_of in zip(found, expected):
        assert np.array_equal(one.human, dataset.outputs["mqm"].to_numpy()[rows_of])
        assert np.array_equal(one.metrics, scores[:, rows_of])
        assert np.array_equal(one.clusters, unit.codes[rows_of[0]])


def test_accuracy_of_chrf_on_human_pairs_rises_with_the_gap(real_data) -> None:
    dataset = read(real_data("wmt23/wmt23_en-de.parquet"))
    options = {"metrics": "chrf", "pairs": "human", "human": "mqm", "contexts": ["domain"], **FAST}
    close, wide = (
        assay(dataset, minimum_gap=gap, **options).to_dict()["global"][0]["accuracy"] for gap in (0.0, 10.0)
    )
    assert 0.55 < close < wide < 0.95
    assert np.isfinite(wide)


BROUGHT = pl.DataFrame(
    [
        ("1", "the cat sat", "the cat", "cut", "minor", "a cat sat"),
        ("1", "the cat sat", "a dog ran", "other", "major", "a cat sat"),
        ("2", "we ran home", "we ran home", "cut", "minor", "we ran back home"),
        ("2", "we ran home", "we ran", "cut", "minor", "we ran back home"),
        ("3", "it rains", "it does not rain", "other", "major", "it rains hard"),
        ("3", "it rains", None, "other", "major", "it rains hard"),
    ],
    schema=["item", "output", "worse", "perturbation", "severity", "ref"],
    orient="row",
)


def test_pairs_of_the_user_are_assayed() -> None:
    result = assay(None, pairs=BROUGHT, metrics="length", **FAST)
    found = result.to_dict()
    assert found["perturbations"] == {"cut": 2, "other": 2}
    assert found["left_out"] == {"no worse text": 1, "both sides of the pair are equal": 1}
    assert list(found["contexts"]) == ["perturbation", "severity"]
    # longer is right on both cuts, a tie on (1, other), wrong on (3, other)
    rows = found["contexts"]["perturbation"]["local_accuracy"]
    assert {row["context"]: row["micro"] for row in rows} == {"cut": 1.0, "other": 0.0}
    assert found["global"][0]["micro"] == 0.5
    assert "The 4 pairs contain 3 distinct outputs. Each pair counts as one output." in found["notes"]


def test_order_of_pairs_does_not_matter() -> None:
    first, second = (
        assay(None, pairs=frame, metrics="chrf,bleu", **FAST) for frame in (BROUGHT, BROUGHT.reverse())
    )
    assert first.to_json() == second.to_json()
    assert first.dataset.content_hash == second.dataset.content_hash


def test_pairs_without_metadata_have_no_context_tests() -> None:
    bare = BROUGHT.select("item", "worse", good="output")
    dataset = read(bare, pairs=True, columns={"output": "good"})
    found = assay(dataset, metrics="length", **FAST).to_dict()
    assert found["global"][0]["micro"] == 0.5
    assert found["perturbations"] == {"unnamed": 4}
    assert found["contexts"]["system"]["h1"] is None


def test_invalid_pairs_are_errors() -> None:
    with pytest.raises(UnknownName, match="Did you mean human"):
        assay(None, pairs="humna")
    with pytest.raises(InputError, match="no column holds the worse"):
        assay(None, pairs=BROUGHT.drop("worse"))
    with pytest.raises(InputError, match="no data was named"):
        assay(None)
    with pytest.raises(InputError, match="cannot be combined with other data"):
        assay(BROUGHT, pairs=BROUGHT)
    with pytest.raises(InputError, match="neither perturbed"):
        assay(None, pairs=BROUGHT, perturbations="removal")


def test_command_reads_a_file_of_pairs(tmp_path, capsys) -> None:
    BROUGHT.write_parquet(tmp_path / "pairs.parquet")
    asked = ["assay", "--pairs", f"{tmp_path}/pairs.parquet", "--metrics", "chrf", "--context", "severity"]
    assert run([*asked, "--quiet", "--out", f"{tmp_path}/run"]) == 0
    written = json.loads((tmp_path / "run/results/assay.json").read_text())
    assert written["contexts"].keys() == {"severity"}
    assert (
        json.loads((tmp_path / "run/manifest.json").read_text())["identity"]["configuration"]["pairs"]
        == "given"
    )
    assert run([*asked, f"{tmp_path}/pairs.parquet", "--json"]) == 2
    assert "Leave DATA out" in capsys.readouterr().err


def test_speech_is_normalised_on_both_sides_of_a_pair() -> None:
    pairs = [
        {"item": "1", "output": "Hello, World!", "worse": "hello world", "ref": "hello world"},
        {"item": "1", "output": "Hello", "worse": "Yellow.", "ref": "hello"},
    ]
    found = assay(read(pairs, pairs=True, task="asr"), metrics="wer", **FAST).to_dict()
    assert found["left_out"] == {"both sides of the pair are equal": 1}
    assert found["global"][0]["micro"] == 1.0


def test_demetr_has_the_known_accuracies(real_data) -> None:
    """Of 31,320 pairs BLEU is right in .760, chrF in .844; on negation as sacrebleu itself says."""
    file = real_data("challenge/demetr.parquet")
    found = assay(read(file, pairs=True, task="mt", language="en"), metrics="bleu,chrf", **FAST).to_dict()
    assert found["left_out"] == {"both sides of the pair are equal": 15}
    right = {row["metric"]: row["micro"] * row["pairs"] for row in found["global"]}
    assert {metric: round(count / 31_320, 3) for metric, count in right.items()} == {
        "bleu": 0.76,
        "chrf": 0.844,
    }
    assert list(found["contexts"]) == ["perturbation", "severity", "language"]
    rows = found["contexts"]["perturbation"]["local_accuracy"]
    ours = {row["context"]: row["micro"] for row in rows if row["metric"] == "chrf"}
    table = pl.read_parquet(file).filter(pl.col("perturbation") == "negation")
    official = [
        sacrebleu.sentence_chrf(output, [ref]).score > sacrebleu.sentence_chrf(worse, [ref]).score
        for output, worse, ref in table.select("output", "worse", "ref").iter_rows()
    ]
    assert ours["negation"] == pytest.approx(np.mean(official))
    unseen = {row["metric"]: {each["method"] for each in row["unseen"]} for row in found["confounding"]}
    assert (
        unseen["bleu"] == unseen["chrf"] == {"reference", "tokenized"}
    )  # worse is the reference; spaces alone
    assert all(len(part["h1"]) == 2 and part["h2"]["matrix"] for part in found["contexts"].values())


def test_a_metric_that_knows_only_system_names_is_never_recommended(tmp_path) -> None:
    """It prefers the best system. Before, it was right in all pairs of that system, and recommended."""
    dataset = read(get_bundled_sample_path("mt"))
    # Scores are found by their text, so items with two equal outputs are left out.
    is_single = dataset.outputs.select(~pl.struct("item", "output").is_duplicated()).to_series()
    dataset = dataset.filter_rows(is_single, reason="equal outputs")
    means = dataset.outputs.group_by("system").agg(pl.col("mqm").mean())
    best_system = means.sort("mqm")["system"][-1]
    likes_the_best = (pl.col("system") == best_system).cast(pl.Float64).alias("likes_the_best")
    file = tmp_path / "scores.csv"
    dataset.outputs.select("item", "output", likes_the_best).write_csv(file)
    result = assay(
        dataset,
        pairs="human",
        human="mqm",
        metrics="bleu,chrf",
        scores=file,
        contexts="system",
        resamples=60,
        permutations=39,
    )
    for recommended in result.to_dict()["recommendation"]["system"].values():
        assert recommended["metrics"][0] != "likes_the_best"
    assert any(
        "the same system have the same score of likes_the_best" in note for note in result.to_dict()["notes"]
    )
