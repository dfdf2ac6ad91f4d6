"""H1: at which level labels are exchanged, and what the tests see and do not see."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from metassay.meta.contexts.accuracy import count_correct_pairs
from metassay.meta.contexts.h1 import (
    _group_contexts_that_share_clusters,
    compute_accuracy_similarity_within_clusters,
    iterate_exchangeable_outputs_and_clusters,
    run_accuracy_tests_between_contexts,
    split_contexts_by_perturbation,
)
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes

DOCUMENTS, PER_DOCUMENT, SYSTEMS, METHODS = 12, 3, 4, 2


def pairs(right_chance, seed=0):
    """Documents of items, four systems each, two pairs per output; `right_chance` per pair, or one for all."""
    rng = np.random.default_rng(seed)
    output = np.repeat(np.arange(DOCUMENTS * PER_DOCUMENT * SYSTEMS), METHODS)
    item = output // SYSTEMS
    chance = np.broadcast_to(right_chance, (len(output),))
    outcome = np.where(rng.random(len(output)) < chance, 1, -1)[None]
    method = np.tile(np.arange(METHODS), len(output) // METHODS)
    return PairOutcomes(("m",), ("x", "y"), outcome, item, output, item // PER_DOCUMENT, method)


BLANK = pairs(0.5)
SYSTEM = PairContexts("system", tuple("ABCD"), BLANK.outputs % SYSTEMS)
DOMAIN = PairContexts("domain", ("news", "talk"), BLANK.clusters % 2)
LENGTH = PairContexts("length", ("short", "middle", "long"), BLANK.items % PER_DOCUMENT)
CROSSED = PairContexts("system+domain", tuple(map(str, range(8))), SYSTEM.codes * 2 + DOMAIN.codes)
LENGTH_DOMAIN = PairContexts("length+domain", tuple(map(str, range(6))), LENGTH.codes * 2 + DOMAIN.codes)


def change(judgements, contexts, **options):
    totals = count_correct_pairs(judgements, split_contexts_by_perturbation(judgements, contexts)).totals
    rng = np.random.default_rng(0)
    return run_accuracy_tests_between_contexts(
        judgements, contexts, totals, ties="strict", rng=rng, **options
    )


@pytest.mark.parametrize(
    ("contexts", "expected"),
    [
        (SYSTEM, ["contexts within clusters"]),
        (LENGTH, ["contexts within clusters"]),
        (DOMAIN, ["clusters"]),
        (CROSSED, ["contexts within clusters", "clusters"]),
        (LENGTH_DOMAIN, ["contexts within clusters", "clusters"]),
    ],
    ids=lambda value: getattr(value, "column", None),
)
def test_labels_are_exchanged_where_they_vary(contexts, expected):
    assert [
        level.name for level in iterate_exchangeable_outputs_and_clusters(BLANK, contexts, ties="strict")
    ] == expected


def test_units_and_blocks_of_every_level():
    systems_of_documents, clusters = iterate_exchangeable_outputs_and_clusters(BLANK, CROSSED, ties="strict")
    assert len(systems_of_documents.labels) == DOCUMENTS * SYSTEMS
    assert np.diff(systems_of_documents.block_starts).tolist() == [SYSTEMS] * DOCUMENTS
    assert (systems_of_documents.total == 2 * PER_DOCUMENT * METHODS).all()  # counts are doubled
    systems = SYSTEM.codes
    for document in range(DOCUMENTS):
        for system in range(SYSTEMS):
            unit = document * SYSTEMS + system
            is_inside = (BLANK.clusters == document) & (systems == system)
            assert systems_of_documents.right[unit, 0] == 2 * (BLANK.outcomes[0, is_inside] == 1).sum()
    assert len(clusters.labels) == DOCUMENTS
    assert clusters.block_starts.tolist() == [0, DOCUMENTS]
    assert len(np.unique(clusters.labels)) == 2  # the domains are what is left to compare
    pairs_per_document = PER_DOCUMENT * SYSTEMS * METHODS
    assert (clusters.total == 2 * pairs_per_document).all()  # counts are doubled
    assert clusters.right.sum() == 2 * (BLANK.outcomes == 1).sum()


@pytest.mark.parametrize("seed", range(20))
def test_labels_are_linked_as_nodes_of_a_graph_are(seed):
    """Two labels in a block, and links of links: the connected components that scipy finds."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 30)
    labels = rng.integers(0, size, rng.integers(1, 40)).astype(np.int32)
    block = rng.integers(0, 40, len(labels)).astype(np.int32)
    shape = (size + 40,) * 2
    edges = coo_array((np.ones(len(labels)), (labels, size + block)), shape=shape)
    _, component = connected_components(edges, directed=False)
    count, group = _group_contexts_that_share_clusters(labels, block)
    used = np.unique(labels)
    assert count == len(set(component[used]))
    same = component[used][:, None] == component[used]
    assert ((group[used][:, None] == group[used]) == same).all()
    assert sorted(set(group[used])) == list(range(count))


