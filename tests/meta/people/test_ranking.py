"""Assembled rankings: gaps, contexts, clusters, averages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metassay.data.score_arrays import ScoreArrays
from metassay.data.score_cube import ScoreCube
from metassay.meta.pairwise import soft_pairwise_accuracy
from metassay.meta.people.meta_metrics import Procedure, meta_metric
from metassay.meta.people.metric_comparison import averages, metric_differences
from metassay.meta.people.ranking import rank_cubes

SYSTEMS, SEGMENTS = 5, 30


def make_table(name: str = "en-de", seed: int = 0, suffix: str = "") -> ScoreCube:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=(SYSTEMS, 1)) * 0.3 + rng.normal(size=(SYSTEMS, SEGMENTS))
    metrics = {f"m{k}{suffix}": human + rng.normal(size=human.shape) * (0.3 + k) for k in range(3)}
    labels = {
        "domain": tuple("news" if k < 10 else "chat" for k in range(SEGMENTS)),
        "doc_id": tuple(str(k // 3) for k in range(SEGMENTS)),
    }
    ids = tuple(f"s{k}" for k in range(SYSTEMS)), tuple(str(k) for k in range(SEGMENTS))
    return ScoreCube(name, *ids, {"mqm": human}, metrics, labels)


FEW = Procedure(draws=100)


def test_values_are_those_of_the_array_functions() -> None:
    table = make_table()
    (ranking,) = rank_cubes([table], human="mqm", procedure=FEW)
    rows = {row["metric"]: row for row in ranking.to_dict()["metrics"]}
    for name, scores in table.metric_scores.items():
        assert rows[name]["value"] == pytest.approx(
            soft_pairwise_accuracy(table.human_scores["mqm"], scores), abs=1e-12
        )
        assert rows[name]["low"] < rows[name]["high"]
    assert [row["metric"] for row in ranking.to_dict()["metrics"][-2:]] == ["constant", "random"]
    assert rows["constant"]["baseline"]
    assert not rows["m0"]["baseline"]
    assert rows["constant"]["rank"] is None


def test_gaps_of_people_drop_for_all_and_gaps_of_a_metric_for_it_alone() -> None:
    table = make_table()
    table.human_scores["mqm"][1, 4] = np.nan
    table.metric_scores["m1"][2, 7] = table.metric_scores["m2"][0, 8] = np.nan
    (ranking,) = rank_cubes([table], human="mqm", procedure=FEW)
    found = ranking.to_dict()
    assert (found["segments"], found["dropped_segments"]) == (29, 1)
    assert {row["metric"]: row["segments"] for row in found["metrics"]} == {
        "m0": 29,
        "m1": 28,
        "m2": 28,
        "constant": 29,
        "random": 29,
    }
    assert len(found["comparisons"]) == 3
    shared = [k for k in range(SEGMENTS) if k not in {4, 7, 8}]
    pair = ScoreArrays(
        table.human_scores["mqm"][:, shared],
        np.stack([table.metric_scores[m][:, shared] for m in ("m1", "m2")]),
    )
    alone = metric_differences(meta_metric("spa"), pair, Procedure(draws=100, stream=FEW.stream))
    assert alone is not None
    assert ranking.differences is not None
    assert ranking.differences.observed[2] == pytest.approx(alone.observed[0], abs=1e-12)


def test_comparisons_name_the_better_metric_first() -> None:
    (ranking,) = rank_cubes([make_table()], human="mqm", procedure=FEW)
    found = ranking.to_dict()
    value = {row["metric"]: row["value"] for row in found["metrics"]}
    for pair in found["comparisons"]:
        assert value[pair["a"]] >= value[pair["b"]]
        assert 0 < pair["p"] <= pair["p_two_sided"] + 0.1 <= 1.1


def test_contexts_are_compared_on_equal_numbers_of_segments() -> None:
    table = make_table()
    whole, chat, news = rank_cubes(
        [table], human="mqm", procedure=FEW, contexts=["domain"], minimum_segments=10
    )
    assert (whole.context, chat.context, news.context) == ("global", "chat", "news")
    assert chat.equal_segments == news.equal_segments == 10
    assert (len(chat.data.cube.items), len(news.data.cube.items)) == (20, 10)
    first = {name: scores[:, :10] for name, scores in table.metric_scores.items()}
    expected = soft_pairwise_accuracy(table.human_scores["mqm"][:, :10], first["m1"])
    assert news.values[1] == pytest.approx(expected, abs=1e-12)
    subsets = np.random.default_rng(0)
    drawn = [
        soft_pairwise_accuracy(table.human_scores["mqm"][:, k], table.metric_scores["m1"][:, k])
        for k in (10 + subsets.permutation(20)[:10] for _ in range(400))
    ]
    assert chat.values[1] == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(200))


def test_a_context_that_varies_within_a_segment_is_refused() -> None:
    with pytest.raises(ValueError, match="one value per segment"):
        rank_cubes([make_table()], human="mqm", contexts=["system"])


def test_clusters_widen_the_unit_of_permutation() -> None:
    table = make_table()
    (by_document,) = rank_cubes([table], human="mqm", procedure=FEW, cluster="doc_id")
    sums = {
        name: scores.reshape(SYSTEMS, -1, 3).sum(axis=2)
        for name, scores in {**table.metric_scores, "mqm": table.human_scores["mqm"]}.items()
    }
    assert by_document.method == "permutation"  # ten documents are too few for the closed form
    expected = soft_pairwise_accuracy(sums["mqm"], sums["m2"], method="permutation")
    assert by_document.values[2] == pytest.approx(expected, abs=1e-12)


def test_averages_map_correlations_and_join_references() -> None:
    tables = [make_table("en-de", 1, "-refA"), make_table("he-en", 2, "-refB")]
    rankings = rank_cubes(tables, human="mqm", meta="pearson,pa", procedure=FEW)
    pearson, pa = averages(rankings)
    assert pearson["datasets"] == ["en-de", "he-en"]
    for row in pearson["metrics"]:
        parts = [r.values[int(row["metric"][1])] for r in rankings if r.meta.name == "pearson"]
        assert row["value"] == pytest.approx(np.mean(parts) / 2 + 0.5, abs=1e-12)
        assert row["rank"] >= 1
    assert len(pearson["comparisons"]) == 3
    for row in pa["metrics"]:
        assert row["pooled"] == pytest.approx(row["value"])  # the same number of systems in both


def test_the_average_of_a_data_set_with_itself_is_itself() -> None:
    one, other = (make_table(name, 3) for name in ("a", "b"))
    rankings = rank_cubes([one, other], human="mqm", procedure=FEW)
    (mean,) = averages(rankings)
    values = {row["metric"]: row["value"] for row in rankings[0].to_dict()["metrics"]}
    for row in mean["metrics"]:
        assert row["value"] == pytest.approx(values[row["metric"]], abs=1e-12)


def test_lower_is_better_turns_a_metric_around() -> None:
    table = make_table()
    turned = ScoreCube(
        table.dataset,
        table.systems,
        table.items,
        table.human_scores,
        {**table.metric_scores, "m1": -table.metric_scores["m1"]},
        table.item_metadata,
        lower_is_better=frozenset({"m1"}),
    )
    (plain,) = rank_cubes([table], human="mqm", procedure=FEW)
    (again,) = rank_cubes([turned], human="mqm", procedure=FEW)
    np.testing.assert_array_equal(plain.values, again.values)


def test_holm_makes_no_p_value_smaller() -> None:
    (ranking,) = rank_cubes([make_table()], human="mqm", procedure=FEW, holm=True)
    assert all(pair["p_holm"] >= pair["p"] for pair in ranking.to_dict()["comparisons"])


def test_no_test_leaves_no_ranks_and_williams_needs_pearson() -> None:
    (ranking,) = rank_cubes([make_table()], human="mqm", procedure=Procedure("none", draws=10))
    assert ranking.to_dict()["comparisons"] == []
    assert {row["rank"] for row in ranking.to_dict()["metrics"]} == {None}
    with pytest.raises(ValueError, match="pearson only"):
        rank_cubes([make_table()], human="mqm", procedure=Procedure("williams"))
    (found,) = rank_cubes(
        [make_table()], human="mqm", meta="pearson", procedure=Procedure("williams", draws=10)
    )
    assert len(found.to_dict()["comparisons"]) == 3


def test_a_constant_metric_has_no_correlation_and_no_rank() -> None:
    table = make_table()
    table.metric_scores["m1"][:] = 0.7
    (ranking,) = rank_cubes([table], human="mqm", meta="pearson", procedure=FEW)
    rows = {row["metric"]: row for row in ranking.to_dict()["metrics"]}
    assert rows["m1"]["value"] is None
    assert rows["m1"]["rank"] is None
    assert len(ranking.to_dict()["comparisons"]) == 1


def test_systems_without_scores_are_left_out_and_named() -> None:
    table = make_table()
    table.human_scores["mqm"][0] = np.nan
    (ranking,) = rank_cubes([table], human="mqm", procedure=FEW)
    assert ranking.to_dict()["systems"] == 4
    assert "s0" in ranking.data.cube.notes[0]


def test_a_metric_that_lacks_a_system_has_no_value_and_is_named() -> None:
    table = make_table()
    table.metric_scores["m1"][3] = np.nan
    (ranking,) = rank_cubes([table], human="mqm", procedure=FEW)
    rows = {row["metric"]: row for row in ranking.to_dict()["metrics"]}
    assert (rows["m1"]["value"], rows["m1"]["segments"], rows["m1"]["rank"]) == (None, 0, None)
    assert rows["m0"]["segments"] == SEGMENTS
    assert "m1" in ranking.data.cube.notes[0]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown human score"):
        rank_cubes([make_table()], human="da")
    with pytest.raises(ValueError, match="unknown metric"):
        rank_cubes([make_table()], human="mqm", metrics=["m9"])
    with pytest.raises(ValueError, match="unknown meta-metric"):
        rank_cubes([make_table()], human="mqm", meta="cosine")
    with pytest.raises(ValueError, match="system level only"):
        rank_cubes([make_table()], human="mqm", meta="spa:item")


def test_a_small_context_is_set_aside_by_name_and_sets_no_size() -> None:
    table = make_table()
    rankings = rank_cubes([table], human="mqm", procedure=FEW, contexts=["domain"], minimum_segments=15)
    assert [ranking.context for ranking in rankings] == ["global", "chat"]
    assert rankings[1].equal_segments == 20
    assert "news" in rankings[0].data.cube.notes[-1]
    assert "fewer than 15 segments" in rankings[0].data.cube.notes[-1]
    none = rank_cubes([table], human="mqm", procedure=FEW, contexts=["domain"], minimum_segments=99)
    assert [ranking.context for ranking in none] == ["global"]


def test_tests_say_for_whom_they_answer_and_both_are_shown_from_eight_systems_on() -> None:
    few = rank_cubes([make_table()], human="mqm", procedure=FEW)[0].to_dict()
    assert few["answers_for"] == "these systems"
    assert "p_systems" not in few["comparisons"][0]
    rng = np.random.default_rng(0)
    people = rng.normal(size=(9, 40)) + np.arange(9)[:, None] / 4
    scores = {name: people + rng.normal(size=people.shape) for name in ("m0", "m1")}
    table = replace(
        make_table(),
        systems=tuple(f"s{n}" for n in range(9)),
        items=tuple(f"{n:02d}" for n in range(40)),
        human_scores={"mqm": people},
        metric_scores=scores,
        item_metadata={},
        system_metadata={},
    )
    by_test = {}
    for test in ("perm-inputs", "perm-systems"):
        found = rank_cubes([table], human="mqm", procedure=replace(FEW, test=test))[0].to_dict()
        (by_test[test],) = found["comparisons"]
    assert (
        by_test["perm-inputs"]["p"]
        == by_test["perm-inputs"]["p_inputs"]
        == by_test["perm-systems"]["p_inputs"]
    )
    assert by_test["perm-systems"]["p"] == by_test["perm-systems"]["p_systems"]
    assert by_test["perm-inputs"]["p_systems"] == by_test["perm-systems"]["p_systems"]
    assert found["answers_for"] == "systems like these"


def test_spa_is_drawn_where_a_few_segments_decide() -> None:
    table = make_table()
    calm = rank_cubes([table], human="mqm", procedure=FEW)[0]
    assert calm.to_dict()["method"] == "normal"
    heavy = {
        name: scores * np.where(np.arange(SEGMENTS) == 3, 1000.0, 1.0)
        for name, scores in table.metric_scores.items()
    }
    (found,) = rank_cubes([replace(table, metric_scores=heavy)], human="mqm", procedure=FEW)
    assert found.to_dict()["method"] == "permutation"
    assert "closed form of SPA would be off" in found.data.cube.notes[-1]
    expected = soft_pairwise_accuracy(table.human_scores["mqm"], heavy["m1"], method="permutation")
    assert found.values[1] == pytest.approx(expected, abs=1e-12)


def test_lower_is_better_turns_people_around() -> None:
    """Errors that people counted: the same as their negative, higher is better."""
    table = make_table()
    counted = replace(
        table, human_scores={"mqm": -table.human_scores["mqm"]}, lower_is_better=frozenset({"mqm"})
    )
    (plain,) = rank_cubes([table], human="mqm", meta="pearson", procedure=FEW)
    (again,) = rank_cubes([counted], human="mqm", meta="pearson", procedure=FEW)
    np.testing.assert_array_equal(plain.values, again.values)
    assert plain.values[0] > 0.5


def test_data_sets_of_equal_scores_are_drawn_apart() -> None:
    """Averages rest on draws that are independent between data sets."""
    one, other = rank_cubes([make_table("a", 3), make_table("b", 3)], human="mqm", procedure=FEW)
    np.testing.assert_array_equal(one.values[:4], other.values[:4])
    assert one.differences is not None
    assert other.differences is not None
    assert not np.array_equal(one.differences.drawn, other.differences.drawn)
    assert not np.array_equal(one.low, other.low)


@pytest.mark.parametrize("meta", ["spa", "pearson:item", "pearson:segment"])
def test_tests_and_intervals_follow_the_seed(meta: str) -> None:
    zero, again, one = (
        rank_cubes([make_table()], human="mqm", meta=meta, procedure=replace(FEW, seed=seed))[0]
        for seed in (0, 0, 1)
    )
    assert zero.differences is not None
    assert again.differences is not None
    assert one.differences is not None
    np.testing.assert_array_equal(zero.differences.drawn, again.differences.drawn)
    assert not np.array_equal(zero.differences.drawn, one.differences.drawn)
    np.testing.assert_array_equal(zero.low, again.low)
    assert not np.array_equal(zero.low[:3], one.low[:3])


def test_a_metric_that_is_people_s_score_ranks_before_noise() -> None:
    table = make_table()
    rng = np.random.default_rng(0)
    scores = {"exact": table.human_scores["mqm"] * 2 + 1, "noise": rng.normal(size=(SYSTEMS, SEGMENTS))}
    (ranking,) = rank_cubes(
        [replace(table, metric_scores=scores)],
        human="mqm",
        meta="pearson:segment",
        procedure=Procedure(draws=200),
    )
    assert [(row["metric"], row["rank"]) for row in ranking.to_dict()["metrics"]][:2] == [
        ("exact", 1),
        ("noise", 2),
    ]


def test_an_average_knows_who_is_first_though_a_data_set_lists_them_the_other_way_round() -> None:
    """`chrF++` sorts before `chrF-refA`, but behind `chrF`, its name in the average."""
    table = make_table()
    rng = np.random.default_rng(4)
    scores = {"chrF-refA": table.human_scores["mqm"] + 0.0, "chrF++": rng.normal(size=(SYSTEMS, SEGMENTS))}
    tables = [replace(table, dataset=name, metric_scores=scores) for name in ("a", "b")]
    rankings = rank_cubes(tables, human="mqm", meta="pearson:segment", procedure=Procedure(draws=200))
    (mean,) = averages(rankings)
    (comparison,) = mean["comparisons"]
    assert (comparison["a"], comparison["b"]) == ("chrF", "chrF++")
    assert comparison["p"] == pytest.approx(1 / 201)
    assert [row["rank"] for row in mean["metrics"]] == [1, 2]


def test_williams_p_is_small_for_the_better_metric() -> None:
    rng = np.random.default_rng(5)
    people = rng.normal(size=(9, 1)) + 0.01 * rng.normal(size=(9, 20))
    scores = {
        "good": people + 0.01 * rng.normal(size=people.shape),
        "poor": rng.normal(size=(9, 1)) + 0 * people,
    }
    table = ScoreCube("x", tuple(map(str, range(9))), tuple(map(str, range(20))), {"mqm": people}, scores)
    (found,) = rank_cubes([table], human="mqm", meta="pearson", procedure=Procedure("williams", draws=10))
    (comparison,) = found.to_dict()["comparisons"]
    assert comparison["a"] == "good"
    assert comparison["p"] < 0.01
    assert comparison["p_two_sided"] == pytest.approx(2 * comparison["p"])


@pytest.mark.parametrize("method", ["normal", "permutation", "mtme"])
def test_spa_is_what_the_p_values_of_all_pairs_differ_by(method: str) -> None:
    table = make_table(seed=3)
    table.metric_scores["m1"][2, :9] = np.nan
    (ranking,) = rank_cubes([table], human="mqm", procedure=replace(FEW, test="none", method=method))
    content = ranking.to_dict()
    values = {row["metric"]: row["value"] for row in content["metrics"]}
    found = content["preferences"]
    means = dict(zip(table.systems, table.human_scores["mqm"].mean(axis=1)))
    assert found["systems"] == sorted(means, key=means.__getitem__, reverse=True)
    for row in found["rows"]:
        apart = np.abs(np.array(row["human"]) - np.array(row["own"]))
        assert len(apart) == SYSTEMS * (SYSTEMS - 1) // 2
        assert 1 - apart.mean() == pytest.approx(values[row["metric"]], abs=1e-4)
    by_people = np.array(next(row for row in found["rows"] if row["metric"] == "m0")["human"])
    assert (by_people <= 0.55).all()  # in their own order, but for the error of draws
    assert by_people[SYSTEMS - 2] == by_people.min()  # the best system and the last are furthest apart


def test_preferences_follow_a_metric_that_reverses_people() -> None:
    table = make_table()
    table.metric_scores["m0"][:] = -table.human_scores["mqm"]
    (ranking,) = rank_cubes([table], human="mqm", procedure=replace(FEW, test="none"))
    row = next(row for row in ranking.to_dict()["preferences"]["rows"] if row["metric"] == "m0")
    assert np.array(row["own"]) == pytest.approx(1 - np.array(row["human"]), abs=0.01)


def test_no_preferences_of_contexts_of_many_systems_or_of_other_meta_metrics() -> None:
    rng = np.random.default_rng(0)
    names = tuple(f"s{k:02}" for k in range(21))
    human = rng.normal(size=(21, 25))
    wide = ScoreCube("all", names, tuple(map(str, range(25))), {"mqm": human}, {"m": human + 1})
    (ranking,) = rank_cubes([wide], human="mqm", procedure=replace(FEW, test="none"))
    assert "preferences" not in ranking.to_dict()
    options = {"human": "mqm", "meta": "spa,pa", "contexts": ["doc_id"], "minimum_segments": 3}
    for one in rank_cubes([make_table()], **options, procedure=replace(FEW, test="none")):
        assert ("preferences" in one.to_dict()) == (str(one.meta) == "spa" and one.context == "global")


def test_on_fewer_segments() -> None:
    table = make_table()
    (ranking,) = rank_cubes([table], human="mqm", procedure=replace(FEW, test="none"))
    content = ranking.to_dict()
    values = {row["metric"]: row["value"] for row in content["metrics"]}
    rows = content["downsampled"]
    assert {row["segments"] for row in rows} == {2, 3, 6, 12, 18, 24, 30}
    assert {row["metric"] for row in rows} == {"m0", "m1", "m2", "constant"}
    for row in rows:
        assert row["low"] <= row["median"] <= row["high"]
        assert (row["first"] is None) == (row["metric"] == "constant")
        if row["segments"] == SEGMENTS:
            assert row["median"] == row["low"] == row["high"] == pytest.approx(values[row["metric"]])
            assert row["first"] in {None, float(row["metric"] == "m0")}
    for size in (2, 3, 6, 12, 18, 24, 30):
        assert sum(row["first"] or 0 for row in rows if row["segments"] == size) == pytest.approx(1)
    (again,) = rank_cubes([make_table()], human="mqm", procedure=replace(FEW, test="none", workers=2))
    assert again.to_dict()["downsampled"] == rows


def test_on_subsets_of_all_but_one_segment_values_are_among_those_of_all_such_subsets() -> None:
    table = make_table()
    few = table.restrict_to(items=np.arange(SEGMENTS) < 10)
    (ranking,) = rank_cubes([few], human="mqm", procedure=replace(FEW, test="none"))
    every = [
        soft_pairwise_accuracy(
            *(np.delete(own, out, axis=1)[:, :8] for own in (human, few.metric_scores["m1"]))
        )
        for human in [few.human_scores["mqm"]]
        for out in ([a, b] for a in range(10) for b in range(a))
    ]
    found = next(
        row for row in ranking.to_dict()["downsampled"] if (row["metric"], row["segments"]) == ("m1", 8)
    )
    assert min(every) - 1e-9 <= found["low"] <= found["high"] <= max(every) + 1e-9
    assert found["median"] == pytest.approx(np.median(every), abs=0.02)
