"""Ranking measures against trec_eval 10's own test suite, pytrec_eval, and the TREC-COVID leaderboard."""

from __future__ import annotations

import csv
import dataclasses
import random
import re

import numpy as np
import polars as pl
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from metassay.data.assemble_rankings import combine_ranking_tables
from metassay.data.ranked_lists import (
    build_ranked_lists,
    build_ranked_lists_from_dicts,
    sort_documents_into_ranked_lists,
)
from metassay.data.readers.base import RawTable
from metassay.data.readers.judgements import read_relevance_judgements
from metassay.data.readers.trec_runs import read_trec_run
from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Batch
from metassay.metrics.ranking import PAPER_MEASURES
from metassay.metrics.ranking_metric import score_rankings
from metassay.metrics.registry import load_metric_classes, parse_metric, parse_metrics

RANKING_METRICS = [metric() for metric in load_metric_classes().values() if metric.task == "ranking"]
TREC_EVAL_SUITE = {
    "out.comment.test": ("results.comment.test", "qrels.comment.test", {}),
    "out.test": ("results.test", "qrels.test", {}),
    "out.test.a": ("results.test", "qrels.test", {}),
    "out.test.aq": ("results.test", "qrels.test", {}),
    "out.test.aqc": ("results.trunc", "qrels.test", {}),
    "out.test.aqcM": ("results.trunc", "qrels.test", {"depth": 100}),
    "out.test.aql": ("results.test", "qrels.rel_level", {"rel": 2}),
    "out.test.meas_params": ("results.test", "qrels.test", {}),
}
"""Expected output, run, judgements, and our parameters for `-M` and `-l`."""
UNSUPPORTED_MEASURES = re.compile(
    r"runid|num_.*|gm_.*|infAP|11pt_avg.*|(bin)?G|ndcg_rel|Rndcg|rbp_resid|unj_.*|utility.*|relstring.*|Rprec_mult.*"
    r"|ndcg_1=3.*"
)


def find_measure(name: str, options: dict[str, int]):
    """Return the measure with the options that it has, or None where we do not have it."""
    if UNSUPPORTED_MEASURES.fullmatch(name):
        return None
    metric = parse_metric(name)
    fields = {field.name for field in dataclasses.fields(metric)}
    return dataclasses.replace(metric, **{key: value for key, value in options.items() if key in fields})


def compare_with_expected_file(folder, expected: str) -> int:
    """Compare each value in an expected output of trec_eval with ours; return how many were compared."""
    run, qrels, options = TREC_EVAL_SUITE[expected]
    judged = read_relevance_judgements(str(folder / qrels))
    complete = expected in {"out.test.aqc", "out.test.aqcM"}
    data = combine_ranking_tables(
        [RawTable(run, read_trec_run(str(folder / run)))], judged, add_empty_lists=complete
    )
    lists = build_ranked_lists(data.outputs["item"], data.outputs["output"], judged)
    rows = {item: row for row, item in enumerate(data.outputs["item"])}
    count = 0
    for line in (folder / expected).read_text().splitlines():
        name, topic, value = (part.strip() for part in line.split("\t"))
        metric = find_measure(name, options)
        if metric is None or (name == "rbp" and "rel" in options):  # where trec_eval takes shares of the gain
            continue
        scores = score_rankings([metric], lists)[:, 0]
        score = scores.mean() if topic == "all" else scores[rows[topic]]
        assert f"{score:.4f}" == value, (expected, name, topic)
        count += 1
    return count


def test_values_equal_the_test_suite_of_trec_eval(real_data):
    folder = real_data("trec_eval/out.test").parent
    counts = {expected: compare_with_expected_file(folder, expected) for expected in TREC_EVAL_SUITE}
    print("values compared with trec_eval 10:", counts, "in all", sum(counts.values()))
    assert sum(counts.values()) >= 1000
    assert min(counts.values()) >= 24


def test_values_equal_the_trec_covid_leaderboard(real_data):
    runs = pl.read_parquet(real_data("trec_covid/runs_top100.parquet"))
    judged = read_relevance_judgements(str(real_data("trec_covid/qrels-round1.txt")))
    data = combine_ranking_tables([RawTable("runs_top100.parquet", runs)], judged)
    lists = build_ranked_lists(data.outputs["item"], data.outputs["output"], judged)
    metrics = parse_metrics("nDCG@10,P@5")
    frame = pl.DataFrame(score_rankings(metrics, lists), schema=[str(m) for m in metrics])
    means = data.outputs.select("system").hstack(frame).group_by("system").mean()
    with real_data("trec_covid/leaderboard-round1.csv").open() as file:
        leaderboard = {row["run"]: row for row in csv.DictReader(file)}
    assert len(leaderboard) == means.height == 143
    for row in means.iter_rows(named=True):
        official = leaderboard[row["system"]]
        assert f"{row['ndcg_cut_10']:.4f}" == official["ndcg@10"], row["system"]
        assert f"{row['p_5']:.4f}" == official["p@5"], row["system"]


