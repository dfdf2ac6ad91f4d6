"""Comparing assays: no change is no news, real change is found, and intervals are Newcombe's."""

import msgspec
import numpy as np
import pytest
from by_hand import assay_pairs

from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes
from metassay.meta.contexts.run_comparison import compare_runs
from metassay.reporting.comparison_sentences import describe_run_changes
from metassay.results.compare import ChoiceChange


def result(truth, seed, items=400, values=("news", "talk")):
    """An assay of two metrics whose accuracies are `truth` [metrics, contexts]."""
    rng = np.random.default_rng(seed)
    item = np.arange(items)
    context = item % len(values)
    right = rng.random((len(truth), items)) < np.asarray(truth)[:, context]
    names = tuple(f"m{m}" for m in range(len(truth)))
    pairs = PairOutcomes(names, ("x",), np.where(right, 1, -1), item, item, item, item * 0)
    return assay_pairs(pairs, [PairContexts("domain", values, context)], resamples=200, permutations=19)


SAME = [[0.9, 0.8], [0.6, 0.5]]


def test_an_assay_does_not_differ_from_itself():
    found = compare_runs(result(SAME, 0), result(SAME, 0))
    assert not found.changed
    assert describe_run_changes(found) == []
    assert all(row.difference == 0 for row in found.accuracies)
    assert all(row.agreement == 1 for row in found.orders)


def test_new_samples_of_the_same_truth_rarely_count_as_change():
    changed = [compare_runs(result(SAME, seed), result(SAME, seed + 100)).changed for seed in range(20)]
    assert sum(changed) <= 2


def test_a_moved_accuracy_is_found_and_said():
    found = compare_runs(result(SAME, 0), result([[0.9, 0.6], [0.6, 0.5]], 1))
    moved = [row for row in found.accuracies if row.moved and row.column == "domain"]
    assert [(row.context, row.metric) for row in moved] == [("talk", "m0")]
    assert moved[0].high < 0
    assert found.changed
    assert any(
        sentence.startswith("m0 lost accuracy on domain talk: ") for sentence in describe_run_changes(found)
    )


def test_a_changed_order_and_recommendation_are_found():
    found = compare_runs(result(SAME, 0), result([[0.9, 0.5], [0.6, 0.8]], 1))
    choice = next(row for row in found.recommendation if row.context == "talk")
    assert choice == ChoiceChange(column="domain", context="talk", before="m0", after="m1", changed=True)
    order = next(row for row in found.orders if row.context == "talk")
    assert (order.before, order.after) == (["m0", "m1"], ["m1", "m0"])
    assert order.agreement == -1
    assert order.swapped[0].better_after == "m1"
    assert order.swapped[0].p_holm < 0.01
    news = next(row for row in found.recommendation if row.context == "news")
    assert not news.changed


def test_intervals_are_those_of_newcombe():
    before, after = result(SAME, 0), result([[0.9, 0.6], [0.6, 0.5]], 1)
    row = next(r for r in compare_runs(before, after).accuracies if r.context == "talk" and r.metric == "m0")
    old, new = (
        next(r for r in each.contexts["domain"].local_accuracy if (r.context, r.metric) == ("talk", "m0"))
        for each in (before, after)
    )
    difference = new.accuracy - old.accuracy
    low = difference - np.sqrt((new.accuracy - new.low) ** 2 + (old.high - old.accuracy) ** 2)
    high = difference + np.sqrt((new.high - new.accuracy) ** 2 + (old.accuracy - old.low) ** 2)
    assert (row.difference, row.low, row.high) == pytest.approx((difference, low, high))


def test_contexts_of_one_side_only_are_named():
    found = compare_runs(result(SAME, 0), result(SAME, 0, values=("news", "chat")))
    assert found.only_before == ["domain=talk"]
    assert found.only_after == ["domain=chat"]


def test_an_accuracy_without_interval_cannot_move():
    lonely = result(SAME, 0, items=2)
    found = compare_runs(lonely, lonely)
    rows = [row for row in found.accuracies if row.column == "domain"]
    assert all(row.p is None and row.p_holm is None and not row.moved for row in rows)


def holm_by_hand(rows):
    """Weighted Holm, written out for (p, weight): p / weight times the weight of all not yet passed."""
    order = sorted(range(len(rows)), key=lambda n: rows[n][0] / rows[n][1])
    adjusted = {}
    highest = 0.0
    for k, n in enumerate(order):
        p, weight = rows[n]
        remaining = sum(rows[m][1] for m in order[k:])
        highest = max(highest, min(p / weight * remaining, 1))
        adjusted[n] = highest
    return [adjusted[n] for n in range(len(rows))]


def test_everything_compared_is_one_family():
    """Two metrics in two domains and over all: six accuracies and three pairs that could change places.

    The two accuracies over all contexts share 80 % of the weight, the other seven comparisons 20 %.
    """
    found = compare_runs(result(SAME, 0), result([[0.9, 0.5], [0.6, 0.8]], 1))
    swaps = [swap for row in found.orders for swap in row.swapped]
    assert len(found.accuracies) == 6
    compared = [*found.accuracies, *swaps]
    weights = [0.4 if getattr(row, "column", None) == "global" else 0.2 / 7 for row in compared]
    unmoved = [(1.0, 0.2 / 7)] * (3 - len(swaps))
    expected = holm_by_hand([*((row.p, weight) for row, weight in zip(compared, weights)), *unmoved])
    given = [row.p_holm for row in compared]
    assert given == pytest.approx(expected[: len(given)])


def test_more_columns_raise_no_more_alarms():
    """Six columns of the same items, no change: the rate of alarms stays that of one comparison."""

    def many(seed):
        rng = np.random.default_rng(seed)
        item = np.arange(300)
        pairs = PairOutcomes(
            ("a", "b"), ("x",), np.where(rng.random((2, 300)) < 0.7, 1, -1), item, item, item, item * 0
        )
        columns = [PairContexts(f"c{n}", tuple("uvw"), rng.integers(0, 3, 300)) for n in range(6)]
        return assay_pairs(pairs, columns, resamples=100, permutations=9)

    alarms = [compare_runs(many(seed), many(seed + 500)).changed for seed in range(16)]
    assert sum(alarms) <= 3  # more, at a rate of .05, by chance in 1 % of cases


def test_a_context_too_small_for_claims_moves_nothing():
    before, after = result(SAME, 0), result([[0.9, 0.3], [0.6, 0.5]], 1)
    assert any(row.moved for row in compare_runs(before, after).accuracies if row.context == "talk")
    claims = msgspec.structs.replace(after.claims, small_contexts={"domain": ["talk"]})
    after = msgspec.structs.replace(after, claims=claims)
    rows = [row for row in compare_runs(before, after).accuracies if row.context == "talk"]
    assert all(row.p_holm is None and not row.moved for row in rows)
