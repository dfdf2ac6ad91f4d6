"""The page on soft pairwise accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduce.entry import format_range, format_table
from reproduce.ledger import load_published

Row = dict[str, Any]


def render_page(ours: dict[str, Any]) -> str:
    """Return the page from what `ours.json` holds."""
    exact = [
        [row["dataset"], row["metric"], f"{row['spa']:.4f}", f"{row['ours']:.5f}"]
        for row in ours["mt_metrics_eval"]
    ]
    ledger = ours["ledger"]
    lines = ["# Soft pairwise accuracy (Thompson et al. 2024)", "", INTRODUCTION, ""]
    lines += [
        "## The numbers of mt-metrics-eval",
        "",
        'SPA with `method="mtme"`, systems in sorted order:',
        "",
    ]
    lines += [*format_table(["data set", "metric", "mt-metrics-eval", "ours"], exact), "", ORDER, ""]
    orders = [[row["metric"], f"{row['low']:.4f}", f"{row['high']:.4f}"] for row in ours["orders"]]
    lines += [*format_table(["metric", "lowest", "highest"], orders), "", NORMAL, ""]
    lines += ["## Table 1", "", TABLE_1, "", *_render_table_1(ours["discrimination"]), "", NOTES, ""]
    lines += ["## Ties lost to rounding", "", ROUNDING, "", *_render_rounding(ours["rounding"]), ""]
    lines += ["## Abstract", "", ledger["003 abstract"]["description"] + ".", ""]
    lines += ["## Figure 1: Prism on en-de", "", ledger["003 figure 1"]["description"] + ".", ""]
    lines += ["## Figure 2: fewer systems", "", FIGURE_2, "", *_render_figure_2(ours["stability"]), ""]
    lines += ["## Figure 3: fewer segments", "", FIGURE_3, "", *_render_figure_3(ours["stability"]), ""]
    lines += ["## Figure 4: WMT22 en-de", "", ledger["003 figure 4"]["description"] + ".", ""]
    return "\n".join([*lines, *_render_figure_4(ours["values"])]) + "\n"


INTRODUCTION = """    python -m reproduce.spa.run FOLDER

