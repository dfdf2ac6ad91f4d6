"""The lines of the ledger for which rankings stand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from reproduce.entry import Entry, ends
from reproduce.pictures import curves, matrix
from scipy.stats import spearmanr

Found = dict[str, Any]
HERE = Path(__file__).parent
DRAWN = (
    "map",
    "ndcg_cut_10",
    "ndcg_cut_30",
    "p_5",
    "p_10",
    "p_30",
    "rprec",
    "recip_rank",
    "iprec_at_recall_0.10",
)
"""Measures in the pictures: 23 lines cannot be told apart."""


def entries(plain: Found, draft: Found, board: pl.DataFrame) -> dict[str, Entry]:
    """`board` has run, team and MAP."""
    return {
        "000 table 7": _chi_square(plain),
        "000 figure 3a": _by_run(plain, board),
        "000 figure 3b": _by_team(plain, board),
        "002 figure 3a": _by_run(draft, board),
        "002 figure 3b": _by_team(draft, board),
    }


def _chi_square(found: Found) -> Entry:
    rows = found["contexts"]["system"]["h1"]
    own = {row["metric"]: row["chi2"] for row in rows}
    honest = [row["metric"] for row in rows if row["p_permutation"] < 0.05]
    shown = (
        f"{rows[0]['dof'] + 1} runs, {found['pairs']:,} pairs: {ends(list(own.values()), 0)}; by the "
        f"permutation test {len(honest)} of {len(rows)} measures have p < .05"
    )
    return Entry(shown, own, {"every measure has p < .05": all(row["p"] < 0.05 for row in rows)})


def _by_run(found: Found, board: pl.DataFrame) -> Entry:
    """Local accuracy, mean over measures, against the MAP of the run."""
    rows = pl.DataFrame(found["contexts"]["system"]["local_accuracy"], infer_schema_length=None)
    means = rows.filter(pl.col("context") != "global").group_by(run="context").agg(pl.col("accuracy").mean())
    joined = means.join(board, on="run").sort("MAP", descending=True)
    easiest = joined["accuracy"].rank("ordinal", descending=True)
    weakest = float(joined["accuracy"].tail(14).mean())  # type: ignore[arg-type]
    related = float(spearmanr(joined["MAP"], joined["accuracy"]).statistic)
    shown = (
        f"mean accuracy of a run {ends(joined['accuracy'].to_list())}; Spearman with its MAP {related:.2f}; "
        "the best "
        f"run by MAP is the {easiest[0]}. easiest of {joined.height}, the weakest tenth has {weakest:.2f}"
    )
    checks = {
        "accuracy changes from run to run for every measure": all(
            row["p"] < 0.05 for row in found["contexts"]["system"]["h1"]
        ),
        "the best run by MAP is among the easiest quarter": easiest[0] <= joined.height / 4,
        "the weakest tenth is harder than the mean": weakest < float(joined["accuracy"].mean()),  # type: ignore[arg-type]
    }
    return Entry(shown, checks=checks)


def _by_team(found: Found, board: pl.DataFrame) -> Entry:
    """Agreement within and between teams, whose runs are of one family; permuted labels give p."""
    h2 = found["contexts"]["system"]["h2"]
    team = dict(board.select("run", "team").iter_rows())
    names = np.array([team.get(name, name) for name in h2["contexts"][1:]])
    cells = np.array(h2["matrix"], dtype=np.float64)[1:, 1:]
    observed = _difference(cells, names)
    rng = np.random.default_rng(0)
    drawn = [_difference(cells, rng.permutation(names))[2] for _ in range(999)]
    p = (1 + sum(value >= observed[2] for value in drawn)) / 1000
    overall = [value for value in h2["matrix"][0][1:] if value is not None]
    shown = (
        f"{h2['statistic']}: runs of one team {observed[0]:.2f}, of two {observed[1]:.2f} (labels permuted: "
        f"p = {p:.3f}); with global {ends(overall)}"
    )
    return Entry(shown, checks={"runs of one team agree more (p < .05)": p < 0.05})


def _difference(cells: NDArray[np.float64], names: NDArray[np.str_]) -> tuple[float, float, float]:
    upper = np.triu(np.ones(cells.shape, dtype=bool), 1) & ~np.isnan(cells)
    same = names[:, None] == names[None, :]
    inside, outside = cells[upper & same].mean(), cells[upper & ~same].mean()
    return float(inside), float(outside), float(inside - outside)


def draw(results: Mapping[str, Found], quality: pl.DataFrame) -> list[str]:
    """Curves and matrices in the form of figure 3, runs in the order of their MAP; links to them."""
    order = dict(quality.select("system", "map").iter_rows())
    links = []
    for name, result in results.items():
        part = result["contexts"]["system"]
        rows = sorted(part["local_accuracy"], key=lambda row: order.get(row["context"], -1))
        shown = [row for row in rows if row["metric"] in DRAWN]
        curves(HERE / f"{name}a.png", shown, context="runs by MAP, worst first")
        h2 = part["h2"]
        matrix(HERE / f"{name}b.png", h2["contexts"], h2["matrix"], title=h2["statistic"])
        links += [f"![{name}a]({name}a.png)", f"![{name}b]({name}b.png)", ""]
    return links
