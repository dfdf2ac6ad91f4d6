"""`depend` on tables: what people have on disk gives what the array functions give."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from metassay.errors import InputError, UnknownName
from metassay.meta.dependence.deviations import system_dependence
from metassay.reporting.depend_report import find_metrics_that_favour_systems
from metassay.workflows.depend import depend
from metassay.workflows.rank import rank

QUICK = {"bootstraps": 20, "draws": 19}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    systems, segments = 4, 30
    human = rng.normal(size=(systems, segments)) + np.arange(systems)[:, None] / 2
    system, segment = (axis.ravel() for axis in np.indices(human.shape))
    return pl.DataFrame(
        {
            "lp": ["en-de"] * human.size,
            "system": [f"s{k}" for k in system],
            "seg_id": segment + 1,
            "domain": ["news" if i < 12 else "chat" for i in segment],
            "doc_id": [None if i == 7 else f"doc{i // 3}" for i in segment],
            "mqm": human.ravel(),
            "good": (human + 0.3 * rng.normal(size=human.shape)).ravel(),
            "errors": (-human + rng.normal(size=human.shape)).ravel(),
        }
    )


def arrays(table, *names):
    ordered = table.sort("system", "seg_id")
    return [ordered[name].to_numpy().reshape(4, 30) for name in names]


def sysdep_entry(result, metric):
    return next(entry for entry in result.metrics if entry.metric == metric)


def test_json_equals_the_array_function(table):
    result = depend(table.sample(fraction=1, shuffle=True, seed=1), lower_is_better="errors", **QUICK)
    content = json.loads(result.to_json())
    assert (content["schema_version"], content["human"], content["by"]) == (1, "mqm", "system")
    human, good, errors = arrays(table, "mqm", "good", "errors")
    for entry in content["metrics"]:
        metric = good if entry["metric"] == "good" else -errors
        alone = system_dependence(human, metric, bootstraps=20)
        assert entry["sysdep"] == pytest.approx(alone.sysdep, abs=1e-12)
        assert (entry["low"], entry["high"]) == pytest.approx((alone.low, alone.high), abs=1e-12)
        assert entry["dataset"] == "en-de"
    assert [entry["metric"] for entry in content["metrics"]] == ["good", "errors"]
    assert {row["context"] for row in content["metrics"][0]["local"]} == {"news", "chat"}


def test_order_of_rows_and_workers_do_not_change_the_json(table):
    first = depend(table, workers=1, **QUICK).to_json()
    assert depend(table.reverse(), workers=2, **QUICK).to_json() == first


def test_outputs_can_be_grouped_by_a_column_of_segments(table):
    content = depend(table, by="domain", metrics="good", cluster="doc_id", **QUICK).to_dict()
    (entry,) = content["metrics"]
    assert list(entry["deviations"]) == ["chat", "news"]
    means = dict(table.group_by("domain").agg(pl.col("mqm").mean()).rows())
    assert entry["human_means"] == pytest.approx(means)
    assert content["by"] == "domain"
    assert entry["local"] == []


def test_outputs_can_be_grouped_by_a_column_of_systems(table):
    families = {"s0": "small", "s1": "small", "s2": "large", "s3": "large"}
    table = table.with_columns(family=pl.col("system").replace_strict(families))
    (entry,) = depend(table, by="family", metrics="good", **QUICK).to_dict()["metrics"]
    means = dict(table.group_by("family").agg(pl.col("mqm").mean()).rows())
    assert entry["human_means"] == pytest.approx(means)
    assert entry["constant"] == pytest.approx(means["large"] - means["small"])
    assert 0 < entry["p_equal"] <= 1


def test_outputs_without_a_group_are_left_out(table):
    (entry,) = depend(table, by="doc_id", metrics="good", **QUICK).to_dict()["metrics"]
    assert entry["outputs"] == 4 * 29


def test_clusters_and_weights_are_read_from_columns(table):
    human, good = arrays(table, "mqm", "good")
    weighted = table.with_columns(importance=pl.col("seg_id") % 3)
    content = depend(weighted, weight="importance", metrics="good", **QUICK).to_dict()["metrics"][0]
    expected = system_dependence(human, good, bootstraps=20, weights=np.arange(1, 31) % 3)
    # a segment without weight is no cluster to draw, so only the fit to all data is the same
    assert content["constant"] == pytest.approx(
        np.ptp(np.average(human, axis=1, weights=np.arange(1, 31) % 3)), abs=1e-12
    )
    single = depend(weighted, weight="importance", metrics="good", bootstraps=0, draws=19).to_dict()
    np.testing.assert_allclose(
        list(single["metrics"][0]["deviations"].values()), expected.single_fit_deviations, rtol=0, atol=1e-12
    )
    documents = [f"doc{i // 3}" if i != 7 else "alone" for i in range(30)]
    clustered = depend(table, cluster="doc_id", metrics="good", **QUICK).to_dict()["metrics"][0]
    alone = system_dependence(human, good, bootstraps=20, clusters=documents)
    assert clustered["high"] - clustered["low"] == pytest.approx(alone.high - alone.low, rel=0.5)
    assert clustered["sysdep"] == pytest.approx(alone.sysdep, abs=0.05)


def test_data_sets_are_measured_separately(table):
    both = pl.concat([table, table.with_columns(lp=pl.lit("zh-en"), mqm=pl.col("mqm") * 10)])
    result = depend(both, metrics=["good"], **QUICK)
    small, large = (entry["sysdep"] for entry in result.to_dict()["metrics"])
    assert large == pytest.approx(10 * small)
    assert result.to_frame()["dataset"].to_list() == ["en-de", "zh-en"]


def test_notes_name_systems_without_scores_of_a_metric(table):
    gaps = table.with_columns(good=pl.when(pl.col("system") != "s3").then("good"))
    result = depend(gaps, **QUICK)
    assert "en-de: good has no score for s3." in result.notes
    assert list(sysdep_entry(result, "good").deviations) == ["s0", "s1", "s2"]


def test_notebook_view_contains_the_table(table):
    shown = depend(table, metrics="good", **QUICK)._repr_html_()
    assert "SysDep" in shown
    assert "{" not in shown


def test_results_and_charts_are_written(table, tmp_path):
    result = depend(table, metrics="good", out=tmp_path / "run", **QUICK)
    assert json.loads((tmp_path / "run" / "results" / "depend.json").read_text("utf-8")) == result.to_dict()
    assert pl.read_csv(tmp_path / "run" / "results" / "depend.csv")["metric"].to_list() == ["good"]
    drawn = sorted(path.name for path in (tmp_path / "run" / "charts" / "en-de").iterdir())
    assert drawn == ["good-curves.svg", "good-deviations.svg", "good-ranks.svg"]
    assert all(path.read_text("utf-8").startswith("<svg") for path in tmp_path.glob("run/charts/*/*.svg"))
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert page.count('<figure class="chart"') == 3
    curves = json.loads((tmp_path / "run" / "results" / "curves.json").read_text("utf-8"))
    assert list(curves["en-de"]) == ["good"]


def test_run_is_repeated_in_its_folder_and_refused_in_other_folders(table, tmp_path):
    for _ in range(2):
        depend(table, metrics="good", out=tmp_path / "run", **QUICK)
    with pytest.raises(InputError):
        depend(table, metrics="errors", out=tmp_path / "run", **QUICK)
    (tmp_path / "taken").touch()
    with pytest.raises(InputError, match="not a run folder"):
        depend(table, metrics="good", out=tmp_path / "taken", **QUICK)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "domian"}, "Did you mean domain"),
        ({"metrics": "godo"}, "Did you mean good"),
        ({"lower_is_better": "error"}, "Did you mean errors"),
        ({"cluster": "document"}, "unknown column"),
        ({"context": "lpp"}, "unknown column"),
    ],
)
def test_error_for_an_unknown_name_suggests_a_known_one(table, options, message):
    with pytest.raises(UnknownName, match=message):
        depend(table, **options, **QUICK)


def test_error_for_an_unknown_column_lists_each_column_once(table):
    with pytest.raises(UnknownName, match=r"Known: doc_id, domain, lp, system\.$"):
        depend(table, human="mqm", by="color")


def test_several_human_scores_without_a_choice_are_an_error(table):
    with pytest.raises(InputError, match="several human scores: mqm, da"):
        depend(table.with_columns(da=pl.col("good")), **QUICK)


def test_sysdep_of_wmt23_files_equals_known_values(real_data):
    content = depend(
        real_data("wmt23/wmt23_zh-en_metrics.parquet"),
        join=real_data("wmt23/wmt23_zh-en.parquet"),
        human="mqm",
        metrics="MetricX-23-QE-c-src,GEMBA-MQM-src",
        bootstraps=0,
        draws=9,
    ).to_dict()
    sysdep = {entry["metric"]: round(entry["sysdep"], 3) for entry in content["metrics"]}
    assert sysdep == {"MetricX-23-QE-c-src": 0.959, "GEMBA-MQM-src": 1.446}
    assert round(content["metrics"][0]["constant"], 2) == 4.47
    assert len(content["metrics"][0]["local"]) > 1


def test_known_metrics_are_oriented_by_their_names(table):
    named = table.rename({"errors": "wer"})
    turned, explicit = depend(named, **QUICK), depend(table, lower_is_better="errors", **QUICK)
    assert sysdep_entry(turned, "wer").sysdep == sysdep_entry(explicit, "errors").sysdep
    assert any("because lower is better: wer." in note for note in turned.notes)
    kept = depend(named, higher_is_better="wer", **QUICK)
    plain = depend(table, higher_is_better="errors", **QUICK)
    assert sysdep_entry(kept, "wer").sysdep == sysdep_entry(plain, "errors").sysdep


def test_spec_with_a_comma_is_one_metric_and_the_page_shows_labels(table, tmp_path):
    odd = "chrf(word_order=2,beta=3)"
    renamed = table.rename({"good": odd, "errors": "ter"})
    out = tmp_path / "run"
    content = depend(renamed, metrics=f"{odd},ter", lower_is_better="ter", out=out, **QUICK).to_dict()
    assert [entry["metric"] for entry in content["metrics"]] == [odd, "ter"]
    assert json.loads((out / "results" / "depend.json").read_text())["metrics"][0]["metric"] == odd
    page = (out / "report.html").read_text()
    assert "<h3>chrF++ (beta=3)</h3>" in page
    assert "chrF++ (beta=3) has the lowest system dependence (SysDep): " in page
    assert f">{odd}<" not in page


def test_a_metric_name_without_its_reference_suggests_the_column(table) -> None:
    with_outputs = table.with_columns(pl.lit("Ein Satz.").alias("output")).rename(
        {"good": "XCOMET-Ensemble-refA"}
    )
    with pytest.raises(UnknownName, match="Did you mean XCOMET-Ensemble-refA"):
        depend(with_outputs, human="mqm", metrics="XCOMET-Ensemble", **QUICK)


def test_metrics_that_favour_a_system_are_found_among_many_metrics() -> None:
    """With 999 draws, the smallest p-value times 60 metrics would be .06."""
    rng = np.random.default_rng(0)
    human = rng.normal(size=(5, 120))
    columns = {"item": np.tile(np.arange(120), 5), "system": np.repeat(list("abcde"), 120)}
    columns["human"] = human.ravel()
    favoured = np.array([2.0, 0.0, 0.0, 0.0, -2.0])[:, None]
    for number in range(60):
        columns[f"metric{number}"] = (human + favoured + rng.normal(size=human.shape)).ravel()
    result = depend(pl.DataFrame(columns), human="human", bootstraps=2)
    assert all(entry.p_fair == pytest.approx(1 / 2400) for entry in result.metrics)
    assert len(find_metrics_that_favour_systems(result.metrics)) == 60


@pytest.mark.parametrize(("items", "reason"), [(1, "1 item is too few"), (3, "3 items are too few")])
def test_nothing_is_claimed_about_few_items(table, items, reason):
    result = depend(table.filter(pl.col("seg_id") <= items), **QUICK)
    assert [claim.sentence for claim in result.verdict] == [
        f"It is not known which systems a metric favours: {reason}."
    ]
    for entry in result.metrics:
        assert (entry.low, entry.high, entry.p_fair) == (None, None, None)
        assert set(entry.deviations_low.values()) == {None}
    assert result.comparisons == []


def test_few_documents_are_too_few_clusters(table):
    result = depend(table.filter(pl.col("seg_id") <= 6), cluster="doc_id", **QUICK)
    assert "2 clusters of items are too few" in result.verdict[0].sentence


def test_a_metric_with_few_items_is_not_among_the_claims_on_others(table):
    few = pl.when(pl.col("seg_id") <= 3).then(pl.col("mqm"))
    result = depend(table.with_columns(few=few), **QUICK)
    assert "all: nothing is claimed about few, because 3 items are too few." in {
        note.replace("en-de:", "all:") for note in result.notes
    }
    # Otherwise it would have the lowest system dependence, 0.
    assert "good has the lowest system dependence" in result.verdict[1].sentence
    assert {name for each in result.comparisons for name in (each.a, each.b)} == {"errors", "good"}


def test_equal_human_scores_show_nothing_about_metrics(table):
    equal = table.with_columns(mqm=pl.lit(-1.0))
    result = depend(equal, **QUICK)
    assert [claim.sentence for claim in result.verdict] == [
        "It is not known which systems a metric favours: all scores of mqm are equal."
    ]
    note = "All scores of mqm are equal, so no metric can be compared with them."
    assert note in result.notes
    ranked = rank(equal, draws=50)
    assert note in ranked.notes
    assert [claim.kind for claim in ranked.verdict] == ["unanswered"]


def test_metrics_are_tied_only_if_their_paired_comparison_shows_no_difference(table):
    """The intervals of both metrics overlap, but they move together on resamples."""
    noisier = pl.col("good") + 0.8 * (pl.col("seg_id") * 7919 % 13 - 6) / 4
    both = table.with_columns(noisier=noisier).drop("errors")
    result = depend(both, bootstraps=60, draws=19)
    good, worse = sysdep_entry(result, "good"), sysdep_entry(result, "noisier")
    assert good.low < worse.low < good.high < worse.high
    assert [each.p <= 0.05 for each in result.comparisons] == [True]
    assert result.verdict[1].metrics == ["good"]
    assert "tied" not in result.verdict[1].sentence
