"""Comparing assays: results written down by hand, whose p-values can be read off a table of the normal."""

import pytest

from assay_builders import make_accuracy, make_column, make_content, make_recommendation
from metassay.meta.contexts.run_comparison import compare_runs


def result(overall, local=(), choices=None):
    """An assay with these rows; `choices` gives, by context, the choice and its top group."""
    recommendations = {
        context: make_recommendation(choice, top_group)
        for context, (choice, top_group) in (choices or {}).items()
    }
    contexts = {"domain": make_column(local)} if local or choices else {}
    return make_content(overall, contexts, {"domain": recommendations})


def exact(metric, accuracy, deviation=0.01, **more):
    """An accuracy with a normal interval of this standard deviation."""
    half = 1.959964 * deviation
    return make_accuracy(metric, accuracy, accuracy - half, accuracy + half, **more)


@pytest.mark.parametrize(
    ("before", "after", "z"),
    [
        # a gain is held against the lower end of the later interval and the upper of the earlier: .03, .04
        ((0.50, 0.49, 0.54), (0.70, 0.67, 0.71), 0.20 * 1.959964 / 0.05),
        # a loss against the upper end of the later and the lower of the earlier: .01, .01
        ((0.70, 0.69, 0.79), (0.65, 0.50, 0.66), 0.05 * 1.959964 / 0.01 / 2**0.5),
    ],
)
def test_the_side_of_the_interval_towards_zero_decides(before, after, z):
    from scipy.stats import norm

    (found,) = compare_runs(
        result([make_accuracy("m", *before)]), result([make_accuracy("m", *after)])
    ).accuracies
    assert found.p == pytest.approx(2 * norm.sf(z), rel=1e-5)
    assert found.p_holm == found.p  # one accuracy and no pair of metrics


@pytest.mark.parametrize(("z", "moved"), [(1.90, False), (2.02, True)])
def test_a_change_is_said_at_five_per_cent(z, moved):
    """p = .057 is none, p = .043 is one."""
    after = 0.5 + z * 0.01 * 2**0.5
    found = compare_runs(result([exact("m", 0.5)]), result([exact("m", after)]))
    assert found.accuracies[0].moved is moved
    assert found.changed is moved


def swap_of(before, after):
    (order,) = compare_runs(result(before), result(after)).orders
    return order.swapped


def test_the_p_value_of_a_swap_is_that_of_four_independent_estimates():
    """From .02 ahead to .02 behind with four deviations of .01: z = .04 / .02 = 2, so p = .0455."""
    (swap,) = swap_of([exact("a", 0.52), exact("b", 0.50)], [exact("a", 0.50), exact("b", 0.52)])
    assert (swap.better_before, swap.better_after) == ("a", "b")
    assert swap.p == pytest.approx(0.0455, abs=5e-5)
    (swap,) = swap_of([exact("a", 0.50), exact("b", 0.52)], [exact("a", 0.52), exact("b", 0.50)])
    assert (swap.better_before, swap.better_after) == ("b", "a")


def test_a_tie_is_no_swap():
    before, after = [exact("a", 0.6), exact("b", 0.5)], [exact("a", 0.55), exact("b", 0.55)]
    assert swap_of(before, after) == swap_of(after, before) == []


def test_pairs_that_could_have_swapped_count_in_the_family():
    """Three metrics have three pairs, which share 20 % of the error rate: the smallest p is times 15."""
    before = [exact("a", 0.9), exact("b", 0.5), exact("c", 0.45)]
    after = [exact("a", 0.9), exact("b", 0.45), exact("c", 0.5)]
    found = compare_runs(result(before), result(after))
    (swap,) = found.orders[0].swapped
    assert swap.p_holm == pytest.approx(15 * swap.p)


def test_metrics_of_one_run_only_are_named():
    found = compare_runs(
        result([exact("a", 0.9), exact("b", 0.5)]), result([exact("c", 0.9), exact("b", 0.5)])
    )
    assert (found.metrics_only_before, found.metrics_only_after) == (["a"], ["c"])
    assert [row.metric for row in found.accuracies] == ["b"]


def chosen(before, after, old, new):
    here, there = (
        [exact(metric, value, context="news") for metric, value in each] for each in (before, after)
    )
    found = compare_runs(result([], here, {"news": old}), result([], there, {"news": new}))
    return found.recommendation[0].changed


FAR, TURNED = [("a", 0.9), ("b", 0.5)], [("a", 0.5), ("b", 0.9)]
NEAR, BARELY = [("a", 0.51), ("b", 0.50)], [("a", 0.50), ("b", 0.51)]


@pytest.mark.parametrize(
    ("before", "after", "old", "new", "changed"),
    [
        (FAR, TURNED, ("a", "a"), ("b", "b"), True),
        (FAR, TURNED, ("a", "ab"), ("b", "b"), False),  # b may have been best before
        (FAR, TURNED, ("a", "a"), ("b", "ab"), False),  # a may still be best
        (NEAR, BARELY, ("a", "a"), ("b", "b"), False),  # they did not change places by more than chance
    ],
)
def test_a_recommendation_changes_where_the_old_choice_left_and_the_new_one_came(
    before, after, old, new, changed
):
    assert chosen(before, after, old, new) is changed
