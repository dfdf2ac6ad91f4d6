"""`score` and `aggregate` from files to results: official numbers, all pairs of systems, tables on disk."""

from __future__ import annotations

import itertools
import json

import jsonschema
import msgspec
import numpy as np
import polars as pl
import pytest
from sacrebleu import corpus_bleu, corpus_chrf, sentence_chrf
from threadpoolctl import threadpool_limits

import metassay
from metassay.cli import run_command_line as run
from metassay.errors import InputError
from metassay.results.aggregate import AggregateContent


@pytest.fixture(scope="module")
def texts(tmp_path_factory, some_words):
    """Two test sets, three systems, a missing output and an empty one."""
    rng = np.random.default_rng(1)
    rows = []
    for pair, item in itertools.product(("xx-en", "yy-en"), range(40)):
        reference = " ".join(rng.choice(some_words, 10))
        for system, noise in (("good", 0.1), ("middle", 0.3), ("poor", 0.7)):
            output = " ".join(
                rng.choice(some_words) if rng.random() < noise else w for w in reference.split()
            )
            if (pair, item, system) == ("xx-en", 3, "poor"):
                continue
            output = "" if (pair, item, system) == ("yy-en", 5, "good") else output
            rows.append((2024, pair, system, item, output, reference, -noise + rng.normal() / 10))
    frame = pl.DataFrame(rows, schema=["year", "lp", "system", "seg_id", "hyp", "ref", "mqm"], orient="row")
    path = tmp_path_factory.mktemp("texts") / "texts.parquet"
    frame.write_parquet(path)
    return path, frame


def get_texts(frame, pair, system):
    """Outputs and references of one system, in the order of segments."""
    rows = frame.filter(lp=pair, system=system).sort("seg_id")
    return rows["hyp"].to_list(), rows["ref"].to_list()


def test_system_scores_equal_those_of_sacrebleu(texts):
    path, frame = texts
    result = metassay.score(path, metrics="bleu,chrf", aggregate=("corpus", "segment", "bootstrap"))
    assert len(result.systems) == 2 * 2 * 3
    for row in result.systems:
        outputs, references = get_texts(frame, row.group.partition("/")[2], row.system)
        official = corpus_bleu if row.metric == "bleu" else corpus_chrf
        assert row.corpus == pytest.approx(official(outputs, [references]).score, rel=1e-12)
        assert row.bootstrap == pytest.approx(row.corpus, rel=0.05)
        if row.metric == "chrf":
            mean = np.mean([sentence_chrf(o, [r]).score for o, r in zip(outputs, references)])
            assert row.segment == pytest.approx(mean, rel=1e-12)


def test_aggregations_that_were_not_requested_are_none(texts):
    path, _ = texts
    for row in metassay.score(path, metrics="bleu,rougel", aggregate=("segment",)).systems:
        assert row.corpus is None
        assert row.bootstrap is None
        assert row.segment > 0


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_all_pairs_of_systems_are_compared(texts, test):
    path, _ = texts
    result = metassay.score(path, metrics="bleu,rougel", test=test, draws=300)
    scores = {
        (row.group, row.metric, row.system): row.corpus if row.metric == "bleu" else row.segment
        for row in result.systems
    }
    assert len(result.comparisons) == 2 * 2 * 3
    for row in result.comparisons:
        assert row.test == test
        assert row.segments == (39 if row.group.endswith("xx-en") else 40)
        assert 1 / 301 <= row.p <= row.p_holm <= 1
        if row.group.endswith("yy-en"):
            expected = scores[row.group, row.metric, row.a] - scores[row.group, row.metric, row.b]
            assert row.difference == pytest.approx(expected)
        if {row.a, row.b} == {"good", "poor"}:
            assert row.p == pytest.approx(1 / 301)


def test_results_depend_only_on_the_seed(texts, tmp_path):
    path, frame = texts
    shuffled = tmp_path / "shuffled.parquet"
    frame.sample(fraction=1, shuffle=True, seed=3).write_parquet(shuffled)
    options = {"metrics": "chrf", "aggregate": ["bootstrap"], "test": "bootstrap", "draws": 100}
    first = metassay.score(path, workers=1, **options).to_dict()
    assert metassay.score(shuffled, workers=3, **options).to_dict() == first
    assert metassay.score(path, seed=1, **options).to_dict() != first
    few = {"metrics": "chrf", "resamples": 20, "repeats": 5}
    first = metassay.aggregate(path, workers=1, **few).to_dict()
    assert metassay.aggregate(shuffled, workers=3, **few).to_dict() == first


def test_segment_scores_are_written_in_every_format(texts, tmp_path):
    path, frame = texts
    for ending, read in (("parquet", pl.read_parquet), ("csv", pl.read_csv), ("jsonl", pl.read_ndjson)):
        file = tmp_path / f"segments.{ending}"
        metassay.score(path, metrics="chrf,rougel", per_segment=file)
        table = read(file)
        assert table.columns == ["item", "system", "metric", "score"]
        assert len(table) == 2 * len(frame)
    one = table.filter(item="2024/yy-en/7", system="poor", metric="chrf")["score"].item()
    row = frame.filter(lp="yy-en", seg_id=7, system="poor")
    assert one == pytest.approx(sentence_chrf(row["hyp"].item(), [row["ref"].item()]).score, rel=1e-12)


