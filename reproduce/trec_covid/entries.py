"""The lines of the ledger that are computed from rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from reproduce.entry import Entry, Reason, format_range
from reproduce.pictures import draw_curves, draw_matrix
from scipy.stats import spearmanr

Measurements = dict[str, Any]
FOLDER = Path(__file__).parent
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
"""Measures in the figures: 23 lines would be too many."""


def build_entries(
    papers: Sequence[Measurements], drafts: Sequence[Measurements], board: pl.DataFrame
) -> dict[str, Entry]:
    """Build the lines of the ledger from a result per seed. `board` has run, team and MAP."""
    return {
        "000 table 7": _build_table_7(papers),
        "000 figure 3a": _build_figure_3a(papers, board),
        "000 figure 3b": _build_figure_3b(papers, board),
        "002 figure 3a": _build_figure_3a(drafts, board),
        "002 figure 3b": _build_figure_3b(drafts, board),
    }


def _explain_runs(result: Measurements) -> Reason:
    runs = result["contexts"]["system"]["h1"][0]["dof"] + 1
    return Reason("runs of TREC-COVID are used instead of recommenders", runs != 21, f"{runs} runs, there 21")


def _build_table_7(results: Sequence[Measurements]) -> Entry:
    rows = results[0]["contexts"]["system"]["h1"]
    values = {row["metric"]: row["chi2"] for row in rows}
    significant = [
        sum(row["p_permutation"] < 0.05 for row in result["contexts"]["system"]["h1"]) for result in results
    ]
    description = (
        f"{rows[0]['dof'] + 1} runs, {results[0]['pairs']:,} pairs: "
        f"{format_range(list(values.values()), 0)}; by the permutation test {format_range(significant, 0)} "
        f"of {len(rows)} measures have p < .05 (all seeds)"
    )
    claims = {
        "every measure has p < .05": [
            all(row["p"] < 0.05 for row in result["contexts"]["system"]["h1"]) for result in results
        ]
    }
    return Entry(description, values, claims, [_explain_runs(results[0])])


def _build_figure_3a(results: Sequence[Measurements], board: pl.DataFrame) -> Entry:
    """Compare local accuracy, mean over measures, with the MAP of the run."""
    tables = [_average_by_run(result, board) for result in results]
    correlations = [float(spearmanr(table["MAP"], table["accuracy"]).statistic) for table in tables]
    # the tables begin with the best run by MAP
    places = [int(table["accuracy"].rank("ordinal", descending=True)[0]) for table in tables]
    weakest = [float(np.mean(table["accuracy"].tail(14).to_numpy())) for table in tables]
    means = [float(np.mean(table["accuracy"].to_numpy())) for table in tables]
    count = tables[0].height
    description = (
        f"mean accuracy of a run {format_range(tables[0]['accuracy'].to_list())}; all seeds: Spearman with "
        f"its MAP {format_range(correlations)}; the best run by MAP is in place {format_range(places, 0)} "
        f"of {count}, easiest first; the weakest tenth has accuracy {format_range(weakest)}"
    )
    claims = {
        "accuracy changes from run to run for every measure": [
            all(row["p"] < 0.05 for row in result["contexts"]["system"]["h1"]) for result in results
        ],
        "the best run by MAP is among the easiest quarter": [place <= count / 4 for place in places],
        "the weakest tenth is harder than the mean": [low < mean for low, mean in zip(weakest, means)],
    }
    return Entry(description, claims=claims, reasons=[_explain_runs(results[0])])


def _average_by_run(result: Measurements, board: pl.DataFrame) -> pl.DataFrame:
    """Return the mean accuracy over measures of every run, the best run by MAP first."""
    rows = pl.DataFrame(result["contexts"]["system"]["local_accuracy"], infer_schema_length=None)
    means = rows.filter(pl.col("context") != "global").group_by(run="context").agg(pl.col("accuracy").mean())
    return means.join(board, on="run").sort("MAP", "run", descending=True)


def _build_figure_3b(results: Sequence[Measurements], board: pl.DataFrame) -> Entry:
    """Compare agreement within teams, whose runs are of one family, and between teams."""
    team_of_run = dict(board.select("run", "team").iter_rows())
    inside = []
    outside = []
    p_values = []
    for result in results:
        h2 = result["contexts"]["system"]["h2"]
        teams = np.array([team_of_run.get(name, name) for name in h2["contexts"][1:]])
        matrix = np.array(h2["matrix"], dtype=np.float64)[1:, 1:]
        observed = _compare_teams(matrix, teams)
        rng = np.random.default_rng(0)
        permuted = [_compare_teams(matrix, rng.permutation(teams))[2] for _ in range(999)]
        inside.append(observed[0])
        outside.append(observed[1])
        p_values.append((1 + sum(value >= observed[2] for value in permuted)) / 1000)
    with_global = [
        value for value in results[0]["contexts"]["system"]["h2"]["matrix"][0][1:] if value is not None
    ]
    description = (
        f"{results[0]['contexts']['system']['h2']['statistic']}, all seeds: runs of one team "
        f"{format_range(inside)}, of two {format_range(outside)} (labels permuted: p "
        f"{format_range(p_values, 3)}); "
        f"with global {format_range(with_global)}"
    )
    return Entry(description, claims={"runs of one team agree more (p < .05)": [p < 0.05 for p in p_values]})


def _compare_teams(matrix: NDArray[np.float64], teams: NDArray[np.str_]) -> tuple[float, float, float]:
    """Return the mean agreement within teams, between teams, and the difference."""
    upper = np.triu(np.ones(matrix.shape, dtype=bool), 1) & ~np.isnan(matrix)
    same = teams[:, None] == teams[None, :]
    inside = matrix[upper & same].mean()
    outside = matrix[upper & ~same].mean()
    return float(inside), float(outside), float(inside - outside)


def draw_figures(results: Mapping[str, Measurements], quality: pl.DataFrame) -> list[str]:
    """Draw curves and matrices like figure 3, runs in the order of their MAP. Returns links to them."""
    order = dict(quality.select("system", "map").iter_rows())
    links = []
    for name, result in results.items():
        content = result["contexts"]["system"]
        rows = sorted(content["local_accuracy"], key=lambda row: order.get(row["context"], -1))
        drawn = [row for row in rows if row["metric"] in DRAWN]
        draw_curves(FOLDER / f"{name}a.png", drawn, context="runs by MAP, worst first")
        h2 = content["h2"]
        draw_matrix(FOLDER / f"{name}b.png", h2["contexts"], h2["matrix"], title=h2["statistic"])
        links += [f"![{name}a]({name}a.png)", f"![{name}b]({name}b.png)", ""]
    return links
