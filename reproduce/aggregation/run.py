"""Table 1 and figures 1 to 5 of Cavalin et al. (2024) on WMT23, next to the published figures.

    python -m reproduce.aggregation.run FOLDER     a folder with wmt23/wmt23_{en-de,he-en,zh-en}.parquet and,
                                                   for the neural metrics, wmt23_*_metrics.parquet

Writes README.md and `ours.json` next to this file. `ours.json` also has the figures with references in the
wrong shape (see `transposed.py`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from reproduce.aggregation.page import load_published_values, render_page
from reproduce.aggregation.transposed import measure_transposed
from reproduce.entry import SEEDS, Entry, Reason, format_range, to_json_entries, write_json

import metassay

FOLDER = Path(__file__).parent
LANGUAGE_PAIRS = ("en-de", "he-en", "zh-en")
NEURAL_METRICS = {"comet": "CometKiwi-src", "bleurt": "BLEURT-20-ref", "bertscore": "BERTscore-ref"}
"""Beginnings of column names. The paper's COMET is wmt22-cometkiwi-da (footnote 7)."""
PREFIXES = {"corpus": "", "segment": "m-", "bootstrap": "x-"}
Measurements = dict[str, Any]


def main() -> None:
    if sys.argv[1:] != ["--page"]:
        measurements = measure(Path(sys.argv[1]) / "wmt23")
        entries = to_json_entries(build_entries(measurements))
        write_json(FOLDER / "ours.json", measurements | {"ledger": entries})
    stored = json.loads((FOLDER / "ours.json").read_text(encoding="utf-8"))
    (FOLDER / "README.md").write_text(render_page(stored), encoding="utf-8")


def measure(folder: Path) -> Measurements:
    """Measure everything that the paper reports, with each seed, and with references transposed."""
    by_seed = [measure_seed(folder, seed) for seed in SEEDS]
    tables = {pair: pl.read_parquet(folder / f"wmt23_{pair}.parquet") for pair in LANGUAGE_PAIRS}
    systems = [(pair, system) for pair, system in by_seed[0].pop("systems")]
    for measurements in by_seed[1:]:
        del measurements["systems"]
    transposed = measure_transposed(tables, systems, SEEDS)
    return by_seed[0] | {"transposed": transposed, "seeds": by_seed}


def measure_seed(folder: Path, seed: int) -> Measurements:
    """Compute corpus, segment and bootstrap scores of BLEU and chrF, and compare them."""
    print("seed", seed, flush=True)
    paths = [folder / f"wmt23_{pair}.parquet" for pair in LANGUAGE_PAIRS]
    result = metassay.aggregate(paths, seed=seed).to_dict()
    measurements: Measurements = {}
    for human in ("mqm", "da_sqm"):
        measurements[human] = correlate_neural_metrics(folder, human)
        for row in result["human"]:
            if row["group"] == "mean" and row["human"] == human:
                measurements[human][PREFIXES[row["aggregation"]] + row["metric"]] = row["pearson"]
    measurements["means"] = {
        prefix + metric: float(np.mean([row[kind] for row in result["systems"] if row["metric"] == metric]))
        / 100
        for kind, prefix in PREFIXES.items()
        for metric in ("bleu", "chrf")
    }
    measurements["between"] = {f"{row['x']} {row['y']}": row["pearson"] for row in result["between"]}
    measurements["downsampled"] = result["downsampled"]
    measurements["systems"] = sorted(
        {(row["group"].rsplit("/", 1)[-1], row["system"]) for row in result["systems"]}
    )
    return measurements


def correlate_neural_metrics(folder: Path, human: str) -> dict[str, float]:
    """Correlate means of the official segment scores with human scores; mean over language pairs."""
    values: dict[str, list[float]] = {name: [] for name in NEURAL_METRICS}
    for pair in LANGUAGE_PAIRS:
        scores = pl.read_parquet(folder / f"wmt23_{pair}_metrics.parquet").drop("lp", "mqm")
        human_scores = pl.read_parquet(folder / f"wmt23_{pair}.parquet").select("system", "seg_id", human)
        table = scores.join(human_scores, on=["system", "seg_id"]).group_by("system").mean()
        table = table.filter(pl.col(human).is_not_null())
        for name, beginning in NEURAL_METRICS.items() if table.height else ():
            column = next(column for column in table.columns if column.startswith(beginning))
            values[name].append(float(np.corrcoef(table[column], table[human])[0, 1]))
    return {name: float(np.mean(correlations)) for name, correlations in values.items()}


