"""The page on soft pairwise accuracy."""

from __future__ import annotations

from typing import Any

from reproduce.entry import table
from reproduce.ledger import published

Found = dict[str, Any]
SHOWN = ("XCOMET-Ensemble", "MetricX-23")


def page(ours: Found) -> str:
    exact = [[r["dataset"], r["metric"], f"{r['spa']:.4f}", f"{r['ours']:.5f}"] for r in ours["mtme"]]
    lines = ["# Soft pairwise accuracy (Thompson et al. 2024)", "", INTRODUCTION, ""]
    lines += ["## The same numbers as the public tool", "", SORTED, ""]
    lines += [
        *table(["data set", "metric", "mt-metrics-eval", "ours, method mtme"], exact),
        "",
        MTME_ORDER,
        "",
    ]
    lines += ["## Table 1", "", TABLE_1, "", *_table_1(ours), "", SIDES, ""]
    lines += ["## Figure 1: Prism on en-de", "", ours["ledger"]["003 figure 1"]["shown"] + ".", ""]
    lines += ["## Figure 2: fewer systems", "", FIGURE_2, "", *_figure_2(ours["stability"]), ""]
    lines += ["## Figure 3: fewer segments", "", FIGURE_3, "", *_figure_3(ours["stability"]), ""]
    lines += [
        "## Figure 4: WMT22 en-de",
        "",
        ours["ledger"]["003 figure 4"]["shown"] + ".",
        "",
        *_figure_4(ours),
    ]
    return "\n".join(lines) + "\n"


INTRODUCTION = """    python -m reproduce.spa.run FOLDER

on the WMT23 scores that people share with mt-metrics-eval, and on what there is of WMT22; seed 0, 1000 draws.
`ours.json` has every figure."""
SORTED = """SPA with `method="mtme"`, systems in sorted order:"""
MTME_ORDER = """The public tool takes the order of systems from a Python set, so its own figure moves in the
fourth digit from process to process (`reproduce/errors` shows by how much). The default method, `normal`, has
no such noise: it is the limit of infinitely many permutations, within .002 of 200,000 of them for all 129
metrics."""
TABLE_1 = """Reference-based metrics only; published, then ours. Comparisons and clusters with two- and with
one-sided tests (`perm-inputs`, p ≤ .05). WMT22 is here in part: of the paper's 20 or 21 metrics chrF alone,
beside SEScoreX and the variants of GEMBA that scored every output, on 10, 15 and 11 of 14, 15 and 15
systems."""
SIDES = """The paper does not say which side was tested; on WMT23 two-sided counts come nearer to its own.

In WMT23 en-de, `instructscore` and `sescoreX` are the same scores. The paper kept both, and so does the table
(`significant_..._with_copies`); its maximum of 276 leaves one out. zh-en has 15 systems in WMT23's data (the
shared task counts 249 pairs of systems over the three language pairs, which 12, 13 and 15 systems make) and
14 in the paper.

PA takes few values, so many draws equal the observed difference. We count them against the better metric, as
a permutation test must."""
FIGURE_2 = """Mean correlation of the metrics' values with those on all systems, over 1000 random subsets."""
FIGURE_3 = """Width of the 95 % bootstrap interval."""


def _table_1(ours: Found) -> list[str]:
    printed: dict[str, float] = {}
    for entry in published()["entry"]:
        if entry["paper"] == "003" and entry["what"].startswith("table 1, "):
            year = entry["what"].removeprefix("table 1, ").lower()
            printed |= {f"{year} {name}": value for name, value in entry["values"].items()}
    head = ["data set", "meta-metric", "systems", "metrics", "distinct values", "significant"]
    head += ["two-sided", "one-sided", "clusters", "two-sided", "one-sided"]
    rows = []
    for row in ours["discrimination"]:
        name = f"{row['year']} {row['dataset']} {row['meta']}"
        known = {what: printed[f"{name} {what}"] for what in ("distinct", "significant", "clusters")}
        rows.append(
            [f"{row['year']} {row['dataset']}", row["meta"].upper(), row["systems"], row["metrics"]]
            + [f"{known['distinct']} / {row['distinct_values']}", known["significant"]]
            + [row[f"significant_{side}_sided_with_copies"] for side in ("two", "one")]
            + [known["clusters"], *(row[f"clusters_{side}_sided"] for side in ("two", "one"))]
        )
    return table(head, rows)


def _figure_2(rows: list[Found]) -> list[str]:
    both: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        if row["ablated"] == "systems":
            both.setdefault((row["dataset"], row["systems"]), {})[row["meta"]] = row["correlation"]
    cells = [[*key, f"{pair['pa']:.3f}", f"{pair['spa']:.3f}"] for key, pair in sorted(both.items())]
    return table(["data set", "systems kept", "PA", "SPA"], cells)


def _figure_3(rows: list[Found]) -> list[str]:
    widths: dict[tuple[str, str, int], dict[str, float]] = {}
    for row in rows:
        if row["ablated"] == "segments":
            key = (row["dataset"], row["metric"], row["segments"])
            widths.setdefault(key, {})[row["meta"]] = row["high"] - row["low"]
    cells = [[*key, f"{pair['pa']:.3f}", f"{pair['spa']:.3f}"] for key, pair in sorted(widths.items())]
    return table(["data set", "metric", "segments", "width PA", "width SPA"], cells)


def _figure_4(ours: Found) -> list[str]:
    own: dict[str, dict[str, float]] = {}
    for row in ours["values"]:
        if (row["year"], row["dataset"]) == ("wmt22", "en-de"):
            own.setdefault(row["metric"], {})[row["meta"]] = row["value"]
    best = sorted(own.items(), key=lambda item: -item[1]["spa"])
    return table(["metric", "PA", "SPA"], [[name, f"{v['pa']:.3f}", f"{v['spa']:.3f}"] for name, v in best])
