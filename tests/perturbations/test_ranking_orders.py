"""Perturbed rankings: compiled orders equal single ones, nothing is lost, and whether a copy is worse."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metassay.data.assemble_rankings import combine_ranking_tables
from metassay.data.dataset import Dataset
from metassay.data.ranked_lists import build_ranked_lists_from_dicts, sort_documents_into_ranked_lists
from metassay.data.readers.base import RawTable
from metassay.data.readers.judgements import read_relevance_judgements
from metassay.errors import InputError
from metassay.metrics.ranking import NDCG, PAPER_MEASURES
from metassay.metrics.ranking_metric import score_rankings
from metassay.perturbations.base import View
from metassay.perturbations.distinct_outputs import prepare_outputs_for_perturbations
from metassay.perturbations.pairs import make_perturbed_output_pairs
from metassay.perturbations.ranking import DEFAULT_COPIES, RankSwapping, Reordering, Shuffle
from metassay.perturbations.ranking_pairs import RankedPairs, compare_gains_of_reordered_lists
from metassay.perturbations.registry import list_default_perturbations, parse_perturbation
from metassay.stats.streams import Stream, compute_output_seeds, derive_seeds_from_name
from metassay.tasks import find_task

METHODS = [
    RankSwapping(),
    RankSwapping(copy=3),
    RankSwapping(swaps=1),
    RankSwapping(swaps=40),
    Shuffle(),
    Shuffle(top=5, copy=2),
]


def views(sizes, relevant=True):
    return [
        View(tuple(f"d{i}" for i in range(size)), item=str(n), grades={"d0": 1} if relevant else {"x": 1})
        for n, size in enumerate(sizes)
    ]


def draw_order(method: Reordering, size: int, key: int) -> list[int]:
    """The order of a list of this size, drawn without compiled code."""
    stream = Stream(key)
    for _ in range(method.copy - 1):
        stream = Stream((stream.draw_integer_below(1 << 32) << 32) | stream.draw_integer_below(1 << 32))
    if isinstance(method, Shuffle):
        top = min(size, method.top)
        return [*stream.sample(top, top), *range(top, size)]
    drawn = stream.sample(size, 2 * int(method.count_document_swaps_per_list(np.array([size]))[0]))
    order = list(range(size))
    for first, second in zip(drawn[::2], drawn[1::2]):
        order[first], order[second] = order[second], order[first]
    return order


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_compiled_orders_equal_single_ones(method: Reordering):
    chosen = views([1, 2, 3, 5, 9, 10, 11, 100, 101, 250])
    keys = compute_output_seeds(3, [view.item for view in chosen], ["".join(view.output) for view in chosen])
    single = [
        tuple(view.output[position] for position in draw_order(method, len(view.output), key))
        for view, key in zip(chosen, keys.tolist())
    ]
    assert [method.apply(view, Stream(key)) for view, key in zip(chosen, keys.tolist())] == single
    assert method.perturb_many_outputs(chosen, keys) == single
    lists = build_ranked_lists_from_dicts([view.output for view in chosen], [view.grades for view in chosen])
    assert list(lists.reorder_documents(method.draw_random_document_orders(lists.offsets, keys))) == single
    for view, copy in zip(chosen, single):
        assert sorted(copy) == sorted(view.output)


def moved(before, after):
    return sum(one != other for one, other in zip(before, after))


@pytest.mark.parametrize(
    ("size", "swaps", "documents"), [(100, 0, 40), (9, 0, 2), (100, 3, 6), (5, 9, 4), (1, 0, 0)]
)
def test_a_swap_moves_two_documents_and_none_twice(size, swaps, documents):
    (view,) = views([size])
    copy = RankSwapping(swaps=swaps).apply(view, Stream(7))
    assert moved(view.output, copy) == documents


def test_shuffle_leaves_the_tail_alone():
    (view,) = views([150])
    copy = Shuffle().apply(view, Stream(1))
    assert copy[100:] == view.output[100:]
    assert moved(view.output[:100], copy[:100]) > 80


def test_lists_without_a_relevant_document_are_left_alone():
    (view,) = views([20], relevant=False)
    assert RankSwapping().apply(view, Stream(1)) is None
    assert RankSwapping().perturb_many_outputs([view], np.array([1], np.uint64)) == [None]


def test_copies_differ_and_depend_on_nothing_else():
    (view,) = views([50])
    copies = [RankSwapping(copy=n).apply(view, Stream(5)) for n in range(1, 5)]
    assert len(set(copies)) == 4
    assert copies[2] == RankSwapping(copy=3).apply(view, Stream(5))


def test_pairs_of_a_data_set():
    rows = [("q1", "a", ["d1", "d2", "d3"]), ("q1", "b", ["d3", "d2", "d1"]), ("q2", "a", ["d1", "d2"])]
    outputs = pl.DataFrame(rows, schema=["item", "system", "output"], orient="row")
    qrels = pl.DataFrame({"item": ["q1", "q2"], "document": ["d1", "d9"], "grade": [1, 1]})
    pairs = make_perturbed_output_pairs(Dataset("ranking", outputs, qrels=qrels))
    assert pairs.frame["item"].unique().to_list() == ["q1"]
    assert set(pairs.counts) == {
        "rank_swapping",
        *(f"rank_swapping(copy={n})" for n in range(2, DEFAULT_COPIES + 1)),
    }
    assert all(count.not_applicable == 1 and count.pairs == 2 for count in pairs.counts.values())
    assert all(
        sorted(a) == sorted(b) and a != b for a, b in pairs.frame.select("output", "worse").iter_rows()
    )


def test_specs_and_bad_parameters():
    assert parse_perturbation("rank_swapping(copy=2,swaps=3)") == RankSwapping(copy=2, swaps=3)
    assert [p.spec for p in list_default_perturbations(find_task("ranking"))][:2] == [
        "rank_swapping",
        "rank_swapping(copy=2)",
    ]
    for text in ("rank_swapping(swaps=-1)", "rank_swapping(copy=0)", "shuffle(top=1)"):
        with pytest.raises(InputError):
            parse_perturbation(text)


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=1, max_size=5))
def test_clearly_worse_is_worse_under_every_discount(grades):
    """Against all orders: the gain change is that of nDCG, and a clear pair loses under any falling weights."""
    documents = [f"d{i}" for i in range(len(grades))]
    judged = {name: grade for name, grade in zip(documents, grades) if grade >= 0}
    orders = list(itertools.permutations(range(len(grades))))
    before = build_ranked_lists_from_dicts([documents] * len(orders), [judged] * len(orders))
    after = before.reorder_documents(
        np.concatenate([np.array(o) + i * len(grades) for i, o in enumerate(orders)])
    )
    found = compare_gains_of_reordered_lists(before, after)
    change = score_rankings([NDCG()], after)[:, 0] - score_rankings([NDCG()], before)[:, 0]
    np.testing.assert_allclose(found.change, change, atol=1e-12)
    gains = np.maximum(np.array(grades), 0)
    steps = [
        np.arange(len(grades)) < cut for cut in range(1, len(grades) + 1)
    ]  # every falling weight is a mix
    differences = np.array([[(gains[list(o)] - gains) @ step for step in steps] for o in orders])
    np.testing.assert_array_equal(
        found.is_clearly_worse, (differences <= 0).all(axis=1) & (differences < 0).any(axis=1)
    )
    assert found.is_reordered_list_worse[found.is_clearly_worse].all()
    assert sum(list(found.count_pairs().values())[:3]) == len(orders)


def test_no_measure_prefers_a_clearly_worse_copy(real_data):
    """On TREC-COVID, with one relevance level, no measure of the paper prefers a clearly worse list."""
    runs = pl.read_parquet(real_data("trec_covid/runs_top100.parquet")).filter(pl.col("topic") <= 5)
    judged = read_relevance_judgements(str(real_data("trec_covid/qrels-round1.txt"))).with_columns(
        pl.col("grade").clip(0, 1)
    )
    table = runs.select(system="run", item=pl.col("topic").cast(pl.String), document="docid", score="score")
    _, lists = sort_documents_into_ranked_lists(table, judged)
    keys = np.arange(len(lists), dtype=np.uint64)
    copies = lists.reorder_documents(RankSwapping().draw_random_document_orders(lists.offsets, keys))
    clear = compare_gains_of_reordered_lists(lists, copies).is_clearly_worse
    assert clear.mean() > 0.3
    assert (
        score_rankings(PAPER_MEASURES, copies)[clear] <= score_rankings(PAPER_MEASURES, lists)[clear]
    ).all()


def trec_covid(real_data, topics: int) -> Dataset:
    runs = pl.read_parquet(real_data("trec_covid/runs_top100.parquet")).filter(pl.col("topic") <= topics)
    judged = read_relevance_judgements(str(real_data("trec_covid/qrels-round1.txt")))
    judged = judged.filter(pl.col("item").cast(pl.Int32) <= topics)
    return combine_ranking_tables([RawTable("runs.parquet", runs)], judged)


def test_pairs_by_index_equal_pairs_one_list_at_a_time(real_data):
    dataset = trec_covid(real_data, 2)
    methods = [RankSwapping(), RankSwapping(copy=2), Shuffle()]
    fast = make_perturbed_output_pairs(dataset, perturbations=methods, seed=4)
    assert isinstance(fast, RankedPairs)
    outputs = prepare_outputs_for_perturbations(dataset, methods, preprocess="none", seed=4, collected={})
    for method in methods:
        slow = [
            method.apply(view, Stream(int(key)))
            for view, key in zip(outputs.views, derive_seeds_from_name(outputs.keys, method.name))
        ]
        rows = fast.frame.filter(perturbation=method.spec).select("item", "system", "worse")
        found = {(item, system): tuple(worse) for item, system, worse in rows.iter_rows()}
        index = dataset.outputs.select("item", "system").rows()
        expected = {key: slow[view] for key, view in zip(index, outputs.positions) if slow[view] is not None}
        assert found == expected
    assert list(fast.copies) == [tuple(worse) for worse in fast.frame["worse"]]
    assert [tuple(fast.lists[row]) for row in fast.rows] == [tuple(own) for own in fast.frame["output"]]


def test_sampled_ranked_pairs_keep_arrays_and_frame_together(real_data):
    pairs = make_perturbed_output_pairs(trec_covid(real_data, 2), per_output=2)
    assert pairs.frame.group_by("item", "system").len()["len"].unique().to_list() == [2]
    assert list(pairs.copies) == [tuple(worse) for worse in pairs.frame["worse"]]
    assert len(pairs.rows) == len(pairs) == sum(count.pairs for count in pairs.counts.values())
