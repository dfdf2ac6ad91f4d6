"""Ranking measures on all 143 runs of TREC-COVID round 1: the leaderboard, local accuracy, H1, H2.

    python -m reproduce.trec_covid.run FOLDER

FOLDER/trec_covid holds `runs_top100.parquet`, `qrels-round1.txt` and `leaderboard-round1.csv`. Writes
README.md, the figures and `ours.json` beside this file.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import vl_convert
from numpy.typing import NDArray
from reproduce.entry import kept, write
from reproduce.trec_covid.entries import draw, entries
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import spearmanr

from metassay.data.dataset import Dataset
from metassay.metrics.ranking import PAPER_MEASURES
from metassay.workflows.assay import AssayResult, assay
from metassay.workflows.read import read
from metassay.workflows.score import score

HERE = Path(__file__).parent
STRENGTHS = (
    *(f"rank_swapping(swaps={swaps})" for swaps in (1, 5, 10)),
    "rank_swapping",
    "rank_swapping(swaps=50)",
    "shuffle",
)
SHOWN = ("map", "ndcg_cut_10", "p_10", "recip_rank")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    folder = parser.parse_args().data / "trec_covid"
    dataset = read(folder / "runs_top100.parquet", qrels=folder / "qrels-round1.txt")
    quality = system_scores(dataset)
    lines = ["# Ranking measures on TREC-COVID round 1", "", INTRODUCTION, ""]
    lines += leaderboard(quality, folder / "leaderboard-round1.csv")
    plain = run(dataset)
    valid = run(dataset, valid_pairs=True)
    lines += measures(plain, valid)
    lines += strengths(dataset)
    lines += agreement(plain, quality)
    lines += relation(plain, valid, quality)
    draft = run(dataset, "shuffle", agreement="weighted_tau")
    board = pl.read_csv(folder / "leaderboard-round1.csv").select("run", "team")
    board = board.join(quality.select(run="system", MAP="map"), on="run")
    found = entries(plain.to_dict(), draft.to_dict(), board)
    write(HERE / "ours.json", {"ledger": kept(found)})
    lines += [
        "## The figures of the papers",
        "",
        *(f"- {name}: {line.shown}." for name, line in found.items()),
    ]
    lines += ["", *draw({"figure-3": plain.to_dict(), "draft-figure-3": draft.to_dict()}, quality)]
    (HERE / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


INTRODUCTION = """Made by `python -m reproduce.trec_covid.run FOLDER`, seed 0. Every run's first 100
documents for 30 topics; four copies of each list, in each of which one pair of documents for every five has
changed places. Local accuracy by run of the 23 measures of Deviyani and Diaz (2025)."""


def run(
    dataset: Dataset,
    perturbations: str | None = None,
    *,
    valid_pairs: bool = False,
    agreement: str = "tau_ap_b",
) -> AssayResult:
    settings: dict[str, Any] = {"perturbations": perturbations, "agreement": agreement, "resamples": 200}
    return assay(dataset, contexts=["system"], valid_pairs=valid_pairs, **settings)


def system_scores(dataset: Dataset) -> pl.DataFrame:
    """One row per run, one column per measure: means over the judged topics."""
    rows = score(dataset, metrics=PAPER_MEASURES).to_frame().select("system", "metric", "segment")
    return rows.pivot(on="metric", index="system", values="segment").sort("system")


def leaderboard(quality: pl.DataFrame, path: Path) -> list[str]:
    board = pl.read_csv(path).select("run", "ndcg@10", "p@5")
    joined = quality.join(board, left_on="system", right_on="run")
    equal = {
        name: sum(
            f"{own:.4f}" == f"{official:.4f}" for own, official in joined.select(ours, name).iter_rows()
        )
        for ours, name in (("ndcg_cut_10", "ndcg@10"), ("p_5", "p@5"))
    }
    finding = (
        f"nDCG@10 equals the leaderboard's four digits for {equal['ndcg@10']} of {joined.height} runs, "
        f"P@5 for {equal['p@5']}. (Its MAP is over 1,000 documents, of which the first 100 are here.)"
    )
    return ["## The official leaderboard", "", finding, ""]


def measures(plain: AssayResult, valid: AssayResult) -> list[str]:
    found, kept = plain.to_dict(), valid.to_dict()
    h1 = {row["metric"]: row for row in found["contexts"]["system"]["h1"]}
    on_valid = {row["metric"]: row for row in kept["global"]}
    significant = [name for name, row in h1.items() if row["p"] < 0.05]
    dependent = [name for name, row in h1.items() if row["p_permutation"] < 0.05]
    tested = (
        f"H1 (accuracy changes from run to run) holds at .05 by the published chi-square test for "
        f"{len(significant)} of {len(h1)} measures, by the permutation test that keeps whole lists together "
        f"for {len(dependent)}{_except([name for name in h1 if name not in dependent])}."
    )
    lines = [
        "## Local accuracy and H1",
        "",
        f"{found['pairs']:,} pairs. {' '.join(note for note in found['notes'] if 'list' in note)}",
        "",
        tested,
        "",
        "| measure | accuracy (95 %) | ties | on valid pairs | chi² (142) | p | V | permutation |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(found["global"], key=lambda row: -row["accuracy"]):
        test = h1[row["metric"]]
        lines.append(
            f"| {row['metric']} | {row['accuracy']:.3f} ({row['low']:.3f}–{row['high']:.3f}) "
            f"| {row['ties']:.2f} | {on_valid[row['metric']]['accuracy']:.3f} | {test['chi2']:.0f} "
            f"| {_p(test['p'])} | {test['cramers_v']:.2f} | {_p(test['p_permutation'])} |"
        )
    return [*lines, "", TIES, ""]


TIES = """`p_k` and `recall_k` differ by a factor that both lists of a pair share, so their accuracies are
equal. Most errors are ties: a measure of the first five documents cannot see an exchange below them. Pairs
are valid when the copy lost discounted gain."""


def strengths(dataset: Dataset) -> list[str]:
    lines = [
        "## How many exchanges?",
        "",
        "| perturbation | lost gain | clearly | kept it | won | map | ndcg_cut_10 | recip_rank |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for method in STRENGTHS:
        found = assay(
            dataset,
            contexts=["system"],
            perturbations=method,
            metrics=SHOWN,
            valid_pairs=False,
            resamples=100,
            permutations=99,
        ).to_dict()
        row = found["validity"][0]
        accuracy = {entry["metric"]: entry["accuracy"] for entry in found["global"]}
        shares = [row[kind] / row["applied"] for kind in ("worse", "clearly_worse", "equal", "better")]
        lines.append(
            f"| {method} | " + " | ".join(f"{share:.3f}" for share in shares)
            + f" | {accuracy['map']:.3f} | {accuracy['ndcg_cut_10']:.3f} | {accuracy['recip_rank']:.3f} |"
        )  # fmt: skip
    return [*lines, "", WHY_FIVE, ""]


WHY_FIVE = """A copy is clearly worse when up to no rank it has collected more gain than the list. One
exchange in a hundred documents moves no relevant one in most lists, which is why the default is one for every
five documents: it changes the gain of more than nine lists in ten."""


def agreement(plain: AssayResult, quality: pl.DataFrame) -> list[str]:
    """How the runs group by the order in which they put the measures."""
    part = plain.to_dict()["contexts"]["system"]["h2"]
    names = part["contexts"][1:]
    matrix = np.array(part["matrix"], dtype=np.float64)
    to_global, between = matrix[0, 1:], matrix[1:, 1:]
    labels = groups(between)
    means = dict(quality.select("system", "map").iter_rows())
    finding = (
        f"Agreement ({part['statistic']}) of a run with all runs together: median "
        f"{np.nanmedian(to_global):.2f}, from {np.nanmin(to_global):.2f} to {np.nanmax(to_global):.2f}; "
        f"between two runs: median {np.nanmedian(between[np.triu_indices(len(names), 1)]):.2f}. "
        f"Complete-linkage clustering of 1 − τ, cut into {labels.max()} groups:"
    )
    lines = [
        "## H2: do runs agree on the order of measures?",
        "",
        finding,
        "",
        "| group | runs | mean τ inside | mean τ to others | mean MAP | such as |",
        "|---|---|---|---|---|---|",
    ]
    for group in range(1, labels.max() + 1):
        inside = np.flatnonzero(labels == group)
        outside = np.flatnonzero(labels != group)
        own = between[np.ix_(inside, inside)][np.triu_indices(len(inside), 1)]
        quality_inside = np.mean([means[names[i]] for i in inside])
        examples = ", ".join(names[i] for i in inside[:3])
        lines.append(
            f"| {group} | {len(inside)} | {np.nanmean(own) if len(own) else float('nan'):.2f} "
            f"| {np.nanmean(between[np.ix_(inside, outside)]):.2f} | {quality_inside:.3f} | {examples} |"
        )
    return [*lines, "", GROUPED, ""]


GROUPED = """The runs that find much form one large group; those that find next to nothing, whose lists hold a
relevant document or two, order the measures otherwise and agree least with the rest."""


def groups(between: NDArray[np.float64], count: int = 4) -> NDArray[np.int64]:
    distance = 1 - np.nan_to_num((between + between.T) / 2)
    np.fill_diagonal(distance, 0)
    return fcluster(linkage(squareform(distance, checks=False), "complete"), count, "maxclust").astype(
        np.int64
    )


def relation(plain: AssayResult, valid: AssayResult, quality: pl.DataFrame) -> list[str]:
    """The relation of a run's local accuracy to its MAP."""
    sides = {"all pairs": by_run(plain), "valid pairs": by_run(valid)}
    means = quality.select("system", MAP="map")
    points = pl.concat(
        frame.join(means, on="system").with_columns(pairs=pl.lit(name)) for name, frame in sides.items()
    )
    figure(points.filter(pl.col("metric").is_in(SHOWN)).to_dicts())
    lines = [
        "## Local accuracy and the quality of the run",
        "",
        "Spearman correlation over 143 runs of a run's MAP with the local accuracy of each measure:",
        "",
        "| measure | all pairs | valid pairs |",
        "|---|---|---|",
    ]
    for metric in map(str, PAPER_MEASURES):
        cells = []
        for name in sides:
            own = points.filter((pl.col("metric") == metric) & (pl.col("pairs") == name))
            cells.append(f"{spearmanr(own['MAP'], own['accuracy']).statistic:+.2f}")
        lines.append(f"| {metric} | {' | '.join(cells)} |")
    return [*lines, "", "![Local accuracy against MAP](accuracy_and_map.png)", "", RELATION, ""]