def test_aggregate_compares_all_aggregations(texts):
    path, _ = texts
    result = metassay.aggregate(path, metrics="bleu,chrf,ter", resamples=30, repeats=10)
    content = result.to_dict()
    jsonschema.validate(content, msgspec.json.schema(AggregateContent))
    assert {row["group"] for row in content["systems"]} == {"2024/xx-en", "2024/yy-en"}
    names = [prefix + metric for metric in ("bleu", "chrf", "ter") for prefix in ("", "m-", "x-")]
    assert {(row["x"], row["y"]) for row in content["between"]} == set(itertools.combinations(names, 2))
    assert all(row["groups"] == 6 for row in content["between"])
    assert all(row["pearson"] > 0.8 for row in content["human"])
    assert {row["group"] for row in content["human"]} == {"2024/xx-en", "2024/yy-en", "mean"}
    assert result.to_frame().height == 18


def test_aggregate_takes_human_scores_from_the_named_column(texts):
    rows = texts[1].rename({"mqm": "likes"})
    few = {"metrics": "chrf", "resamples": 10, "repeats": 5}
    assert metassay.aggregate(rows, **few).human == []
    result = metassay.aggregate(rows, human="likes", **few)
    assert {entry.human for entry in result.human} == {"likes"}
    with pytest.raises(InputError, match="Did you mean likes"):
        metassay.aggregate(rows, human="like", **few)


def test_aggregate_compares_only_the_named_human_scores(texts, tmp_path, capsys):
    rows = texts[1].with_columns(da=pl.col("mqm") + 100)
    few = {"metrics": "chrf", "resamples": 10, "repeats": 5}
    assert {entry.human for entry in metassay.aggregate(rows, **few).human} == {"mqm", "da"}
    assert {entry.human for entry in metassay.aggregate(rows, human="da", **few).human} == {"da"}
    rows.write_parquet(tmp_path / "rows.parquet")
    run_aggregate = [
        "aggregate",
        str(tmp_path / "rows.parquet"),
        "--human",
        "da",
        "--metrics",
        "chrf",
        "--json",
    ]
    assert run([*run_aggregate, "--resamples", "10", "--repeats", "5"]) == 0
    assert {row["human"] for row in json.loads(capsys.readouterr().out)["human"]} == {"da"}


def test_number_of_blas_threads_does_not_change_results(real_data):
    """Products of matrices differ in the last digits with the number of threads."""
    data = metassay.read(real_data("wmt23/wmt23_en-de.parquet"))
    content = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            content.append(metassay.aggregate(data, metrics="chrf", resamples=200, repeats=50).to_dict())
    assert content[0] == content[1]


def test_aggregate_leaves_out_systems_that_are_the_reference(texts, tmp_path):
    _, frame = texts
    human = frame.filter(system="good").with_columns(system=pl.lit("refA"), hyp=pl.col("ref"))
    path = tmp_path / "with_reference.parquet"
    pl.concat([frame, human]).write_parquet(path)
    few = {"metrics": "bleu", "resamples": 10, "repeats": 2}
    left_out = metassay.aggregate(path, **few).to_dict()
    assert "refA" not in {row["system"] for row in left_out["systems"]}
    assert any("refA" in note for note in left_out["notes"])
    kept = metassay.aggregate(path, keep_references=True, **few).to_dict()
    assert [row["corpus"] for row in kept["systems"] if row["system"] == "refA"] == pytest.approx([100, 100])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda path: metassay.score(path, aggregate=["median"]), "unknown aggregation"),
        (lambda path: metassay.score(path, test="sign"), "unknown test"),
        (lambda path: metassay.score(path, metrics="bleu", test="bootstrap", draws=0), "at least 1"),
        (lambda path: metassay.score(path, metrics="bleu", per_segment="x.xlsx"), "ending"),
        (lambda path: metassay.aggregate(path, metrics="rougel"), "no sufficient statistics"),
        (lambda path: metassay.aggregate(path, resamples=1), "at least 2"),
    ],
)
def test_invalid_requests_are_errors(texts, call, message):
    with pytest.raises(InputError, match=message):
        call(texts[0])