The script computes soft pairwise accuracy from the official scores of WMT23, and from the available part of
WMT22. Permutations and bootstraps have 1000 draws and five seeds. `ours.json` has every figure."""
ORDER = """mt-metrics-eval takes the order of systems from a Python set. The order changes from process to
process, and each pair of systems is tested in one direction only. The table shows SPA on en-de over 50 orders
of the systems:"""
NORMAL = """The default method of metassay, `normal`, does not depend on the order of systems. It is the limit
of infinitely many permutations. For all 129 metrics, it is within .002 of 200,000 permutations."""
TABLE_1 = """The table has metrics with references only. It shows the published values and the range of our
values over five seeds. Comparisons and clusters are counted with two-sided and one-sided tests
(`perm-inputs`, p ≤ .05). Of the metrics of WMT22, only chrF, SEScoreX and those variants of GEMBA that scored
every output are available, for 10, 15 and 11 of 14, 15 and 15 systems."""
NOTES = """In WMT23 en-de, `instructscore` and `sescoreX` have the same scores. The paper kept both metrics,
and so does the table (`significant_..._with_copies`). The data of WMT23 has 15 systems of zh-en, but the
paper names 14. The shared task counts 249 pairs of systems over its three language pairs, which corresponds
to 12, 13 and 15 systems."""
ROUNDING = """PA has few distinct values, so many permuted differences equal the observed difference. In a
permutation test, such a tie counts against significance. If differences are compared by `>=` in plain
floating point, rounding errors hide some ties, and more comparisons are significant. With two-sided tests and
all 15 systems of zh-en, this comparison gives the published counts within 3. The paper does not say how ties
were compared, so this explanation is an inference."""
FIGURE_2 = """The table shows how well values of metrics on a subset of the systems correlate with the values
on all systems. The correlations are means over all subsets on which both PA and SPA are defined. PA is not
defined on a subset on which it is equal for all metrics."""
FIGURE_3 = """The table shows the width of the 95 % bootstrap interval, as a range over five seeds."""


def _render_table_1(rows: Sequence[Row]) -> list[str]:
    printed: dict[str, float] = {}
    for entry in load_published()["entry"]:
        if entry["paper"] == "003" and entry["what"].startswith("table 1, "):
            year = entry["what"].removeprefix("table 1, ").lower()
            printed |= {f"{year} {name}": value for name, value in entry["values"].items()}
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["year"], row["dataset"], row["meta"]), []).append(row)
    head = ["data set", "meta-metric", "systems", "metrics", "distinct values", "significant"]
    head += ["two-sided", "one-sided", "clusters", "two-sided", "one-sided"]
    cells = []
    for (year, dataset, meta), group in groups.items():
        published = {
            what: printed[f"{year} {dataset} {meta} {what}"]
            for what in ("distinct", "significant", "clusters")
        }
        first = group[0]

        def show(field: str, group: Sequence[Row] = group) -> str:
            return format_range([row[field] for row in group], 0)

        cells.append(
            [f"{year} {dataset}", meta.upper(), first["systems"], first["metrics"]]
            + [f"{published['distinct']} / {first['distinct_values']}", published["significant"]]
            + [show(f"significant_{side}_sided_with_copies") for side in ("two", "one")]
            + [published["clusters"], *(show(f"clusters_{side}_sided") for side in ("two", "one"))]
        )
    return format_table(head, cells)


def _render_rounding(rows: Sequence[Row]) -> list[str]:
    printed = next(
        entry["values"] for entry in load_published()["entry"] if entry["what"] == "table 1, WMT23"
    )
    cells = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        counts = {
            exact: [
                row["significant"] for row in rows if (row["dataset"], row["exact_ties"]) == (dataset, exact)
            ]
            for exact in (False, True)
        }
        cells.append(
            [dataset, printed[f"{dataset} pa significant"]]
            + [format_range(counts[exact], 0) for exact in (False, True)]
        )
    return format_table(["data set", "published", "plain floating point", "exact ties"], cells)


def _render_figure_2(rows: Sequence[Row]) -> list[str]:
    correlations: dict[tuple[str, int, int], dict[str, float]] = {}
    for row in rows:
        if row["ablated"] == "systems":
            key = (f"{row['year']} {row['dataset']}", row["systems"], row["trials"])
            correlations.setdefault(key, {})[row["meta"]] = row["correlation"]
    cells = [[*key, f"{pair['pa']:.3f}", f"{pair['spa']:.3f}"] for key, pair in correlations.items()]
    return format_table(["data set", "systems", "subsets", "PA", "SPA"], cells)


def _render_figure_3(rows: Sequence[Row]) -> list[str]:
    widths: dict[tuple[str, str, int], dict[str, list[float]]] = {}
    for row in rows:
        if row["ablated"] == "segments":
            key = (row["dataset"], row["metric"], row["segments"])
            widths.setdefault(key, {}).setdefault(row["meta"], []).append(row["high"] - row["low"])
    cells = [
        [*key, format_range(pair["pa"], 3), format_range(pair["spa"], 3)]
        for key, pair in sorted(widths.items())
    ]
    return format_table(["data set", "metric", "segments", "width PA", "width SPA"], cells)


def _render_figure_4(rows: Sequence[Row]) -> list[str]:
    values: dict[str, dict[str, float]] = {}
    for row in rows:
        if (row["year"], row["dataset"]) == ("wmt22", "en-de"):
            values.setdefault(row["metric"], {})[row["meta"]] = row["value"]
    best_first = sorted(values.items(), key=lambda item: -item[1]["spa"])
    cells = [[name, f"{value['pa']:.3f}", f"{value['spa']:.3f}"] for name, value in best_first]
    return format_table(["metric", "PA", "SPA"], cells)
