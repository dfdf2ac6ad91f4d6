"""System dependence of the WMT23 metrics (von Däniken et al., 2024), and what remains of it after shrinkage.

    python -m reproduce.system_dependence.run FOLDER   a folder with wmt23/wmt23_{en-de,he-en,zh-en}*.parquet

Writes `ours.json` and README.md beside this file; `--page FOLDER` anew from the measurements in the former.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
from reproduce.entry import Entry, rounded, write
from reproduce.entry import kept as kept_entries

from metassay.workflows.depend import depend

HERE = Path(__file__).parent
PAIRS = ("en-de", "he-en", "zh-en")
KEPT = (
    *("metric", "sysdep", "low", "high", "constant", "ratio", "slope", "residual_range", "p_equal", "p_fair"),
    *("pearson", "estimators"),
)


def main() -> None:
    folder = Path(sys.argv[-1]) / "wmt23"
    if sys.argv[1] == "--page":
        known = json.loads((HERE / "ours.json").read_text(encoding="utf-8"))
        found = {pair: known[pair] for pair in PAIRS}
    else:
        found = rounded({pair: measured(folder, pair) for pair in PAIRS})  # as `--page` will find it
    write(HERE / "ours.json", {"ledger": kept_entries(entries(found, sizes(folder, "zh-en"))), **found})
    (HERE / "README.md").write_text("\n".join([INTRODUCTION, *show(found)]) + "\n", encoding="utf-8")


def sizes(folder: Path, pair: str) -> tuple[int, int]:
    """Systems and segments of a language pair."""
    table = pl.read_parquet(folder / f"wmt23_{pair}_metrics.parquet", columns=["system", "seg_id"])
    return table["system"].n_unique(), table["seg_id"].n_unique()


INTRODUCTION = """# A Measure of the System Dependence of Automated Metrics

von Däniken, Deriu and Cieliebak (2024), arXiv 2412.03152, on the 43 metrics of WMT23 with MQM.

    python -m reproduce.system_dependence.run FOLDER      # wmt23/wmt23_{en-de,he-en,zh-en}{,_metrics}.parquet
    python -m reproduce.system_dependence.correct FOLDER  # corrections.json: en-de read as human scores

`ours.json` has our figures: 200 bootstrap fits, 999 draws per test, segments resampled. What
they mean is in [docs/system-dependence.md](../../docs/system-dependence.md). The
paper's own values per metric are not at hand; a transcription of its procedure with scikit-learn gives the
same deviations to 1e-9 for every metric and pair (`tests/meta/test_dependence.py`).

