"""Too little data: sparse metrics, single items, one or two systems, and metrics that do not matter."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from metassay import rank

SYSTEMS = ("a", "b", "c", "d")


def build_table(seed: int = 0, *, items: int = 60, systems: tuple[str, ...] = SYSTEMS) -> pl.DataFrame:
    """Human scores, a good and a poor metric, and domains that start with unrated items."""
    generator = np.random.default_rng(seed)
    shape = (len(systems), items)
    human = np.arange(len(systems))[:, None] * 0.3 + generator.normal(size=shape)
    return pl.DataFrame(
        {
            "system": np.repeat(systems, items),
            "seg_id": np.tile(np.arange(items), len(systems)),
            "domain": np.tile(np.where(np.arange(items) < items // 2, "news", "chat"), len(systems)),
            "mqm": human.ravel(),
            "good": (human + generator.normal(size=shape)).ravel(),
            "poor": (human + 6 * generator.normal(size=shape)).ravel(),
        }
    )


def test_a_metric_with_scores_for_few_items_is_left_out_and_named() -> None:
    table = build_table().with_columns(
        sparse=pl.when(pl.col("seg_id") < 2).then(pl.col("mqm")).otherwise(None)
    )
    result = rank(table, human="mqm", draws=50)
    assert [row.metric for row in result.rankings[0].defined_metrics] == ["good", "poor"]
    expected = "metrics with scores for less than half of the 60 segments were left out: sparse (2)."
    assert any(expected in note for note in result.notes)


def test_metrics_that_all_have_few_items_are_ranked() -> None:
    table = build_table().with_columns(pl.when(pl.col("seg_id") < 20).then(pl.col("good", "poor")))
    ranking = rank(table, human="mqm", draws=50).rankings[0]
    assert [row.items for row in ranking.defined_metrics] == [20, 20]


@pytest.mark.parametrize(("items", "systems"), [(1, SYSTEMS), (60, SYSTEMS[:2])])
def test_one_item_or_two_systems_give_no_interval_and_no_best_metric(items, systems) -> None:
    result = rank(build_table(items=items, systems=systems), human="mqm", draws=50)
    ranking = result.rankings[0]
    assert ranking.is_too_small
    assert [(row.low, row.high) for row in ranking.metrics] == [(None, None)] * 4
    assert "too few to name a best metric" in result.build_page().lead[0]
    assert "agrees best" not in result.build_page().lead[0]
    counted = "1 item is" if items == 1 else "2 systems are"
    assert any(f"{counted} too few to compute intervals of spa" in note for note in result.notes)


def test_one_system_is_ranked_by_agreement_over_items() -> None:
    table = build_table(systems=("a",))
    result = rank(table, human="mqm", draws=50)
    ranking = result.rankings[0]
    assert ranking.meta_metric == "pearson:segment"
    expected = np.corrcoef(table["mqm"], table["good"])[0, 1]
    assert ranking.metrics[0].value == pytest.approx(expected, abs=1e-12)
    assert ranking.metrics[0].low < expected < ranking.metrics[0].high
    assert any("only one system" in note for note in result.notes)


def test_adding_a_metric_changes_no_value_and_no_comparison_of_the_others() -> None:
    table = build_table()
    # one item carries nearly all differences of this metric, so that its p-values need permutations
    outlier = pl.when(pl.col("seg_id") == 3).then(1000.0).otherwise(1.0)
    with_outlier = table.with_columns(heavy=outlier * pl.col("poor"))
    alone = rank(table, human="mqm", draws=100).rankings[0]
    together = rank(with_outlier, human="mqm", draws=100).rankings[0]
    assert alone.method == "normal"
    assert together.method == "normal or permutation"
    values = {row.metric: (row.value, row.low, row.high) for row in together.metrics}
    for row in alone.metrics:
        assert values[row.metric] == (row.value, row.low, row.high)
    p_values = {(row.better, row.worse): row.p for row in together.comparisons}
    for row in alone.comparisons:
        assert p_values[row.better, row.worse] == row.p


def test_dropped_items_are_counted_within_each_context() -> None:
    table = build_table(items=80)
    unrated = (pl.col("seg_id") < 7) & (pl.col("system") == "a")
    table = table.with_columns(pl.when(~unrated).then(pl.col("mqm")))
    rankings = rank(table, human="mqm", context="domain", draws=50).rankings
    assert {ranking.context: ranking.dropped_items for ranking in rankings} == {
        "global": 7,
        "news": 7,
        "chat": 0,
    }


def test_the_headline_names_the_winners_of_contexts() -> None:
    table = build_table(items=200)
    in_chat = pl.col("domain") == "chat"
    noise = pl.Series(np.random.default_rng(5).normal(size=len(table)))
    swapped = table.with_columns(
        good=pl.when(in_chat).then(4 * noise).otherwise(pl.col("good")),
        other=pl.when(in_chat).then(pl.col("mqm")).otherwise(-pl.col("mqm")),
    )
    result = rank(swapped, human="mqm", context="domain", draws=100)
    winners = {ranking.context: ranking.metrics[0].metric for ranking in result.rankings}
    lead = " ".join(result.build_page().lead)
    assert winners["chat"] != winners["global"]
    assert winners["news"] != winners["global"]
    assert f"By domain the winner changes; using {winners['global']} everywhere costs" in lead
    assert f"These are shown to be better than {winners['global']}: {winners['chat']} on chat" in lead


def test_the_headline_says_when_one_metric_is_highest_everywhere() -> None:
    result = rank(build_table(items=200), human="mqm", context="domain", draws=50)
    assert "good has the highest SPA in every domain with enough data, too." in result.build_page().lead
