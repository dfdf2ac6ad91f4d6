"""docs/which-metric.md: what four ways of asking say of the metrics of WMT22 and WMT23.

    python -m reproduce.which_metric.run FOLDER     a folder with wmt22 and wmt23; after system_dependence

Writes `ours.json` beside this file and the page; `--page` the page alone, from that file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from reproduce.entry import write
from reproduce.which_metric.page import page

from metassay.workflows.assay import assay
from metassay.workflows.depend import depend
from metassay.workflows.rank import rank

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "which-metric.md"
YEARS = {"wmt23": ("en-de", "he-en", "zh-en"), "wmt22": ("en-de", "zh-en", "en-ru")}
LEXICAL = ("bleu", "chrf", "chrf++", "ter", "rougel", "meteor")
OWN = ("chrf++", "ter", "rougel", "meteor")
"""Lexical metrics that no shared task scored here: from the texts."""
ITEMS = 60
Found = dict[str, Any]


def main() -> None:
    if sys.argv[1:] != ["--page"]:
        folder = Path(sys.argv[1])
        rows = [row for year, pairs in YEARS.items() for lp in pairs for row in measured(folder, year, lp)]
        write(HERE / "ours.json", {"rows": rows})
    PAGE.write_text(
        page(json.loads((HERE / "ours.json").read_text(encoding="utf-8"))["rows"]), encoding="utf-8"
    )


def measured(folder: Path, year: str, lp: str) -> list[Found]:
    """One row per metric of a language pair."""
    print(year, lp, flush=True)
    scores, texts = folder / year / f"{year}_{lp}_metrics.parquet", folder / year / f"{year}_{lp}.parquet"
    known = {"lp", "system", "seg_id", "mqm"}
    official = [name for name in pl.read_parquet_schema(scores) if name not in known]
    lexical = OWN if year == "wmt23" else ("bleu", *OWN)
    options: Found = {"join": texts, "human": "mqm", "metrics": [*official, *lexical]}
    spa = rank(scores, meta="spa", significance="perm-inputs", **options).to_dict()["results"][0]
    ties = rank(scores, meta="acc_eq", significance="none", draws=10, **options).to_dict()["results"][0]
    fair = dependence(scores, year, lp, options)
    local = accuracies(texts)
    acc_eq = {row["metric"]: row["value"] for row in ties["metrics"]}
    rows = []
    for row in spa["metrics"]:
        name = row["metric"]
        if row.get("baseline") or name in {"constant", "random"}:
            continue
        plain = shared_name(name)
        rows.append(
            {"year": year, "lp": lp, "metric": plain, "reference_free": name.endswith("-src")}
            | {"spa": row["value"], "low": row["low"], "high": row["high"], "rank": row["rank"]}
            | {"acc_eq": acc_eq[name], **fair[name], "local": local.get(plain.lower())}
        )
    return rows


def shared_name(name: str) -> str:
    """Without the reference that was used."""
    stem, _, reference = name.rpartition("-")
    return stem if reference in {"refA", "refB", "ref", "src"} else name


def dependence(scores: Path, year: str, lp: str, options: Found) -> dict[str, Found]:
    """SysDep as a share of a constant metric's, and the residual as a share of it too."""
    if year == "wmt23":
        content = json.loads((HERE.parent / "system_dependence" / "ours.json").read_text(encoding="utf-8"))
        found: Sequence[Found] = content[lp]
        missing = [name for name in options["metrics"] if name not in {row["metric"] for row in found}]
    else:
        found, missing = (), options["metrics"]
    more = depend(scores, **options | {"metrics": missing}, bootstraps=20, draws=9).to_dict()["metrics"]
    return {
        row["metric"]: {
            "sysdep": row["sysdep"] / row["constant"],
            "residual": row["residual_range"] / row["constant"],
        }
        for row in [*found, *more]
    }


def accuracies(texts: Path) -> dict[str, float]:
    """Local accuracy of lexical metrics on the outputs of some items, spread evenly."""
    frame = pl.read_parquet(texts)
    items = frame["seg_id"].unique().sort()
    few = frame.filter(pl.col("seg_id").is_in(items[:: max(len(items) // ITEMS, 1)].implode()))
    found = assay(few, metrics=LEXICAL, contexts=["system"], resamples=50, permutations=99, seed=1).to_dict()
    return {row["metric"]: row["accuracy"] for row in found["global"]}


if __name__ == "__main__":
    main()