*of constant*: share of the SysDep of a metric that knows nothing. *residual*: range of ED after shrinkage.
*flattered*: by the largest residual. *inverted*: pairs of systems that the metric orders against people
(those the deviations explain)."""


def measured(folder: Path, pair: str) -> list[dict[str, Any]]:
    """What is kept of every metric of one language pair; human references only where they were rated."""
    result = depend(
        folder / f"wmt23_{pair}_metrics.parquet", join=folder / f"wmt23_{pair}.parquet", human="mqm"
    )
    return [kept(entry) for entry in result.to_dict()["metrics"]]


def kept(entry: dict[str, Any]) -> dict[str, Any]:
    systems = list(entry["deviations"])
    deviations = np.array([entry["deviations"][name] for name in systems])
    means = np.array([entry["human_means"][name] for name in systems])
    residual = entry["residual"]
    pairs = entry["inversions"]
    opposite = [
        pair for pair in pairs if entry["deviations"][pair["better"]] < 0 < entry["deviations"][pair["worse"]]
    ]
    return {name: entry[name] for name in KEPT} | {
        "correlation_with_human_means": float(np.corrcoef(deviations, means)[0, 1]),
        "flattered": max(residual, key=residual.__getitem__),
        "wronged": min(residual, key=residual.__getitem__),
        "inversions": len(pairs),
        "explained": sum(pair["explained"] for pair in pairs),
        "opposite_signs": len(opposite),
        "worst": pairs[0] if pairs else None,
        "without_one": [min(entry["leave_one_out"].values()), max(entry["leave_one_out"].values())],
    }


def entries(found: dict[str, list[dict[str, Any]]], size: tuple[int, int]) -> dict[str, Entry]:
    return {
        "004 result 1": _correlated(found["zh-en"], *size),
        "004 result 2": _dependent(found),
        "004 result 3": _opposite(found),
        "004 result 4": _kinds(found),
        "004 result 5": _by_name(found),
    }


def _correlated(rows: list[dict[str, Any]], systems: int, segments: int) -> Entry:
    own = next(row for row in rows if row["metric"] == "XCOMET-Ensemble-refA")
    shown = (
        f"XCOMET-Ensemble: Pearson {own['pearson']:.3f} over {segments} segments, and {own['inversions']} "
        f"pairs of {systems} systems ordered against people"
    )
    values = {"correlation": own["pearson"], "segments": segments}
    return Entry(shown, values, {"it orders systems otherwise than people": own["inversions"] > 0})


def _dependent(found: dict[str, list[dict[str, Any]]]) -> Entry:
    best = {pair: max(rows, key=lambda row: row["pearson"]) for pair, rows in found.items()}
    described = [
        f"{pair}: {row['metric']} (Pearson {row['pearson']:.2f}) SysDep {row['sysdep']:.2f}, "
        f"{row['ratio']:.0%} of a constant's, residual {row['residual_range']:.2f}"
        for pair, row in best.items()
    ]
    checks = {
        "the best correlated metric of each pair depends on the system (p ≤ .05)": all(
            row["p_equal"] <= 0.05 for row in best.values()
        )
    }
    return Entry("; ".join(described), checks=checks)


def _opposite(found: dict[str, list[dict[str, Any]]]) -> Entry:
    rows = [row for part in found.values() for row in part]
    pairs = sum(row["inversions"] for row in rows)
    opposite = sum(row["opposite_signs"] for row in rows)
    explained = sum(row["explained"] for row in rows)
    shown = (
        f"of {pairs:,} pairs of systems that 43 metrics order against people in three language pairs, "
        f"{opposite:,} have "
        f"deviations of opposite sign, the better system's below 0; {explained:,} are explained by their "
        "difference"
    )
    return Entry(
        shown, checks={"most inversions lie between deviations of opposite sign": 2 * opposite > pairs}
    )


def _kinds(found: dict[str, list[dict[str, Any]]]) -> Entry:
    described, gaps = [], []
    for pair, rows in found.items():
        middle = [
            median(row["ratio"] for row in rows if is_reference_free(row["metric"]) == free)
            for free in (False, True)
        ]
        gaps.append(abs(middle[0] - middle[1]))
        described.append(f"{pair} {middle[0]:.0%} and {middle[1]:.0%}")
    shown = f"median SysDep with and without reference, of a constant's: {', '.join(described)}"
    return Entry(
        shown, checks={"the two kinds differ by five points or more in every pair": min(gaps) >= 0.05}
    )


def _by_name(found: dict[str, list[dict[str, Any]]]) -> Entry:
    places = {}
    for pair, rows in found.items():
        order = sorted(rows, key=lambda row: -row["sysdep"])
        places[pair] = [row["metric"] for row in order].index("Random-sysname-src") + 1
    shown = "place among 43, worst first: " + ", ".join(f"{pair} {place}" for pair, place in places.items())
    return Entry(shown, checks={"it is among the three worst everywhere": max(places.values()) <= 3})


def show(ours: dict[str, list[dict[str, Any]]]) -> list[str]:
    lines = []
    for pair, rows in ours.items():
        lines += ["", f"### {pair} (constant metric: {rows[0]['constant']:.2f})", ""]
        lines += [
            "| metric | SysDep (95 %) | of constant | residual | p equal | p fair | flattered | inverted |"
        ]
        lines += ["|---|---|---|---|---|---|---|---|", *map(_line, rows)]
    head = (
        "| pair | kind | metrics | SysDep | of constant | residual | p fair ≤ .05 | after Holm | inverted |"
    )
    lines += ["", "### By kind", "", head, "|---|---|---|---|---|---|---|---|---|"]
    kinds = ("reference-based", "reference-free")
    return [*lines, *(_summary(pair, kind, rows) for pair, rows in ours.items() for kind in kinds)]


def _line(entry: dict[str, Any]) -> str:
    interval = f"{entry['sysdep']:.2f} ({entry['low']:.2f}–{entry['high']:.2f})"
    return (
        f"| {entry['metric']} | {interval} | {entry['ratio']:.0%} | {entry['residual_range']:.2f} "
        f"| {entry['p_equal']:.3f} | {entry['p_fair']:.3f} | {entry['flattered']} "
        f"| {entry['inversions']} ({entry['explained']}) |"
    )


def is_reference_free(metric: str) -> bool:
    return metric.endswith("-src")


def _summary(pair: str, kind: str, entries: list[dict[str, Any]]) -> str:
    rejected = _holm([entry["p_fair"] for entry in entries])
    chosen = [
        (entry, significant)
        for entry, significant in zip(entries, rejected)
        if is_reference_free(entry["metric"]) == (kind == "reference-free")
    ]
    middle = [median(entry[name] for entry, _ in chosen) for name in ("sysdep", "ratio", "residual_range")]
    return (
        f"| {pair} | {kind} | {len(chosen)} | {middle[0]:.2f} | {middle[1]:.0%} | {middle[2]:.2f} "
        f"| {sum(entry['p_fair'] <= 0.05 for entry, _ in chosen)} | {sum(s for _, s in chosen)} "
        f"| {median(entry['inversions'] for entry, _ in chosen):g} |"
    )


def _holm(p: list[float], level: float = 0.05) -> list[bool]:
    order = sorted(range(len(p)), key=p.__getitem__)
    rejected = [False] * len(p)
    for step, index in enumerate(order):
        if p[index] > level / (len(p) - step):
            break
        rejected[index] = True
    return rejected


if __name__ == "__main__":
    main()