def draw_run_and_judgements(seed: int, topics: int = 60, depth: int = 40):
    """Draw a run and judgements with equal scores, unjudged documents and topics without relevant ones."""
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for topic in range(topics):
        retrieved = rng.choice(80, size=rng.integers(1, depth), replace=False)
        judged = rng.choice(80, size=rng.integers(1, 50), replace=False)
        run[f"t{topic}"] = {f"d{d}": float(rng.integers(0, 12)) / 3 for d in retrieved}
        grades = rng.integers(0, 4, len(judged)) * (topic % 9 > 0)
        qrels[f"t{topic}"] = {f"d{d}": int(g) for d, g in zip(judged, grades)}
    return run, qrels


def build_lists(run, qrels):
    rows = [("x", topic, doc, score) for topic, own in run.items() for doc, score in own.items()]
    judged = [(topic, doc, grade) for topic, own in qrels.items() for doc, grade in own.items()]
    return sort_documents_into_ranked_lists(
        pl.DataFrame(rows, schema=["system", "item", "document", "score"], orient="row"),
        pl.DataFrame(judged, schema=["item", "document", "grade"], orient="row"),
    )


@pytest.mark.parametrize("seed", range(3))
def test_every_measure_equals_pytrec_eval_on_random_runs(seed):
    """Interpolated precision has its own test below: trec_eval 10 rounds it in another way."""
    run, qrels = draw_run_and_judgements(seed)
    index, lists = build_lists(run, qrels)
    cuts = "5,10,15,20,30"
    official = pytrec_eval.RelevanceEvaluator(
        qrels,
        {"map", "Rprec", "recip_rank", "bpref", "ndcg", "set_P", "set_recall", "set_map", "set_F"}
        | {f"{family}.{cuts}" for family in ("P", "recall", "ndcg_cut", "map_cut", "success", "relative_P")},
    ).evaluate(run)
    for name in official["t1"]:
        scores = score_rankings([parse_metric(name)], lists)[:, 0]
        expected = [official[topic][name] for topic in index["item"]]
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=0, err_msg=name)


def test_interpolated_precision_rounds_half_up():
    """Five relevant documents: recall 0.1 needs round(0.5) = 1 of them, 0.3 needs round(1.5) = 2."""
    lists = build_ranked_lists_from_dicts([["n1", "a", "n2", "b", "c"]], [dict.fromkeys("abcde", 1)])
    scores = score_rankings(parse_metrics("iprec_at_recall_0,iprec@.1,iprec@.3,iprec@.9,iprec@1"), lists)
    np.testing.assert_allclose(scores[0], [3 / 5, 3 / 5, 3 / 5, 0, 0])


@pytest.mark.parametrize("metric", [*RANKING_METRICS, *PAPER_MEASURES], ids=str)
def test_specs_parse_back_and_are_lower_case(metric):
    assert parse_metric(str(metric)) == metric
    assert parse_metric(str(metric).upper()) == metric
    assert str(metric) == str(metric).lower()


def test_the_default_set_has_the_23_measures_of_the_paper():
    assert len({str(metric) for metric in PAPER_MEASURES}) == 23


@pytest.mark.parametrize(
    ("spelling", "spec"),
    [
        ("nDCG@10", "ndcg_cut_10"),
        ("nDCG", "ndcg"),
        ("P@5", "p_5"),
        ("P(rel=2)@5", "p_5(rel=2)"),
        ("R@20", "recall_20"),
        ("AP", "map"),
        ("AP(rel=2)", "map(rel=2)"),
        ("AP@100", "map_cut_100"),
        ("RR", "recip_rank"),
        ("RR@10", "recip_rank(depth=10)"),
        ("IPrec@0.1", "iprec_at_recall_0.10"),
        ("iprec_at_recall_.25", "iprec_at_recall_0.25"),
        ("Success@1", "success_1"),
        ("Bpref", "bpref"),
        ("SetF", "set_f"),
        ("Rprec", "rprec"),
    ],
)
def test_spellings_of_trec_eval_and_ir_measures_are_understood(spelling, spec):
    assert str(parse_metric(spelling)) == spec


