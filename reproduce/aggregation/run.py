"""Table 1 and figures 1 to 5 of Cavalin et al. (2024) on WMT23, beside the published figures.

    python -m reproduce.aggregation.run FOLDER     a folder with wmt23/wmt23_{en-de,he-en,zh-en}.parquet and,
                                                   for the neural metrics, wmt23_*_metrics.parquet

Writes README.md and `ours.json` beside this file, the latter with everything a second time from references
in the wrong shape (see `transposed.py`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from reproduce.aggregation.page import page
from reproduce.aggregation.transposed import transposed
from reproduce.entry import Entry, ends, kept, write

import metassay

HERE = Path(__file__).parent
PAIRS = ("en-de", "he-en", "zh-en")
NEURAL = {"comet": "COMET", "bleurt": "BLEURT-20", "bertscore": "BERTscore"}
PREFIXES = {"corpus": "", "segment": "m-", "bootstrap": "x-"}
Found = dict[str, Any]


def main() -> None:
    if sys.argv[1:] != ["--page"]:
        ours = measured(Path(sys.argv[1]) / "wmt23")
        write(HERE / "ours.json", ours | {"ledger": kept(entries(ours))})
    (HERE / "README.md").write_text(page(json.loads((HERE / "ours.json").read_text())), encoding="utf-8")


def measured(folder: Path) -> Found:
    found = metassay.aggregate([folder / f"wmt23_{pair}.parquet" for pair in PAIRS]).to_dict()
    ours: Found = {
        human: {
            PREFIXES[row["aggregation"]] + row["metric"]: row["pearson"]
            for row in found["human"]
            if row["group"] == "mean" and row["human"] == human
        }
        | neural(folder, human)
        for human in ("mqm", "da_sqm")
    }
    ours["means"] = {
        prefix + metric: float(np.mean([row[kind] for row in found["systems"] if row["metric"] == metric]))
        / 100
        for kind, prefix in PREFIXES.items()
        for metric in ("bleu", "chrf")
    }
    ours["between"] = {f"{row['x']} {row['y']}": row["pearson"] for row in found["between"]}
    ours["downsampled"] = found["downsampled"]
    tables = {pair: pl.read_parquet(folder / f"wmt23_{pair}.parquet") for pair in PAIRS}
    systems = sorted({(row["group"].rsplit("/", 1)[-1], row["system"]) for row in found["systems"]})
    return ours | {"transposed": transposed(tables, systems)}


def neural(folder: Path, human: str) -> dict[str, float]:
    """Means of the official segment scores, correlated with people; mean over the pairs that have them."""
    values: dict[str, list[float]] = {name: [] for name in NEURAL}
    for pair in PAIRS:
        scores = pl.read_parquet(folder / f"wmt23_{pair}_metrics.parquet").drop("lp", "mqm")
        people = pl.read_parquet(folder / f"wmt23_{pair}.parquet").select("system", "seg_id", human)
        table = scores.join(people, on=["system", "seg_id"]).group_by("system").mean()
        table = table.filter(pl.col(human).is_not_null())
        for name, prefix in NEURAL.items() if table.height else ():
            column = next(c for c in table.columns if c.startswith(f"{prefix}-ref"))
            values[name].append(float(np.corrcoef(table[column], table[human])[0, 1]))
    return {name: float(np.mean(found)) for name, found in values.items()}


def entries(ours: Found) -> dict[str, Entry]:
    wrong = ours["transposed"]
    return {
        "001 table 1, MQM": _table(ours["mqm"], wrong["mqm"]),
        "001 table 1, DA": _table(ours["da_sqm"], wrong["da_sqm"]),
        "001 figure 1": _distribution(ours, "bleu"),
        "001 figure 2": _distribution(ours, "chrf"),
        "001 figure 3": _across(ours),
        "001 figure 4": _crossed(ours),
        "001 figure 5": _few(ours),
    }


def _table(own: Found, wrong: Found) -> Entry:
    shown = (
        f"chrF {own['chrf']:.3f}, m-chrF {own['m-chrf']:.3f}; BLEU {own['bleu']:.3f}, m-BLEU "
        f"{own['m-bleu']:.3f}, x-BLEU {own['x-bleu']:.3f}. References transposed: chrF {wrong['chrf']:.3f}, "
        f"BLEU {wrong['bleu']:.3f}, x-BLEU {wrong['x-bleu']:.3f}"
    )
    checks = {
        "segment means correlate far better (.1 or more) than corpus scores": min(
            own["m-bleu"] - own["bleu"], own["m-chrf"] - own["chrf"]
        )
        > 0.1
    }
    return Entry(shown, own, checks)


def between(ours: Found, x: str, y: str) -> float:
    known = ours["between"]
    value: float = known.get(f"{x} {y}", known.get(f"{y} {x}"))
    return value


def _distribution(ours: Found, metric: str) -> Entry:
    names = (metric, f"m-{metric}", f"x-{metric}")
    pairs = ((names[0], names[2]), (names[0], names[1]), (names[1], names[2]))
    values = {f"mean_{name}": ours["means"][name] for name in names}
    values |= {f"{x}_{y}": between(ours, x, y) for x, y in pairs}
    wrong = ours["transposed"]
    described = [f"{x} with {y} {value:.2f}" for (x, y), value in zip(pairs, list(values.values())[3:])]
    also = [f"{name} mean {wrong['means'][name]:.2f}" for name in names if name in wrong["means"]]
    also += [
        f"{x} with {y} {wrong['between'][key]:.2f}"
        for x, y in pairs
        if (key := f"{x} {y}") in wrong["between"]
    ]
    averages = ", ".join(f"{ours['means'][name]:.2f}" for name in names)
    shown = f"means {averages}; {', '.join(described)}. References transposed: {', '.join(also)}"
    return Entry(
        shown, values, {"corpus and bootstrap scores correlate weakly": between(ours, *pairs[0]) < 0.7}
    )


def _across(ours: Found) -> Entry:
    values = {f"{p}bleu_{p}chrf": between(ours, f"{p}bleu", f"{p}chrf") for p in PREFIXES.values()}
    shown = ", ".join(f"{kind} {value:.2f}" for kind, value in zip(PREFIXES, values.values()))
    weakest = min(values, key=values.__getitem__) == "bleu_chrf"
    return Entry(
        shown,
        values,
        {
            "corpus scores correlate least across metrics, by .05 or more": weakest
            and (sorted(values.values())[1] - values["bleu_chrf"] > 0.05)
        },
    )


def _crossed(ours: Found) -> Entry:
    corpus = [between(ours, m, c) for m in ("m-bleu", "m-chrf") for c in ("bleu", "chrf")]
    boot = [between(ours, m, c) for m in ("m-bleu", "m-chrf") for c in ("x-bleu", "x-chrf")]
    shown = f"with corpus scores {ends(corpus)}, with bootstrap scores {ends(boot)}"
    values = {"lowest_with_corpus": min(corpus), "highest_with_corpus": max(corpus)}
    return Entry(shown, values, {"corpus scores correlate weakly": max(corpus) < 0.7})


def _few(ours: Found) -> Entry:
    def medians(rows: list[Found], metric: str, kind: str, against: str) -> list[float]:
        return [
            row["median"]
            for row in rows
            if (row["metric"], row["aggregation"], row["against"]) == (metric, kind, against)
        ]

    own, wrong = ours["downsampled"], ours["transposed"]["downsampled"]
    values = {
        f"{metric}_{size}": value
        for metric in ("bleu", "chrf")
        for size, value in zip((1, 10, 100), medians(own, metric, "corpus", "segment"))
    }
    rising = medians(own, "bleu", "corpus", "bootstrap")

    def listed(numbers: list[float]) -> str:
        return ", ".join(f"{number:.2f}" for number in numbers)

    shown = (
        f"BLEU: corpus with segment {listed(medians(own, 'bleu', 'corpus', 'segment'))}, with bootstrap "
        f"{listed(rising)}. References transposed: {listed(medians(wrong, 'bleu', 'corpus', 'segment'))} and "
        f"{listed(medians(wrong, 'bleu', 'corpus', 'bootstrap'))}"
    )
    return Entry(
        shown, values, {"corpus scores do not come nearer to the bootstrap": rising[2] - rising[0] < 0.1}
    )


if __name__ == "__main__":
    main()
