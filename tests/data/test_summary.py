"""The summary of the data that every verb reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import metassay
from metassay.cli import run_command_line as run
from metassay.data.score_cautions import warn_of_values_that_may_mean_missing
from metassay.errors import InputError
from metassay.reporting.data_summary import describe_data_used
from metassay.results.data_summary import DataSummary, ScoreSummary, SystemSummary
from metassay.sample import get_bundled_sample_path

FEW_DRAWS = {"resamples": 20, "permutations": 9}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return pl.read_parquet(get_bundled_sample_path("mt")).head(70)


@pytest.fixture(scope="module")
def scores() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    rows = [("en-de", f"s{i}", str(k)) for i in range(3) for k in range(30)]
    frame = pl.DataFrame(rows, schema=["lp", "system", "seg_id"], orient="row")
    human = rng.normal(size=len(rows))
    return frame.with_columns(
        human=pl.Series(human), COMET=pl.Series(human + rng.normal(size=len(rows))), TER=pl.Series(5 - human)
    )


def test_every_verb_reports_the_data(table: pl.DataFrame, scores: pl.DataFrame) -> None:
    data = metassay.read(table)
    results = {
        "check": metassay.check(data, metrics="chrf"),
        "score": metassay.score(data, metrics="chrf"),
        "aggregate": metassay.aggregate(data, metrics="chrf", resamples=20, repeats=5),
        "perturb": metassay.perturb(data),
        "assay": metassay.assay(data, metrics="chrf", **FEW_DRAWS),
        "rank": metassay.rank(scores, draws=10),
        "depend": metassay.depend(scores, bootstraps=2, draws=9),
    }
    for verb, result in results.items():
        summary = result.to_dict()["data"]
        assert summary["outputs"] == (90 if verb in {"rank", "depend"} else len(data)), verb
        assert sum(system["outputs"] for system in summary["systems"]) == summary["outputs"], verb


def test_judges_report_the_data() -> None:
    verdicts = [
        {"item": n, "judge": judge, "system": system, "score": n % 3, "human": n % 2}
        for n in range(20)
        for judge in ("j", "k")
        for system in "ab"
    ]
    summary = metassay.judge(verdicts).data
    assert summary is not None
    assert (summary.outputs, summary.items) == (80, 20)
    assert summary.systems == [SystemSummary("a", 40, 20), SystemSummary("b", 40, 20)]


def test_directions_and_languages_of_scores_are_reported(scores: pl.DataFrame) -> None:
    summary = metassay.rank(scores, draws=10).data
    assert summary is not None
    assert [(score.score, score.kind, score.better) for score in summary.scores] == [
        ("human", "human", "higher"),
        ("COMET", "metric", "higher"),
        ("TER", "metric", "lower"),
    ]
    assert {tuple(score.languages) for score in summary.scores} == {("de",)}


@pytest.mark.parametrize("verb", ["score", "aggregate"])
def test_rows_without_reference_or_output_are_counted(verb: str) -> None:
    rows = [{"seg_id": n, "system": "a", "hyp": f"the fox {n}", "ref": f"a fox {n}"} for n in range(6)]
    rows[2]["ref"] = ""
    rows[4]["hyp"] = None
    summary = getattr(metassay, verb)(rows, metrics="chrf").data
    assert summary.left_out == {"no output": 1, "no reference": 1}
    assert summary.systems == [SystemSummary("a", 4, 4)]
    assert "Rows left out: 1 (no output), 1 (no reference)." in describe_data_used(summary)


def test_empty_outputs_are_counted_by_system(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "outputs.csv"
    table.write_text('seg_id,system,hyp,ref\n1,a,"",x z\n2,a," ",y\n3,a,y z,y x\n1,b,x,x z\n2,b,x,y\n')
    data = metassay.read(table)
    assert len(data) == 5
    summary = metassay.score(data, metrics="chrf").data
    assert summary is not None
    assert [(system.system, system.empty_outputs) for system in summary.systems] == [("a", 2), ("b", 0)]
    assert run(["score", str(table), "--metrics", "bleu"]) == 0
    assert "Empty outputs, which are scored like all others: a 2 of 3." in capfd.readouterr().err


def test_counts_are_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "outputs.csv"
    table.write_text("seg_id,system,hyp,ref\n1,a,x y,x z\n2,a,x y,\n3,a,y z,y x\n")
    for command in ("score", "aggregate"):
        assert run([command, str(table), "--metrics", "bleu"]) == 0
        assert "Rows left out: 1 (no reference)." in capfd.readouterr().err


def test_columns_that_are_not_used_are_named_with_the_reason(scores: pl.DataFrame) -> None:
    odd = scores.with_columns(
        BLEURT=pl.when(pl.col("seg_id") == "3").then(pl.lit("failed")).otherwise(pl.lit("0.5")),
        marks=pl.lit([1, 2], dtype=pl.List(pl.Int64)),
    )
    result = metassay.rank(odd, draws=10)
    assert result.data is not None
    assert result.data.ignored_columns == {"BLEURT": "not only numbers: 'failed'", "marks": "nested values"}
    sentence = "Columns ignored: BLEURT (not only numbers: 'failed'), marks (nested values)."
    assert sentence in describe_data_used(result.data)


@pytest.mark.parametrize("cell", ["n.a.", "N/A", "-", ""])
def test_a_missing_score_does_not_make_a_metric_disappear(scores: pl.DataFrame, cell: str) -> None:
    texts = scores.with_columns(pl.col("COMET").cast(pl.String))
    texts = texts.with_columns(
        pl.when(pl.col("seg_id") == "3").then(pl.lit(cell)).otherwise("COMET").alias("COMET")
    )
    metrics = metassay.rank(texts, draws=10).to_dict()["results"][0]["metrics"]
    assert {"COMET": 29}.items() <= {row["metric"]: row["segments"] for row in metrics}.items()


@pytest.mark.parametrize("form", ["comma", "percent"])
def test_decimal_commas_and_percent_signs_are_numbers(scores: pl.DataFrame, form: str) -> None:
    text = pl.col("COMET").cast(pl.String)
    written = text.str.replace(".", ",", literal=True) if form == "comma" else text + " %"
    expected = metassay.rank(scores, draws=10).to_dict()["results"]
    assert metassay.rank(scores.with_columns(written), draws=10).to_dict()["results"] == expected


@pytest.mark.parametrize(
    ("scale", "format_score"),
    [
        (-1.0, lambda score: f"{score:.3f}".replace("-", "\N{MINUS SIGN}")),
        (10_000.0, lambda score: f"{score:,.1f}"),
        (10_000.0, lambda score: f"{score:,.1f}".translate(str.maketrans(",.", ".,"))),
    ],
    ids=["minus sign", "commas between thousands", "points between thousands"],
)
def test_scores_as_programs_print_them_are_numbers(
    scores: pl.DataFrame, scale: float, format_score: Callable[[float], str]
) -> None:
    numbers = (pl.col("COMET") * scale).round(3 if scale < 0 else 1)
    texts = numbers.map_elements(format_score, return_dtype=pl.String)
    expected = metassay.rank(scores.with_columns(numbers), draws=10).to_dict()["results"]
    assert metassay.rank(scores.with_columns(texts), draws=10).to_dict()["results"] == expected


@pytest.mark.parametrize("dtype", [pl.Boolean, pl.String])
def test_true_and_false_are_scores_only_if_the_user_names_them(
    scores: pl.DataFrame, dtype: pl.DataType
) -> None:
    is_good = pl.col("COMET") > 0.5
    plain = metassay.rank(scores, draws=10)
    result = metassay.rank(scores.with_columns(good=is_good.cast(dtype)), draws=10)
    assert result.to_dict()["results"] == plain.to_dict()["results"]
    note = "Columns of true and false are metrics only if --metrics names them: good."
    assert note in result.notes
    assert note not in plain.notes
    named = {"metrics": "COMET,good", "draws": 10}
    expected = metassay.rank(scores.with_columns(good=is_good.cast(pl.Int64)), **named).to_dict()
    assert any(metric["metric"] == "good" for metric in expected["results"][0]["metrics"])
    result = metassay.rank(scores.with_columns(good=is_good.cast(dtype)), **named)
    assert result.to_dict()["results"] == expected["results"]
    assert note not in result.notes
    is_long = pl.col("seg_id").cast(pl.Int64) % 2 == 0
    by_length = metassay.rank(
        scores.with_columns(long=is_long.cast(dtype)), draws=10, context="long", minimum_segments=1
    )
    assert {ranking.context for ranking in by_length.rankings} == {"global", "false", "true"}


def test_a_requested_column_without_numbers_is_refused_with_the_reason(scores: pl.DataFrame) -> None:
    table = scores.with_columns(share=pl.lit("63/150"), word=pl.lit("good"), thousand=pl.lit("6,340"))
    data = metassay.rank(table, draws=10).data
    assert data is not None
    assert data.ignored_columns == {
        "share": "not numbers: '63/150'",
        "thousand": "numbers with thousands separators: '6,340'",
    }
    with pytest.raises(InputError, match=r"row 1, column word: 'good' is not a number.\nWrite all scores"):
        metassay.rank(table, metrics="word")
    with pytest.raises(InputError, match="the comma in '6,340' may be a decimal comma or separate thousands"):
        metassay.rank(table, metrics="thousand")


def test_decimal_commas_are_numbers_in_several_files_too(scores: pl.DataFrame, tmp_path: Path) -> None:
    commas = pl.col("COMET").cast(pl.String).str.replace(".", ",", literal=True)
    files = []
    for (system,), part in scores.with_columns(commas).group_by("system"):
        files.append(tmp_path / f"{system}.csv")
        part.write_csv(files[-1])
    values = metassay.rank(files, draws=10).to_dict()["results"][0]["metrics"]
    expected = metassay.rank(scores, draws=10).to_dict()["results"][0]["metrics"]
    assert sorted(map(str, values)) == sorted(map(str, expected))


def test_percentages_and_fractions_in_one_column_are_refused(scores: pl.DataFrame) -> None:
    percentage = (pl.col("COMET") * 100).cast(pl.String) + "%"
    mixed = pl.when(pl.col("seg_id") == "3").then(percentage).otherwise(pl.col("COMET").cast(pl.String))
    with pytest.raises(InputError, match="is no percentage, but other cells of the column are"):
        metassay.rank(scores.with_columns(mixed.alias("COMET")), draws=10)


def test_decimal_commas_beside_points_are_not_said_to_be_ignored(scores: pl.DataFrame) -> None:
    with_points = (pl.col("COMET") * 1000).round(0) / 1000
    with_commas = with_points.cast(pl.String).str.replace(".", ",", literal=True)
    mixed = pl.when(pl.int_range(pl.len()) % 2 == 0).then(with_commas).otherwise(with_points.cast(pl.String))
    result = metassay.rank(scores.with_columns(mixed.alias("COMET")), draws=10)
    assert result.data is not None
    assert "COMET" in {score.score for score in result.data.scores}
    assert not result.data.ignored_columns


@pytest.mark.parametrize(("score", "code"), [("human", -1.0), ("COMET", -999.0), ("TER", 999.0)])
def test_numbers_that_may_mean_a_missing_score_are_named(
    scores: pl.DataFrame, score: str, code: float
) -> None:
    positive = scores.with_columns(human=pl.col("human") + 5)
    coded = positive.with_columns(
        pl.when(pl.col("seg_id").is_in(["3", "4"])).then(code).otherwise(score).alias(score)
    )
    notes = metassay.rank(coded, draws=10).notes
    assert [note for note in notes if note.startswith(f"{score} is {code:g} in 6 rows and between")]
    assert not [note for note in metassay.rank(positive, draws=10).notes if "rows and between" in note]


@pytest.mark.parametrize(
    "scores_of_system", [[-1, 0, 1, 0, -1, 1, -1], [-1, -2, -3, 0, -1, -1], [99.0, 98, 97, 99, 99]]
)
def test_scores_that_equal_a_code_are_scores(scores_of_system: list[float]) -> None:
    assert warn_of_values_that_may_mean_missing("mqm", np.array(scores_of_system * 3, dtype=float)) == []


def test_the_summary_reads_like_prose() -> None:
    summary = DataSummary(
        outputs=150,
        items=100,
        systems=[SystemSummary("a", 100, 100), SystemSummary("b", 50, 50)],
        left_out={"no output": 2},
        scores=[
            ScoreSummary("mqm", "human", "higher", "default", ["de"], 1500),
            ScoreSummary("TER", "metric", "lower", "named like an error rate", ["de"], 1500),
        ],
    )
    assert describe_data_used(summary) == [
        (
            "Data: 150 outputs of 2 systems for 100 items; systems have between 50 (b) and 100 outputs; "
            "target language de."
        ),
        "Rows left out: 2 (no output).",
        "Lower is better: TER.",
        "Higher is better: mqm.",
    ]
    assert describe_data_used(None) == []
