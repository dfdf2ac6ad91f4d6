"""System dependence of the WMT23 metrics (von Däniken et al., 2024), and what remains of it after shrinkage.

    python -m reproduce.system_dependence.run FOLDER [--resume] [--page]

FOLDER has wmt23/wmt23_{en-de,he-en,zh-en}*.parquet. Writes `ours.json` and README.md next to this file.
`--page` writes them again from the measurements in `ours.json`. The measurements of each language pair are
stored in `language_pairs`; `--resume` continues an interrupted run and does not measure these again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
from reproduce.entry import SEEDS, Entry, round_floats, to_json_entries, write_json
from scipy.stats import fisher_exact

from metassay.workflows.depend import depend

FOLDER = Path(__file__).parent
LANGUAGE_PAIRS = ("en-de", "he-en", "zh-en")
STORED_FIELDS = (
    *("metric", "sysdep", "low", "high", "constant", "ratio", "slope", "residual_range", "p_equal", "p_fair"),
    *("pearson", "estimators"),
)
WORST_SHARES = (0.05, 0.1, 0.2)
"""Shares of the inversions that count as the worst ones, by the loss in human score."""
Measurements = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    folder = arguments.data / "wmt23"
    if arguments.page:
        stored = json.loads((FOLDER / "ours.json").read_text(encoding="utf-8"))
        measurements = {name: stored[name] for name in (*LANGUAGE_PAIRS, "seeds")}
    else:
        measurements = {}
        for pair in LANGUAGE_PAIRS:
            path = FOLDER / "language_pairs" / f"{pair}.json"
            if not (arguments.resume and path.exists()):
                path.parent.mkdir(exist_ok=True)
                rows = measure_language_pair(folder, pair)
                path.write_text(json.dumps(round_floats(rows)), encoding="utf-8")
            measurements[pair] = json.loads(path.read_text(encoding="utf-8"))
        measurements["seeds"] = [measure_best_metric(folder, pair, measurements) for pair in LANGUAGE_PAIRS]
        measurements = round_floats(measurements)  # so that `--page` writes the same
    entries = build_entries(measurements, count_sizes(folder, "zh-en"))
    write_json(FOLDER / "ours.json", {"ledger": to_json_entries(entries), **measurements})
    tables = {pair: measurements[pair] for pair in LANGUAGE_PAIRS}
    (FOLDER / "README.md").write_text(
        "\n".join([INTRODUCTION, *render_tables(tables)]) + "\n", encoding="utf-8"
    )


def count_sizes(folder: Path, language_pair: str) -> tuple[int, int]:
    """Count the systems and segments of a language pair."""
    path = folder / f"wmt23_{language_pair}_metrics.parquet"
    table = pl.read_parquet(path, columns=["system", "seg_id"])
    return table["system"].n_unique(), table["seg_id"].n_unique()


def _run_depend(folder: Path, language_pair: str, **options: Any) -> list[Measurements]:
    result = depend(
        folder / f"wmt23_{language_pair}_metrics.parquet",
        join=folder / f"wmt23_{language_pair}.parquet",
        human="mqm",
        **options,
    )
    metrics: list[Measurements] = result.to_dict()["metrics"]
    return metrics


INTRODUCTION = """# A Measure of the System Dependence of Automated Metrics

This page has the results of `metassay depend` for the 43 metrics of WMT23 with MQM scores. The method is by
von Däniken, Deriu and Cieliebak (2024), arXiv 2412.03152.

    python -m reproduce.system_dependence.run FOLDER      # wmt23/wmt23_{en-de,he-en,zh-en}{,_metrics}.parquet
    python -m reproduce.system_dependence.correct FOLDER  # corrections.json: en-de read as human scores

`ours.json` has our figures, from 200 bootstrap fits and 999 draws per test, with segments resampled.
[docs/system-dependence.md](../../docs/system-dependence.md) explains the figures. The values of the paper for
each metric are not available. Our implementation of the paper's procedure with scikit-learn gives the same
deviations for every metric and language pair within 1e-9 (`tests/meta/dependence/test_deviations.py`).

