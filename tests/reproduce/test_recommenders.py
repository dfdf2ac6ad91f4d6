"""The recommender experiment on made-up ratings: every family trains, and its runs are what they should be."""

from __future__ import annotations

import polars as pl
import pytest

import metassay
from metassay.data.readers.trec_runs import read_trec_run


@pytest.fixture(scope="module")
def experiment():
    """The script as a module."""
    from reproduce.recommenders import run

    return run


@pytest.fixture(scope="module")
def runs(experiment, tmp_path_factory):
    """Ratings and the folder with all runs."""
    ratings = experiment.simulate_ratings(150, 90)
    out = tmp_path_factory.mktemp("recommenders")
    experiment.write_runs(ratings, out, depth=20, seed=0)
    return ratings, out


def test_at_least_twelve_families_beat_chance(runs):
    _, out = runs
    data = metassay.read(out / "runs", qrels=out / "qrels.txt")
    assert len(data.systems) >= 12
    table = metassay.score(data, metrics="ndcg_cut_10").to_frame()
    scores = dict(table.select("system", "segment").iter_rows())
    chance = scores.pop("random")
    assert {name for name, score in scores.items() if score < 1.3 * chance} == set()


def test_runs_rank_only_what_the_user_has_not_seen(runs, experiment):
    ratings, out = runs
    held = experiment.hold_out_items(ratings, seed=0)
    learnt = ratings.join(held, on=("user", "item"), how="anti")
    for path in sorted((out / "runs").iterdir()):
        run = read_trec_run(str(path)).select(user="topic", item="docid")
        assert run.join(learnt, on=("user", "item"), how="semi").is_empty(), path.name
        assert run.group_by("user").len()["len"].unique().to_list() == [20]


def test_a_fifth_of_the_relevant_items_is_held_back(runs, experiment):
    ratings, _ = runs
    held = experiment.hold_out_items(ratings, seed=0)
    assert held["grade"].unique().to_list() == [1]
    sizes = (
        ratings.filter(grade=1).group_by("user").len(name="all").join(held.group_by("user").len(), on="user")
    )
    assert sizes.filter(pl.col("len") != (0.2 * pl.col("all")).ceil()).is_empty()
    assert sizes["all"].min() >= 5


def test_the_same_seed_gives_the_same_bytes(runs, experiment, tmp_path):
    ratings, out = runs
    experiment.write_runs(ratings.sample(fraction=1, shuffle=True, seed=5), tmp_path, depth=20, seed=0)
    for path in sorted((out / "runs").iterdir()):
        if path.name.startswith(("random", "item_knn", "ease", "latent")):
            assert (tmp_path / "runs" / path.name).read_bytes() == path.read_bytes(), path.name


def test_measures_depend_on_the_recommender(runs):
    _, out = runs
    data = metassay.read(out / "runs", qrels=out / "qrels.txt")
    found = metassay.assay(
        data, metrics="map,p_5", contexts=["system"], valid_pairs=False, resamples=100, permutations=99
    ).to_dict()
    for row in found["contexts"]["system"]["h1"]:
        assert row["dof"] == len(data.systems) - 1
        assert row["p"] < 0.05