@pytest.mark.parametrize("text", ["ndcg_cut_0", "p_1.5", "iprec_at_recall_1.5", "map(rel=0)", "map(depth=0)"])
def test_parameters_out_of_range_are_refused(text):
    with pytest.raises(InputError):
        parse_metric(text)


def test_an_unknown_measure_names_the_nearest():
    with pytest.raises(UnknownName, match="ndcg_cut_k"):
        parse_metric("ndgc_cut_10")
    with pytest.raises(UnknownName):
        parse_metric("map_7@3")


def test_document_ids_with_mappings_score_like_arrays():
    run, qrels = draw_run_and_judgements(7)
    index, lists = build_lists(run, qrels)
    batch = Batch({"output": list(lists), "qrels": [qrels[item] for item in index["item"]]})
    for metric in PAPER_MEASURES:
        np.testing.assert_array_equal(metric.score(batch), score_rankings([metric], lists)[:, 0])
        np.testing.assert_array_equal(metric.score(batch), metric.score(Batch({"output": lists})))


def test_an_empty_list_and_a_topic_without_relevant_documents_score_zero():
    lists = build_ranked_lists_from_dicts([[], ["a", "b"], ["a"]], [{"a": 1}, {"a": 0}, {}])
    measures = [metric for metric in RANKING_METRICS if metric.name != "judged"]
    assert not score_rankings(measures, lists).any()


def test_slicing_and_reordering_keep_documents_and_grades_together():
    lists = build_ranked_lists_from_dicts([["a", "b", "c"], ["c", "x"]], [{"a": 2, "c": 1}] * 2)
    assert list(lists) == [("a", "b", "c"), ("c", "x")]
    assert lists.grades.tolist() == [2, -1, 1, 1, -1]
    assert list(lists[1:]) == [("c", "x")]
    backwards = lists.reorder_documents(np.array([2, 1, 0, 4, 3]))
    assert list(backwards) == [("c", "b", "a"), ("x", "c")]
    assert backwards.grades.tolist() == [1, -1, 2, -1, 1]
    assert backwards.to_series().to_list() == [["c", "b", "a"], ["x", "c"]]


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.sampled_from([-1.5, -0.0, 0.0, 1e-46, 0.1, 0.1 + 1e-12, 2.0]), min_size=1, max_size=12))
def test_documents_are_ordered_by_float32_score_then_by_id_descending(scores):
    rows = [("x", "t", f"d{i:02}", score) for i, score in enumerate(scores)]
    table = pl.DataFrame(rows, schema=["system", "item", "document", "score"], orient="row")
    _, lists = sort_documents_into_ranked_lists(
        table, pl.DataFrame({"item": ["t"], "document": ["d00"], "grade": [1]})
    )
    expected = sorted(rows, key=lambda row: (float(np.float32(row[3])) + 0.0, row[2]), reverse=True)
    assert list(lists[0]) == [row[2] for row in expected]


def test_sentinels_score_arrays_like_document_ids():
    run, qrels = draw_run_and_judgements(3)
    _, lists = build_lists(run, qrels)
    for metric in parse_metrics("length,random,constant"):
        expected = metric.score(Batch({"output": [lists[row] for row in range(len(lists))]}))
        np.testing.assert_array_equal(metric.score(Batch({"output": lists})), expected)


def test_weights_depths_and_recall_levels_equal_hand_computed_values() -> None:
    """Relevant are a, b and c; the list has a first and b fourth of six."""
    lists = build_ranked_lists_from_dicts(
        [["a", "x", "y", "b", "z", "w"]], [{"a": 1, "b": 1, "c": 1, "x": 0}]
    )
    specs = {
        "set_f(beta=2)": 3 * (1 / 3) * (2 / 3) / (2 / 3 + 2 * 1 / 3),  # precision 2 / 6, recall 2 / 3
        "set_f(beta=0.5)": 1.5 * (1 / 3) * (2 / 3) / (2 / 3 + 0.5 * 1 / 3),
        "iprec_at_recall_0.5": 2 / 4,  # half of three is rounded up to two, which takes four documents
        "iprec_at_recall_0.4": 1.0,  # 1.2 is rounded down to one
        "map": (1 + 2 / 4) / 3,
        "map(depth=3)": 1 / 3,
        "set_recall(depth=3)": 1 / 3,
        "set_p(depth=3)": 1 / 3,
    }
    found = score_rankings(parse_metrics(list(specs)), lists)[0]
    assert found.tolist() == pytest.approx(list(specs.values()))


