"""The page on eighteen recommenders, from simulated ratings.

    python -m reproduce.recommenders.page FOLDER      FOLDER is not read: the ratings are simulated

Writes README.md and `ours.json` next to this file.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from reproduce.entry import format_p, format_table, write_json
from reproduce.recommenders.run import simulate_ratings, write_runs

from metassay.metrics.ranking import PAPER_MEASURES
from metassay.workflows.assay import assay
from metassay.workflows.read import read
from metassay.workflows.score import score

PAGE_FOLDER = Path(__file__).parent


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        write_runs(simulate_ratings(400, 500), out, depth=50, seed=0)
        runs = read(out / "runs", qrels=out / "qrels.txt")
        scores = score(runs, metrics="ndcg_cut_10,map").to_frame().select("system", "metric", "segment")
        result = assay(
            runs, metrics=PAPER_MEASURES, contexts=["system"], valid_pairs=False, resamples=200
        ).to_dict()
    quality = scores.pivot(on="metric", index="system", values="segment").sort("ndcg_cut_10", descending=True)
    tests = {row["metric"]: row for row in result["contexts"]["system"]["h1"]}
    lines = [INTRODUCTION, "", "## The recommenders", "", HELD_OUT, ""]
    lines += format_table(
        ["recommender", "ndcg_cut_10", "map"],
        [[n, f"{a:.3f}", f"{m:.3f}"] for n, a, m in quality.iter_rows()],
    )
    largest = max(tests.values(), key=lambda row: row["p"])
    lines += ["", "## The measures", "", " ".join(note for note in result["notes"] if "list" in note), ""]
    counted = (
        f"Four copies of each list, one pair of items for every five exchanged; {result['pairs']:,} pairs. "
        f"Chi-square over {largest['dof'] + 1} recommenders; the largest p is {format_p(largest['p'])} "
        f"({largest['metric']})."
    )
    lines += [counted, ""]
    cells = [
        [
            row["metric"],
            f"{row['accuracy']:.3f}",
            f"{tests[row['metric']]['chi2']:.1f}",
            format_p(tests[row["metric"]]["p_permutation"]),
        ]
        for row in result["global"]
    ]
    lines += format_table(["measure", "accuracy", "chi²", "permutation"], cells)
    (PAGE_FOLDER / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_json(PAGE_FOLDER / "ours.json", {"h1": list(tests.values()), "quality": quality.to_dicts()})


INTRODUCTION = """# Eighteen recommenders

    python -m reproduce.recommenders.run ratings.dat OUT --assay

The script trains eighteen recommenders on a file in a MovieLens format, and runs an assay of the 23 ranking
measures of Deviyani and Diaz (2025) on their lists. The lists of the paper are not public, and MovieLens may
not be redistributed. The figures on this page therefore come from simulated ratings
(`python -m reproduce.recommenders.page FOLDER`): 400 users with five-dimensional tastes, 500 items, a fifth
of all ratings given, lists of 50, seed 0. The figures show that the experiment runs and what its results look
like. They do not show how well measures work with real users."""
HELD_OUT = """A fifth of each user's relevant items (four stars or more) is held back for the test. The lists
rank items that the user has not rated."""


if __name__ == "__main__":
    main()
