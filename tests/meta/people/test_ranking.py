"""Assembled rankings: gaps, contexts, clusters, averages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ranking_helpers import rank_cubes, to_json_object

from metassay.data.score_arrays import ScoreArrays
from metassay.data.score_cube import ScoreCube
from metassay.meta.pairwise import soft_pairwise_accuracy
from metassay.meta.people.averages import average_rankings_over_datasets
from metassay.meta.people.caveats import SmallContexts
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.meta.people.metric_comparison import compute_metric_differences
from metassay.meta.people.ranking_data import prepare_ranking_data
from metassay.stats.soft_accuracy import MAX_NORMAL_ERROR

SYSTEMS, ITEMS = 5, 30


def make_cube(name: str = "en-de", seed: int = 0, suffix: str = "") -> ScoreCube:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=(SYSTEMS, 1)) * 0.3 + rng.normal(size=(SYSTEMS, ITEMS))
    metrics = {f"m{k}{suffix}": human + rng.normal(size=human.shape) * (0.3 + k) for k in range(3)}
    labels = {
        "domain": tuple("news" if k < 10 else "chat" for k in range(ITEMS)),
        "doc_id": tuple(str(k // 3) for k in range(ITEMS)),
    }
    ids = tuple(f"s{k}" for k in range(SYSTEMS)), tuple(str(k) for k in range(ITEMS))
    return ScoreCube(name, *ids, {"mqm": human}, metrics, labels)


FEW = ComparisonSettings(draws=100)


def test_values_are_those_of_the_array_functions() -> None:
    cube = make_cube()
    (ranking,) = rank_cubes([cube], settings=FEW)
    rows = {row["metric"]: row for row in to_json_object(ranking)["metrics"]}
    for name, scores in cube.metric_scores.items():
        assert rows[name]["value"] == pytest.approx(
            soft_pairwise_accuracy(cube.human_scores["mqm"], scores), abs=1e-12
        )
        assert rows[name]["low"] < rows[name]["high"]
    assert [row["metric"] for row in to_json_object(ranking)["metrics"][-2:]] == ["constant", "random"]
    assert rows["constant"]["baseline"]
    assert not rows["m0"]["baseline"]
    assert rows["constant"]["rank"] is None


def test_human_gaps_drop_items_for_all_metrics_and_metric_gaps_for_that_metric_only() -> None:
    cube = make_cube()
    cube.human_scores["mqm"][1, 4] = np.nan
    cube.metric_scores["m1"][2, 7] = cube.metric_scores["m2"][0, 8] = np.nan
    (ranking,) = rank_cubes([cube], settings=FEW)
    found = to_json_object(ranking)
    assert (found["segments"], found["dropped_segments"]) == (29, 1)
    assert {row["metric"]: row["segments"] for row in found["metrics"]} == {
        "m0": 29,
        "m1": 28,
        "m2": 28,
        "constant": 29,
        "random": 29,
    }
    assert len(found["comparisons"]) == 3
    shared = [k for k in range(ITEMS) if k not in {4, 7, 8}]
    pair = ScoreArrays(
        cube.human_scores["mqm"][:, shared],
        np.stack([cube.metric_scores[m][:, shared] for m in ("m1", "m2")]),
    )
    alone = compute_metric_differences(
        parse_meta_metric("spa"), pair, ComparisonSettings(draws=100, stream=FEW.stream)
    )
    assert alone is not None
    assert ranking.differences is not None
    assert ranking.differences.observed[2] == pytest.approx(alone.observed[0], abs=1e-12)


def test_comparisons_name_the_better_metric_first() -> None:
    (ranking,) = rank_cubes([make_cube()], settings=FEW)
    found = to_json_object(ranking)
    value = {row["metric"]: row["value"] for row in found["metrics"]}
    for pair in found["comparisons"]:
        assert value[pair["a"]] >= value[pair["b"]]
        assert 0 < pair["p"] <= pair["p_two_sided"] + 0.1 <= 1.1


def test_contexts_are_compared_on_equal_numbers_of_items() -> None:
    cube = make_cube()
    whole, chat, news = rank_cubes([cube], settings=FEW, contexts=["domain"], fewest_items=10)
    assert (whole.context, chat.context, news.context) == ("global", "chat", "news")
    assert chat.equal_items == news.equal_items == 10
    assert (len(chat.data.cube.items), len(news.data.cube.items)) == (20, 10)
    first = {name: scores[:, :10] for name, scores in cube.metric_scores.items()}
    expected = soft_pairwise_accuracy(cube.human_scores["mqm"][:, :10], first["m1"])
    assert news.values[1] == pytest.approx(expected, abs=1e-12)
    subsets = np.random.default_rng(0)
    drawn = [
        soft_pairwise_accuracy(cube.human_scores["mqm"][:, k], cube.metric_scores["m1"][:, k])
        for k in (10 + subsets.permutation(20)[:10] for _ in range(400))
    ]
    assert chat.values[1] == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(200))


def test_a_context_that_varies_within_an_item_is_refused() -> None:
    with pytest.raises(ValueError, match="one value per segment"):
        rank_cubes([make_cube()], contexts=["system"])


def test_clusters_are_permuted_as_a_whole() -> None:
    cube = make_cube()
    (by_document,) = rank_cubes([cube], settings=FEW, cluster="doc_id")
    sums = {
        name: scores.reshape(SYSTEMS, -1, 3).sum(axis=2)
        for name, scores in {**cube.metric_scores, "mqm": cube.human_scores["mqm"]}.items()
    }
    assert by_document.p_value_method == "permutation"  # ten documents are too few for the closed form
    expected = soft_pairwise_accuracy(sums["mqm"], sums["m2"], method="permutation")
    assert by_document.values[2] == pytest.approx(expected, abs=1e-12)


def test_averages_map_correlations_to_0_1_and_match_metrics_without_their_reference() -> None:
    cubes = [make_cube("en-de", 1, "-refA"), make_cube("he-en", 2, "-refB")]
    rankings = rank_cubes(cubes, meta="pearson,pa", settings=FEW)
    pearson, pa = average_rankings_over_datasets(rankings)
    assert pearson.datasets == ["en-de", "he-en"]
    for row in pearson.metrics:
        position = int(row.metric[1])
        values = [ranking.values[position] for ranking in rankings if ranking.meta_metric.name == "pearson"]
        assert row.value == pytest.approx(np.mean(values) / 2 + 0.5, abs=1e-12)
        assert row.rank is not None
    assert len(pearson.comparisons) == 3
    for row in pa.metrics:
        assert row.pooled == pytest.approx(row.value)  # the same number of systems in both


def test_the_average_of_a_data_set_with_itself_is_itself() -> None:
    one, other = (make_cube(name, 3) for name in ("a", "b"))
    rankings = rank_cubes([one, other], settings=FEW)
    (mean,) = average_rankings_over_datasets(rankings)
    values = {row["metric"]: row["value"] for row in to_json_object(rankings[0])["metrics"]}
    for row in mean.metrics:
        assert row.value == pytest.approx(values[row.metric], abs=1e-12)


def test_a_metric_of_which_lower_is_better_is_negated() -> None:
    cube = make_cube()
    turned = ScoreCube(
        cube.dataset,
        cube.systems,
        cube.items,
        cube.human_scores,
        {**cube.metric_scores, "m1": -cube.metric_scores["m1"]},
        cube.item_metadata,
        lower_is_better=frozenset({"m1"}),
    )
    (plain,) = rank_cubes([cube], settings=FEW)
    (again,) = rank_cubes([turned], settings=FEW)
    np.testing.assert_array_equal(plain.values, again.values)


def test_holm_never_lowers_a_p_value() -> None:
    (ranking,) = rank_cubes([make_cube()], settings=FEW, holm=True)
    assert all(pair["p_holm"] >= pair["p"] for pair in to_json_object(ranking)["comparisons"])


def test_without_a_test_there_are_no_clusters_and_williams_needs_pearson() -> None:
    (ranking,) = rank_cubes([make_cube()], settings=ComparisonSettings("none", draws=10))
    assert to_json_object(ranking)["comparisons"] == []
    assert {row["rank"] for row in to_json_object(ranking)["metrics"]} == {None}
    with pytest.raises(ValueError, match="only with --meta pearson"):
        rank_cubes([make_cube()], settings=ComparisonSettings("williams"))
    (found,) = rank_cubes([make_cube()], meta="pearson", settings=ComparisonSettings("williams", draws=10))
    assert len(to_json_object(found)["comparisons"]) == 3


def test_a_constant_metric_has_no_correlation_and_no_rank() -> None:
    cube = make_cube()
    cube.metric_scores["m1"][:] = 0.7
    (ranking,) = rank_cubes([cube], meta="pearson", settings=FEW)
    rows = {row["metric"]: row for row in to_json_object(ranking)["metrics"]}
    assert rows["m1"]["value"] is None
    assert rows["m1"]["rank"] is None
    assert len(to_json_object(ranking)["comparisons"]) == 1


def test_systems_without_scores_are_left_out_and_named() -> None:
    cube = make_cube()
    cube.human_scores["mqm"][0] = np.nan
    (ranking,) = rank_cubes([cube], settings=FEW)
    assert to_json_object(ranking)["systems"] == 4
    assert "s0" in ranking.data.cube.notes[0]


def test_a_metric_that_lacks_a_system_has_no_value_and_is_named() -> None:
    cube = make_cube()
    cube.metric_scores["m1"][3] = np.nan
    (ranking,) = rank_cubes([cube], settings=FEW)
    rows = {row["metric"]: row for row in to_json_object(ranking)["metrics"]}
    assert (rows["m1"]["value"], rows["m1"]["segments"], rows["m1"]["rank"]) == (None, 0, None)
    assert rows["m0"]["segments"] == ITEMS
    assert "m1" in ranking.data.cube.notes[0]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown human score"):
        prepare_ranking_data(make_cube(), human="da")
    with pytest.raises(ValueError, match="unknown metric"):
        rank_cubes([make_cube()], metrics=["m9"])
    with pytest.raises(ValueError, match="unknown meta-metric"):
        rank_cubes([make_cube()], meta="cosine")
    with pytest.raises(ValueError, match="system level only"):
        rank_cubes([make_cube()], meta="spa:item")


def test_a_small_context_is_left_out_and_named() -> None:
    cube = make_cube()
    rankings = rank_cubes([cube], settings=FEW, contexts=["domain"], fewest_items=15)
    assert [ranking.context for ranking in rankings] == ["global", "chat"]
    assert rankings[1].equal_items == 20
    (caveat,) = rankings[0].data.caveats
    assert caveat == SmallContexts("domain", ("news",), fewest_items=15)
    none = rank_cubes([cube], settings=FEW, contexts=["domain"], fewest_items=99)
    assert [ranking.context for ranking in none] == ["global"]


def test_with_eight_systems_p_values_for_these_and_for_other_systems_are_reported() -> None:
    few = to_json_object(rank_cubes([make_cube()], settings=FEW)[0])
    assert few["answers_for"] == "these systems"
    assert "p_systems" not in few["comparisons"][0]
    rng = np.random.default_rng(0)
    people = rng.normal(size=(9, 40)) + np.arange(9)[:, None] / 4
    scores = {name: people + rng.normal(size=people.shape) for name in ("m0", "m1")}
    cube = replace(
        make_cube(),
        systems=tuple(f"s{n}" for n in range(9)),
        items=tuple(f"{n:02d}" for n in range(40)),
        human_scores={"mqm": people},
        metric_scores=scores,
        item_metadata={},
        system_metadata={},
    )
    by_test = {}
    for test in ("perm-inputs", "perm-systems"):
        found = to_json_object(rank_cubes([cube], settings=replace(FEW, test=test))[0])
        (by_test[test],) = found["comparisons"]
    assert (
        by_test["perm-inputs"]["p"]
        == by_test["perm-inputs"]["p_inputs"]
        == by_test["perm-systems"]["p_inputs"]
    )
    assert by_test["perm-systems"]["p"] == by_test["perm-systems"]["p_systems"]
    assert by_test["perm-inputs"]["p_systems"] == by_test["perm-systems"]["p_systems"]
    assert found["answers_for"] == "systems like these"


def test_spa_uses_permutations_where_a_few_items_decide() -> None:
    cube = make_cube()
    calm = rank_cubes([cube], settings=FEW)[0]
    assert to_json_object(calm)["method"] == "normal"
    heavy = {
        name: scores * np.where(np.arange(ITEMS) == 3, 1000.0, 1.0)
        for name, scores in cube.metric_scores.items()
    }
    (found,) = rank_cubes([replace(cube, metric_scores=heavy)], settings=FEW)
    assert to_json_object(found)["method"] == "permutation"
    (caveat,) = found.data.caveats
    assert caveat.metrics is None  # all of them
    assert caveat.largest_error > MAX_NORMAL_ERROR
    expected = soft_pairwise_accuracy(cube.human_scores["mqm"], heavy["m1"], method="permutation")
    assert found.values[1] == pytest.approx(expected, abs=1e-12)


def test_a_human_score_of_which_lower_is_better_is_negated() -> None:
    """Errors that people counted: the same as their negative, higher is better."""
    cube = make_cube()
    counted = replace(
        cube, human_scores={"mqm": -cube.human_scores["mqm"]}, lower_is_better=frozenset({"mqm"})
    )
    (plain,) = rank_cubes([cube], meta="pearson", settings=FEW)
    (again,) = rank_cubes([counted], meta="pearson", settings=FEW)
    np.testing.assert_array_equal(plain.values, again.values)
    assert plain.values[0] > 0.5


def test_data_sets_with_equal_scores_have_independent_draws() -> None:
    """Averages rest on draws that are independent between data sets."""
    one, other = rank_cubes([make_cube("a", 3), make_cube("b", 3)], settings=FEW)
    np.testing.assert_array_equal(one.values[:4], other.values[:4])
    assert one.differences is not None
    assert other.differences is not None
    assert not np.array_equal(one.differences.drawn, other.differences.drawn)
    assert not np.array_equal(one.low, other.low)


@pytest.mark.parametrize("meta", ["spa", "pearson:item", "pearson:segment"])
def test_tests_and_intervals_follow_the_seed(meta: str) -> None:
    zero, again, one = (
        rank_cubes([make_cube()], meta=meta, settings=replace(FEW, seed=seed))[0] for seed in (0, 0, 1)
    )
    assert zero.differences is not None
    assert again.differences is not None
    assert one.differences is not None
    np.testing.assert_array_equal(zero.differences.drawn, again.differences.drawn)
    assert not np.array_equal(zero.differences.drawn, one.differences.drawn)
    np.testing.assert_array_equal(zero.low, again.low)
    assert not np.array_equal(zero.low[:3], one.low[:3])


def test_a_metric_equal_to_the_human_score_ranks_before_noise() -> None:
    cube = make_cube()
    rng = np.random.default_rng(0)
    scores = {"exact": cube.human_scores["mqm"] * 2 + 1, "noise": rng.normal(size=(SYSTEMS, ITEMS))}
    (ranking,) = rank_cubes(
        [replace(cube, metric_scores=scores)],
        meta="pearson:segment",
        settings=ComparisonSettings(draws=200),
    )
    assert [(row["metric"], row["rank"]) for row in to_json_object(ranking)["metrics"]][:2] == [
        ("exact", 1),
        ("noise", 2),
    ]


def test_averages_compare_metrics_whose_order_of_names_differs_between_data_sets() -> None:
    """`chrF++` sorts before `chrF-refA`, but behind `chrF`, its name in the average."""
    cube = make_cube()
    rng = np.random.default_rng(4)
    scores = {"chrF-refA": cube.human_scores["mqm"] + 0.0, "chrF++": rng.normal(size=(SYSTEMS, ITEMS))}
    cubes = [replace(cube, dataset=name, metric_scores=scores) for name in ("a", "b")]
    rankings = rank_cubes(cubes, meta="pearson:segment", settings=ComparisonSettings(draws=200))
    (mean,) = average_rankings_over_datasets(rankings)
    (comparison,) = mean.comparisons
    assert (comparison.better, comparison.worse) == ("chrF", "chrF++")
    assert comparison.p == pytest.approx(1 / 201)
    assert [row.rank for row in mean.metrics] == [1, 2]


def test_williams_p_is_small_for_the_better_metric() -> None:
    rng = np.random.default_rng(5)
    people = rng.normal(size=(9, 1)) + 0.01 * rng.normal(size=(9, 20))
    scores = {
        "good": people + 0.01 * rng.normal(size=people.shape),
        "poor": rng.normal(size=(9, 1)) + 0 * people,
    }
    cube = ScoreCube("x", tuple(map(str, range(9))), tuple(map(str, range(20))), {"mqm": people}, scores)
    (found,) = rank_cubes([cube], meta="pearson", settings=ComparisonSettings("williams", draws=10))
    (comparison,) = to_json_object(found)["comparisons"]
    assert comparison["a"] == "good"
    assert comparison["p"] < 0.01
    assert comparison["p_two_sided"] == pytest.approx(2 * comparison["p"])


@pytest.mark.parametrize("method", ["normal", "permutation", "mtme"])
def test_spa_follows_from_the_listed_p_values(method: str) -> None:
    cube = make_cube(seed=3)
    cube.metric_scores["m1"][2, :9] = np.nan
    (ranking,) = rank_cubes([cube], settings=replace(FEW, test="none", method=method))
    content = to_json_object(ranking)
    values = {row["metric"]: row["value"] for row in content["metrics"]}
    found = content["preferences"]
    means = dict(zip(cube.systems, cube.human_scores["mqm"].mean(axis=1)))
    assert found["systems"] == sorted(means, key=means.__getitem__, reverse=True)
    for row in found["rows"]:
        apart = np.abs(np.array(row["human"]) - np.array(row["own"]))
        assert len(apart) == SYSTEMS * (SYSTEMS - 1) // 2
        assert 1 - apart.mean() == pytest.approx(values[row["metric"]], abs=1e-4)
    by_people = np.array(next(row for row in found["rows"] if row["metric"] == "m0")["human"])
    assert (by_people <= 0.55).all()  # in their own order, but for the error of draws
    assert by_people[SYSTEMS - 2] == by_people.min()  # the best system and the last are furthest apart


def test_p_values_of_a_metric_that_reverses_people_are_reversed() -> None:
    cube = make_cube()
    cube.metric_scores["m0"][:] = -cube.human_scores["mqm"]
    (ranking,) = rank_cubes([cube], settings=replace(FEW, test="none"))
    row = next(row for row in to_json_object(ranking)["preferences"]["rows"] if row["metric"] == "m0")
    assert np.array(row["own"]) == pytest.approx(1 - np.array(row["human"]), abs=0.01)


def test_p_values_are_listed_for_spa_on_all_items_of_few_systems_only() -> None:
    rng = np.random.default_rng(0)
    names = tuple(f"s{k:02}" for k in range(21))
    human = rng.normal(size=(21, 25))
    wide = ScoreCube("all", names, tuple(map(str, range(25))), {"mqm": human}, {"m": human + 1})
    (ranking,) = rank_cubes([wide], settings=replace(FEW, test="none"))
    assert "preferences" not in to_json_object(ranking)
    options = {"meta": "spa,pa", "contexts": ["doc_id"], "fewest_items": 3}
    for one in rank_cubes([make_cube()], **options, settings=replace(FEW, test="none")):
        assert ("preferences" in to_json_object(one)) == (
            str(one.meta_metric) == "spa" and one.context == "global"
        )


def test_values_are_computed_on_fewer_items() -> None:
    cube = make_cube()
    (ranking,) = rank_cubes([cube], settings=replace(FEW, test="none"))
    content = to_json_object(ranking)
    values = {row["metric"]: row["value"] for row in content["metrics"]}
    rows = content["downsampled"]
    assert {row["segments"] for row in rows} == {2, 3, 6, 12, 18, 24, 30}
    assert {row["metric"] for row in rows} == {"m0", "m1", "m2", "constant"}
    for row in rows:
        assert row["low"] <= row["median"] <= row["high"]
        assert (row["first"] is None) == (row["metric"] == "constant")
        if row["segments"] == ITEMS:
            assert row["median"] == row["low"] == row["high"] == pytest.approx(values[row["metric"]])
            assert row["first"] in {None, float(row["metric"] == "m0")}
    for size in (2, 3, 6, 12, 18, 24, 30):
        assert sum(row["first"] or 0 for row in rows if row["segments"] == size) == pytest.approx(1)
    (again,) = rank_cubes([make_cube()], settings=replace(FEW, test="none", workers=2))
    assert to_json_object(again)["downsampled"] == rows


def test_values_on_subsets_lie_within_those_of_all_subsets() -> None:
    cube = make_cube()
    few = cube.select_items_and_systems(items=np.arange(ITEMS) < 10)
    (ranking,) = rank_cubes([few], settings=replace(FEW, test="none"))
    every = [
        soft_pairwise_accuracy(
            *(np.delete(own, out, axis=1)[:, :8] for own in (human, few.metric_scores["m1"]))
        )
        for human in [few.human_scores["mqm"]]
        for out in ([a, b] for a in range(10) for b in range(a))
    ]
    found = next(
        row for row in to_json_object(ranking)["downsampled"] if (row["metric"], row["segments"]) == ("m1", 8)
    )
    assert min(every) - 1e-9 <= found["low"] <= found["high"] <= max(every) + 1e-9
    assert found["median"] == pytest.approx(np.median(every), abs=0.02)