def build_entries(measurements: Measurements) -> dict[str, Entry]:
    """Build the lines of the ledger. Figures are those of the first seed."""
    return {
        "001 table 1, MQM": _build_table_1(measurements, "mqm", "table 1, MQM"),
        "001 table 1, DA": _build_table_1(measurements, "da_sqm", "table 1, DA"),
        "001 figure 1": _build_distribution(measurements, "bleu", "figure 1"),
        "001 figure 2": _build_distribution(measurements, "chrf", "figure 2"),
        "001 figure 3": _build_figure_3(measurements),
        "001 figure 4": _build_figure_4(measurements),
        "001 figure 5": _build_figure_5(measurements),
    }


def _build_table_1(measurements: Measurements, human: str, what: str) -> Entry:
    values = measurements[human]
    transposed = measurements["transposed"][human]
    description = (
        f"chrF {values['chrf']:.3f}, m-chrF {values['m-chrf']:.3f}; BLEU {values['bleu']:.3f}, m-BLEU "
        f"{values['m-bleu']:.3f}, x-BLEU {values['x-bleu']:.3f}. With references transposed: chrF "
        f"{transposed['chrf']:.3f}, BLEU {transposed['bleu']:.3f}, x-BLEU {transposed['x-bleu']:.3f}"
    )
    claims = {
        "segment means correlate far better (.1 or more) than corpus scores": [
            min(m[human]["m-bleu"] - m[human]["bleu"], m[human]["m-chrf"] - m[human]["chrf"]) > 0.1
            for m in measurements["seeds"]
        ]
    }
    largest = max(abs(values[f"m-{name}"] - values[name]) for name in ("bleu", "chrf"))
    reasons = [
        Reason(
            "correct corpus scores correlate about as well as segment means",
            largest < 0.05,
            f"the difference is at most {largest:.3f}",
        ),
        _explain_by_transposition(transposed, values, what, ("bleu", "chrf")),
    ]
    return Entry(description, values, claims, reasons)


def _explain_by_transposition(
    transposed: Mapping[str, float], correct: Mapping[str, float], what: str, names: Sequence[str]
) -> Reason:
    """Whether scores with transposed references are nearer to the published ones than correct scores."""
    published = load_published_values(what)
    is_nearer = [
        abs(transposed[name] - published[name]) < abs(correct[name] - published[name]) for name in names
    ]
    figures = "; ".join(
        f"{name} transposed {transposed[name]:.2f}, correct {correct[name]:.2f}, published "
        f"{published[name]:.2f}"
        for name in names
    )
    return Reason(
        "references were passed to sacrebleu transposed, so that a corpus score is that of one segment: "
        "with them, "
        "corpus scores come nearer to the published ones, though not equal",
        all(is_nearer),
        figures,
        is_inference=True,
    )


def get_correlation(correlations: Mapping[str, float], x: str, y: str) -> float:
    """Return the correlation of two kinds of scores, whichever is named first."""
    value = correlations.get(f"{x} {y}", correlations.get(f"{y} {x}"))
    assert value is not None
    return value


def _explain_by_definition(measurements: Measurements, metric: str) -> Reason:
    """Corpus and bootstrap scores must correlate near 1."""
    values = [get_correlation(m["between"], metric, f"x-{metric}") for m in measurements["seeds"]]
    return Reason(
        "a bootstrap score is the mean of corpus scores of resamples, so that the two must correlate near 1",
        min(values) > 0.99,
        f"{metric} {format_range(values, 4)} over five seeds",
    )


def _build_distribution(measurements: Measurements, metric: str, what: str) -> Entry:
    names = (metric, f"m-{metric}", f"x-{metric}")
    pairs = ((names[0], names[2]), (names[0], names[1]), (names[1], names[2]))
    values = {f"mean_{name}": measurements["means"][name] for name in names}
    values |= {f"{x}_{y}": get_correlation(measurements["between"], x, y) for x, y in pairs}
    transposed = measurements["transposed"]
    wrong = {f"mean_{name}": transposed["means"][name] for name in names if name in transposed["means"]}
    wrong |= {
        f"{x}_{y}": transposed["between"][f"{x} {y}"] for x, y in pairs if f"{x} {y}" in transposed["between"]
    }
    description = _list_values(values) + ". With references transposed: " + _list_values(wrong)
    claims = {
        "corpus and bootstrap scores correlate weakly (below .7)": [
            get_correlation(m["between"], *pairs[0]) < 0.7 for m in measurements["seeds"]
        ]
    }
    compared = [name for name in wrong if name.startswith(f"{metric}_")]
    reasons = [
        _explain_by_definition(measurements, metric),
        _explain_by_transposition(wrong, values, what, compared),
    ]
    return Entry(description, values, claims, reasons)