def test_commands_print_tables_and_json(texts, capfd):
    path = str(texts[0])
    assert (
        run(["score", path, "--metrics", "bleu", "--test", "bootstrap", "--draws", "50", "--quiet", "-v"])
        == 0
    )
    shown = capfd.readouterr().out
    assert "if the true difference between the two systems were 0" in shown
    assert "equals:sacrebleu" in shown
    for form, mark in (
        ("latex", r"\begin{tabular}"),
        ("markdown", "|---"),
        ("csv", "system,metric,signature"),
    ):
        assert run(["score", path, "--metrics", "bleu", "--format", form, "--quiet"]) == 0
        assert mark.replace("|---", "|") in capfd.readouterr().out
    few = ["--resamples", "10", "--repeats", "3", "--quiet"]
    assert run(["aggregate", path, *few, "--verbose"]) == 0
    assert "m-BLEU" in capfd.readouterr().out
    assert run(["aggregate", path, *few, "--json"]) == 0
    jsonschema.validate(json.loads(capfd.readouterr().out), msgspec.json.schema(AggregateContent))
    assert run(["aggregate", path, "--metrics", "meteor"]) == 2
    assert "no sufficient statistics" in capfd.readouterr().err


def test_warnings_of_metrics_become_notes(tmp_path):
    rows = [("en-ru", "s", item, "Кошка сидит на окне.", "Кошка спит на окне.") for item in range(3)]
    frame = pl.DataFrame(rows, schema=["lp", "system", "seg_id", "hyp", "ref"], orient="row")
    frame.write_parquet(tmp_path / "russian.parquet")
    content = metassay.score(tmp_path / "russian.parquet", metrics="rouge1,rougel")
    assert sum("is computed on Unicode letters" in note for note in content.notes) == 2
    assert all(0 < row.segment < 1 for row in content.systems)


def test_text_files_are_scored_as_by_sacrebleu(tmp_path, capfd):
    (tmp_path / "ref.txt").write_text("the cat sat on the mat\na dog ran over the hill\n")
    (tmp_path / "a.txt").write_text("the cat sat on a mat\na dog ran over a hill\n")
    options = ["--reference", str(tmp_path / "ref.txt"), "--hypothesis", str(tmp_path / "a.txt")]
    assert run(["score", *options, "--metrics", "bleu", "--json", "--quiet"]) == 0
    row = json.loads(capfd.readouterr().out)["systems"][0]
    outputs = ["the cat sat on a mat", "a dog ran over a hill"]
    references = ["the cat sat on the mat", "a dog ran over the hill"]
    assert row["corpus"] == pytest.approx(corpus_bleu(outputs, [references]).score, rel=1e-12)


def test_a_test_of_segments_in_documents_has_a_warning(some_words):
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "system": np.repeat(["a", "b"], 20),
            "seg_id": np.tile(np.arange(20), 2),
            "doc_id": np.tile(np.arange(20) // 5, 2),
            "hyp": [" ".join(rng.choice(some_words, 6)) for _ in range(40)],
            "ref": [" ".join(rng.choice(some_words, 6)) for _ in range(20)] * 2,
        }
    )

    def list_notes_on_documents(data, **options):
        return [note for note in metassay.score(data, metrics="bleu", **options).notes if "doc_id" in note]

    assert len(list_notes_on_documents(frame, test="bootstrap", draws=10)) == 1
    assert not list_notes_on_documents(frame)
    assert not list_notes_on_documents(frame, test="bootstrap", draws=10, cluster="doc_id")
    one_segment_each = frame.with_columns(doc_id=pl.col("seg_id"))
    assert not list_notes_on_documents(one_segment_each, test="bootstrap", draws=10)


def test_clusters_are_resampled_as_a_whole(some_words):
    """With two copies of every segment in one document, results are those of one copy of the segments."""
    rng = np.random.default_rng(4)
    single = pl.DataFrame(
        {
            "system": np.repeat(["a", "b"], 30),
            "seg_id": np.tile(np.arange(30), 2),
            "hyp": [" ".join(rng.choice(some_words[:8], 6)) for _ in range(60)],
            "ref": [" ".join(rng.choice(some_words[:8], 6)) for _ in range(30)] * 2,
        }
    ).with_columns(doc_id=pl.col("seg_id"))
    double = pl.concat([single, single.with_columns(pl.col("seg_id") + 30)])
    options = {"metrics": "chrf,meteor", "test": "randomization", "draws": 200, "cluster": "doc_id"}
    once = metassay.score(single, **options)
    twice = metassay.score(double, **options)
    for a, b in zip(once.systems, twice.systems, strict=True):
        assert (a.low, a.high) == pytest.approx((b.low, b.high))
    for a, b in zip(once.comparisons, twice.comparisons, strict=True):
        assert (a.p, a.difference) == pytest.approx((b.p, b.difference))
        assert b.segments == 2 * a.segments


def test_a_cluster_column_has_one_value_per_item():
    by_output = [
        {"system": system, "seg_id": 1, "doc_id": system, "hyp": "a b", "ref": "a b"} for system in "xy"
    ]
    with pytest.raises(InputError, match="unknown cluster column 'chapter'"):
        metassay.score(by_output, metrics="bleu", cluster="chapter")
    with pytest.raises(InputError, match="item 1 has several values of doc_id"):
        metassay.score(by_output, metrics="bleu", cluster="doc_id")
