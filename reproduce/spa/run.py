"""Table 1 and figures 1 to 4 of Thompson et al. (2024), next to the published figures.

    python -m reproduce.spa.run FOLDER        a folder with wmt23/wmt23_{en-de,he-en,zh-en}_metrics.parquet
                                              and wmt22/wmt22_{en-de,zh-en,en-ru}_metrics.parquet

Writes README.md and `ours.json` next to this file. `--page` writes README.md only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from reproduce.entry import SEEDS, Entry, Reason, format_range, to_json_entries, write_json
from reproduce.ledger import load_published
from reproduce.spa.page import render_page
from reproduce.spa.rounding import count_significant_comparisons
from reproduce.spa.system_order import measure_system_orders

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.pairwise import pairwise_accuracy, soft_pairwise_accuracy
from metassay.meta.people.discrimination import count_significant_metric_differences
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.registry import parse_meta_metrics
from metassay.meta.people.stability import measure_stability_over_items, measure_stability_over_systems

FOLDER = Path(__file__).parent
LANGUAGE_PAIRS = {"wmt23": ("en-de", "he-en", "zh-en"), "wmt22": ("en-de", "zh-en", "en-ru")}
METRICS_OF_ORDERS = ("GEMBA-MQM-src", "XCOMET-Ensemble-refA", "COMET-refA", "chrF-refA")
METRICS_OF_FIGURE_3 = ("XCOMET-Ensemble", "MetricX-23")
MT_METRICS_EVAL_VALUES = {
    ("en-de", "GEMBA-MQM-src"): 0.9819,
    ("he-en", "GEMBA-MQM-src"): 0.9429,
    ("zh-en", "GEMBA-MQM-src"): 0.9366,
    ("en-de", "COMET-refA"): 0.9603,
    ("he-en", "XCOMET-XXL-refB"): 0.9369,
}
"""What mt-metrics-eval prints on WMT23."""
PUBLISHED_SYSTEMS = {"en-de": 14, "zh-en": 15, "en-ru": 15}
"""Systems of WMT22 in table 1."""
ALL_SUBSETS = 10_000
"""More than the subsets of any size, so that all of them are used and nothing is random."""
META_METRICS = parse_meta_metrics("pa,spa")
Row = dict[str, Any]
Measurements = dict[str, Any]


def main() -> None:
    if sys.argv[1:] != ["--page"]:
        measurements = measure(Path(sys.argv[1]))
        entries = to_json_entries(build_entries(measurements))
        write_json(FOLDER / "ours.json", measurements | {"ledger": entries})
    stored = json.loads((FOLDER / "ours.json").read_text(encoding="utf-8"))
    (FOLDER / "README.md").write_text(render_page(stored), encoding="utf-8")


def measure(folder: Path) -> Measurements:
    """Measure everything that the paper reports, on each data set."""
    rows: dict[str, list[Row]] = {
        name: []
        for name in ("mt_metrics_eval", "discrimination", "stability", "values", "rounding", "orders")
    }
    prism: Row = {}
    for year, language_pairs in LANGUAGE_PAIRS.items():
        for language_pair in language_pairs:
            print(year, language_pair, flush=True)
            table = pl.read_parquet(folder / year / f"{year}_{language_pair}_metrics.parquet")
            names = list_reference_based_metrics(table)
            scores = load_scores(table, names)
            key = {"year": year, "dataset": language_pair}
            rows["discrimination"] += [key | row for row in count_discrimination(scores, language_pair)]
            rows["stability"] += [key | row for row in measure_stability(scores, names, language_pair)]
            rows["values"] += [key | row for row in compute_values(scores, names)]
            if year == "wmt23":
                rows["mt_metrics_eval"] += compare_with_mt_metrics_eval(table, language_pair)
                rows["rounding"] += [key | row for row in count_with_rounding(scores)]
            if (year, language_pair) == ("wmt23", "en-de"):
                prism = compute_terms(scores, names.index("prismRef-refA"))
                order_scores = load_scores(table, METRICS_OF_ORDERS)
                rows["orders"] = measure_system_orders(order_scores, list(METRICS_OF_ORDERS))
    return {**rows, "prism": prism}


def list_reference_based_metrics(table: pl.DataFrame) -> list[str]:
    """Return the metrics that use a reference and scored every output, in the order of the table."""
    other_columns = {"lp", "system", "seg_id", "mqm"}
    return [
        name
        for name in table.columns
        if name not in other_columns and not name.endswith("-src") and table[name].null_count() == 0
    ]


def load_scores(table: pl.DataFrame, metrics: Sequence[str]) -> ScoreArrays:
    """Return human and metric scores, [metrics, systems, segments]."""
    table = table.sort("system", "seg_id")
    systems = table["system"].n_unique()
    human, *scores = (table[name].to_numpy().reshape(systems, -1) for name in ("mqm", *metrics))
    return ScoreArrays(human, np.stack(scores))


def compare_with_mt_metrics_eval(table: pl.DataFrame, language_pair: str) -> list[Row]:
    """Compute SPA by the procedure of mt-metrics-eval for metrics whose value it prints."""
    rows = []
    for (pair, metric), value in MT_METRICS_EVAL_VALUES.items():
        if pair == language_pair:
            scores = load_scores(table, [metric])
            ours = soft_pairwise_accuracy(scores.human, scores.metrics[0], method="mtme")
            rows.append({"dataset": pair, "metric": metric, "spa": value, "ours": ours})
    return rows


def count_discrimination(scores: ScoreArrays, dataset: str) -> list[Row]:
    """Count distinct values, significant comparisons and clusters for PA and SPA, with each seed."""
    rows = []
    for seed in SEEDS:
        for meta_metric in META_METRICS:
            counts = count_significant_metric_differences(
                dataset, meta_metric, scores, ComparisonSettings(seed=seed)
            )
            rows.append({"seed": seed, **msgspec.to_builtins(counts)})
    return rows


def measure_stability(scores: ScoreArrays, names: Sequence[str], dataset: str) -> list[Row]:
    """Measure stability over all subsets of systems, and over resampled segments with each seed."""
    rows = [
        msgspec.to_builtins(row)
        for row in measure_stability_over_systems(dataset, META_METRICS, scores, trials=ALL_SUBSETS)
    ]
    chosen = [n for n, name in enumerate(names) if name.rsplit("-", 1)[0] in METRICS_OF_FIGURE_3]
    if not chosen:
        return rows
    of_figure_3 = scores.select_metrics(np.array(chosen))
    for seed in SEEDS:
        for meta_metric in META_METRICS:
            intervals = measure_stability_over_items(
                dataset, meta_metric, of_figure_3, [names[n] for n in chosen], seed=seed
            )
            rows += [{"seed": seed, **msgspec.to_builtins(row)} for row in intervals]
    return rows


def compute_values(scores: ScoreArrays, names: Sequence[str]) -> list[Row]:
    """Compute PA and SPA of every metric with a reference."""
    return [
        {"meta": str(meta_metric), "metric": name, "value": float(value)}
        for meta_metric in META_METRICS
        for name, value in zip(names, meta_metric.evaluate_metrics(scores))
    ]


def count_with_rounding(scores: ScoreArrays) -> list[Row]:
    """Count significant comparisons by PA with exact ties and with ties lost to rounding, with each seed."""
    return [
        {"seed": seed, "exact_ties": exact}
        | {"significant": count_significant_comparisons(scores, exact_ties=exact, seed=seed)}
        for seed in SEEDS
        for exact in (True, False)
    ]


def compute_terms(scores: ScoreArrays, position: int) -> Row:
    """Compute the terms of PA and SPA of one metric (figure 1): 1 − |p_human − p_metric| over system "
    "pairs.
    """
    human = scores.human
    metric = scores.metrics[position]
    pairs = [[i, j] for i in range(len(human)) for j in range(i + 1, len(human))]
    soft_terms = [soft_pairwise_accuracy(human[pair], metric[pair]) for pair in pairs]
    hard_terms = [pairwise_accuracy(human[pair], metric[pair]) for pair in pairs]
    return {
        "pa": pairwise_accuracy(human, metric),
        "spa": soft_pairwise_accuracy(human, metric),
        "mean_of_terms": float(np.mean(soft_terms)),
        "hard_terms": sorted(set(hard_terms)),
        "pairs": len(pairs),
        "partial": int(sum(0.05 < term < 0.95 for term in soft_terms)),
    }


def build_entries(measurements: Measurements) -> dict[str, Entry]:
    """Build the lines of the ledger."""
    return {
        "003 table 1, WMT23": _build_table_1(measurements, "wmt23", [_explain_counts(measurements)]),
        "003 table 1, WMT22": _build_table_1(measurements, "wmt22", _explain_wmt22(measurements)),
        "003 abstract": _build_abstract(measurements),
        "003 figure 1": _build_figure_1(measurements["prism"]),
        "003 figure 2": _build_figure_2(measurements["stability"]),
        "003 figure 3": _build_figure_3(measurements["stability"]),
        "003 figure 4": _build_figure_4(measurements),
    }


def _select_counts(measurements: Measurements, year: str, dataset: str, meta: str, field: str) -> list[int]:
    """Return a count with each seed."""
    return [
        row[field]
        for row in measurements["discrimination"]
        if (row["year"], row["dataset"], row["meta"]) == (year, dataset, meta)
    ]


def _build_table_1(measurements: Measurements, year: str, reasons: Sequence[Reason]) -> Entry:
    fields = {
        "distinct": "distinct_values",
        "significant": "significant_two_sided_with_copies",
        "clusters": "clusters_two_sided",
    }
    values: dict[str, float] = {}
    claims: dict[str, list[bool]] = {}
    descriptions = []
    for language_pair in LANGUAGE_PAIRS[year]:
        counts = {
            (meta, name): _select_counts(measurements, year, language_pair, meta, field)
            for meta in ("pa", "spa")
            for name, field in fields.items()
        }
        values |= {f"{language_pair} {meta} {name}": counts[meta, name][0] for meta, name in counts}
        significant = " and ".join(format_range(counts[meta, "significant"], 0) for meta in ("pa", "spa"))
        descriptions.append(f"{language_pair} {significant}")
        claims |= {
            f"{language_pair}: SPA takes more values": [
                spa > pa for pa, spa in zip(counts["pa", "distinct"], counts["spa", "distinct"])
            ],
            f"{language_pair}: SPA finds more significant comparisons": [
                spa > pa for pa, spa in zip(counts["pa", "significant"], counts["spa", "significant"])
            ],
            f"{language_pair}: SPA makes no fewer clusters": [
                spa >= pa for pa, spa in zip(counts["pa", "clusters"], counts["spa", "clusters"])
            ],
        }
    description = f"significant comparisons, two-sided, five seeds: {'; '.join(descriptions)}"
    return Entry(description, values, claims, reasons)


def _explain_counts(measurements: Measurements) -> Reason:
    """Why PA has fewer significant comparisons here than published: ties lost to rounding."""
    published = _load_published_values("table 1, WMT23")
    described = []
    distances: dict[bool, float] = {True: 0.0, False: 0.0}
    for language_pair in LANGUAGE_PAIRS["wmt23"]:
        printed = published[f"{language_pair} pa significant"]
        ranges = {}
        for exact in (False, True):
            counts = [
                row["significant"]
                for row in measurements["rounding"]
                if (row["dataset"], row["exact_ties"]) == (language_pair, exact)
            ]
            ranges[exact] = format_range(counts, 0)
            distances[exact] += max(abs(count - printed) for count in counts)
        described.append(
            f"{language_pair} {ranges[False]}, with exact ties {ranges[True]}, published {printed}"
        )
    statement = (
        "the published counts of PA are met if permuted and observed differences are compared by `>=` in "
        "plain floating point, which loses ties to rounding, in two-sided tests with all 15 systems of zh-en"
    )
    holds = distances[False] < distances[True] / 2
    return Reason(statement, holds, "; ".join(described), is_inference=True)


def _explain_wmt22(measurements: Measurements) -> list[Reason]:
    """Why WMT22 cannot be compared in numbers: other metrics, and fewer systems."""
    official = {"chrF"}
    metrics = {row["metric"] for row in measurements["values"] if row["year"] == "wmt22"}
    shared = metrics & official
    foreign = {name for name in metrics - official if not name.startswith(("GEMBA", "SEScore", "sescore"))}
    systems = {
        language_pair: next(
            row["systems"]
            for row in measurements["discrimination"]
            if (row["year"], row["dataset"]) == ("wmt22", language_pair)
        )
        for language_pair in LANGUAGE_PAIRS["wmt22"]
    }
    fewer = all(systems[pair] <= count for pair, count in PUBLISHED_SYSTEMS.items())
    return [
        Reason(
            "of the 20 or 21 metrics only chrF is available, next to SEScoreX and variants of GEMBA",
            shared == official and not foreign,
            f"{len(metrics)} metrics here",
        ),
        Reason(
            "there are fewer systems",
            fewer and sum(systems.values()) < sum(PUBLISHED_SYSTEMS.values()),
            ", ".join(f"{pair} {count} of {PUBLISHED_SYSTEMS[pair]}" for pair, count in systems.items()),
        ),
    ]


def _build_abstract(measurements: Measurements) -> Entry:
    """Gains of SPA over PA in the abstract: mean over data sets of the ratio of the counts."""
    fields = {"comparisons": "significant_two_sided_with_copies", "clusters": "clusters_two_sided"}
    values = {}
    descriptions = []
    claims = {}
    for years, name in ((("wmt22", "wmt23"), ""), (("wmt23",), "WMT23 alone ")):
        for what, field in fields.items():
            by_seed = []
            for n in range(len(SEEDS)):
                ratios = [
                    _select_counts(measurements, year, pair, "spa", field)[n]
                    / _select_counts(measurements, year, pair, "pa", field)[n]
                    for year in years
                    for pair in LANGUAGE_PAIRS[year]
                ]
                by_seed.append(100 * (float(np.mean(ratios)) - 1))
            descriptions.append(f"{name}{what} +{format_range(by_seed, 0)} %")
            if not name:
                values[what] = float(np.median(by_seed))
            claims[f"{name}more {what} with SPA"] = [gain > 0 for gain in by_seed]
    printed = _load_published_values("table 1, WMT23"), _load_published_values("table 1, WMT22")
    recomputed = {
        "comparisons": _average_ratio(printed, "significant"),
        "clusters": _average_ratio(printed, "clusters"),
    }
    reasons = [
        Reason(
            "the percentages are the mean over the six data sets of the ratio of the counts in table 1",
            abs(recomputed["comparisons"] - 31) < 0.5 and abs(recomputed["clusters"] - 40) < 0.5,
            f"from the printed counts {recomputed['comparisons']:.1f} % and {recomputed['clusters']:.1f} %",
        ),
        *_explain_wmt22(measurements),
    ]
    return Entry("; ".join(descriptions), values, claims, reasons)


def _average_ratio(tables: Sequence[Mapping[str, float]], field: str) -> float:
    """Return the mean of SPA's count divided by PA's over all data sets, as a gain in percent."""
    ratios = []
    for table in tables:
        for name, count in table.items():
            if name.endswith(f" pa {field}"):
                ratios.append(table[name.replace(" pa ", " spa ")] / count)
    return 100 * (float(np.mean(ratios)) - 1)


def _load_published_values(what: str) -> dict[str, float]:
    values: dict[str, float] = next(
        entry["values"]
        for entry in load_published()["entry"]
        if (entry["paper"], entry["what"]) == ("003", what)
    )
    return values


def _build_figure_1(prism: Row) -> Entry:
    description = (
        f"PA {prism['pa']:.3f} from terms {prism['hard_terms']}, SPA {prism['spa']:.3f}, the mean of its "
        f"{prism['pairs']} terms, of which {prism['partial']} lie between .05 and .95"
    )
    claims = {
        "PA's terms are 0 and 1": [set(prism["hard_terms"]) <= {0.0, 1.0}],
        "SPA gives partial credit": [prism["partial"] > 0],
        "SPA is the mean of its terms": [abs(prism["spa"] - prism["mean_of_terms"]) < 1e-9],
    }
    return Entry(description, claims=claims, uses_random_numbers=False)


def _build_figure_2(rows: Sequence[Row]) -> Entry:
    """Compare the stability of both meta-metrics on all subsets on which both are defined."""
    correlations: dict[tuple[str, str, int], dict[str, float]] = {}
    for row in rows:
        if row["ablated"] == "systems":
            key = (row["year"], row["dataset"], row["systems"])
            correlations.setdefault(key, {})[row["meta"]] = row["correlation"]
    claims = {}
    descriptions = []
    behind_by_set: dict[str, list[int]] = {}
    for year in LANGUAGE_PAIRS:
        cases = {key: pair for key, pair in correlations.items() if key[0] == year}
        gains = {key: pair["spa"] - pair["pa"] for key, pair in cases.items()}
        ahead = sum(gain > 0 for gain in gains.values())
        for (_, dataset, systems), gain in gains.items():
            if gain <= 0:
                behind_by_set.setdefault(f"{year.upper()} {dataset}", []).append(systems)
        descriptions.append(
            f"{year.upper()}: SPA's correlation with the full ranking is higher in {ahead} of {len(gains)} "
            f"cases (by {format_range(list(gains.values()), 3)})"
        )
        claims[f"{year.upper()}: SPA is the more stable one in all cases"] = [ahead == len(gains)]
    reasons = []
    if behind_by_set:
        described = "; ".join(
            f"{name} with {', '.join(map(str, sizes))} systems" for name, sizes in behind_by_set.items()
        )
        reasons.append(
            Reason(
                "all cases in which PA is the more stable one are in WMT22, where the metrics are other ones",
                all(name.startswith("WMT22") for name in behind_by_set),
                described,
            )
        )
    description = "; ".join(descriptions) + ". All subsets of the systems; nothing is drawn at random"
    return Entry(description, claims=claims, reasons=reasons, uses_random_numbers=False)


def _build_figure_3(rows: Sequence[Row]) -> Entry:
    widths: dict[tuple[str, str, int, int], dict[str, float]] = {}
    for row in rows:
        if row["ablated"] == "segments":
            key = (row["dataset"], row["metric"], row["segments"], row["seed"])
            widths.setdefault(key, {})[row["meta"]] = row["high"] - row["low"]
    is_narrower = {seed: [] for seed in SEEDS}  # type: dict[int, list[bool]]
    for (_, _, _, seed), pair in widths.items():
        is_narrower[seed].append(pair["spa"] < pair["pa"])
    ratios = [pair["spa"] / pair["pa"] for pair in widths.values() if pair["pa"]]
    counts = [sum(outcomes) for outcomes in is_narrower.values()]
    description = (
        f"SPA's interval is narrower in {format_range(counts, 0)} of {len(is_narrower[SEEDS[0]])} cases, "
        f"five seeds ({format_range(ratios)} of PA's width)"
    )
    return Entry(description, claims={"SPA's intervals are narrower": [all(o) for o in is_narrower.values()]})


def _build_figure_4(measurements: Measurements) -> Entry:
    rows = [row for row in measurements["values"] if (row["year"], row["dataset"]) == ("wmt22", "en-de")]
    pa = [row["value"] for row in rows if row["meta"] == "pa"]
    spa = [row["value"] for row in rows if row["meta"] == "spa"]
    chrf = {row["meta"]: row["value"] for row in rows if row["metric"] == "chrF"}
    distinct_pa = len({round(value, 9) for value in pa})
    distinct_spa = len({round(value, 9) for value in spa})
    description = (
        f"PA takes {distinct_pa} values over {len(pa)} metrics ({format_range(pa, 3)}), SPA {distinct_spa}; "
        f"chrF, the only metric of both, PA {chrf['pa']:.3f}, SPA {chrf['spa']:.3f}"
    )
    claims = {"PA ties metrics that SPA separates": [distinct_pa < distinct_spa]}
    values = {"pa_lowest": min(pa), "pa_highest": max(pa)}
    return Entry(description, values, claims, _explain_wmt22(measurements), uses_random_numbers=False)


if __name__ == "__main__":
    main()