def _list_values(values: Mapping[str, float]) -> str:
    return ", ".join(
        f"{name.replace('mean_', 'mean of ').replace('_', ' with ')} {value:.2f}"
        for name, value in values.items()
    )


def _build_figure_3(measurements: Measurements) -> Entry:
    def list_correlations(m: Measurements) -> dict[str, float]:
        return {
            f"{p}bleu_{p}chrf": get_correlation(m["between"], f"{p}bleu", f"{p}chrf")
            for p in PREFIXES.values()
        }

    values = list_correlations(measurements)
    is_weakest = []
    for m in measurements["seeds"]:
        correlations = list_correlations(m)
        others = [value for name, value in correlations.items() if name != "bleu_chrf"]
        is_weakest.append(min(others) - correlations["bleu_chrf"] > 0.05)
    claims = {"corpus scores correlate least across metrics, by .05 or more": is_weakest}
    reasons = [_explain_by_definition(measurements, metric) for metric in ("bleu", "chrf")]
    return Entry(_list_values(values), values, claims, reasons)


def _build_figure_4(measurements: Measurements) -> Entry:
    def list_correlations(m: Measurements, prefix: str) -> list[float]:
        return [
            get_correlation(m["between"], segment, f"{prefix}{metric}")
            for segment in ("m-bleu", "m-chrf")
            for metric in ("bleu", "chrf")
        ]

    with_corpus = list_correlations(measurements, "")
    with_bootstrap = list_correlations(measurements, "x-")
    description = (
        f"with corpus scores {format_range(with_corpus)}, with bootstrap scores "
        f"{format_range(with_bootstrap)}"
    )
    values = {"lowest_with_corpus": min(with_corpus), "highest_with_corpus": max(with_corpus)}
    claims = {
        "corpus scores correlate weakly (below .7)": [
            max(list_correlations(m, "")) < 0.7 for m in measurements["seeds"]
        ]
    }
    reasons = [_explain_by_definition(measurements, metric) for metric in ("bleu", "chrf")]
    return Entry(description, values, claims, reasons)


def _build_figure_5(measurements: Measurements) -> Entry:
    def list_medians(m: Measurements, metric: str, against: str) -> list[float]:
        return [
            row["median"]
            for row in m["downsampled"]
            if (row["metric"], row["aggregation"], row["against"]) == (metric, "corpus", against)
        ]

    def show(numbers: Sequence[float]) -> str:
        return ", ".join(f"{number:.2f}" for number in numbers)

    values = {
        f"{metric}_{size}": value
        for metric in ("bleu", "chrf")
        for size, value in zip((1, 10, 100), list_medians(measurements, metric, "segment"))
    }
    transposed = [{"downsampled": rows} for rows in measurements["transposed"]["downsampled"]]
    description = (
        "BLEU on 1, 10, 100 segments: corpus with segment "
        f"{show(list_medians(measurements, 'bleu', 'segment'))}, with bootstrap "
        f"{show(list_medians(measurements, 'bleu', 'bootstrap'))}. With references transposed: "
        f"{show(list_medians(transposed[0], 'bleu', 'segment'))} and "
        f"{show(list_medians(transposed[0], 'bleu', 'bootstrap'))}"
    )

    def measure_rise(m: Measurements) -> float:
        medians = list_medians(m, "bleu", "bootstrap")
        return medians[2] - medians[0]

    rises = [measure_rise(m) for m in measurements["seeds"]]
    transposed_rises = [measure_rise(m) for m in transposed]
    claims = {
        "corpus scores do not come nearer to the bootstrap (by .1 or more)": [rise < 0.1 for rise in rises]
    }
    reasons = [
        Reason(
            "correct corpus scores come nearer to the bootstrap with more segments; with transposed "
            "references they "
            "depend on one segment, however many there are",
            min(rises) > 0.2 and max(transposed_rises) < 0.1,
            f"rise of the correlation from 1 to 100 segments {format_range(rises)}, transposed "
            f"{format_range(transposed_rises)}",
            is_inference=True,
        )
    ]
    return Entry(description, values, claims, reasons)


if __name__ == "__main__":
    main()
