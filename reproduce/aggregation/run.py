"""Table 1 and figures 1 to 5 of Cavalin et al. (2024) on WMT23, beside the published figures.

    python reproduce/aggregation/run.py FOLDER     a folder with wmt23/wmt23_{en-de,he-en,zh-en}.parquet
                                                   and, for the neural metrics, wmt23_*_metrics.parquet

Prints Markdown; writes `ours.json` beside this file. A second column repeats a mistake that is easily made:
sacrebleu's corpus functions take one list per reference *stream*; given one list per *segment*, they score
the first segment alone, against all references, and say nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sacrebleu import corpus_bleu, corpus_chrf

import metassay

HERE = Path(__file__).parent
PAIRS = ("en-de", "he-en", "zh-en")
NEURAL = {"COMET": "COMET", "BLEURT": "BLEURT-20", "BERTScore": "BERTscore"}
PREFIXES = {"corpus": "", "segment": "m-", "bootstrap": "x-"}


def main() -> None:
    folder = Path(sys.argv[1]) / "wmt23"
    published = json.loads((HERE / "published.json").read_text())
    found = metassay.aggregate([folder / f"wmt23_{pair}.parquet" for pair in PAIRS]).to_dict()
    ours: dict[str, Any] = {
        human: {
            PREFIXES[row["aggregation"]] + row["metric"]: row["pearson"]
            for row in found["human"]
            if row["group"] == "mean" and row["human"] == human
        }
        for human in ("mqm", "da_sqm")
    }
    ours["mqm"] |= _neural(folder)
    ours["transposed"] = _transposed(folder, found["systems"])
    ours["between"] = {f"{row['x']} {row['y']}": row["pearson"] for row in found["between"]}
    ours["downsampled"] = found["downsampled"]
    (HERE / "ours.json").write_text(json.dumps(ours, indent=1) + "\n")
    _print_table_1(published["mqm"], ours)
    _print_between(published["between"], ours["between"])
    _print_downsampled(ours["downsampled"])


def _neural(folder: Path) -> dict[str, float]:
    """Means of the official segment scores, correlated with MQM."""
    values: dict[str, list[float]] = {name: [] for name in NEURAL}
    for pair in PAIRS:
        path = folder / f"wmt23_{pair}_metrics.parquet"
        if not path.exists():
            return {}
        table = pl.read_parquet(path).drop("lp").group_by("system").mean()
        for name, prefix in NEURAL.items():
            column = next(c for c in table.columns if c.startswith(f"{prefix}-ref"))
            values[name].append(float(np.corrcoef(table[column], table["mqm"])[0, 1]))
    return {name: float(np.mean(found)) for name, found in values.items()}


def _transposed(folder: Path, systems: list[dict[str, Any]]) -> dict[str, float]:
    """Corpus scores with references in the wrong shape, correlated with MQM."""
    values: dict[str, list[float]] = {"bleu": [], "chrf": []}
    for pair in PAIRS:
        frame = pl.read_parquet(folder / f"wmt23_{pair}.parquet").sort("system", "seg_id")
        kept = sorted({row["system"] for row in systems if row["group"].endswith(pair)})
        parts = [frame.filter(system=system) for system in kept]
        human = [part["mqm"].mean() for part in parts]
        for name, function in (("bleu", corpus_bleu), ("chrf", corpus_chrf)):
            scores = [function(part["hyp"].to_list(), [[r] for r in part["ref"]]).score for part in parts]
            values[name].append(float(np.corrcoef(scores, np.array(human, dtype=float))[0, 1]))
    return {name: float(np.mean(found)) for name, found in values.items()}


def _print_table_1(published: dict[str, float], ours: dict[str, Any]) -> None:
    print("| metric | published, MQM | ours, MQM | references transposed, MQM | ours, DA+SQM |")
    print("|---|---|---|---|---|")
    for name, known in published.items():
        cells = (ours["mqm"].get(name), ours["transposed"].get(name), ours["da_sqm"].get(name))
        print(
            f"| {name} | {known:.3f} | " + " | ".join("" if c is None else f"{c:.3f}" for c in cells) + " |"
        )


def _print_between(published: dict[str, float], ours: dict[str, float]) -> None:
    print("\n| pair | published | ours |\n|---|---|---|")
    for pair, known in published.items():
        x, y = pair.split()
        print(f"| {x}, {y} | {known:.2f} | {ours.get(pair, ours.get(f'{y} {x}', np.nan)):.3f} |")


def _print_downsampled(rows: list[dict[str, Any]]) -> None:
    print("\n| metric | scores | against | segments | median | 95 % range |\n|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['metric']} | {row['aggregation']} | {row['against']} | {row['segments']} "
            f"| {row['median']:.3f} | {row['low']:.3f} to {row['high']:.3f} |"
        )


if __name__ == "__main__":
    main()