| Column | Meaning |
|---|---|
| of constant | share of the SysDep of a metric that always gives the same score |
| residual | range of the expected deviation after shrinkage |
| flattered | the system with the largest residual |
| inverted | pairs of systems that the metric orders against people (those that deviations explain) |"""


def measure_language_pair(folder: Path, language_pair: str) -> list[Measurements]:
    """Measure every metric of a language pair. Human references are systems only where they were rated."""
    return [summarize_metric(row) for row in _run_depend(folder, language_pair)]


def measure_best_metric(
    folder: Path, language_pair: str, measurements: dict[str, list[Measurements]]
) -> Measurements:
    """Test with each seed whether the metric with the best correlation depends on the system."""
    best = max(measurements[language_pair], key=lambda row: row["pearson"])["metric"]
    p_values = []
    for seed in SEEDS:
        (row,) = _run_depend(folder, language_pair, metrics=[best], seed=seed)
        p_values.append(row["p_equal"])
    return {"pair": language_pair, "metric": best, "p_equal": p_values}


def summarize_metric(row: Measurements) -> Measurements:
    """Return the fields that are stored, and a summary of the pairs of systems in the wrong order."""
    systems = list(row["deviations"])
    deviations = np.array([row["deviations"][name] for name in systems])
    means = np.array([row["human_means"][name] for name in systems])
    residual = row["residual"]
    inversions = [
        {
            "human_gap": row["human_means"][pair["better"]] - row["human_means"][pair["worse"]],
            "deviation_gap": row["deviations"][pair["worse"]] - row["deviations"][pair["better"]],
            "opposite": row["deviations"][pair["better"]] < 0 < row["deviations"][pair["worse"]],
            "explained": pair["explained"],
        }
        for pair in row["inversions"]
    ]
    return {name: row[name] for name in STORED_FIELDS} | {
        "correlation_with_human_means": float(np.corrcoef(deviations, means)[0, 1]),
        "flattered": max(residual, key=residual.__getitem__),
        "wronged": min(residual, key=residual.__getitem__),
        "inversions": inversions,
        "without_one": [min(row["leave_one_out"].values()), max(row["leave_one_out"].values())],
    }


def build_entries(measurements: Measurements, sizes: tuple[int, int]) -> dict[str, Entry]:
    """Build the lines of the ledger."""
    tables = {pair: measurements[pair] for pair in LANGUAGE_PAIRS}
    return {
        "004 result 1": _build_result_1(tables["zh-en"], *sizes),
        "004 result 2": _build_result_2(tables, measurements["seeds"]),
        "004 result 3": _build_result_3(tables),
        "004 result 4": _build_result_4(tables),
        "004 result 5": _build_result_5(tables),
    }


def _build_result_1(rows: Sequence[Measurements], systems: int, segments: int) -> Entry:
    xcomet = next(row for row in rows if row["metric"] == "XCOMET-Ensemble-refA")
    count = len(xcomet["inversions"])
    description = (
        f"XCOMET-Ensemble: Pearson {xcomet['pearson']:.3f} over {segments} segments, and {count} pairs of "
        f"{systems} systems in another order than by human scores"
    )
    values = {"correlation": xcomet["pearson"], "segments": segments}
    return Entry(
        description, values, {"it orders systems differently": [count > 0]}, uses_random_numbers=False
    )


def _build_result_2(tables: dict[str, list[Measurements]], by_seed: Sequence[Measurements]) -> Entry:
    descriptions = []
    for test in by_seed:
        row = next(row for row in tables[test["pair"]] if row["metric"] == test["metric"])
        descriptions.append(
            f"{test['pair']}: {row['metric']} (Pearson {row['pearson']:.2f}) SysDep {row['sysdep']:.2f}, "
            f"{row['ratio']:.0%} of a constant's, residual {row['residual_range']:.2f}, p at most "
            f"{max(test['p_equal']):.3f} over five seeds"
        )
    claims = {
        f"{test['pair']}: the metric with the best correlation depends on the system (p ≤ .05)": [
            p <= 0.05 for p in test["p_equal"]
        ]
        for test in by_seed
    }
    return Entry("; ".join(descriptions), claims=claims)


def _build_result_3(tables: dict[str, list[Measurements]]) -> Entry:
    """Check whether the worst inversions lie between deviations of opposite sign more often than the others.

    An inversion is the worse, the further apart the two systems are in human score.
    """
    inversions = [pair for rows in tables.values() for row in rows for pair in row["inversions"]]
    by_loss = sorted(inversions, key=lambda pair: -pair["human_gap"])
    opposite = sum(pair["opposite"] for pair in inversions)
    descriptions = []
    claims = {}
    for share in WORST_SHARES:
        count = round(share * len(by_loss))
        worst = sum(pair["opposite"] for pair in by_loss[:count])
        rest = opposite - worst
        table = [[worst, count - worst], [rest, len(by_loss) - count - rest]]
        p = float(fisher_exact(table, alternative="greater").pvalue)
        descriptions.append(f"of the worst {share:.0%} {worst / count:.0%} (p {p:.1e} against the others)")
        claims[f"opposite signs are more frequent among the worst {share:.0%} of the inversions"] = [p < 0.05]
    explained = sum(pair["explained"] for pair in inversions)
    description = (
        f"{len(inversions):,} pairs of systems that 43 metrics put in the wrong order in three language "
        f"pairs: {opposite / len(inversions):.0%} have deviations of opposite sign, the better system's "
        f"below 0; {', '.join(descriptions)}; {explained:,} are explained by the difference of their "
        "deviations"
    )
    return Entry(description, claims=claims, uses_random_numbers=False)


def _build_result_4(tables: dict[str, list[Measurements]]) -> Entry:
    descriptions = []
    gaps = []
    for pair, rows in tables.items():
        middle = [
            median(row["ratio"] for row in rows if is_reference_free(row["metric"]) == free)
            for free in (False, True)
        ]
        gaps.append(abs(middle[0] - middle[1]))
        descriptions.append(f"{pair} {middle[0]:.0%} and {middle[1]:.0%}")
    description = f"median SysDep with and without reference, of a constant's: {', '.join(descriptions)}"
    return Entry(
        description,
        claims={"the two kinds differ by five points or more in every pair": [min(gaps) >= 0.05]},
        uses_random_numbers=False,
    )


def _build_result_5(tables: dict[str, list[Measurements]]) -> Entry:
    places = {}
    for pair, rows in tables.items():
        order = sorted(rows, key=lambda row: -row["sysdep"])
        places[pair] = [row["metric"] for row in order].index("Random-sysname-src") + 1
    description = "place among 43, worst first: " + ", ".join(
        f"{pair} {place}" for pair, place in places.items()
    )
    return Entry(
        description,
        claims={"it is among the three worst everywhere": [max(places.values()) <= 3]},
        uses_random_numbers=False,
    )


def render_tables(tables: dict[str, list[Measurements]]) -> list[str]:
    lines = []
    for pair, rows in tables.items():
        lines += ["", f"### {pair} (constant metric: {rows[0]['constant']:.2f})", ""]
        lines += [
            "| metric | SysDep (95 %) | of constant | residual | p equal | p fair | flattered | inverted |"
        ]
        lines += ["|---|---|---|---|---|---|---|---|", *map(_render_row, rows)]
    head = (
        "| pair | kind | metrics | SysDep | of constant | residual | p fair ≤ .05 | after Holm | inverted |"
    )
    lines += ["", "### By kind", "", head, "|---|---|---|---|---|---|---|---|---|"]
    kinds = ("reference-based", "reference-free")
    return [*lines, *(_render_summary(pair, kind, rows) for pair, rows in tables.items() for kind in kinds)]


def _render_row(entry: Measurements) -> str:
    interval = f"{entry['sysdep']:.2f} ({entry['low']:.2f}–{entry['high']:.2f})"
    return (
        f"| {entry['metric']} | {interval} | {entry['ratio']:.0%} | {entry['residual_range']:.2f} "
        f"| {entry['p_equal']:.3f} | {entry['p_fair']:.3f} | {entry['flattered']} "
        f"| {len(entry['inversions'])} ({sum(pair['explained'] for pair in entry['inversions'])}) |"
    )


def is_reference_free(metric: str) -> bool:
    return metric.endswith("-src")


def _render_summary(pair: str, kind: str, entries: list[Measurements]) -> str:
    rejected = _reject_by_holm([entry["p_fair"] for entry in entries])
    chosen = [
        (entry, significant)
        for entry, significant in zip(entries, rejected)
        if is_reference_free(entry["metric"]) == (kind == "reference-free")
    ]
    middle = [median(entry[name] for entry, _ in chosen) for name in ("sysdep", "ratio", "residual_range")]
    return (
        f"| {pair} | {kind} | {len(chosen)} | {middle[0]:.2f} | {middle[1]:.0%} | {middle[2]:.2f} "
        f"| {sum(entry['p_fair'] <= 0.05 for entry, _ in chosen)} | {sum(s for _, s in chosen)} "
        f"| {median(len(entry['inversions']) for entry, _ in chosen):g} |"
    )


def _reject_by_holm(p: list[float], level: float = 0.05) -> list[bool]:
    order = sorted(range(len(p)), key=p.__getitem__)
    rejected = [False] * len(p)
    for step, index in enumerate(order):
        if p[index] > level / (len(p) - step):
            break
        rejected[index] = True
    return rejected


if __name__ == "__main__":
    main()