def test_how_many_units_could_move():
    assert [
        level.compute_share_of_exchangeable_units()
        for level in iterate_exchangeable_outputs_and_clusters(BLANK, CROSSED, ties="strict")
    ] == [
        1,
        1,
    ]
    codes = DOMAIN.codes.copy()
    codes[BLANK.outputs == 0] = 1  # one output of one item strays
    (level,) = iterate_exchangeable_outputs_and_clusters(
        BLANK, PairContexts("stray", ("a", "b"), codes), ties="strict"
    )
    assert level.name == "contexts within clusters"
    # Of the first document's two parts both could move; the other documents lie in one context.
    assert level.compute_share_of_exchangeable_units() == pytest.approx(2 / (DOCUMENTS + 1))


def test_outputs_are_exchanged_within_items_where_every_item_is_a_cluster():
    items_as_clusters = replace(BLANK, clusters=BLANK.items[::-1].copy())
    (level,) = iterate_exchangeable_outputs_and_clusters(items_as_clusters, SYSTEM, ties="strict")
    assert level.name == "outputs within items"
    assert len(level.labels) == DOCUMENTS * PER_DOCUMENT * SYSTEMS
    assert np.diff(level.block_starts).tolist() == [SYSTEMS] * DOCUMENTS * PER_DOCUMENT


def test_documents_whose_items_are_not_adjacent_are_still_exchanged_as_a_whole():
    scattered = replace(BLANK, clusters=BLANK.items % DOCUMENTS)
    (level,) = iterate_exchangeable_outputs_and_clusters(scattered, SYSTEM, ties="strict")
    assert level.name == "contexts within clusters"
    assert len(level.labels) == DOCUMENTS * SYSTEMS
    assert (level.total == 2 * PER_DOCUMENT * METHODS).all()


