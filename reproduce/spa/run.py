"""Table 1 and figures 1 to 4 of Thompson et al. (2024), beside the published figures.

    python -m reproduce.spa.run FOLDER        a folder with wmt23/wmt23_{en-de,he-en,zh-en}_metrics.parquet
                                              and wmt22/wmt22_{en-de,zh-en,en-ru}_metrics.parquet

Writes README.md and `ours.json` beside this file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from reproduce.entry import Entry, ends, kept, write
from reproduce.spa.page import page

from metassay.meta.pairwise import pairwise_accuracy, soft_pairwise_accuracy
from metassay.workflows.rank import rank

HERE = Path(__file__).parent
PAIRS = {"wmt23": ("en-de", "he-en", "zh-en"), "wmt22": ("en-de", "zh-en", "en-ru")}
SHOWN = ("XCOMET-Ensemble", "MetricX-23")
MTME = {
    ("en-de", "GEMBA-MQM-src"): 0.9819,
    ("he-en", "GEMBA-MQM-src"): 0.9429,
    ("zh-en", "GEMBA-MQM-src"): 0.9366,
    ("en-de", "COMET-refA"): 0.9603,
    ("he-en", "XCOMET-XXL-refB"): 0.9369,
}
"""What mt-metrics-eval prints on WMT23."""
Found = dict[str, Any]


def main() -> None:
    if sys.argv[1:] != ["--page"]:
        ours = measured(Path(sys.argv[1]))
        write(HERE / "ours.json", ours | {"ledger": kept(entries(ours))})
    (HERE / "README.md").write_text(page(json.loads((HERE / "ours.json").read_text())), encoding="utf-8")


def measured(folder: Path) -> Found:
    ours: Found = {"mtme": [], "discrimination": [], "stability": [], "values": []}
    for year, pairs in PAIRS.items():
        for lp in pairs:
            table = pl.read_parquet(folder / year / f"{year}_{lp}_metrics.parquet")
            print(year, lp, flush=True)
            if year == "wmt23":
                ours["mtme"] += same_as_mtme(table, lp)
            analyses = "discrimination,stability" if year == "wmt23" else "discrimination"
            found = rank(table, metrics=reference_based(table), significance="perm-inputs", analysis=analyses)
            ours["discrimination"] += [{"year": year, **row} for row in found.analyses["discrimination"]]
            ours["stability"] += [
                row
                for row in found.analyses.get("stability", ())
                if row["ablated"] == "systems" or row["metric"].rsplit("-", 1)[0] in SHOWN
            ]
            ours["values"] += values(table, year, lp)
    ours["prism"] = prism(pl.read_parquet(folder / "wmt23" / "wmt23_en-de_metrics.parquet"))
    return ours


def reference_based(table: pl.DataFrame) -> list[str]:
    """Metrics that use a reference and scored every output, in the order of the table."""
    known = {"lp", "system", "seg_id", "mqm"}
    return [
        name
        for name in table.columns
        if name not in known and not name.endswith("-src") and table[name].null_count() == 0
    ]


def same_as_mtme(table: pl.DataFrame, lp: str) -> list[Found]:
    exact = rank(table, method="mtme", significance="none", draws=10).to_dict()["results"][0]
    own = {row["metric"]: row["value"] for row in exact["metrics"]}
    return [
        {"dataset": lp, "metric": metric, "spa": value, "ours": own[metric]}
        for (pair, metric), value in MTME.items()
        if pair == lp
    ]


def values(table: pl.DataFrame, year: str, lp: str) -> list[Found]:
    """PA and SPA of every metric with a reference."""
    found = rank(
        table, metrics=reference_based(table), meta="pa,spa", significance="none", draws=10
    ).to_dict()
    return [
        {"year": year, "dataset": lp, "meta": result["meta"], "metric": row["metric"], "value": row["value"]}
        for result in found["results"]
        for row in result["metrics"]
        if not row.get("baseline")
    ]


def prism(table: pl.DataFrame) -> Found:
    """The terms of both meta-metrics for Prism (figure 1): 1 − |p_human − p_metric| over system pairs."""
    wide = table.sort("system", "seg_id")
    systems = sorted(wide["system"].unique())
    human, metric = (
        np.array([wide.filter(system=name)[column].to_numpy() for name in systems])
        for column in ("mqm", "prismRef-refA")
    )
    terms = [
        soft_pairwise_accuracy(human[[i, j]], metric[[i, j]])
        for i in range(len(systems))
        for j in range(i + 1, len(systems))
    ]
    hard = [
        pairwise_accuracy(human[[i, j]], metric[[i, j]])
        for i in range(len(systems))
        for j in range(i + 1, len(systems))
    ]
    return {
        "pa": pairwise_accuracy(human, metric),
        "spa": soft_pairwise_accuracy(human, metric),
        "mean_of_terms": float(np.mean(terms)),
        "hard_terms": sorted(set(hard)),
        "pairs": len(terms),
        "partial": int(sum(0.05 < term < 0.95 for term in terms)),
    }


def entries(ours: Found) -> dict[str, Entry]:
    return {
        "003 table 1, WMT23": _table(ours, "wmt23"),
        "003 table 1, WMT22": _table(ours, "wmt22"),
        "003 figure 1": _terms(ours["prism"]),
        "003 figure 2": _fewer_systems(ours["stability"]),
        "003 figure 3": _fewer_segments(ours["stability"]),
        "003 figure 4": _wmt22(ours),
    }


def _table(ours: Found, year: str) -> Entry:
    numbers: dict[str, float] = {}
    checks: dict[str, bool] = {}
    described = []
    for lp in PAIRS[year]:
        both = {
            row["meta"]: row for row in ours["discrimination"] if (row["year"], row["dataset"]) == (year, lp)
        }
        for meta, row in both.items():
            numbers |= {
                f"{lp} {meta} distinct": row["distinct_values"],
                f"{lp} {meta} significant": row["significant_two_sided_with_copies"],
                f"{lp} {meta} clusters": row["clusters_two_sided"],
            }
        pa, spa = both["pa"], both["spa"]
        described.append(
            f"{lp} {pa['significant_two_sided_with_copies']} and {spa['significant_two_sided_with_copies']} "
            f"(one-sided {pa['significant_one_sided_with_copies']} and "
            f"{spa['significant_one_sided_with_copies']})"
        )
        checks |= {
            f"{lp}: SPA takes more values": spa["distinct_values"] > pa["distinct_values"],
            f"{lp}: SPA finds more significant comparisons": spa["significant_two_sided_with_copies"]
            > pa["significant_two_sided_with_copies"],
            f"{lp}: SPA makes no fewer clusters": spa["clusters_two_sided"] >= pa["clusters_two_sided"],
        }
    return Entry("; ".join(described), numbers, checks)


def _terms(prism: Found) -> Entry:
    shown = (
        f"PA {prism['pa']:.3f} from terms {prism['hard_terms']}, SPA {prism['spa']:.3f}, the mean of its "
        f"{prism['pairs']} terms, of which {prism['partial']} lie between .05 and .95"
    )
    checks = {
        "PA's terms are 0 and 1": set(prism["hard_terms"]) <= {0.0, 1.0},
        "SPA gives partial credit": prism["partial"] > 0,
        "SPA is the mean of its terms": abs(prism["spa"] - prism["mean_of_terms"]) < 1e-9,
    }
    return Entry(shown, checks=checks)


def _fewer_systems(rows: list[Found]) -> Entry:
    both: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        if row["ablated"] == "systems":
            both.setdefault((row["dataset"], row["systems"]), {})[row["meta"]] = row["correlation"]
    worse = [f"{lp} with {count}" for (lp, count), pair in both.items() if pair["spa"] < pair["pa"]]
    gains = [pair["spa"] - pair["pa"] for pair in both.values()]
    shown = (
        f"SPA's correlation with the full ranking is higher in {len(both) - len(worse)} of {len(both)} cases "
        f"(by {ends(gains)})" + (f"; not for {', '.join(worse)} systems" if worse else "")
    )
    return Entry(shown, checks={"SPA is the more stable one in all cases": not worse})


def _fewer_segments(rows: list[Found]) -> Entry:
    widths: dict[tuple[str, str, int], dict[str, float]] = {}
    for row in rows:
        if row["ablated"] == "segments":
            key = (row["dataset"], row["metric"], row["segments"])
            widths.setdefault(key, {})[row["meta"]] = row["high"] - row["low"]
    wider = [key for key, pair in widths.items() if pair["spa"] > pair["pa"]]
    ratios = [pair["spa"] / pair["pa"] for pair in widths.values() if pair["pa"]]
    shown = (
        f"SPA's interval is narrower in {len(widths) - len(wider)} of {len(widths)} cases "
        f"({ends(ratios)} of PA's width)"
    )
    return Entry(shown, checks={"SPA's intervals are narrower": not wider})


def _wmt22(ours: Found) -> Entry:
    own = [row for row in ours["values"] if (row["year"], row["dataset"]) == ("wmt22", "en-de")]
    pa = [row["value"] for row in own if row["meta"] == "pa"]
    spa = [row["value"] for row in own if row["meta"] == "spa"]
    chrf = {row["meta"]: row["value"] for row in own if row["metric"] == "chrF"}
    distinct = (len({round(value, 9) for value in pa}), len({round(value, 9) for value in spa}))
    shown = (
        f"PA takes {distinct[0]} values over {len(pa)} metrics ({ends(pa, 3)}), SPA {distinct[1]}; chrF, the "
        f"one metric of both, PA {chrf['pa']:.3f}, SPA {chrf['spa']:.3f}"
    )
    checks = {"PA ties metrics that SPA tells apart": distinct[0] < distinct[1]}
    return Entry(shown, {"pa_lowest": min(pa), "pa_highest": max(pa)}, checks)


if __name__ == "__main__":
    main()
