"""`estimate`: equal to ppi-python, and what it reads, refuses and reports."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import polars as pl
import pytest

import metassay
from metassay.cli import run_command_line as run
from metassay.errors import InputError
from metassay.reporting.estimate_page import choose_decimals_for_estimates, count_labels_needed_without_metric
from metassay.results.base import Interval
from metassay.schemas import build_json_schema_of_output
from metassay.workflows.report import report


def build_table(items: int = 200, labelled: int = 60, seed: int = 0, **columns) -> pl.DataFrame:
    """Two systems, one useful and one useless metric, and labels on random items."""
    generator = np.random.default_rng(seed)
    human = generator.normal(size=(2, items)) + np.array([[0.5], [0.0]])
    is_labelled = np.zeros(items, dtype=bool)
    is_labelled[generator.choice(items, labelled, replace=False)] = True
    system, item = (axis.ravel() for axis in np.indices(human.shape))
    table = pl.DataFrame(
        {
            "system": [f"s{number}" for number in system],
            "seg_id": item,
            "domain": np.where(item % 2, "news", "chat"),
            "mqm": pl.Series(np.where(is_labelled[item], human.ravel(), np.nan)).fill_nan(None),
            "good": (human + generator.normal(size=human.shape)).ravel(),
            "noise": generator.normal(size=human.size),
        }
    )
    return table.with_columns([pl.Series(name, values) for name, values in columns.items()])


def test_point_estimates_equal_prediction_powered_inference() -> None:
    ppi = pytest.importorskip("ppi_py")
    table = build_table()
    result = metassay.estimate(table, human="mqm", metrics="good")
    assert result.metric == "good"
    for entry in result.systems:
        rows = table.filter(pl.col("system") == entry.system)
        is_labelled = rows["mqm"].is_not_null()
        metric = rows["good"].to_numpy()
        expected = ppi.ppi_mean_pointestimate(
            rows["mqm"].drop_nulls().to_numpy(), metric[is_labelled], metric[~is_labelled]
        )
        assert entry.estimate.value == pytest.approx(float(np.squeeze(expected)), abs=1e-9)
        assert entry.labels_only.value == pytest.approx(rows["mqm"].mean(), abs=1e-12)


def test_the_useful_metric_is_chosen_and_narrows_intervals() -> None:
    result = metassay.estimate(build_table(), human="mqm")
    assert (result.metric, result.target, result.unit) == ("good", "these items", "item")
    for entry in result.systems:
        assert entry.labelled == 60
        assert entry.items == 200
        width = entry.estimate.high - entry.estimate.low
        assert width < entry.labels_only.high - entry.labels_only.low


def test_fully_labelled_data_is_about_items_like_these() -> None:
    result = metassay.estimate(build_table(labelled=200), human="mqm")
    assert result.target == "items like these"
    exact = metassay.estimate(build_table(labelled=200), human="mqm", target="these")
    for entry in exact.systems:
        assert entry.estimate.high - entry.estimate.low == pytest.approx(0, abs=1e-9)


def test_documents_that_are_labelled_as_a_whole_are_the_unit() -> None:
    table = build_table(items=200, labelled=200)
    document = table["seg_id"] // 4
    table = table.with_columns(doc_id=document.cast(pl.String))
    table = table.with_columns(mqm=pl.when(document < 20).then(pl.col("mqm")))
    assert metassay.estimate(table, human="mqm").unit == "doc_id"
    assert metassay.estimate(build_table().with_columns(doc_id=pl.lit("d")), human="mqm").unit == "item"


def test_a_sample_that_is_not_random_is_reported() -> None:
    table = build_table(labelled=200)
    worst = table.group_by("seg_id").agg(pl.col("good").mean()).sort("good").head(60)["seg_id"]
    table = table.with_columns(mqm=pl.when(pl.col("seg_id").is_in(worst.to_list())).then(pl.col("mqm")))
    result = metassay.estimate(table, human="mqm")
    assert result.sample.p <= 0.05
    assert any("not a random sample" in doubt for doubt in result.build_page().doubts)


def test_known_probabilities_replace_the_check_and_remove_the_bias() -> None:
    table = build_table(labelled=200, items=400)
    generator = np.random.default_rng(5)
    means = table.group_by("seg_id").agg(pl.col("good").mean()).sort("seg_id")
    probabilities = np.where(means["good"].to_numpy() < 0, 0.6, 0.1)
    drawn = generator.random(400) < probabilities
    complete = build_table(labelled=400, items=400)
    item = complete["seg_id"].to_numpy()
    table = complete.with_columns(
        mqm=pl.Series(np.where(drawn[item], complete["mqm"].to_numpy(), np.nan)).fill_nan(None),
        probability=pl.Series(np.where(drawn[item], probabilities[item], np.nan)).fill_nan(None),
    )
    result = metassay.estimate(table, human="mqm")
    assert result.sample is None
    assert "probability" not in [candidate.metric for candidate in result.candidates]
    truth = dict(complete.group_by("system").agg(pl.col("mqm").mean()).iter_rows())
    for entry in result.systems:
        assert entry.estimate.low <= truth[entry.system] <= entry.estimate.high
        naive = table.filter(pl.col("system") == entry.system)["mqm"].mean()
        assert abs(entry.labels_only.value - truth[entry.system]) < abs(naive - truth[entry.system])


def test_labelled_items_need_a_probability_if_there_is_such_a_column() -> None:
    table = build_table().with_columns(probability=pl.lit(None, dtype=pl.Float64))
    table = table.with_columns(probability=pl.when(pl.col("seg_id") == 3).then(0.5))
    with pytest.raises(InputError, match="probability is missing"):
        metassay.estimate(table, human="mqm")


@pytest.mark.parametrize("labelled", [0, 5])
def test_without_enough_labels_it_points_to_annotate(labelled) -> None:
    with pytest.raises(InputError) as error:
        metassay.estimate(build_table(labelled=labelled), human="mqm")
    assert "metassay annotate" in str(error.value.remedy)


def test_contexts_with_few_labels_are_left_out() -> None:
    table = build_table(domain=["news" if n % 200 < 150 else "rare" for n in range(400)])
    result = metassay.estimate(table, human="mqm", context="domain")
    assert [entry.context for entry in result.contexts["domain"]] == ["news"]
    assert any("domain rare was left out" in note for note in result.notes)
    labelled_news = table.filter(pl.col("domain") == "news", pl.col("system") == "s0")["mqm"].drop_nulls()
    assert result.contexts["domain"][0].labelled == len(labelled_news)


def test_same_seed_gives_the_same_bytes() -> None:
    first = metassay.estimate(build_table(), human="mqm", seed=3).to_json()
    assert first == metassay.estimate(build_table(), human="mqm", seed=3).to_json()
    assert first != metassay.estimate(build_table(), human="mqm", seed=4).to_json()


def test_command_prints_json_that_follows_its_schema(tmp_path, capsys) -> None:
    file = tmp_path / "scores.csv"
    build_table().write_csv(file)
    assert run(["estimate", str(file), "--human", "mqm", "--context", "domain", "--json", "--quiet"]) == 0
    content = json.loads(capsys.readouterr().out)
    jsonschema.validate(content, build_json_schema_of_output("estimate"))
    assert set(content["systems"][0]) == {
        *("system", "items", "labelled", "labels_only", "estimate", "labels_saved", "rank_low", "rank_high")
    }
    assert set(content["differences"][0]) == {"a", "b", "difference", "low", "high", "p_holm"}


def test_command_leaves_a_run_folder_whose_page_can_be_written_again(tmp_path, capsys) -> None:
    file = tmp_path / "scores.csv"
    build_table().write_csv(file)
    folder = tmp_path / "run"
    assert run(["estimate", str(file), "--human", "mqm", "--out", str(folder), "--quiet"]) == 0
    assert "highest estimated mqm" in capsys.readouterr().out
    page = (folder / "report.html").read_text()
    assert report(folder).read_text() == page
    assert "How good would people find each system?" in page


def test_equivalent_labels_are_those_of_the_same_variance() -> None:
    """Against the variance of a mean with a control variate, estimated from draws."""
    rng = np.random.default_rng(0)
    items, labelled, correlation = 400, 100, 0.8
    errors = {"labels": [], "metric": [], "more labels": []}
    worth = round(count_labels_needed_without_metric(labelled, items, correlation**2))
    for _ in range(4000):
        metric = rng.normal(size=items)
        human = correlation * metric + np.sqrt(1 - correlation**2) * rng.normal(size=items)
        order = rng.permutation(items)
        chosen = order[:labelled]
        shift = correlation * (metric.mean() - metric[chosen].mean())
        errors["labels"].append(human[chosen].mean() - human.mean())
        errors["metric"].append(human[chosen].mean() + shift - human.mean())
        errors["more labels"].append(human[order[:worth]].mean() - human.mean())
    variances = {name: np.var(values) for name, values in errors.items()}
    assert variances["metric"] < 0.5 * variances["labels"]
    assert variances["more labels"] == pytest.approx(variances["metric"], rel=0.08)


def test_where_all_items_have_labels_the_metric_adds_nothing() -> None:
    rows = []
    rng = np.random.default_rng(1)
    for item in range(60):
        for system in "ab":
            score = rng.normal()
            rows.append({"seg_id": item, "system": system, "mqm": score, "M": score + rng.normal() / 2})
    result = metassay.estimate(rows, human="mqm")
    assert "All items have labels, so a metric adds nothing to these estimates." in "\n".join(
        result.build_page().lead
    )
    for entry in result.systems:
        assert entry.estimate.value == pytest.approx(entry.labels_only.value, abs=1e-9)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ({"a": 3, "b": 3, "c": 3}, "All 3 systems have the same estimated human: 3.00."),
        ({"a": 1, "b": 3, "c": 3}, "b and c share the highest estimated human: 3.00. All other systems are"),
    ],
)
def test_systems_with_equal_estimates_are_not_ranked(labels, sentence) -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"seg_id": item, "system": system, "human": labels[system] if item < 30 else None, "M": rng.normal()}
        for item in range(40)
        for system in labels
    ]
    assert metassay.estimate(rows, resamples=100).build_page().lead[0].startswith(sentence)


@pytest.mark.parametrize(("width", "digits"), [(12.0, 0), (1.2, 1), (0.12, 2), (0.012, 3)])
def test_the_narrowest_interval_has_two_significant_digits(width: float, digits: int) -> None:
    narrow = Interval(value=5.0, low=5.0, high=5.0 + width)
    wide = Interval(value=5.0, low=-50.0, high=50.0)
    assert choose_decimals_for_estimates([wide, narrow]) == digits
    assert choose_decimals_for_estimates([]) == 2