RELATION = """On all pairs nearly every measure is the more accurate the better the run: a list with many
relevant documents near its top loses by almost any exchange, one with few is as likely to win. The exceptions
look for the first relevant document alone (`recip_rank`, and `iprec_at_recall_0.00`, the highest precision
anywhere). On valid pairs, whose copies did lose gain, `map` no longer depends on the run; measures of the top
stay more accurate for good runs, which have something to lose there; and the two exceptions become the less
accurate the better the run, since its first place is taken by one relevant document after another."""


def by_run(result: AssayResult) -> pl.DataFrame:
    rows = result.to_dict()["contexts"]["system"]["local_accuracy"]
    frame = pl.DataFrame(rows, infer_schema_length=None).filter(pl.col("context") != "global")
    return frame.select(system="context", metric="metric", accuracy="accuracy")


def figure(points: Sequence[Mapping[str, Any]]) -> None:
    """Accuracy against MAP, a panel per measure and kind of pairs."""
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": [dict(point) for point in points]},
        "facet": {
            "column": {"field": "metric", "type": "nominal", "sort": SHOWN, "title": None},
            "row": {"field": "pairs", "type": "nominal", "title": None},
        },
        "spec": {
            "width": 150,
            "height": 130,
            "mark": {"type": "point", "filled": True, "size": 10, "opacity": 0.7},
            "encoding": {
                "x": {"field": "MAP", "type": "quantitative", "title": "MAP of the run"},
                "y": {"field": "accuracy", "type": "quantitative", "title": "local accuracy"},
            },
        },
        "config": {"view": {"stroke": "#ddd"}, "background": "white"},
    }
    (HERE / "accuracy_and_map.png").write_bytes(vl_convert.vegalite_to_png(spec, scale=1))


def _except(names: Sequence[str]) -> str:
    return f" (not {', '.join(names)})" if names else ""


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< .001"


if __name__ == "__main__":
    main()
