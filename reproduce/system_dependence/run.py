"""System dependence of the WMT23 metrics (von Däniken et al., 2024), and what remains of it after shrinkage.

    python reproduce/system_dependence/run.py FOLDER   a folder with wmt23/wmt23_{en-de,he-en,zh-en}*.parquet

Writes `ours.json` beside this file and prints its tables as Markdown; `--tables` prints them from that file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from metassay.workflows.depend import depend

HERE = Path(__file__).parent
PAIRS = ("en-de", "he-en", "zh-en")
KEPT = (
    *("metric", "sysdep", "low", "high", "constant", "ratio", "slope", "residual_range", "p_equal", "p_fair"),
    *("pearson", "estimators"),
)


def main() -> None:
    ours = HERE / "ours.json"
    if sys.argv[1:] != ["--tables"]:
        folder = Path(sys.argv[1]) / "wmt23"
        ours.write_text(lines({pair: measured(folder, pair) for pair in PAIRS}))
    show(json.loads(ours.read_text()))


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


def lines(ours: dict[str, list[dict[str, Any]]]) -> str:
    """JSON with a line per metric, to six digits."""
    parts = [
        f" {json.dumps(pair)}: [\n"
        + ",\n".join(f"  {json.dumps(_rounded(entry))}" for entry in entries)
        + "\n ]"
        for pair, entries in ours.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def show(ours: dict[str, list[dict[str, Any]]]) -> None:
    for pair, entries in ours.items():
        print(f"\n### {pair} (constant metric: {entries[0]['constant']:.2f})\n")
        print("| metric | SysDep (95 %) | of constant | residual | p equal | p fair | flattered | inverted |")
        print("|---|---|---|---|---|---|---|---|")
        for entry in entries:
            print(_line(entry))
    print("\n### By kind\n")
    print(
        "| pair | kind | metrics | SysDep | of constant | residual | p fair ≤ .05 | after Holm | inverted |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for pair, entries in ours.items():
        for kind in ("reference-based", "reference-free"):
            print(_summary(pair, kind, entries))


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
