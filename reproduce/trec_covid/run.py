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
from reproduce.entry import SEEDS, to_json_entries, write_json
from reproduce.trec_covid.entries import build_entries, draw_figures
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import spearmanr

from metassay.data.dataset import Dataset
from metassay.metrics.ranking import PAPER_MEASURES
from metassay.workflows.assay import assay
from metassay.workflows.assay_result import AssayResult
from metassay.workflows.read import read
from metassay.workflows.score import score

FOLDER = Path(__file__).parent
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
    quality = score_systems(dataset)
    lines = ["# Ranking measures on TREC-COVID round 1", "", INTRODUCTION, ""]
    lines += compare_with_leaderboard(quality, folder / "leaderboard-round1.csv")
    plain = run_assay(dataset)
    valid = run_assay(dataset, valid_pairs=True)
    lines += describe_measures(plain, valid)
    lines += describe_strengths(dataset)
    lines += describe_agreement(plain, quality)
    lines += describe_quality(plain, valid, quality)
    papers = [plain.to_dict(), *(run_assay(dataset, seed=seed).to_dict() for seed in SEEDS[1:])]
    drafts = [run_assay(dataset, "shuffle", agreement="weighted_tau", seed=seed).to_dict() for seed in SEEDS]
    board = pl.read_csv(folder / "leaderboard-round1.csv").select("run", "team")
    board = board.join(quality.select(run="system", MAP="map"), on="run")
    entries = build_entries(papers, drafts, board)
    write_json(FOLDER / "ours.json", {"ledger": to_json_entries(entries)})
    lines += [
        "## The figures of the papers",
        "",
        *(f"- {name}: {entry.description}." for name, entry in entries.items()),
    ]
    lines += ["", *draw_figures({"figure-3": papers[0], "draft-figure-3": drafts[0]}, quality)]
    (FOLDER / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


INTRODUCTION = """`python -m reproduce.trec_covid.run FOLDER` writes this page. Tables and figures have seed
1, and claims are checked with five seeds. The data are the first 100 documents of every run for 30 topics.
Each list has four changed versions, in which one pair of documents for every five has changed places. The
page shows the local accuracy of the 23 measures of Deviyani and Diaz (2025) by run."""


def run_assay(
    dataset: Dataset,
    perturbations: str | None = None,
    *,
    valid_pairs: bool = False,
    agreement: str = "tau_ap_b",
    seed: int = SEEDS[0],
) -> AssayResult:
    """Assay the measures with runs as contexts."""
    settings: dict[str, Any] = {"perturbations": perturbations, "agreement": agreement, "resamples": 200}
    return assay(dataset, seed=seed, contexts=["system"], valid_pairs=valid_pairs, **settings)


def score_systems(dataset: Dataset) -> pl.DataFrame:
    """One row per run, one column per measure: means over the judged topics."""
    rows = score(dataset, metrics=PAPER_MEASURES).to_frame().select("system", "metric", "segment")
    return rows.pivot(on="metric", index="system", values="segment").sort("system")


def compare_with_leaderboard(quality: pl.DataFrame, path: Path) -> list[str]:
    board = pl.read_csv(path).select("run", "ndcg@10", "p@5")
    joined = quality.join(board, left_on="system", right_on="run")
    equal = {
        name: sum(
            f"{measured:.4f}" == f"{official:.4f}"
            for measured, official in joined.select(ours, name).iter_rows()
        )
        for ours, name in (("ndcg_cut_10", "ndcg@10"), ("p_5", "p@5"))
    }
    finding = (
        f"nDCG@10 equals the leaderboard's four digits for {equal['ndcg@10']} of {joined.height} runs, "
        f"P@5 for {equal['p@5']}. (Its MAP is over 1,000 documents, of which the first 100 are here.)"
    )
    return ["## The official leaderboard", "", finding, ""]


def describe_measures(plain: AssayResult, valid: AssayResult) -> list[str]:
    result = plain.to_dict()
    on_valid_pairs = valid.to_dict()
    h1 = {row["metric"]: row for row in result["contexts"]["system"]["h1"]}
    on_valid = {row["metric"]: row for row in on_valid_pairs["global"]}
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
        f"{result['pairs']:,} pairs. {' '.join(note for note in result['notes'] if 'list' in note)}",
        "",
        tested,
        "",
        "| measure | accuracy (95 %) | ties | on valid pairs | chi² (142) | p | V | permutation |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(result["global"], key=lambda row: -row["accuracy"]):
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


def describe_strengths(dataset: Dataset) -> list[str]:
    lines = [
        "## How many exchanges?",
        "",
        "| perturbation | lost gain | clearly | kept it | won | map | ndcg_cut_10 | recip_rank |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for method in STRENGTHS:
        result = assay(
            dataset,
            contexts=["system"],
            perturbations=method,
            metrics=SHOWN,
            valid_pairs=False,
            resamples=100,
            permutations=99,
        ).to_dict()
        row = result["validity"][0]
        accuracy = {entry["metric"]: entry["accuracy"] for entry in result["global"]}
        shares = [row[kind] / row["applied"] for kind in ("worse", "clearly_worse", "equal", "better")]
        lines.append(
            f"| {method} | " + " | ".join(f"{share:.3f}" for share in shares)
            + f" | {accuracy['map']:.3f} | {accuracy['ndcg_cut_10']:.3f} | {accuracy['recip_rank']:.3f} |"
        )  # fmt: skip
    return [*lines, "", WHY_FIVE, ""]


WHY_FIVE = """A copy is clearly worse when up to no rank it has collected more gain than the list. One
exchange in a hundred documents moves no relevant one in most lists, which is why the default is one for every
five documents: it changes the gain of more than nine lists in ten."""


def describe_agreement(plain: AssayResult, quality: pl.DataFrame) -> list[str]:
    """How the runs group by the order in which they put the measures."""
    h2 = plain.to_dict()["contexts"]["system"]["h2"]
    names = h2["contexts"][1:]
    matrix = np.array(h2["matrix"], dtype=np.float64)
    to_global, between = matrix[0, 1:], matrix[1:, 1:]
    labels = cluster_runs(between)
    means = dict(quality.select("system", "map").iter_rows())
    finding = (
        f"Agreement ({h2['statistic']}) of a run with all runs together: median "
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
        within = between[np.ix_(inside, inside)][np.triu_indices(len(inside), 1)]
        quality_inside = np.mean([means[names[i]] for i in inside])
        examples = ", ".join(names[i] for i in inside[:3])
        lines.append(
            f"| {group} | {len(inside)} | {np.nanmean(within) if len(within) else float('nan'):.2f} "
            f"| {np.nanmean(between[np.ix_(inside, outside)]):.2f} | {quality_inside:.3f} | {examples} |"
        )
    return [*lines, "", GROUPED, ""]


GROUPED = """The runs that find much form one large group; those that find next to nothing, whose lists hold a
relevant document or two, order the measures otherwise and agree least with the rest."""


def cluster_runs(between: NDArray[np.float64], count: int = 4) -> NDArray[np.int64]:
    distance = 1 - np.nan_to_num((between + between.T) / 2)
    np.fill_diagonal(distance, 0)
    return fcluster(linkage(squareform(distance, checks=False), "complete"), count, "maxclust").astype(
        np.int64
    )


def describe_quality(plain: AssayResult, valid: AssayResult, quality: pl.DataFrame) -> list[str]:
    """The relation of a run's local accuracy to its MAP."""
    sides = {"all pairs": list_accuracies(plain), "valid pairs": list_accuracies(valid)}
    means = quality.select("system", MAP="map")
    points = pl.concat(
        frame.join(means, on="system").with_columns(pairs=pl.lit(name)) for name, frame in sides.items()
    )
    draw_accuracy_and_map(points.filter(pl.col("metric").is_in(SHOWN)).to_dicts())
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
            points_of_metric = points.filter((pl.col("metric") == metric) & (pl.col("pairs") == name))
            cells.append(f"{spearmanr(points_of_metric['MAP'], points_of_metric['accuracy']).statistic:+.2f}")
        lines.append(f"| {metric} | {' | '.join(cells)} |")
    return [*lines, "", "![Local accuracy against MAP](accuracy_and_map.png)", "", RELATION, ""]


RELATION = """On all pairs nearly every measure is the more accurate the better the run: a list with many
relevant documents near its top loses by almost any exchange, one with few is as likely to win. The exceptions
look for the first relevant document alone (`recip_rank`, and `iprec_at_recall_0.00`, the highest precision
anywhere). On valid pairs, whose copies did lose gain, `map` no longer depends on the run; measures of the top
stay more accurate for good runs, which have something to lose there; and the two exceptions become the less
accurate the better the run, since its first place is taken by one relevant document after another."""


def list_accuracies(result: AssayResult) -> pl.DataFrame:
    rows = result.to_dict()["contexts"]["system"]["local_accuracy"]
    frame = pl.DataFrame(rows, infer_schema_length=None).filter(pl.col("context") != "global")
    return frame.select(system="context", metric="metric", accuracy="accuracy")


def draw_accuracy_and_map(points: Sequence[Mapping[str, Any]]) -> None:
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
    (FOLDER / "accuracy_and_map.png").write_bytes(vl_convert.vegalite_to_png(spec, scale=1))


def _except(names: Sequence[str]) -> str:
    return f" (not {', '.join(names)})" if names else ""


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< .001"


if __name__ == "__main__":
    main()
