"""Table 1 and figures 2 and 3 of Thompson et al. (2024) for WMT23, beside the published figures.

    python reproduce/spa/run.py FOLDER        a folder with wmt23/wmt23_{en-de,he-en,zh-en}_metrics.parquet

Prints Markdown; writes `ours.json` beside this file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl

from metassay.workflows.rank import rank

HERE = Path(__file__).parent
PAIRS = ("en-de", "he-en", "zh-en")
SHOWN = ("XCOMET-Ensemble", "MetricX-23")


def main() -> None:
    folder = Path(sys.argv[1]) / "wmt23"
    published = json.loads((HERE / "published.json").read_text())
    ours: dict[str, Any] = {"mtme": [], "discrimination": [], "stability": []}
    for lp in PAIRS:
        table = pl.read_parquet(folder / f"wmt23_{lp}_metrics.parquet")
        exact = rank(table, method="mtme", significance="none", draws=10).to_dict()["results"][0]
        values = {row["metric"]: row["value"] for row in exact["metrics"]}
        ours["mtme"] += [
            known | {"ours": values[known["metric"]]}
            for known in published["mt_metrics_eval"]
            if known["dataset"] == lp
        ]
        names = [name for name in table.columns if name[-5:-1] == "-ref"]
        found = rank(table, metrics=names, significance="perm-inputs", analysis="discrimination,stability")
        ours["discrimination"] += found.analyses["discrimination"]
        ours["stability"] += [
            row
            for row in found.analyses["stability"]
            if row["ablated"] == "systems" or row["metric"].rsplit("-", 1)[0] in SHOWN
        ]
    (HERE / "ours.json").write_text(json.dumps(ours, indent=1) + "\n")
    _print_exact(ours["mtme"])
    _print_table_1(published["rows"], ours["discrimination"])
    _print_figure_2(ours["stability"])
    _print_figure_3(ours["stability"])


def _print_exact(rows: list[dict[str, Any]]) -> None:
    print("| data set | metric | mt-metrics-eval | ours, method mtme |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row['dataset']} | {row['metric']} | {row['spa']:.4f} | {row['ours']:.5f} |")


def _print_table_1(published: list[dict[str, Any]], ours: list[dict[str, Any]]) -> None:
    heads = (
        "data set",
        "meta-metric",
        "distinct values",
        "significant",
        "one-sided",
        "two-sided",
        "clusters",
    )
    print("\n| " + " | ".join((*heads, "one-sided", "two-sided")) + " |")
    print("|---|---|---|---|---|---|---|---|---|")
    for known in published:
        row = next(r for r in ours if (r["dataset"], r["meta"]) == (known["dataset"], known["meta"]))
        print(
            f"| {known['dataset']} | {known['meta']} | {known['distinct']} / {row['distinct_values']} "
            f"| {known['significant']} | {row['significant_one_sided_with_copies']} "
            f"| {row['significant_two_sided_with_copies']} "
            f"| {known['clusters']} | {row['clusters_one_sided']} | {row['clusters_two_sided']} |"
        )


def _print_figure_2(rows: list[dict[str, Any]]) -> None:
    print("\n| data set | systems kept | PA | SPA |\n|---|---|---|---|")
    kept = [row for row in rows if row["ablated"] == "systems"]
    for lp in PAIRS:
        for count in (4, 6, 8, 10):
            both = {r["meta"]: r["correlation"] for r in kept if (r["dataset"], r["systems"]) == (lp, count)}
            print(f"| {lp} | {count} | {both['pa']:.3f} | {both['spa']:.3f} |")


def _print_figure_3(rows: list[dict[str, Any]]) -> None:
    print("\n| data set | metric | segments | width PA | width SPA |\n|---|---|---|---|---|")
    drawn = [row for row in rows if row["ablated"] == "segments"]
    for lp, metric in [(lp, metric) for lp in PAIRS for metric in SHOWN]:
        own = [r for r in drawn if r["dataset"] == lp and r["metric"].rsplit("-", 1)[0] == metric]
        for count in sorted({row["segments"] for row in own})[1::2]:
            width = {r["meta"]: r["high"] - r["low"] for r in own if r["segments"] == count}
            print(f"| {lp} | {metric} | {count} | {width['pa']:.3f} | {width['spa']:.3f} |")


if __name__ == "__main__":
    main()
