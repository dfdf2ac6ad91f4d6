"""Every setting of an assay reaches the numbers it is about, and every kind of draw follows the seed."""

import numpy as np
import pytest
from by_hand import (
    METRICS,
    accuracy,
    as_outcomes,
    assay,
    assay_pairs,
    columns_of,
    contexts_of,
    random_pairs,
    step_down,
)

from metassay.meta.contexts.column_analysis import AccuracyEstimates, GlobalAnalysis
from metassay.meta.contexts.confounding import PerturbationEffects
from metassay.meta.contexts.pair_analysis import analyze_pairs
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes
from metassay.stats.multiplicity import select_candidates_that_may_be_best


@pytest.fixture(scope="module")
def pairs():
    return random_pairs(3, weighted=False)


PARTS = {
    "bootstrap of agreements": lambda found: [
        found["contexts"]["system"]["h2"][end] for end in ("low", "high")
    ],
    "bootstrap of methods": lambda found: [(row["low"], row["high"]) for row in found["confounding"][:3]],
    "halves": lambda found: found["contexts"]["system"]["h2"]["ceiling"],
    "exchanges": lambda found: [row["p_permutation"] for row in found["contexts"]["system"]["h1"]],
}


@pytest.mark.parametrize("part", PARTS)
def test_every_kind_of_draw_follows_the_seed(pairs, part):
    zero, again, one = (PARTS[part](assay(pairs, seed=seed)) for seed in (0, 0, 1))
    assert zero == again
    assert zero != one


def test_random_signs_follow_the_seed(pairs):
    judgements, columns = as_outcomes(pairs, weighted=False), columns_of(pairs)
    zero, again, one = (
        analyze_pairs(
            judgements, columns, seed=seed, resamples=50, permutations=9
        ).overall.context.leads.largest_by_chance.tolist()
        for seed in (0, 0, 1)
    )
    assert zero == again
    assert zero != one


def test_random_combinations_of_methods_follow_the_seed():
    """Of six methods there are 20 combinations of three: ten of them are drawn."""
    rng = np.random.default_rng(0)
    output = np.repeat(np.arange(120), 6)
    outcome = np.where(rng.random((1, 720)) < 0.7, 1, -1)
    judgements = PairOutcomes(
        ("m",), tuple("uvwxyz"), outcome, output, output, output, np.tile(np.arange(6), 120)
    )
    contexts = [PairContexts("side", ("a", "b"), output % 2)]
    curves = [
        [row["variance"] for row in assay_pairs(judgements, contexts, seed=seed, resamples=20, permutations=9)
         .to_dict()["confounding"][0]["by_k"]]
        for seed in (0, 1)
    ]  # fmt: skip
    assert curves[0][0] == curves[1][0]  # all six single methods
    assert curves[0][2] != curves[1][2]


def test_p_values_count_in_steps_of_the_permutations_asked_for(pairs):
    """p = k / 31 with 30 permutations: no other number of permutations gives such shares."""
    rows = assay(pairs, permutations=30)["contexts"]["system"]["h1"]
    steps = [row["p_permutation"] * 31 for row in rows]
    assert steps == pytest.approx([round(step) for step in steps], abs=1e-9)
    assert any(step < 31 for step in steps)


def test_columns_that_divide_alike_are_exchanged_apart(pairs):
    """The same division under two names: each column has draws of its own."""
    judgements, (system, _) = as_outcomes(pairs, weighted=False), columns_of(pairs)
    twin = PairContexts("twin", system.values, system.codes)
    found = assay_pairs(judgements, [system, twin], resamples=20, permutations=500).to_dict()["contexts"]
    here, there = ([row["p_permutation"] for row in found[name]["h1"]] for name in ("system", "twin"))
    assert here != there
    assert here == pytest.approx(there, abs=0.1)


def test_the_radius_runs_from_the_mean_over_items_to_the_worst_context(pairs):
    groups = contexts_of(pairs, "domain")
    items = np.array([len({p.item for p in group}) for group in groups.values()])
    for radius, expected in ((0.0, lambda a: items @ a / items.sum()), (50.0, min)):
        rows = assay(pairs, radius=radius)["contexts"]["domain"]["robustness"]
        for row in rows:
            values = np.array([accuracy(group, row["metric"], 0.0) for group in groups.values()])
            assert row["robust_accuracy"] == pytest.approx(expected(values), abs=1e-9)


