"""`assay` with human scores: the section `people` of the result agrees with `assay(pairs="human")` and
`rank`.
"""

from __future__ import annotations

import json
from statistics import median

import jsonschema
import msgspec
import polars as pl
import pytest
from rapidfuzz.distance import Levenshtein

import metassay
from metassay.cli import run_command_line as run
from metassay.reporting.assay_report import prepare_assay_report
from metassay.reporting.sections.assay_human_pairs import build_human_pairs_section
from metassay.results.assay import AssayContent
from metassay.sample import get_bundled_sample_path
from metassay.schemas import build_json_schema_of_output
from metassay.workflows.assay import assay
from metassay.workflows.human_pairs import find_pairs_with_different_human_scores
from metassay.workflows.read import read
from metassay.workflows.recommend import recommend

FAST = {"resamples": 60, "permutations": 39, "perturbations": "removal,swapping"}
METRICS = "bleu,chrf,ter"


@pytest.fixture(scope="module")
def dataset():
    return read(get_bundled_sample_path("mt"))


@pytest.fixture(scope="module")
def folder(dataset, tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run"
    assay(dataset, metrics=METRICS, out=path, **FAST)
    return path


@pytest.fixture(scope="module")
def result(folder):
    return json.loads((folder / "results" / "assay.json").read_text())


def test_human_score_of_the_sample_is_used(dataset, result) -> None:
    assert result["people"]["human"] == dataset.human[0]
    jsonschema.validate(result, build_json_schema_of_output("assay"))


def test_human_comparison_equals_an_assay_of_human_pairs(dataset, result) -> None:
    alone = assay(dataset, metrics=METRICS, pairs="human", **FAST | {"perturbations": None}).to_dict()
    rows = {row["metric"]: row for row in result["people"]["metrics"]}
    for row in alone["global"]:
        for key in ("accuracy", "ties", "pairs"):
            assert rows[row["metric"]][key] == pytest.approx(row[key], abs=1e-12)


def test_spa_equals_that_of_rank(dataset, result) -> None:
    ranked = metassay.rank(
        get_bundled_sample_path("mt"), human=dataset.human[0], metrics=METRICS, draws=10
    ).to_dict()
    values = {row["metric"]: row["value"] for row in ranked["results"][0]["metrics"]}
    if ranked["average"]:
        values |= {row["metric"]: row["value"] for row in ranked["average"][0]["metrics"]}
    for row in result["people"]["metrics"]:
        assert row["spa"] == pytest.approx(values[row["metric"]], abs=1e-9)


def test_report_and_terminal_distinguish_perturbed_pairs_human_pairs_and_spa(folder, result, capsys) -> None:
    section = build_human_pairs_section(prepare_assay_report(msgspec.convert(result, AssayContent)))
    assert section is not None
    (agreement,) = [str(sentence) for sentence in section.sentences if "Kendall’s τ" in str(sentence)]
    assert "perturbed pairs" in agreement
    assert "by human pairs at" in agreement
    assert "by SPA at" in agreement
    assert "95\u202f% interval" in agreement
    verdict = recommend(folder).verdict
    assert [claim.question for claim in verdict if claim.kind == "answer"] == [
        "detect_errors",
        "choose_outputs",
        "rank_systems",
        "save_labels",
    ]
    assert run(["recommend", str(folder)]) == 0
    output = capsys.readouterr().out
    assert verdict[0].sentence in output
    assert "Choose translations" in output  # the table may break lines
    page = (folder / "report.html").read_text()
    assert 'id="note-people"' in page


def test_simulated_human_scores_have_a_warning(result) -> None:
    """The sample declares that its human scores are simulated. Other data has no warning."""
    assert any("mqm scores are simulated" in warning for warning in result["warnings"])
    rated = read(pl.read_parquet(get_bundled_sample_path("mt")).drop("human_kind").head(140))
    found = assay(rated, metrics="chrf", **FAST).to_dict()
    assert found["people"]["human"] == "mqm"
    assert not any("simulated" in warning for warning in found["warnings"])


def test_human_scores_that_count_errors_are_reversed() -> None:
    table = pl.read_parquet(get_bundled_sample_path("mt")).head(140)
    counted = table.with_columns(-pl.col("mqm"))
    usual = assay(read(table), metrics=METRICS, **FAST).to_dict()
    guessed = assay(read(counted), metrics=METRICS, **FAST).to_dict()
    wrong = assay(read(counted), metrics=METRICS, higher_is_better="mqm", **FAST).to_dict()
    right = assay(read(counted), metrics=METRICS, lower_is_better="mqm", **FAST).to_dict()
    assert right["people"] == guessed["people"] == usual["people"] != wrong["people"]
    assert not any("never negative" in warning for warning in (*usual["warnings"], *right["warnings"]))
    assert "Lower mqm is better, so its sign was reversed." in right["notes"]


def test_first_of_several_human_scores_is_used_and_named(dataset) -> None:
    outputs = dataset.outputs.with_columns((pl.col(dataset.human[0]) * 2).alias("esa"))
    doubled = metassay.read(outputs, task="mt").declare_human_column("esa")
    found = assay(doubled, metrics="chrf", **FAST).to_dict()
    assert found["people"]["human"] == dataset.human[0] == "mqm"
    assert any("Using mqm as the human score" in note for note in found["notes"])
    named = assay(doubled, metrics="chrf", human="esa", **FAST).to_dict()
    assert named["people"]["human"] == "esa"
    assert not any("as the human score" in note for note in named["notes"])


def test_data_without_human_scores_has_no_human_comparison(dataset) -> None:
    unrated = read(dataset.outputs.drop(dataset.human), task="mt")
    found = assay(unrated, metrics="chrf", **FAST).to_dict()
    assert found["people"] is None
    assert found["claims"]["people"] == []
    assert not [note for note in found["notes"] if "human" in note]


def test_equal_human_scores_have_a_note(dataset) -> None:
    flat = dataset.outputs.with_columns(pl.lit(1.0).alias(dataset.human[0]))
    found = assay(read(flat, task="mt"), metrics="chrf", **FAST).to_dict()
    assert found["people"] is None
    assert (
        f"{dataset.human[0]} has no two different scores for outputs of the same item, so there are no human pairs."
        in found["notes"]
    )


def test_accuracies_are_corrected_for_known_label_errors(result) -> None:
    assert {row["perturbation"] for row in result["label_errors"]} == {"removal", "swapping"}
    for row in result["global"]:
        rates = [found["rate"] for found in result["label_errors"]]
        assert min(rates) <= row["label_error"] <= max(rates)
        assert row["corrected_low"] <= row["accuracy_corrected"] <= row["corrected_high"]
        assert row["accuracy_corrected"] >= row["accuracy"]  # every metric here is right more often than not


def test_difficulty_of_human_pairs_is_reported(dataset, result) -> None:
    found = result["difficulty"]
    assert sum(part["pairs"] for part in found["bins"]) == result["pairs"]
    rows = find_pairs_with_different_human_scores(dataset, dataset.human[0])
    texts = dataset.outputs["output"]
    shares = [
        Levenshtein.normalized_distance(texts[better], texts[worse])
        for better, worse in zip(rows.better.tolist(), rows.worse.tolist())
    ]
    assert found["people"]["pairs"] == len(shares)
    assert found["people"]["median"] == pytest.approx(median(shares))
    assert {row["metric"] for row in found["accuracy"]} == set(METRICS.split(","))


def test_requested_sentinels_do_not_change_the_agreement_of_rankings(dataset, result) -> None:
    with_sentinels = json.loads(assay(dataset, metrics=f"{METRICS},length,constant", **FAST).to_json())
    for name, agreement in result["people"]["agreement"].items():
        if isinstance(agreement, dict):
            assert agreement["tau"] is not None
            assert with_sentinels["people"]["agreement"][name]["tau"] == agreement["tau"]
