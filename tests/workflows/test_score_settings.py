"""Options of `rank`, `depend`, `score` and `aggregate` have their effect on the results."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import metassay
from metassay.data.score_tables import build_score_cubes
from metassay.meta.dependence.deviations import system_dependence
from metassay.meta.pairwise import soft_pairwise_accuracy
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.ranking_data import prepare_ranking_data
from metassay.workflows.corpus_agreement import compare_corpus_scores_with_segment_means
from metassay.workflows.depend import depend
from metassay.workflows.rank import rank


@pytest.fixture(scope="module")
def scores() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    system, segment = (axis.ravel() for axis in np.indices((4, 24)))
    human = rng.normal(size=96) + system * 0.3
    return pl.DataFrame(
        {
            "system": [f"s{k}" for k in system],
            "seg_id": segment + 1,
            "doc_id": [f"d{k // 3}" for k in segment],
            "domain": ["news" if k < 8 else "chat" for k in segment],
            "mqm": human,
            "good": human + rng.normal(size=96),
            "bad": rng.normal(size=96),
        }
    )


def arrays(frame, *names):
    return [frame.sort("system", "seg_id")[name].to_numpy().reshape(4, 24) for name in names]


def values(found, meta=0):
    return {row["metric"]: row["value"] for row in found.to_dict()["results"][meta]["metrics"]}


def test_rank_passes_permutations_and_seed_to_the_array_function(scores) -> None:
    human, good = arrays(scores, "mqm", "good")
    for seed in (0, 3):
        expected = soft_pairwise_accuracy(human, good, method="permutation", permutations=57, seed=seed)
        found = rank(scores, draws=10, method="permutation", permutations=57, seed=seed)
        assert values(found)["good"] == pytest.approx(expected, abs=1e-12)


def test_rank_resamples_documents_on_request(scores) -> None:
    human, good = (own.reshape(4, 8, 3).sum(axis=2) for own in arrays(scores, "mqm", "good"))
    expected = soft_pairwise_accuracy(human, good, method="permutation", permutations=57)
    found = rank(scores, draws=10, method="permutation", permutations=57, cluster="doc_id")
    assert values(found)["good"] == pytest.approx(expected, abs=1e-12)


def test_analyses_of_rank_resample_documents_on_request(scores) -> None:
    """24 segments in eight documents: of documents no more than eight can be drawn."""
    for cluster, most in ((None, 24), ("doc_id", 8)):
        rows = rank(scores, draws=10, analysis="stability", cluster=cluster).analyses.stability
        assert rows is not None
        assert max(row.items or 0 for row in rows) == most


def test_human_scores_are_reversed_if_lower_is_better(scores) -> None:
    counted = scores.with_columns(mqm=-pl.col("mqm"))
    plain = rank(scores, draws=10, meta="pearson")
    assert values(rank(counted, draws=10, meta="pearson", lower_is_better="mqm")) == values(plain)
    assert values(rank(counted, draws=10, meta="pearson"))["good"] < 0 < values(plain)["good"]
    one, other = (depend(frame, bootstraps=5, draws=9, lower_is_better=lower).to_dict()["metrics"]
                  for frame, lower in ((scores, ()), (counted, "mqm")))  # fmt: skip
    assert [row["sysdep"] for row in one] == [row["sysdep"] for row in other]


def test_rank_uses_holm_and_minimum_segments(scores) -> None:
    plain, adjusted = (rank(scores, draws=20, holm=holm).to_dict()["results"][0] for holm in (False, True))
    assert "p_holm" not in plain["comparisons"][0]
    assert adjusted["comparisons"][0]["p_holm"] >= adjusted["comparisons"][0]["p"]
    for size, contexts in ((8, ["global", "chat", "news"]), (9, ["global", "chat"])):
        found = rank(scores, draws=10, context="domain", minimum_segments=size).to_dict()["results"]
        assert [result["context"] for result in found] == contexts


@pytest.mark.parametrize("cluster", [None, "doc_id"])
def test_depend_passes_clusters_seed_and_resamples_to_the_array_function(scores, cluster) -> None:
    human, good = arrays(scores, "mqm", "good")
    documents = None if cluster is None else np.repeat(np.arange(8), 3)
    for seed in (0, 3):
        expected = system_dependence(human, good, bootstraps=30, seed=seed, clusters=documents)
        (found,) = depend(
            scores, metrics="good", bootstraps=30, draws=19, seed=seed, cluster=cluster, context=()
        ).to_dict()["metrics"]
        assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_both_null_hypotheses_of_depend_follow_the_seed(scores) -> None:
    drawn = [
        {row["metric"]: (row["p_equal"], row["p_fair"]) for row in depend(
            scores, bootstraps=0, draws=199, seed=seed).to_dict()["metrics"]}
        for seed in (0, 0, 1)
    ]  # fmt: skip
    assert drawn[0] == drawn[1]
    for k in (0, 1):
        assert [p[k] for p in drawn[0].values()] != [p[k] for p in drawn[2].values()]


@pytest.fixture(scope="module")
def translations(some_words) -> pl.DataFrame:
    """Three systems that differ by little, and an item that one of them lacks."""
    rng = np.random.default_rng(2)
    rows = []
    for item in range(30):
        reference = rng.choice(some_words, 8)
        for system, noise in (("a", 0.30), ("b", 0.34), ("c", 0.9)):
            words = [rng.choice(some_words) if rng.random() < noise else word for word in reference]
            rows.append((system, item, " ".join(words), " ".join(reference), -noise + rng.normal() / 5))
    frame = pl.DataFrame(rows, schema=["system", "seg_id", "hyp", "ref", "mqm"], orient="row")
    return frame.filter(~((pl.col("system") == "b") & (pl.col("seg_id") == 4)))


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_tests_between_systems_follow_the_seed_and_holm(translations, test) -> None:
    zero, again, one = (
        metassay.score(translations, metrics="chrf", test=test, draws=200, seed=seed).comparisons
        for seed in (0, 0, 1)
    )
    assert zero == again
    assert [row.p for row in zero] != [row.p for row in one]
    ordered = sorted(zero, key=lambda row: row.p)
    assert ordered[0].p_holm == pytest.approx(3 * ordered[0].p)
    assert {row.segments for row in zero} == {29}


@pytest.mark.parametrize(("test", "draws"), [("bootstrap", 1000), ("randomization", 10_000)])
def test_tests_between_systems_have_their_default_number_of_draws(translations, test, draws) -> None:
    rows = metassay.score(translations.filter(pl.col("seg_id") < 20), metrics="rouge1", test=test).comparisons
    smallest = min(row.p for row in rows)
    assert smallest == pytest.approx(1 / (draws + 1))


def test_bootstrap_scores_and_aggregation_follow_the_seed(translations) -> None:
    found = [
        metassay.score(translations, metrics="bleu", aggregate=("corpus", "bootstrap"), seed=seed).systems
        for seed in (0, 1)
    ]
    assert [row.corpus for row in found[0]] == [row.corpus for row in found[1]]
    assert all(a.bootstrap != b.bootstrap != b.corpus for a, b in zip(*found))
    few = {"metrics": "chrf", "resamples": 20, "repeats": 5}
    zero, again, one = (metassay.aggregate(translations, seed=seed, **few).to_dict() for seed in (0, 0, 1))
    assert zero == again
    assert zero["downsampled"] != one["downsampled"]
    assert [row["bootstrap"] for row in zero["systems"]] != [row["bootstrap"] for row in one["systems"]]


def test_corpus_scores_of_error_rates_are_reversed(translations) -> None:
    """System c needs by far the most edits and has the lowest human scores. TER orders a and c, and b and c,
    as people do.
    """
    frame = translations.filter(pl.col("seg_id") != 4).with_columns(other=pl.lit(0.0) + pl.col("seg_id"))
    (cube,) = build_score_cubes(frame)
    people = cube.human_scores["mqm"].mean(axis=1)
    (row,) = compare_corpus_scores_with_segment_means(
        frame,
        [prepare_ranking_data(cube, human="mqm")],
        ComparisonSettings(draws=10, permutations=50),
        ["ter"],
    )
    assert people.argmin() == 2
    assert row.pa_corpus >= 2 / 3
    assert row.spa_corpus > 0.6
    assert row.pa_item_means >= 2 / 3