def test_contexts_of_unequal_size_weigh_by_their_items():
    """90 items that are all right and 10 that are all wrong: nine tenths are right."""
    item = np.arange(100)
    outcome = np.where(item < 90, 1, -1)[None].repeat(2, axis=0)
    judgements = PairOutcomes(("a", "b"), ("x",), outcome, item, item, item, item * 0)
    contexts = [PairContexts("side", ("large", "small"), (item >= 90).astype(int))]
    found = assay_pairs(judgements, contexts, radius=0.0, resamples=20, permutations=9, minimum_items=1)
    assert found.to_dict()["contexts"]["side"]["robustness"][0]["robust_accuracy"] == pytest.approx(0.9)


def test_confounding_is_averaged_over_the_contexts_of_the_first_column():
    """A method is right in 3 of 4 pairs of a large system and in none of a small one's: ⅜, not 6 of 9."""
    item = np.arange(9)
    outcome = np.where(item % 4 == 3, -1, 1)
    outcome[8] = -1
    both = np.concatenate([outcome, np.ones(9, dtype=int)])[None]
    twice = np.concatenate([item, item])
    judgements = PairOutcomes(("m",), ("u", "v"), both, twice, twice, twice, np.repeat([0, 1], 9))
    contexts = [PairContexts("size", ("large", "small"), (twice == 8).astype(int))]
    for every in (None, judgements):
        found = assay_pairs(
            judgements, contexts, all_perturbations=every, resamples=20, permutations=9, minimum_items=1
        ).to_dict()["confounding"][0]
        assert found["by_method"] == pytest.approx({"u": 0.375, "v": 1.0})


def test_what_knows_nothing_is_never_recommended():
    """`lucky` is right most often, and alone so on one side, but was declared to know nothing of quality."""
    rng = np.random.default_rng(1)
    item, side = np.arange(400), np.arange(400) % 2
    chance = np.where(side, [[0.95], [0.6], [0.2]], [[0.9], [0.8], [0.7]])
    outcome = np.where(rng.random((3, 400)) < chance, 1, -1)
    judgements = PairOutcomes(("lucky", "good", "fair"), ("x",), outcome, item, item, item, item * 0)
    contexts = [PairContexts("side", ("left", "right"), side)]
    options = {"resamples": 200, "permutations": 19}
    plain = assay_pairs(judgements, contexts, **options).to_dict()
    assert plain["answer"]["metric"] == "lucky"
    found = assay_pairs(judgements, contexts, uninformed=("lucky",), **options).to_dict()
    assert found["answer"]["metric"] == "good"
    assert "lucky" not in found["answer"]["top_group"]
    assert found["answer"]["exceptions"] == []
    assert found["recommendation"]["side"]["right"]["choice"] == "good"


def test_metadata_belong_to_their_contexts_though_some_have_no_pairs():
    """Five contexts were named and the first has no pair: the ages of the other four stay theirs."""
    rng = np.random.default_rng(2)
    item = np.arange(400)
    code = 1 + item % 4
    young = code <= 2
    chance = np.where(young, [[0.9], [0.5], [0.2]], [[0.2], [0.5], [0.9]])
    outcome = np.where(rng.random((3, 400)) < chance, 1, -1)
    judgements = PairOutcomes(("a", "b", "c"), ("x",), outcome, item, item, item, item * 0)
    contexts = [PairContexts("speaker", ("none", "p", "q", "r", "s"), code)]
    ages = {"speaker": {"age": [99, 20, 20, 60, 60]}}
    analysis = analyze_pairs(judgements, contexts, context_properties=ages, resamples=20, permutations=9)
    assert analysis.context_properties["speaker"]["age"] == [20, 20, 60, 60]


def test_nobody_stands_before_the_first_choice_in_the_order_to_contradict():
    """The first choice is cheaper and its estimate a little lower: a lead over it contradicts all the same."""
    accuracy = np.array([[0.8], [0.9], [np.nan]])
    estimates = AccuracyEstimates(None, accuracy, accuracy, accuracy, accuracy)
    overall = GlobalAnalysis(estimates, accuracy, accuracy, None, 0)
    np.testing.assert_array_equal(overall.get_expected_accuracies(np.arange(3)), [0.9, 0.9, np.nan])