def simulate_system_document_effects(rng, spread, advantage=0.0, documents=30, items=5, systems=4):
    """Draw pairs of systems whose accuracy differs between documents by `spread`, in log-odds."""
    system_effects = np.zeros(systems)
    system_effects[0] = advantage
    effects = rng.normal(0, spread, (documents, 1, systems)) + rng.normal(0, 0.5, (documents, items, 1))
    chance = 1 / (1 + np.exp(-(0.8 + system_effects + effects)))
    outcomes = np.where(rng.random(chance.shape) < chance, 1, -1).reshape(1, -1)
    output = np.arange(outcomes.size)
    item = output // systems
    pairs = PairOutcomes(("m",), ("x",), outcomes, item, output, item // items, np.zeros_like(output))
    return pairs, PairContexts("system", tuple(map(str, range(systems))), output % systems)


@pytest.mark.parametrize("spread", [0.0, 1.0, 2.0])
def test_systems_that_behave_alike_within_a_document_are_no_difference(spread):
    """With outputs exchanged within items, .18 to .37 of such data sets looked different at .05."""
    rng = np.random.default_rng(17)
    rejected = 0
    for _ in range(300):
        judgements, systems = simulate_system_document_effects(rng, spread)
        rejected += change(judgements, systems, permutations=99).p_permutation[0] <= 0.05
    assert rejected / 300 <= 0.07 + 2 * np.sqrt(0.07 * 0.93 / 300)


def test_a_better_system_is_found_in_spite_of_document_effects():
    rng = np.random.default_rng(18)
    rejected = 0
    for _ in range(60):
        judgements, systems = simulate_system_document_effects(rng, spread=1.0, advantage=1.5)
        rejected += change(judgements, systems, permutations=99).p_permutation[0] <= 0.05
    assert rejected / 60 >= 0.8


def test_the_cluster_variance_ratio_is_one_for_independent_items_and_grows_with_document_effects():
    rng = np.random.default_rng(19)
    independent = [
        compute_accuracy_similarity_within_clusters(
            *simulate_system_document_effects(rng, 0.0), ties="strict"
        )[0]
        for _ in range(100)
    ]
    assert np.mean(independent) == pytest.approx(1, abs=0.05)
    dependent = compute_accuracy_similarity_within_clusters(
        *simulate_system_document_effects(rng, 2.0), ties="strict"
    )
    assert dependent[0] > 1.5


def test_the_cluster_variance_ratio_equals_its_definition():
    rng = np.random.default_rng(20)
    judgements, systems = simulate_system_document_effects(rng, 1.0, documents=4, items=3, systems=3)
    accuracy = (judgements.outcomes[0] == 1).astype(float).reshape(4, 3, 3)
    residuals = accuracy - accuracy.mean(axis=2, keepdims=True)
    residuals = residuals - residuals.mean(axis=(0, 1))
    expected = (residuals.sum(axis=1) ** 2).sum() / (residuals**2).sum()
    ratio = compute_accuracy_similarity_within_clusters(judgements, systems, ties="strict")
    assert ratio[0] == pytest.approx(expected, abs=1e-12)


def test_half_ties_are_counted_exactly():
    tied = PairOutcomes(
        ("m",), ("x",), np.array([[0, 0, 1, -1, -2]]), np.arange(5), np.arange(5), np.arange(5), np.zeros(5)
    )
    contexts = PairContexts("side", ("a", "b"), np.array([0, 1, 0, 1, 0]))
    (level,) = iterate_exchangeable_outputs_and_clusters(tied, contexts, ties="half")
    assert level.right[:, 0].tolist() == [1, 1, 2, 0, 0]
    assert level.total[:, 0].tolist() == [2, 2, 2, 2, 0]


@pytest.mark.parametrize("contexts", [SYSTEM, LENGTH, DOMAIN, CROSSED], ids=lambda c: c.column)
def test_a_real_difference_is_found_at_every_level(contexts):
    chance = np.where(contexts.codes % 2 == 0, 0.95, 0.35)
    assert change(pairs(chance), contexts).p_permutation[0] <= 0.01


def test_crossed_contexts_see_differences_of_either_part():
    by_system = pairs(np.where(SYSTEM.codes == 0, 0.95, 0.4))
    by_domain = pairs(np.where(DOMAIN.codes == 0, 0.95, 0.4))
    assert change(by_system, CROSSED).p_permutation[0] <= 0.01
    assert change(by_domain, CROSSED).p_permutation[0] <= 0.01


def test_all_right_is_no_difference():
    found = change(pairs(1.0), SYSTEM)
    assert (found.chi2[0], found.dof[0], found.p[0], found.p_permutation[0], found.p_cmh[0]) == (
        0,
        3,
        1,
        1,
        1,
    )
    assert np.isnan(found.cramers_v[0])


def test_stratifying_removes_what_methods_explain():
    rng = np.random.default_rng(3)
    size = 4000
    context = rng.integers(0, 2, size)
    method = (rng.random(size) < np.where(context == 0, 0.2, 0.8)).astype(
        int
    )  # one context has more of one method
    outcome = np.where(rng.random(size) < np.where(method == 0, 0.9, 0.5), 1, -1)[None]
    item = np.arange(size)
    made = PairOutcomes(("m",), ("easy", "hard"), outcome, item, item, item, method)
    found = change(made, PairContexts("side", ("a", "b"), context), permutations=99)
    assert found.p[0] < 1e-10
    assert found.p_cmh[0] > 0.01
