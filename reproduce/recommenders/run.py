"""Runs of 18 recommenders on any file in a MovieLens format, written as TREC runs with judgements.

    python -m reproduce.recommenders.run ratings.dat OUT [--threshold 4] [--depth 100] [--assay]

A fifth of each user's relevant items is held back. Recommenders learn from the rest and rank what the user
has not seen; what was held back is relevant. OUT gets `runs/NAME.run.gz` and `qrels.txt`:

    metassay assay OUT/runs --qrels OUT/qrels.txt --context system

`--assay` does so at once. `--synthetic USERS ITEMS` makes up ratings instead of reading a file.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from pathlib import Path
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray
from reproduce.recommenders.models import MODELS, Histories
from scipy import sparse

from metassay.data.readers.rating_logs import DEFAULT_THRESHOLD, read_rating_log

Ints = NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ratings", type=Path, nargs="?")
    parser.add_argument("out", type=Path)
    parser.add_argument("--synthetic", type=int, nargs=2, metavar=("USERS", "ITEMS"))
    parser.add_argument("--threshold", type=float, default=DEFAULT_THRESHOLD)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--assay", action="store_true")
    given = parser.parse_args()
    if given.synthetic:
        ratings = simulate_ratings(*given.synthetic, seed=given.seed)
    elif given.ratings:
        ratings = read_rating_log(str(given.ratings), rating_threshold=given.threshold)
    else:
        parser.error("name a file of ratings, or --synthetic USERS ITEMS")
    write_runs(ratings, given.out, depth=given.depth, seed=given.seed)
    if given.assay:
        print_results(given.out)


def simulate_ratings(users: int, items: int, seed: int = 0) -> pl.DataFrame:
    """Ratings from tastes and popularity: a table `user, item, rating, grade`."""
    rng = np.random.default_rng(seed)
    taste, kind = rng.standard_normal((users, 5)), rng.standard_normal((items, 5))
    appeal = taste @ kind.T + 1.5 * rng.standard_normal(items) + rng.gumbel(size=(users, items))
    rated = appeal > np.quantile(appeal, 0.8)
    quality = taste @ kind.T + 0.7 * rng.standard_normal((users, items))
    stars = 1 + np.searchsorted(np.quantile(quality[rated], [0.06, 0.17, 0.43, 0.78]), quality)
    who, what = np.nonzero(rated)
    ratings = pl.DataFrame(
        {
            "user": [f"u{i}" for i in who],
            "item": [f"i{i}" for i in what],
            "rating": stars[rated].astype(float),
        }
    )
    return ratings.with_columns(grade=(pl.col("rating") >= DEFAULT_THRESHOLD).cast(pl.Int32))


def write_runs(ratings: pl.DataFrame, out: Path, *, depth: int, seed: int) -> None:
    """Train every recommender on what is not held back, and write its run and the judgements."""
    users, items = ratings["user"].unique().sort(), ratings["item"].unique().sort()
    held = hold_out_items(ratings, seed)
    (out / "runs").mkdir(parents=True, exist_ok=True)
    lines = held.select(line=pl.format("{} 0 {} {}", "user", "item", "grade"))["line"]
    (out / "qrels.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    learnt = ratings.join(held, on=("user", "item"), how="anti")
    seen = _build_matrix(learnt, users, items)
    liked = _build_matrix(learnt.filter(pl.col("grade") > 0), users, items)
    judged = np.flatnonzero(users.is_in(held["user"].unique().implode()).to_numpy())
    for name, model in MODELS.items():
        print(f"training {name}", file=sys.stderr, flush=True)
        scorer = model(liked, np.random.default_rng([seed, crc32(name.encode())]))
        text = "".join(
            _format_run(scorer, seen, chosen, users, items, depth, name)
            for chosen in np.array_split(judged, max(len(judged) // 512, 1))
        )
        (out / "runs" / f"{name}.run.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def hold_out_items(ratings: pl.DataFrame, seed: int, share: float = 0.2) -> pl.DataFrame:
    """Select a share of the relevant items of each user with five or more, at least one."""
    liked = ratings.filter(pl.col("grade") > 0).sort("user", "item")
    order = pl.Series("order", np.random.default_rng(seed).random(liked.height))
    place = pl.col("order").rank("ordinal").over("user")
    size = pl.len().over("user")
    held_out = liked.with_columns(order).filter((size >= 5) & (place <= (share * size).ceil()))
    return held_out.select("user", "item", "grade")


def print_results(out: Path) -> None:
    """Assay the runs; print the accuracy of each measure and whether it depends on the recommender."""
    from metassay.workflows.assay import assay
    from metassay.workflows.read import read

    runs = read(out / "runs", qrels=out / "qrels.txt")
    result = assay(runs, contexts=["system"], valid_pairs=False).to_dict()
    tests = {row["metric"]: row for row in result["contexts"]["system"]["h1"]}
    print(*result["notes"], sep="\n")
    print(f"{'measure':22} accuracy  chi2 (dof)      p")
    for row in result["global"]:
        test = tests[row["metric"]]
        print(
            f"{row['metric']:22} {row['accuracy']:.3f}  {test['chi2']:10.1f} ({test['dof']})  {test['p']:.2g}"
        )


def _build_matrix(ratings: pl.DataFrame, users: pl.Series, items: pl.Series) -> Histories:
    rows = ratings["user"].cast(pl.Enum(users)).to_physical().to_numpy().astype(np.int64)
    columns = ratings["item"].cast(pl.Enum(items)).to_physical().to_numpy().astype(np.int64)
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(users), len(items)))


def _format_run(
    scorer: object, seen: Histories, chosen: Ints, users: pl.Series, items: pl.Series, depth: int, name: str
) -> str:
    """Lines of a run: for each user the best items that are new to them."""
    scores = scorer(chosen)
    scores = np.where(seen[chosen].toarray() > 0, -np.inf, scores)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    lines = []
    for row, user in enumerate(users.gather(chosen)):
        ranked = [column for column in best[row].tolist() if np.isfinite(scores[row, column])]
        lines += [
            f"{user} Q0 {items[column]} {rank} {depth - rank + 1} {name}\n"
            for rank, column in enumerate(ranked, start=1)
        ]
    return "".join(lines)


if __name__ == "__main__":
    main()