def test_flags_of_confounding_are_adjusted_for_all_metrics_together():
    """The joint p-values decide, .02, .07 and .04: two flags of three. Holm's .03, .06 and .06 are listed."""
    zeros, table = np.zeros(3), np.array([[0.9, 0.1]] * 3)
    made = PerturbationEffects(
        ("a", "b", "c"), ("u", "v"), table, zeros, zeros, zeros, zeros, zeros, zeros,
        np.array([0.01, 0.04, 0.03]), np.array([0.02, 0.07, 0.04]), np.zeros((3, 1)), (2,), ([], [], []),
    )  # fmt: skip
    rows = made.list_accuracy_dependence_on_perturbations()
    assert [row.p_holm for row in rows] == pytest.approx([0.03, 0.06, 0.06])
    assert [row.p_family for row in rows] == pytest.approx([0.02, 0.07, 0.04])
    assert [row.flag for row in rows] == [True, False, True]
    assert rows[0].responsible == ["u"]


def test_h2_is_adjusted_over_the_contexts_that_are_large_enough(pairs):
    """Holm by hand over two systems of 24 items; the third, cut to five items, is left out of it."""
    kept = [p for p in pairs if p.system != "C" or p.item < 5]
    h2 = assay(kept, minimum_items=10)["contexts"]["system"]["h2"]
    place = {context: n for n, context in enumerate(h2["contexts"])}
    tested = {context: h2["p_global"][place[context]] for context in ("A", "B")}
    adjusted = {context: h2["p_global_holm"][place[context]] for context in place}
    assert {context: adjusted[context] for context in tested} == pytest.approx(step_down(tested))
    assert adjusted["global"] is None
    assert adjusted["C"] is None
    assert h2["p_global"][place["C"]] is not None


def test_a_method_that_a_context_lacks_leaves_the_others_shares_scaled_up():
    """On the right side there is no swapping: ½ removal, right, and ¼ insertion, wrong, make ⅔."""
    rows = [("removal", 0, 1)] * 2 + [("insertion", 0, -1)] * 1 + [("swapping", 0, 1)] * 2
    rows += [("removal", 1, 1)] * 2 + [("insertion", 1, -1)] * 1
    methods = ("insertion", "removal", "swapping")
    item = np.arange(len(rows))
    judgements = PairOutcomes(
        ("m", "n"), methods, np.array([[outcome for *_, outcome in rows]] * 2), item, item, item,
        np.array([methods.index(method) for method, *_ in rows]),
    )  # fmt: skip
    contexts = [PairContexts("side", ("left", "right"), np.array([side for _, side, _ in rows]))]
    found = assay_pairs(judgements, contexts, resamples=20, permutations=9, minimum_items=1).to_dict()
    right = next(row for row in found["contexts"]["side"]["local_accuracy"] if row["context"] == "right")
    assert right["standardised"] == pytest.approx((4 / 8) / (4 / 8 + 2 / 8))


def test_metrics_that_compete_are_all_but_the_sentinels(pairs):
    found = assay(pairs, sentinels=("length", "ter"))
    assert [row["metric"] for row in found["global"]] == ["bleu", "chrf"]
    assert {row["metric"] for row in found["sentinels"]} == {"length", "ter"}
    assert found["phi"]["metrics"] == list(METRICS[:2])


def test_a_ceiling_hardly_depends_on_the_seed(pairs):
    """A hundred random halves: their mean moves little with the draw, where two halves would move by tenths."""
    ceilings = np.array(
        [
            assay(pairs, seed=seed, resamples=5, permutations=9)["contexts"]["system"]["h2"]["ceiling"]
            for seed in range(6)
        ],
        dtype=float,
    )
    assert ceilings.std(axis=0).mean() < 0.1


def test_a_top_group_rests_on_documents_not_on_items():
    """Four documents of 30 items: a lead of some standard errors is none with three degrees of freedom."""
    item = np.arange(120)
    rng = np.random.default_rng(14)
    right = rng.random((2, 120)) < np.array([[0.75], [0.62]])
    found = {}
    for name, cluster in (("items", item), ("documents", item // 30)):
        judgements = PairOutcomes(("a", "b"), ("x",), np.where(right, 1, -1), item, item, cluster, item * 0)
        contexts = [PairContexts("side", ("l", "r"), item % 2)]
        analysis = analyze_pairs(judgements, contexts, resamples=400, permutations=9)
        accuracy, draws = right.mean(axis=1), analysis.overall.resamples
        top, plain = (
            select_candidates_that_may_be_best(accuracy, draws, n)[0].tolist()
            for n in (len(np.unique(cluster)), 10**9)
        )
        assert analysis.overall.context.may_be_best.tolist() == top
        found[name] = top, plain
    assert found["documents"] == ([True, True], [True, False])
