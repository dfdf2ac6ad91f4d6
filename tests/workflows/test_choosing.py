"""Recommend a metric from a run, and compare runs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import polars as pl
import pytest

from metassay.cli import run_command_line as command
from metassay.errors import InputError, UnknownName
from metassay.sample import get_bundled_sample_path
from metassay.store.run_folder import RunFolder
from metassay.workflows.assay import assay
from metassay.workflows.cluster_accuracy_files import read_accuracy_sums_by_cluster
from metassay.workflows.compare import compare
from metassay.workflows.read import read
from metassay.workflows.recommend import recommend
from metassay.workflows.report import report
from metassay.workflows.watch import watch

FAST = {"resamples": 60, "permutations": 39, "perturbations": "removal,insertion,swapping"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    dataset = read(get_bundled_sample_path("mt"))
    assay(dataset, metrics="bleu,chrf,length", seed=1, out=folder / "1", **FAST)
    assay(dataset, metrics="bleu,chrf,length", seed=3, out=folder / "2", **FAST)
    swapped = FAST | {"perturbations": "removal"}
    assay(dataset, metrics="bleu,chrf,length", seed=1, out=folder / "3", **swapped)
    return folder


def test_stored_recommendation_equals_the_one_in_the_result(runs) -> None:
    """Without criteria, the recommendation does not depend on timings, because cost is a class."""
    stored = json.loads((runs / "1" / "results" / "assay.json").read_text())
    timings = runs / "1" / "timings.json"
    kept = json.loads(timings.read_text())
    found = recommend(runs / "1").to_dict()
    assert found["recommendation"] == stored["recommendation"]
    assert found["answer"] == stored["answer"]
    assert set(found["cost"]) == {"bleu", "chrf", "length"}
    assert found["cost_class"] == dict.fromkeys(("bleu", "chrf", "length"), "cheap")
    turned = {name: 1 / (1e-9 + seconds) for name, seconds in kept["seconds_per_1000_outputs"].items()}
    timings.write_text(json.dumps(kept | {"seconds_per_1000_outputs": turned}))
    again = recommend(runs / "1").to_dict()
    timings.write_text(json.dumps(kept))
    assert {**again, "cost": found["cost"]} == found


def test_user_criterion_changes_the_choice(runs) -> None:
    found = recommend(runs / "1", criteria={"licence": {"bleu": 1.0, "chrf": 2.0}}).to_dict()
    assert found["answer"] is None
    for entries in found["recommendation"].values():
        assert all(entry["choice"] == entry["top_group"][0] for entry in entries.values())


def test_criteria_and_contexts_are_checked(runs) -> None:
    with pytest.raises(InputError, match="criterion licence names comet"):
        recommend(runs / "1", criteria={"licence": {"comet": 1.0}})
    with pytest.raises(UnknownName, match="Did you mean domain"):
        recommend(runs / "1", context="domian")
    assert list(recommend(runs / "1", context="domain").recommendation) == ["domain"]


def test_a_run_does_not_differ_from_itself(runs) -> None:
    same = compare(runs / "1", runs / "1")
    assert not same.changed
    assert {row.difference for row in same.comparisons[0].accuracies} == {0.0}


def test_other_references_are_a_change_and_another_seed_is_not(runs, tmp_path, capfd) -> None:
    """The references are data: the result says that they differ before it says what changed."""
    arguments = ["compare", str(runs / "1"), str(runs / "2"), "--fail-on", "change"]
    assert command(arguments) == 0
    dataset = read(get_bundled_sample_path("mt"))
    references = pl.lit(["nothing in common"])
    other = replace(dataset, outputs=dataset.outputs.with_columns(references.alias("references")))
    assay(other, metrics="bleu,chrf,length", seed=1, out=tmp_path / "other", **FAST)
    moved = compare(runs / "1", tmp_path / "other")
    assert moved.changed
    (comparison,) = moved.comparisons
    assert comparison.shared_outputs.in_both == len(dataset)
    assert comparison.shared_outputs.identical == 0
    assert "and 0 also the same texts and scores" in comparison.warnings[0]
    arguments[2] = str(tmp_path / "other")
    capfd.readouterr()
    assert command(arguments) == 3
    assert "BLEU lost accuracy over all contexts: " in capfd.readouterr().out
    assert command([*arguments[:3], "--json"]) == 0


def test_runs_with_other_options_are_not_compared(runs, tmp_path, capfd) -> None:
    """A difference between accuracies on other pairs, or counted in another way, is no change of a metric."""
    dataset = read(get_bundled_sample_path("mt"))
    options_by_change = {
        "pairs: perturbed before, human now": {"pairs": "human"},
        "ties: strict before, half now": {"ties": "half"},
        "per_output: 4 before, 1 now": {"per_output": 1},
        "normalize: none before, english now": {"normalize": "english"},
    }
    for number, (change, options) in enumerate(options_by_change.items()):
        folder = tmp_path / str(number)
        assay(dataset, metrics="bleu,chrf,length", seed=1, out=folder, **{**FAST, **options})
        for command_name in ("compare", "watch"):
            assert command([command_name, str(runs / "1"), str(folder), "--fail-on", "change"]) == 2
            printed = capfd.readouterr()
            assert f"because it was made with other options ({change})." in " ".join(printed.err.split())
            assert "accuracy" not in printed.out
    change = r"\(perturbations: removal, insertion, swapping before, removal now\)"
    with pytest.raises(InputError, match=change):
        compare(runs / "1", runs / "3")


def test_runs_with_another_language_or_tokenizer_are_not_compared(tmp_path) -> None:
    """Both decide how a metric splits texts into words."""
    dataset = read(get_bundled_sample_path("mt"))
    (language,) = set(dataset.languages)
    options = {"metrics": "bleu,chrf", "contexts": ["system"], "perturbations": "number", "permutations": 19}
    for name in (None, language, "zh"):
        named = replace(dataset, language=name)
        assay(named, resamples=20, out=tmp_path / str(name), **options)
    assert not compare(tmp_path / "None", tmp_path / str(language)).changed
    change = r"\(language: not given before, zh now; tokenizer of bleu: 13a before, zh now\)"
    for verb in (compare, watch):
        with pytest.raises(InputError, match=change):
            verb(tmp_path / "None", tmp_path / "zh")


def test_options_that_do_not_change_what_is_measured_do_not_matter(runs, tmp_path) -> None:
    dataset = read(get_bundled_sample_path("mt"))
    options = {"resamples": 30, "permutations": 19, "perturbations": "swapping,insertion,removal"}
    assay(dataset, metrics="bleu,ter", contexts=["domain"], seed=1, workers=1, out=tmp_path / "x", **options)
    assert not compare(runs / "1", tmp_path / "x").changed
    assert not watch(runs / "1", tmp_path / "x").changed


def test_runs_of_the_same_outputs_are_compared_in_pairs(runs) -> None:
    """Intervals of paired differences are much narrower than those of independent runs."""
    (comparison,) = compare(runs / "1", runs / "2").comparisons
    assert comparison.paired
    assert comparison.warnings == []
    stored = [json.loads((runs / name / "results" / "assay.json").read_text()) for name in "12"]
    for row in comparison.accuracies:
        if row.column != "global" or row.metric == "length":
            continue
        both = [next(r for r in each["global"] if r["metric"] == row.metric) for each in stored]
        independent = sum((r["high"] - r["low"]) ** 2 for r in both) ** 0.5
        assert row.high - row.low < 0.8 * independent
        assert row.low < row.after - row.before < row.high


@pytest.mark.parametrize("pairs", ["perturbed", "human"])
def test_stored_sums_give_the_accuracies(tmp_path, pairs) -> None:
    result = assay(
        read(get_bundled_sample_path("mt")),
        metrics="bleu,chrf",
        pairs=pairs,
        out=tmp_path / "run",
        resamples=20,
        permutations=19,
    )
    table = read_accuracy_sums_by_cluster(RunFolder.open_for_reading(tmp_path / "run"))
    accuracies = {
        ("global", row["context"], row["metric"]): row["accuracy"] for row in result.to_dict()["global"]
    }
    for row in result.to_frame().iter_rows(named=True):
        accuracies[row["column"], row["context"], row["metric"]] = row["accuracy"]
    for (column, context, metric), accuracy in accuracies.items():
        clusters = table[column, context]
        assert clusters.accuracies[metric].sum() / clusters.weights[metric].sum() == pytest.approx(accuracy)


def test_warnings_name_data_and_metrics_of_only_one_run(runs, tmp_path, capfd) -> None:
    dataset = read(get_bundled_sample_path("mt"))
    systems = dataset.outputs["system"].unique().sort()
    fewer = dataset.filter_rows(dataset.outputs["system"] != systems[0], reason="test")
    assay(fewer, metrics="bleu,ter", seed=1, out=tmp_path / "fewer", **FAST)
    (comparison,) = compare(runs / "1", tmp_path / "fewer").comparisons
    assert not comparison.paired
    assert comparison.shared_outputs.before == len(dataset)
    assert comparison.shared_outputs.identical == comparison.shared_outputs.after == len(fewer)
    assert comparison.warnings[0].startswith("The runs use different data: ")
    assert comparison.warnings[1:] == [
        "Only the earlier run has: chrf, length.",
        "Only the later run has: ter.",
    ]
    assert command(["compare", str(runs / "1"), str(tmp_path / "fewer")]) == 0
    printed = " ".join(capfd.readouterr().out.split())
    assert "Only the earlier run has: chrf, length." in printed
    assert "Unpaired comparison" in printed


def test_a_folder_of_runs_is_compared_in_the_order_of_names(runs, tmp_path) -> None:
    for name in ("b", "c", "a"):
        shutil.copytree(runs / "1", tmp_path / name)
    assert [name[-1] for name in compare(tmp_path).runs] == ["a", "b", "c"]
    assert compare([runs / "2", str(runs / "1")]).runs == [str(runs / "2"), str(runs / "1")]
    with pytest.raises(InputError, match="only one run"):
        compare(runs / "1")


def test_only_results_that_exist_are_named_for_a_run_of_another_command(runs, tmp_path) -> None:
    """A run that failed or was interrupted has no results."""
    (tmp_path / "manifest.json").write_text('{"identity": {"command": "rank"}, "state": "running"}')
    with pytest.raises(InputError, match=r"`metassay rank`, not of an assay\.\nAn assay is made with"):
        compare(runs / "1", tmp_path)
    (tmp_path / "results").mkdir()
    with pytest.raises(InputError, match=r"not of an assay\.\nIts results are in .*results\. An assay is"):
        compare(runs / "1", tmp_path)


def test_report_is_written_again_with_the_same_bytes(runs) -> None:
    before = (runs / "1" / "report.html").read_bytes()
    (runs / "1" / "report.html").unlink()
    assert report(runs / "1").read_bytes() == before


def test_sentinel_with_the_highest_accuracy_is_not_recommended(runs) -> None:
    """If words are only removed, output length is always right."""
    stored = json.loads((runs / "3" / "results" / "assay.json").read_text())
    accuracy = {row["metric"]: row["accuracy"] for row in stored["global"]}
    assert accuracy["length"] == 1 > max(accuracy["bleu"], accuracy["chrf"])
    assert stored["answer"]["metric"] != "length"
    assert "length" not in stored["answer"]["top_group"]
    entries = [entry for part in stored["recommendation"].values() for entry in part.values()]
    assert "length" not in {entry["choice"] for entry in entries}
    page = report(runs / "3").read_text()
    assert "which knows nothing of quality, is right in" in page
