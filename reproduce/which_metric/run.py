"""docs/which-metric.md: what five ways of asking say of the metrics of WMT22 and WMT23.

    python -m reproduce.which_metric.run FOLDER     a folder with wmt22 and wmt23

Writes `ours.json` beside this file and the page; `--page` the page alone, from that file.
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
from reproduce.which_metric.page import page

from metassay.meta.dependence import system_dependence
from metassay.meta.dependence.shrinkage import split_deviations
from metassay.meta.pairwise import soft_pairwise_accuracy
from metassay.meta.people.meta_metrics.acc_eq import tie_calibrated_accuracy
from metassay.workflows.assay import assay
from metassay.workflows.score import score

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "which-metric.md"
YEARS = {"wmt23": ("en-de", "he-en", "zh-en"), "wmt22": ("en-de", "zh-en", "en-ru")}
LEXICAL = ("bleu", "chrf", "chrf(word_order=2)", "ter", "rouge2", "rougel", "meteor")
METHODS = "removal,insertion,swapping,pronoun,negation_removal"
ITEMS = 40
Found = dict[str, Any]
Floats = NDArray[np.float64]


def main() -> None:
    rows: list[Found] = []
    if sys.argv[1:] != ["--page"]:
        for year, pairs in YEARS.items():
            for lp in pairs:
                print(year, lp, flush=True)
                rows += measured(Path(sys.argv[1]) / year, f"{year}_{lp}")
                write_json(HERE / "ours.json", {"rows": rows})
    kept = json.loads((HERE / "ours.json").read_text(encoding="utf-8"))["rows"]
    PAGE.write_text(page(kept), encoding="utf-8")


def measured(folder: Path, name: str) -> list[Found]:
    """One row per metric of a language pair: the official scores, then ours on the same outputs."""
    table = pl.read_parquet(folder / f"{name}_metrics.parquet").sort("system", "seg_id")
    texts = pl.read_parquet(folder / f"{name}.parquet")
    known = {"lp", "system", "seg_id", "mqm"}
    official = [c for c in table.columns if c not in known and table[c].null_count() == 0]
    rated = texts.join(table.select("system", "seg_id"), on=["system", "seg_id"], how="semi")
    own, systems = lexical(rated)
    human = cube(table, "mqm")
    local = accuracies(texts)
    rows = [compared(human, cube(table, column), shared_name(column)) for column in official]
    for row, column in zip(rows, official):
        row["reads"] = "source" if column.endswith("-src") else "reference"
    for metric, scores in own.items():
        found = compared(human, cube(scores, metric), f"{metric}, ours")
        found |= aggregated(systems.filter(metric=metric), table)
        rows.append(found | {"reads": "reference", "local": local[metric]})
    year, lp = name.split("_")
    unknown = dict.fromkeys(("local", "mean", "corpus"))
    return [{"year": year, "lp": lp, **unknown, **row} for row in rows]


def compared(human: Floats, metric: Floats, name: str) -> Found:
    """SPA, acc_eq, SysDep and residual (one fit) of a metric."""
    means = human.mean(axis=1)
    constant = float(means.max() - means.min())
    found = system_dependence(human, metric, bootstraps=0)
    return {
        "metric": name,
        "spa": soft_pairwise_accuracy(human, metric),
        "acc_eq": tie_calibrated_accuracy(human, metric).accuracy,
        "sysdep": found.sysdep / constant,
        "residual": split_deviations(found.deviations, means).residual_range / constant,
    }


def aggregated(systems: pl.DataFrame, table: pl.DataFrame) -> Found:
    """Pearson with people's means of the mean of segment scores, and of the corpus score if there is one."""
    both = systems.join(table.group_by("system").agg(pl.col("mqm").mean()), on="system")
    sign = -1 if systems["metric"][0] == "ter" else 1
    return {
        name: sign * float(np.corrcoef(both[column].to_numpy(), both["mqm"].to_numpy())[0, 1])
        for name, column in (("mean", "segment"), ("corpus", "corpus"))
        if both[column].null_count() == 0
    }


def cube(table: pl.DataFrame, column: str) -> Floats:
    """Scores as an array of systems by segments."""
    wide = table.pivot(on="seg_id", index="system", values=column).sort("system").drop("system")
    segments = sorted(wide.columns, key=int)
    return wide.select(segments).to_numpy().astype(np.float64)


def shared_name(name: str) -> str:
    """Without the reference that was used."""
    stem, _, reference = name.rpartition("-")
    return stem if reference in {"refA", "refB", "ref", "src"} else name


def lexical(texts: pl.DataFrame) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Segment scores of metassay's own lexical metrics, higher being better, and scores of the systems."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        scored = score(texts, metrics=LEXICAL, per_segment=str(path), aggregate=["segment", "corpus"])
        long = pl.read_parquet(path)
    long = long.with_columns(seg_id=pl.col("item").str.split("/").list.last().cast(pl.Int64))
    found = {}
    for metric in LEXICAL:
        part = long.filter(metric=metric)
        sign = -1 if metric == "ter" else 1
        found[metric] = part.select("system", "seg_id", (sign * pl.col("score")).alias(metric))
    return found, scored.to_frame()


def accuracies(texts: pl.DataFrame) -> dict[str, float]:
    """Local accuracy of lexical metrics on the outputs of some items, spread evenly."""
    items = texts["seg_id"].unique().sort()
    few = texts.filter(pl.col("seg_id").is_in(items[:: max(len(items) // ITEMS, 1)].implode()))
    settings: Found = {"perturbations": METHODS, "resamples": 20, "permutations": 19, "seed": 1}
    found = assay(few, metrics=LEXICAL, contexts=["system"], **settings).to_dict()
    return {row["metric"]: row["accuracy"] for row in found["global"]}


if __name__ == "__main__":
    main()
