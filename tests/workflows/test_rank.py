"""`rank` from files to JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import polars as pl
import pytest

import metassay
from metassay.errors import InputError, UnknownName
from metassay.results.rank import RankContent
from metassay.workflows.depend import DependResult, depend
from metassay.workflows.rank import RankResult, rank
from metassay.workflows.read import read


@pytest.fixture
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    rows = [(f"s{i}", k) for i in range(4) for k in range(1, 21)]
    human = rng.normal(size=len(rows)) + np.repeat(np.arange(4), 20) * 0.2
    return pl.DataFrame(rows, schema=["system", "seg_id"], orient="row").with_columns(
        lp=pl.lit("en-de"),
        mqm=pl.Series(human),
        good=pl.Series(human + rng.normal(size=len(rows))),
        bad=pl.Series(rng.normal(size=len(rows))),
    )


def test_the_json_has_the_promised_keys(frame: pl.DataFrame) -> None:
    found = json.loads(rank(frame, draws=50, meta="spa,acc_eq").to_json())
    jsonschema.validate(found, msgspec.json.schema(RankContent))
    assert list(found)[:4] == ["schema_version", "human", "results", "average"]
    assert found["human"] == "mqm"
    for result in found["results"]:
        assert {"dataset", "meta", "context", "systems", "segments", "dropped_segments"} <= result.keys()
        for row in result["metrics"]:
            assert {"metric", "value", "low", "high", "rank", "segments"} <= row.keys()
        assert all(pair.keys() == {"a", "b", "p", "p_two_sided"} for pair in result["comparisons"])
    assert found["results"][1]["metrics"][0]["chance"] > 0


def test_metrics_are_found_in_any_case(frame: pl.DataFrame) -> None:
    """`interface.md`: input is case-insensitive; the result has the exact name of the column."""
    data = frame.rename({"good": "BLEU-refA"}).with_columns(
        TER=-pl.col("bad"), hyp=pl.lit("a"), ref=pl.lit("b")
    )
    exact = rank(data, human="mqm", metrics="BLEU-refA,TER", draws=20).to_dict()
    assert {row["metric"] for row in exact["results"][0]["metrics"]} >= {"BLEU-refA", "TER"}
    assert rank(data, human="mqm", metrics="bleu-REFA,ter", draws=20).to_dict() == exact


def test_metric_name_that_fits_two_columns_is_an_error(frame: pl.DataFrame) -> None:
    data = frame.with_columns(GOOD=-pl.col("good"))
    with pytest.raises(UnknownName, match="unknown metric 'Good'"):
        rank(data, human="mqm", metrics="Good", draws=20)


def test_error_for_a_missing_model_suggests_columns_of_the_data(frame: pl.DataFrame) -> None:
    data = frame.rename({"good": "COMET-refA"}).with_columns(
        hyp=pl.lit("a"), ref=pl.lit("b"), src=pl.lit("a")
    )
    with pytest.raises(InputError, match="name their columns: COMET-refA"):
        rank(data, human="mqm", metrics="comet(model=/absent)", draws=20)
    with pytest.raises(InputError, match="name their columns: COMET-refA"):
        rank(data, human="mqm", metrics="COMET", draws=20)


def test_row_order_and_threads_do_not_change_the_result(frame: pl.DataFrame) -> None:
    said = {
        rank(table, draws=60, meta="spa,pa,kendall:item", method="permutation", workers=workers).to_json()
        for table, workers in (
            (frame, 1),
            (frame.reverse(), 3),
            (frame.select(sorted(frame.columns)).sample(80, shuffle=True, seed=1), 2),
        )
    }
    assert len(said) == 1


def test_joining_a_second_file_adds_its_columns(frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.drop("good").with_columns(domain=pl.lit("news")).write_parquet(tmp_path / "base.parquet")
    frame.drop("bad", "mqm").sample(80, shuffle=True, seed=0).write_csv(tmp_path / "more.csv")
    joined = rank(tmp_path / "base.parquet", join=tmp_path / "more.csv", draws=50)
    assert joined.to_dict()["results"] == rank(frame, draws=50).to_dict()["results"]
    assert "joined by" in joined.notes[0]


def test_scores_written_by_item_join_tables_that_have_its_parts(frame: pl.DataFrame, tmp_path: Path) -> None:
    """`score --per-segment` writes items such as en-de/17; the data has lp and seg_id."""
    item = pl.concat_str("lp", pl.col("seg_id").cast(pl.String), separator="/")
    long = frame.select(item.alias("item"), "system", "good", "bad").unpivot(
        index=["item", "system"], variable_name="metric", value_name="score"
    )
    scores, data = tmp_path / "scores.csv", tmp_path / "data.parquet"
    long.write_csv(scores)
    frame.drop("good", "bad").write_parquet(data)
    expected = rank(frame, draws=20).to_dict()["results"]
    assert rank(scores, join=data, draws=20).to_dict()["results"] == expected
    assert rank(data, join=scores, draws=20).to_dict()["results"] == expected


def test_data_set_and_its_file_give_the_same_result(real_data: Callable[[str], Path]) -> None:
    path, join = real_data("wmt23/wmt23_he-en.parquet"), real_data("wmt23/wmt23_he-en_metrics.parquet")

    def results(data: object, **more: object) -> list[dict]:
        return rank(data, draws=10, method="permutation", significance="none", **more).to_dict()["results"]

    direct = results(path, join=join)
    assert results(read(path, join=join)) == direct
    assert direct[0]["dataset"] == "2023/he-en"


def test_ratings_are_turned_into_scores_when_joined(frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.drop("mqm").write_parquet(tmp_path / "metrics.parquet")
    ratings = frame.select("system", "seg_id").with_columns(
        rater=pl.lit("r"),
        category=pl.lit("Accuracy/Omission"),
        severity=pl.when(frame["mqm"] > 0).then(pl.lit("Minor")).otherwise(pl.lit("Major")),
    )
    ratings.write_csv(tmp_path / "mqm.tsv", separator="\t")
    found = rank(tmp_path / "metrics.parquet", join=tmp_path / "mqm.tsv", draws=20)
    assert found.human == "mqm"
    expected = frame.with_columns(mqm=pl.when(pl.col("mqm") > 0).then(-1.0).otherwise(-5.0))
    assert found.to_dict()["results"] == rank(expected, draws=20).to_dict()["results"]


def test_every_analysis_gives_rows_of_plain_values(frame: pl.DataFrame) -> None:
    rng = np.random.default_rng(1)
    rated = frame.with_columns(
        **{f"mqm:{rater}": frame["mqm"] + pl.Series(rng.normal(size=frame.height)) for rater in "ab"}
    )
    names = ["stability", "discrimination", "ceiling", "thresholds", "power"]
    found = json.loads(rank(rated, draws=30, analysis=names).to_json())["analysis"]
    assert list(found) == names
    assert {row["rater"] for row in found["ceiling"]} == {"mqm:a", "mqm:b"}
    assert {row["ablated"] for row in found["stability"]} == {"systems", "segments"}
    assert {row["meta"] for row in found["discrimination"]} == {"spa", "pa"}
    assert {row["between"] for row in found["thresholds"]} == {"systems", "outputs"}
    assert {entry["agreement"] for row in found["thresholds"] for entry in row["thresholds"]} == {
        0.8,
        0.9,
        0.95,
    }
    assert {row["separates"] for row in found["power"]} == {"systems", "metrics"}
    with pytest.raises(ValueError, match="several raters"):
        rank(frame, draws=10, analysis="ceiling")


def test_several_human_scores_need_a_choice(frame: pl.DataFrame) -> None:
    two = frame.with_columns(da=pl.col("mqm") * 2)
    with pytest.raises(ValueError, match="several human scores: mqm, da"):
        rank(two, draws=10)
    assert rank(two, human="da", draws=10).to_dict()["results"][0]["metrics"]
    names = [row["metric"] for row in rank(two, human="da", draws=10).to_dict()["results"][0]["metrics"]]
    assert "mqm" not in names


def test_no_human_score_or_no_metric_is_refused(frame: pl.DataFrame) -> None:
    with pytest.raises(ValueError, match="no human scores"):
        rank(frame.drop("mqm"), draws=10)
    with pytest.raises(ValueError, match="no metric to rank"):
        rank(frame.drop("good", "bad"), draws=10)
    with pytest.raises(ValueError, match="unknown analysis"):
        rank(frame, analysis="astrology")


def test_rows_and_systems_can_be_chosen(frame: pl.DataFrame) -> None:
    some = rank(frame, draws=10, exclude_systems=["s0"], where={"seg_id": [str(k) for k in range(1, 11)]})
    assert (some.rankings[0].items, some.rankings[0].systems) == (10, 3)
    with pytest.raises(ValueError, match="unknown column"):
        rank(frame, where={"domain": "news"})


def test_the_frame_has_a_row_per_metric(frame: pl.DataFrame) -> None:
    table = rank(frame, draws=10, meta="spa,pa").to_frame()
    assert table.height == 2 * 4
    assert table["metric"].unique().sort().to_list() == ["bad", "constant", "good", "random"]


def test_wmt23_tree_and_table_agree(real_data: Callable[[str], Path]) -> None:
    tree = rank(real_data("mt-metrics-eval-v2/wmt23"), human="mqm", significance="none", draws=10)
    table = rank(real_data("wmt23/wmt23_en-de_metrics.parquet"), significance="none", draws=10)
    first, second = tree.to_dict()["results"][0], table.to_dict()["results"][0]
    assert first["dropped_segments"] == 97
    assert second["dropped_segments"] == 0
    assert [row["metric"] for row in first["metrics"]] == [row["metric"] for row in second["metrics"]]
    for ours, theirs in zip(first["metrics"], second["metrics"]):
        assert ours["value"] == pytest.approx(theirs["value"], abs=1e-9)


def test_pooled_accuracy_of_wmt23(real_data: Callable[[str], Path]) -> None:
    files = [real_data(f"wmt23/wmt23_{lp}_metrics.parquet") for lp in ("en-de", "he-en", "zh-en")]
    (mean,) = rank(files, meta="pa", significance="none", draws=10).to_dict()["average"]
    pooled = {row["metric"]: row["pooled"] for row in mean["metrics"]}
    assert pooled["XCOMET-Ensemble"] == pytest.approx(0.924, abs=5e-4)
    assert pooled["chrF"] == pytest.approx(0.795, abs=5e-4)


def test_gappy_scores_of_wmt22(real_data: Callable[[str], Path]) -> None:
    """Thousands of nulls in the GEMBA columns: each metric keeps its own segments."""
    found = rank(real_data("wmt22/wmt22_en-de_metrics.parquet"), significance="none", draws=10).to_dict()[
        "results"
    ][0]
    segments = {row["metric"]: row["segments"] for row in found["metrics"]}
    assert len(set(segments.values())) > 3
    assert all(0 <= count <= found["segments"] for count in segments.values())


def test_corpus_scores_are_computed_from_the_texts(real_data: Callable[[str], Path]) -> None:
    """Corpus BLEU from summed statistics: the order of systems must be sacrebleu's own."""
    import sacrebleu

    path = real_data("wmt23/wmt23_en-de.parquet")
    found = rank(
        path,
        human="mqm",
        join=real_data("wmt23/wmt23_en-de_metrics.parquet"),
        significance="none",
        draws=10,
        analysis="corpus",
    ).analyses.corpus
    frame = pl.read_parquet(path).filter(pl.col("system") != "refA").sort("system", "seg_id")
    scores, human = [], []
    for (_,), part in frame.group_by("system", maintain_order=True):
        scores.append(sacrebleu.corpus_bleu(part["hyp"].to_list(), [part["ref"].to_list()]).score)
        human.append(part["mqm"].mean())
    first, second = np.triu_indices(len(scores), 1)
    same = np.sign(np.subtract.outer(scores, scores)) == np.sign(np.subtract.outer(human, human))
    assert found is not None
    assert found[0].metric == "bleu"
    assert found[0].pa_corpus == pytest.approx(same[first, second].mean())
    assert found[0].spa_corpus != found[0].spa_item_means


