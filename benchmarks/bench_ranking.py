"""Compare ranking measures with pytrec_eval, and time 21 recommenders × 6,040 users × 4 perturbed rankings.

python benchmarks/bench_ranking.py [--users 6040]
"""

from __future__ import annotations

import argparse
import re
import time

import numpy as np
import polars as pl
import pytrec_eval

from metassay.data.dataset import Dataset
from metassay.data.ranked_lists import build_ranked_lists, sort_documents_into_ranked_lists
from metassay.meta.contexts.pair_outcomes import compare_scores_of_pairs
from metassay.metrics.ranking import PAPER_CUTOFFS, PAPER_MEASURES, InterpolatedPrecision
from metassay.metrics.ranking_metric import score_rankings
from metassay.perturbations.pairs import make_perturbed_output_pairs
from metassay.workflows.assay import assay

ITEMS, DEPTH, SYSTEMS, JUDGED = 3_706, 100, 21, 165
OFFICIAL = {"map", "Rprec", "recip_rank", "iprec_at_recall.0.00,0.10,0.20,0.30,0.40"} | {
    f"{family}.{','.join(map(str, PAPER_CUTOFFS))}" for family in ("P", "recall", "ndcg_cut")
}


def make_runs(users: int, systems: int, rng: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make runs and judgements of the size of MovieLens 1M; rated items are recommended more often."""
    names = np.array([f"i{item}" for item in range(1, ITEMS + 1)])
    people = np.array([f"u{user}" for user in range(1, users + 1)])
    popularity = rng.pareto(1.1, ITEMS)
    taste = popularity * rng.exponential(size=(users, ITEMS)).astype(np.float32)
    judged = np.argpartition(-taste, JUDGED, axis=1)[:, :JUDGED]
    rows = []
    for system in range(systems):
        guess = taste * rng.exponential(size=(users, ITEMS), scale=1.0).astype(np.float32) ** (1 + system / 5)
        picks = np.argpartition(-guess, DEPTH, axis=1)[:, :DEPTH]
        rows.append(
            pl.DataFrame(
                {
                    "system": np.full(users * DEPTH, f"system{system:02}"),
                    "item": np.repeat(people, DEPTH),
                    "document": names[picks].ravel(),
                    "score": np.take_along_axis(guess, picks, axis=1).ravel().astype(np.float64),
                }
            )
        )
    qrels = pl.DataFrame(
        {
            "item": np.repeat(people, JUDGED),
            "document": names[judged].ravel(),
            "grade": rng.integers(0, 3, users * JUDGED).astype(np.int32),
        }
    )
    return pl.concat(rows), qrels


def score_with_pytrec_eval(runs: pl.DataFrame, qrels: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Score with pytrec_eval, including the dictionaries that it needs."""
    run: dict[str, dict[str, float]] = {}
    for user, document, score in zip(
        runs["item"].to_list(), runs["document"].to_list(), runs["score"].to_list()
    ):
        run.setdefault(user, {})[document] = score
    judged: dict[str, dict[str, int]] = {}
    for user, document, grade in zip(
        qrels["item"].to_list(), qrels["document"].to_list(), qrels["grade"].to_list()
    ):
        judged.setdefault(user, {})[document] = grade
    return pytrec_eval.RelevanceEvaluator(judged, OFFICIAL).evaluate(run)


def time_best(function, repeats: int):
    """Return the seconds of the fastest of several runs, and the last result."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - started)
    return min(times), result


def compare_with_pytrec_eval(users: int, rng: np.random.Generator) -> None:
    runs, qrels = make_runs(users, 1, rng)

    def ours():
        index, lists = sort_documents_into_ranked_lists(runs, qrels)
        return index, score_rankings(PAPER_MEASURES, lists)

    ours()
    own_time, (index, scores) = time_best(ours, 5)
    their_time, expected = time_best(lambda: score_with_pytrec_eval(runs, qrels), 3)
    worst = 0.0
    for place, metric in enumerate(PAPER_MEASURES):
        if isinstance(metric, InterpolatedPrecision):
            continue  # pytrec_eval carries an older trec_eval, which rounds recall levels otherwise
        name = re.sub("^p_|^rprec", lambda start: start[0].capitalize(), str(metric))
        theirs = np.array([expected[user][name] for user in index["item"]])
        worst = max(worst, float(np.abs(scores[:, place] - theirs).max()))
    print(
        f"{users} users × {DEPTH} documents × {len(PAPER_MEASURES)} measures, from arrays: "
        f"ours {own_time:.3f} s, pytrec_eval {their_time:.3f} s, ratio {their_time / own_time:.1f} "
        f"(largest difference {worst:.0e})"
    )


def time_score(users: int, rng: np.random.Generator) -> Dataset:
    runs, qrels = make_runs(users, SYSTEMS, rng)
    started = time.perf_counter()
    index, lists = sort_documents_into_ranked_lists(runs, qrels)
    dataset = Dataset("ranking", index.with_columns(lists.to_series().cast(pl.List(pl.String))), qrels=qrels)
    read = time.perf_counter()
    pairs = make_perturbed_output_pairs(dataset, per_output=4)
    made = time.perf_counter()
    items = pairs.frame["item"]
    before = score_rankings(PAPER_MEASURES, build_ranked_lists(items, pairs.frame["output"], qrels))
    after = score_rankings(PAPER_MEASURES, build_ranked_lists(items, pairs.frame["worse"], qrels))
    scored = time.perf_counter()
    outcome = compare_scores_of_pairs(before.T.copy(), after.T.copy(), np.zeros(len(PAPER_MEASURES)))
    table = pairs.frame.select("system", "item").with_columns(right=pl.Series(outcome[0] > 0))
    by_item = table.group_by("system", "item").agg(pl.col("right").mean())
    accuracy = by_item.group_by("system").agg(pl.col("right").mean())["right"]
    done = time.perf_counter()
    print(
        f"{SYSTEMS} systems × {users} users × 4 copies × {len(PAPER_MEASURES)} measures, {len(pairs)} pairs: "
        f"{done - started:.1f} s (order {read - started:.1f}, worsen {made - read:.1f}, "
        f"score {scored - made:.1f}, compare {done - scored:.1f}); "
        f"accuracy of map by system {accuracy.min():.2f} to {accuracy.max():.2f}"
    )
    return dataset


def time_assay(dataset: Dataset) -> None:
    started = time.perf_counter()
    result = assay(dataset, contexts=["system"])
    seconds = time.perf_counter() - started
    print(
        f"the same as `assay`, with 1,000 bootstrap resamples, 999 permutations, H1, H2, confounding and "
        f"sentinels: {seconds:.1f} s ({len(result.pairs)} pairs)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=6_040)
    users = parser.parse_args().users
    rng = np.random.default_rng(0)
    compare_with_pytrec_eval(users, rng)
    time_assay(time_score(users, rng))


if __name__ == "__main__":
    main()
