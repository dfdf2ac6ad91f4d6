"""docs/which-metric.md: five measures of quality for the metrics of WMT22 and WMT23.

    python -m reproduce.which_metric.run FOLDER     a folder with wmt22 and wmt23

Writes `ours.json` and a table of all metrics next to this file, and the page. With `--page`, writes only the
table and the page, from `ours.json`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from reproduce.entry import write_json
from reproduce.which_metric.page import render_full_page, render_page

from metassay.meta.dependence import system_dependence
from metassay.meta.dependence.shrinkage import separate_regression_to_mean
from metassay.meta.pairwise import soft_pairwise_accuracy
from metassay.meta.people.meta_metrics.acc_eq import tie_calibrated_accuracy
from metassay.workflows.assay import assay
from metassay.workflows.score import score

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "which-metric.md"
YEARS = {"wmt23": ("en-de", "he-en", "zh-en"), "wmt22": ("en-de", "zh-en", "en-ru")}
LEXICAL = ("bleu", "chrf", "chrf(word_order=2)", "ter", "rouge2", "rougel", "meteor")
PERTURBATIONS = "removal,insertion,swapping,pronoun,negation_removal"
ITEMS = 40
Row = dict[str, Any]
Floats = NDArray[np.float64]


def main() -> None:
    rows: list[Row] = []
    if sys.argv[1:] != ["--page"]:
        for year, pairs in YEARS.items():
            for lp in pairs:
                print(year, lp, flush=True)
                rows += measure_language_pair(Path(sys.argv[1]) / year, f"{year}_{lp}")
                write_json(FOLDER / "ours.json", {"rows": rows})
    stored = json.loads((FOLDER / "ours.json").read_text(encoding="utf-8"))["rows"]
    PAGE.write_text(render_page(stored), encoding="utf-8")
    (FOLDER / "README.md").write_text(render_full_page(stored), encoding="utf-8")


def measure_language_pair(folder: Path, name: str) -> list[Row]:
    """Return a row per metric of a language pair: the official ones, then ours on the same outputs."""
    table = pl.read_parquet(folder / f"{name}_metrics.parquet").sort("system", "seg_id")
    texts = pl.read_parquet(folder / f"{name}.parquet")
    key_columns = {"lp", "system", "seg_id", "mqm"}
    official = [name for name in table.columns if name not in key_columns and table[name].null_count() == 0]
    rated = texts.join(table.select("system", "seg_id"), on=["system", "seg_id"], how="semi")
    segment_scores, systems = score_lexical_metrics(rated)
    human = pivot_scores(table, "mqm")
    local = measure_local_accuracies(texts)
    rows = [
        compare_with_human(human, pivot_scores(table, column), remove_reference(column))
        for column in official
    ]
    for row, column in zip(rows, official):
        row["reads"] = "source" if column.endswith("-src") else "reference"
    for metric, scores in segment_scores.items():
        row = compare_with_human(human, pivot_scores(scores, metric), f"{metric}, ours")
        row |= correlate_aggregations(systems.filter(metric=metric), table)
        rows.append(row | {"reads": "reference", "local": local[metric]})
    year, lp = name.split("_")
    missing = dict.fromkeys(("local", "mean", "corpus"))
    return [{"year": year, "lp": lp, **missing, **row} for row in rows]


def compare_with_human(human: Floats, metric: Floats, name: str) -> Row:
    """Compute SPA, acc_eq, SysDep and residual (one fit) of a metric."""
    means = human.mean(axis=1)
    constant = float(means.max() - means.min())
    dependence = system_dependence(human, metric, bootstraps=0)
    return {
        "metric": name,
        "spa": soft_pairwise_accuracy(human, metric),
        "acc_eq": tie_calibrated_accuracy(human, metric).accuracy,
        "sysdep": dependence.sysdep / constant,
        "residual": separate_regression_to_mean(dependence.deviations, means).residual_range / constant,
    }


def correlate_aggregations(systems: pl.DataFrame, table: pl.DataFrame) -> Row:
    """Correlate the mean of segment scores, and the corpus score if there is one, with human means."""
    both = systems.join(table.group_by("system").agg(pl.col("mqm").mean()), on="system")
    sign = -1 if systems["metric"][0] == "ter" else 1
    return {
        name: sign * float(np.corrcoef(both[column].to_numpy(), both["mqm"].to_numpy())[0, 1])
        for name, column in (("mean", "segment"), ("corpus", "corpus"))
        if both[column].null_count() == 0
    }


def pivot_scores(table: pl.DataFrame, column: str) -> Floats:
    """Return scores as an array of systems by segments."""
    wide = table.pivot(on="seg_id", index="system", values=column).sort("system").drop("system")
    segments = sorted(wide.columns, key=int)
    return wide.select(segments).to_numpy().astype(np.float64)


def remove_reference(name: str) -> str:
    """Return the name of a metric without the reference that it used."""
    stem, _, reference = name.rpartition("-")
    return stem if reference in {"refA", "refB", "ref", "src"} else name


def score_lexical_metrics(texts: pl.DataFrame) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Compute lexical metrics: scores of segments, higher is better, and scores of systems."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        scored = score(texts, metrics=LEXICAL, per_segment=str(path), aggregate=["segment", "corpus"])
        long = pl.read_parquet(path)
    long = long.with_columns(seg_id=pl.col("item").str.split("/").list.last().cast(pl.Int64))
    segment_scores = {}
    for metric in LEXICAL:
        rows = long.filter(metric=metric)
        sign = -1 if metric == "ter" else 1
        segment_scores[metric] = rows.select("system", "seg_id", (sign * pl.col("score")).alias(metric))
    return segment_scores, scored.to_frame()


def measure_local_accuracies(texts: pl.DataFrame) -> dict[str, float]:
    """Compute the local accuracy of lexical metrics on the outputs of some items, spread evenly."""
    items = texts["seg_id"].unique().sort()
    few = texts.filter(pl.col("seg_id").is_in(items[:: max(len(items) // ITEMS, 1)].implode()))
    settings: Row = {"perturbations": PERTURBATIONS, "resamples": 20, "permutations": 19, "seed": 1}
    result = assay(few, metrics=LEXICAL, contexts=["system"], **settings).to_dict()
    return {row["metric"]: row["accuracy"] for row in result["global"]}


if __name__ == "__main__":
    main()