def test_out_leaves_results_and_charts_and_refuses_another_run(frame: pl.DataFrame, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    said = rank(frame, draws=20, analysis="power", out=folder).to_dict()
    assert json.loads((folder / "results/rank.json").read_text()) == said
    assert pl.read_csv(folder / "results/rank.csv")["metric"].n_unique() == 4
    assert pl.read_csv(folder / "results/comparisons.csv").height == 1
    assert (folder / "results/power.csv").exists()
    for name in ("en-de-spa-global", "en-de-spa-global-comparisons"):
        assert (folder / f"charts/{name}.svg").read_text().startswith("<svg")
    rank(frame, draws=20, analysis="power", out=folder)
    with pytest.raises(ValueError, match="run"):
        rank(frame, draws=21, analysis="power", out=folder)


def values(result) -> dict[str, float]:
    return {row["metric"]: row["value"] for row in result.to_dict()["results"][0]["metrics"]}


@pytest.mark.parametrize("name", ["ter", "TER", "WER", "TER-refA", "MetricX", "MetricX-24", "metricx_qe-src"])
def test_error_rates_are_reversed_by_name_unless_the_user_says_otherwise(
    frame: pl.DataFrame, name: str
) -> None:
    errors = frame.select(pl.exclude("bad"), (10 - pl.col("good")).alias(name))
    result = rank(errors, draws=10)
    assert values(result)[name] == values(result)["good"]
    assert [note for note in result.notes if f"because lower is better: {name}." in note]
    kept = rank(errors, draws=10, higher_is_better=name)
    assert values(kept)[name] < values(result)[name]
    requested = rank(errors, draws=10, lower_is_better=name)
    assert values(requested)[name] == values(result)[name]
    assert not [note for note in requested.notes if "was reversed" in note]


def test_error_rates_that_are_negative_were_reversed_before(frame: pl.DataFrame) -> None:
    reversed_before = frame.select(pl.exclude("bad"), (pl.col("good") - 10).alias("TER-refA"))
    result = rank(reversed_before, draws=10)
    assert values(result)["TER-refA"] == values(result)["good"]
    assert not [note for note in result.notes if "was reversed" in note]


@pytest.mark.parametrize("human", ["hter", "errors", "rank"])
def test_human_scores_that_count_errors_are_reversed(frame: pl.DataFrame, human: str) -> None:
    expected = values(rank(frame, draws=10))
    errors = frame.select(pl.exclude("mqm"), (10 - pl.col("mqm")).alias(human))
    result = rank(errors, human=human, draws=10)
    assert values(result) == pytest.approx(expected, abs=1e-12)
    assert [note for note in result.notes if f"because lower is better: {human}." in note]


def test_ter_as_score_writes_it_ranks_as_high_as_on_wmt23(
    real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    """SPA of sacrebleu's TER with MQM; unturned it would be the worst of all, at .156."""
    from metassay.workflows.score import score

    path, scores = real_data("wmt23/wmt23_en-de.parquet"), tmp_path / "scores.parquet"
    score(read(path), metrics="ter,chrf", per_segment=scores, aggregate=["segment"])
    for data, join in ((scores, path), (path, scores)):
        result = rank(data, join=join, human="mqm", draws=10)
        found = values(result)
        assert found["ter"] == pytest.approx(0.85, abs=0.005)
        unturned = rank(data, join=join, human="mqm", draws=10, higher_is_better="ter")
        assert values(unturned)["ter"] == pytest.approx(0.156, abs=0.0005)
        assert values(unturned)["chrf"] == found["chrf"]


@pytest.mark.parametrize("option", ["lower_is_better", "higher_is_better", "metrics", "human"])
def test_unknown_name_is_an_error(frame: pl.DataFrame, option: str) -> None:
    with pytest.raises(UnknownName, match="nonsense"):
        rank(frame, draws=10, **{option: "nonsense"})


def test_a_name_with_a_comma_in_parentheses_can_be_named(frame: pl.DataFrame) -> None:
    name = "chrf(word_order=2,beta=3)"
    table = frame.rename({"good": name})
    assert values(rank(table, metrics=f"{name},bad", draws=10)).keys() >= {name, "bad"}
    turned = values(rank(table, lower_is_better=name, draws=10))[name]
    assert turned == values(rank(frame, lower_is_better="good", draws=10))["good"]


def test_human_scores_are_never_metrics(frame: pl.DataFrame) -> None:
    table = frame.rename({"mqm": "coherence"}).with_columns(
        relevance=pl.col("coherence") + 0.1, vivid=pl.col("coherence") - 0.1
    )
    result = rank(table, human="coherence", metrics="good,bad", draws=10)
    assert result.human == "coherence"
    assert values(result).keys() == {"good", "bad", "constant", "random"}
    assert "vivid" in values(rank(table, human="coherence", draws=10))
    assert "relevance" in values(rank(table, human="coherence", metrics="relevance,good", draws=10))
    with pytest.raises(InputError, match="several human scores: coherence, relevance"):
        rank(table, draws=10)


@pytest.mark.parametrize("verb", [rank, metassay.depend, metassay.estimate, metassay.assay])
@pytest.mark.parametrize("human", ["mqm,vivid", ["mqm", "vivid"]])
def test_several_human_scores_are_refused(frame: pl.DataFrame, verb: Any, human: Any) -> None:
    table = frame.with_columns(vivid=-pl.col("mqm"), output=pl.lit("a b"), ref=pl.lit("a c"))
    with pytest.raises(InputError, match=r"several human scores: mqm, vivid\.\nName one human column\."):
        verb(table, human=human)


def test_copied_rows_change_nothing_but_a_note(frame: pl.DataFrame) -> None:
    twice = pl.concat([frame, frame[5:15]])
    found, expected = rank(twice, draws=10), rank(frame, draws=10)
    assert found.to_dict()["results"] == expected.to_dict()["results"]
    assert set(found.notes) - set(expected.notes) == {"10 rows are exact copies of others and were left out."}


def test_a_name_with_a_comma_in_parentheses_is_one_name(frame: pl.DataFrame) -> None:
    odd = "chrf(word_order=2,beta=3)"
    found = rank(frame.rename({"good": odd}), draws=20, metrics=f"bad,{odd}", lower_is_better=odd).to_dict()
    turned = rank(frame, draws=20, metrics="bad,good", lower_is_better="good").to_dict()
    for one, other in zip(found["results"], turned["results"]):
        names = [row["metric"].replace(odd, "good") for row in one["metrics"]]
        assert names == [row["metric"] for row in other["metrics"]]
        assert [row["value"] for row in one["metrics"]] == [row["value"] for row in other["metrics"]]


def test_charts_of_a_ranking_have_labels_and_its_files_specs(frame: pl.DataFrame, tmp_path: Path) -> None:
    rank(frame.rename({"good": "rougel", "bad": "ter"}), draws=20, out=tmp_path / "run")
    charts = "".join(file.read_text() for file in (tmp_path / "run" / "charts").glob("*.svg"))
    assert "ROUGE-L" in charts
    assert "rougel" not in charts
    assert "rougel" in (tmp_path / "run" / "results" / "rank.csv").read_text()


def test_metrics_without_a_column_are_computed_from_the_texts(tmp_path: Path) -> None:
    """The result is the same as with scores that were computed first and joined, directions included."""
    from metassay.sample import get_bundled_sample_path
    from metassay.workflows.score import score

    path, scores = get_bundled_sample_path("mt"), tmp_path / "scores.parquet"
    score(path, metrics="chrf++,ter", per_segment=scores)
    joined = rank(path, join=scores, human="mqm", draws=10)
    found = rank(path, human="mqm", metrics="chrF++,ter", draws=10)
    assert values(found).keys() == {"chrf(word_order=2)", "ter", "constant", "random"}
    assert values(found) == values(joined)
    assert "Computed from the texts: chrf(word_order=2), ter." in found.notes
    with pytest.raises(UnknownName, match="unknown metric 'bleuh'"):
        rank(path, human="mqm", metrics="bleuh", draws=10)


@pytest.mark.parametrize("verb", [rank, depend])
def test_without_metric_columns_the_default_metrics_of_assay_are_computed(verb: Callable[..., Any]) -> None:
    from metassay.sample import get_bundled_sample_path
    from metassay.tasks import load_tasks

    table = read(get_bundled_sample_path("mt")).outputs.filter(pl.col("item").rank("dense") <= 30)
    few = {"draws": 10} if verb is rank else {"draws": 10, "bootstraps": 0}
    result = verb(table, human="mqm", **few)
    rows = result.rankings[0].metrics if verb is rank else result.metrics
    metrics = {row.metric for row in rows} - {"constant", "random"}
    assert len(metrics) == len(load_tasks()["mt"].default_metrics)
    assert {"bleu", "chrf(word_order=2)"} <= metrics


def test_without_texts_a_metric_must_be_a_column(frame: pl.DataFrame) -> None:
    with pytest.raises(UnknownName, match="unknown metric 'bleu'"):
        rank(frame, metrics="bleu", draws=10)


@pytest.mark.parametrize("verb", [rank, depend])
def test_notes_on_unused_documents_and_on_scores_that_may_count_errors(
    frame: pl.DataFrame, verb: Callable[..., RankResult | DependResult]
) -> None:
    """No notes if documents are the clusters or absent, or the direction is named."""
    grouped = frame.with_columns(
        mqm=pl.col("mqm").abs(), doc_id=pl.col("seg_id") // 5, session_id=pl.col("seg_id")
    )

    def said(table: pl.DataFrame, **options: str) -> list[str]:
        notes = verb(table, draws=20, **options).to_dict()["notes"]
        return [word for word in ("--cluster", "never negative") for note in notes if word in note]

    assert said(grouped) == ["--cluster", "never negative"]
    assert said(grouped, lower_is_better="mqm", cluster="doc_id") == []
    assert said(grouped.drop("doc_id").with_columns(mqm=frame["mqm"])) == []


def make_rows_of_three_systems() -> list[dict[str, object]]:
    """Three systems on 30 items. People rate the first best; N does not depend on the human scores."""
    rng = np.random.default_rng(7)
    rows = []
    for item in range(30):
        for system, mean in (("a", 0.0), ("b", -1.0), ("c", -2.0)):
            human = mean + rng.normal()
            rows.append({"seg_id": item, "system": system, "mqm": human, "M": human + rng.normal()})
    return rows


def test_no_metric_is_best_if_none_is_above_a_constant():
    """All human scores are equal, so that a constant agrees perfectly and the others by chance."""
    rows = [row | {"mqm": 0.0, "N": -1.0 * row["M"]} for row in make_rows_of_three_systems()]
    result = rank(pl.DataFrame(rows), human="mqm")
    values = {metric.metric: metric.value for metric in result.rankings[0].metrics}
    assert values["constant"] == 1
    assert result.verdict[0].kind == "unanswered"
    assert result.verdict[0].sentence.startswith("No metric agrees with people (mqm) better than a constant")


def test_a_metric_that_is_not_shown_to_beat_a_constant_is_not_named_best():
    noise = np.random.default_rng(4).normal(size=90)
    rows = [row | {"noise": value} for row, value in zip(make_rows_of_three_systems(), noise)]
    result = rank(pl.DataFrame(rows), human="mqm", metrics="noise", significance="none")
    row = next(metric for metric in result.rankings[0].metrics if metric.metric == "noise")
    assert row.low < result.rankings[0].constant_value < row.value
    (claim,) = result.verdict
    assert claim.kind == "unanswered"
    assert claim.sentence.startswith("No metric is named best on all: noise has the highest SPA ")
    assert "is not shown to be better than a constant score, which has 0.5" in claim.sentence


def test_metrics_that_are_never_named_best_have_a_note_and_are_not_overlooked():
    rows = [row | {"length": len(row["system"]) + row["M"]} for row in make_rows_of_three_systems()]
    result = rank(pl.DataFrame(rows), human="mqm", significance="none")
    assert result.verdict[0].sentence.endswith(". No other metric can be named best.")
    note = "length is the name of a sentinel, which knows nothing of quality, so it is not recommended."
    assert note in result.notes
    alone = rank(pl.DataFrame(rows), human="mqm", metrics="M", significance="none")
    assert alone.verdict[0].sentence.endswith(". It is the only metric.")


def test_columns_without_a_readable_score_are_named(tmp_path):
    lines = ["seg_id,system,mqm,M,spaced,absent"]
    for number, row in enumerate(make_rows_of_three_systems()):
        lines.append(f'{row["seg_id"]},{row["system"]},{row["mqm"]},{row["M"]},"{1000 + number * 37:,}",NaN')
    file = tmp_path / "scores.csv"
    file.write_text("\n".join(lines))
    result = rank(file, human="mqm", significance="none")
    assert {metric.metric for metric in result.rankings[0].metrics if not metric.baseline} == {"M"}
    assert result.data.ignored_columns == {
        "spaced": "numbers with thousands separators: '1,000'",
        "absent": "no score in any row",
    }