def test_rbp_err_and_judged_equal_a_walk_through_the_list():
    """Grades 2, unjudged, 0, 1, 4: every term written out."""
    lists = build_ranked_lists_from_dicts(
        [["a", "x", "b", "c", "d"]], [{"a": 2, "b": 0, "c": 1, "d": 4, "e": 3}]
    )
    found = dict(
        zip(
            names := ("rbp", "rbp(p=0.5,rel=2)", "RBP@4", "err_20", "ERR@1", "err_5(highest=5)", "Judged@3"),
            score_rankings(parse_metrics(list(names)), lists)[0],
        )
    )
    stops = {2: 3 / 16, 1: 1 / 16, 4: 15 / 16}
    err = stops[2] + (1 - stops[2]) * (stops[1] / 4 + (1 - stops[1]) * stops[4] / 5)
    other = 3 / 32 + (1 - 3 / 32) * (1 / 32 / 4 + (1 - 1 / 32) * 15 / 32 / 5)
    assert found == pytest.approx({
        "rbp": 0.1 * (1 + 0.9**3 + 0.9**4),
        "rbp(p=0.5,rel=2)": 0.5 * (1 + 0.5**4),
        "RBP@4": 0.1 * (1 + 0.9**3),
        "err_20": err,
        "ERR@1": stops[2],
        "err_5(highest=5)": other,
        "Judged@3": 2 / 3,
    })  # fmt: skip
    short = build_ranked_lists_from_dicts([["a", "x"], [], ["x"]], [{"a": 1}, {"a": 1}, {"a": 0}])
    assert score_rankings(parse_metrics("judged_10,err_20,rbp"), short).tolist() == [
        [0.5, 1 / 16, pytest.approx(0.1)],
        [0, 0, 0],
        [0, 0, 0],
    ]


def test_rbp_equals_ir_measures():
    """Its figures for these lists, printed once: ir_measures 0.4.3, RBP(p=…, rel=…), with cwl-eval 1.0.12."""
    official = {
        "rbp(p=0.8)": [0.128, 0.45909, 0.543972, 0.16, 0.2, 0.244698],
        "rbp(p=0.5,rel=2)": [0.125, 0.265625, 0.656746, 0.25, 0.5, 0.141235],
        "rbp(p=0.9,rel=3)": [0.081, 0.0, 0.16561, 0.09, 0.1, 0.00471],
    }
    draw, documents = random.Random(11), [f"d{n}" for n in range(40)]
    outputs, judgements = [], []
    for _ in range(6):
        judgements.append({d: draw.choice([0, 0, 1, 1, 2, 3]) for d in documents if draw.random() < 0.5})
        outputs.append(draw.sample(documents, draw.choice([3, 10, 25, 40])))
    found = score_rankings(parse_metrics(list(official)), build_ranked_lists_from_dicts(outputs, judgements))
    np.testing.assert_allclose(found.T, list(official.values()), atol=1e-6)


def test_err_and_judged_equal_gdeval_and_ir_measures_on_trec_covid(real_data):
    """gdeval.pl as ir_measures runs it prints five digits."""
    ir_measures = pytest.importorskip("ir_measures")
    qrels = real_data("trec_covid/qrels-round1.txt")
    runs = pl.read_parquet(real_data("trec_covid/runs_top100.parquet"))
    names = runs["run"].unique().sort()
    few = runs.filter(pl.col("run").is_in(names.gather_every(24).implode()))
    judged = read_relevance_judgements(str(qrels))
    data = combine_ranking_tables([RawTable("runs", few)], judged)
    lists = build_ranked_lists(data.outputs["item"], data.outputs["output"], judged)
    scores = score_rankings(parse_metrics("ERR@20,Judged@10"), lists)
    find_measure = {
        (row["system"], row["item"]): own for row, own in zip(data.outputs.iter_rows(named=True), scores)
    }
    asked = [ir_measures.ERR @ 20, ir_measures.Judged @ 10]
    judgements = list(ir_measures.read_trec_qrels(str(qrels)))
    count = 0
    for name, own in data.outputs.group_by("system"):
        ranked = [
            ir_measures.ScoredDoc(item, document, -float(place))  # ir_measures orders ties the other way
            for item, documents in own.select("item", "output").iter_rows()
            for place, document in enumerate(documents)
        ]
        official = ir_measures.iter_calc(asked, judgements, ranked)
        for value in official:
            mine = find_measure[name[0], value.query_id][asked.index(value.measure)]
            assert mine == pytest.approx(value.value, abs=6e-6), (name, value)
            count += 1
    assert count >= 300
