"""Errors in the papers, each shown: from the printed numbers alone, or from data.

    python -m reproduce.errors.run FOLDER     a folder with wmt21, wmt22, wmt23, asr and trec_covid

Run after the other scripts: it reads their `ours.json`. Writes README.md and `ours.json` beside this file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from math import comb
from pathlib import Path
from typing import Any

import polars as pl
from reproduce.entry import Entry, ends, kept, table, write
from reproduce.errors.order import orders
from reproduce.ledger import published
from scipy.stats import chi2

from metassay.metrics.ranking import PAPER_MEASURES
from metassay.perturbations.registry import find_perturbations_for
from metassay.tasks import find_task

HERE = Path(__file__).parent
USERS, RECOMMENDERS = 6040, 21
"""Of MovieLens 1M, and of Valcarce et al. (2018)."""
Found = dict[str, Any]


def main() -> None:
    folder = Path(sys.argv[1])
    errors = [
        *printed_p_values(),
        wip_and_wil(),
        more_than_lists(),
        variance_by_arithmetic(),
        own_references(),
        transposed_references(),
        percentages(),
        side_of_the_test(),
        systems_of_zh_en(),
        order_of_systems(folder),
        shrinkage(),
    ]
    write(HERE / "ours.json", {"ledger": kept(entries(folder)), "errors": errors})
    rows = [[e["paper"], e["where"], e["what"], e["shown"]] for e in errors]
    lines = ["# Errors in the papers", "", *table(["paper", "where", "what is wrong", "what shows it"], rows)]
    (HERE / "README.md").write_text("\n".join([*lines, "", NOTE]) + "\n", encoding="utf-8")


NOTE = """`python -m reproduce.errors.run FOLDER` makes this table. "From the printed numbers" needs no data;
the other figures are of the scripts named. That a number is wrong does not say how it came about, nor that
what the paper concludes from others is."""


def line(paper: str, where: str, what: str, shown: str) -> Found:
    return {"paper": paper, "where": where, "what": what, "shown": shown}


def values(paper: str, what: str) -> dict[str, float]:
    """The printed numbers of an entry."""
    entry = next(e for e in published()["entry"] if (e["paper"], e["what"]) == (paper, what))
    known: dict[str, float] = entry["values"]
    return known


def ours(script: str) -> Found:
    """What another script found."""
    content: Found = json.loads((HERE.parent / script / "ours.json").read_text(encoding="utf-8"))
    return content


def printed_p_values() -> list[Found]:
    """Tables 5 and 6 print p values: they should be those of the χ² beside them."""
    printed = {("table 5", "comet", 61): 7.264963e-110, ("table 5", "unite_src", 61): 2.631570e-109}
    printed |= {("table 5", "unite_unified", 61): 2.211392e-136, ("table 6", "wer", 72): 2.884115e-99}
    printed |= {("table 6", "mer", 72): 7.168449e-77, ("table 6", "wil", 72): 2.412446e-230}
    printed |= {("table 6", "cer", 72): 8.197217e-181}
    off = {key: float(chi2.sf(values("000", key[0])[key[1]], key[2])) / p for key, p in printed.items()}
    wrong = [
        f"{metric} of {where} by a factor of {ratio:.3g}"
        for (where, metric, _), ratio in off.items()
        if not 0.99 < ratio < 1.01
    ]
    if not wrong:
        return []
    return [line("000", "tables 5, 6", "p values are not those of their χ²", "; ".join(wrong))]


def wip_and_wil() -> Found:
    known = values("000", "table 6")
    own = ours("contextual")["ledger"]["000 table 6"]["values"]
    shown = (
        "WIP = 1 − WIL, so the two prefer the same texts and every test of their accuracies agrees; printed "
        f"are χ² {known['wil']:.0f} and {known['wip']:.0f}; ours are {own['wil']:.1f} and {own['wip']:.1f} "
        f"(`contextual`)"
    )
    return line("000", "table 6", "WIL and WIP differ", shown)


def more_than_lists() -> Found:
    known = values("000", "table 7")
    lists = USERS * RECOMMENDERS
    above = [name for name, value in known.items() if value > lists]
    shown = (
        f"χ² of a table with two rows is at most the number of its cases. {USERS:,} users × {RECOMMENDERS} "
        "recommenders "
        f"are at most {lists:,} lists, with one copy each; {len(above)} of {len(known)} printed values are "
        f"above, the highest {max(known.values()):,.0f}. From the printed numbers"
    )
    return line("000", "table 7", "χ² above the number of lists", shown)


def variance_by_arithmetic() -> Found:
    shown = ours("contextual")["ledger"]["000 figure 5"]["shown"]
    says = (
        "the mean of k of n numbers varies by σ²/k · (n − k)/(n − 1) over the combinations, whatever the "
        f"numbers are: no sign that confounding shrinks. Ours (`contextual`): {shown}"
    )
    return line("000", "figure 5", "variance over k methods falls by arithmetic", says)


def own_references() -> Found:
    rows = ours("contextual")["pairs"]
    described = []
    for pair in ("en-de", "zh-en", "en-ru"):
        ratios = [row["kept"] / row["without"] for row in rows if row["pair"] == pair]
        described.append(f"{pair} {ends(ratios, 0)}")
    shown = (
        "a human translation that is its own reference scores perfectly, so that every worsening is seen. "
        "Kept among "
        f"the systems, it multiplies χ² over seven metrics by (`contextual`): {', '.join(described)}"
    )
    return line(
        "000",
        "table 5, figure 1",
        "H1 over systems is mostly H1 over references, where these are kept",
        shown,
    )


def transposed_references() -> Found:
    found = ours("aggregation")
    known, wrong = values("001", "table 1, MQM"), found["transposed"]
    boot = wrong["between"]["bleu x-bleu"]
    shown = (
        f"BLEU's correlation with MQM is printed as {known['bleu']:.3f}, m-BLEU's as {known['m-bleu']:.3f}; "
        "correct "
        f"are {found['mqm']['bleu']:.3f} and {found['mqm']['m-bleu']:.3f}. References passed transposed to "
        f"sacrebleu give {wrong['mqm']['bleu']:.3f} (chrF: printed {known['chrf']:.3f}, correct "
        f"{found['mqm']['chrf']:.3f}, "
        f"transposed {wrong['mqm']['chrf']:.3f}), and a correlation of BLEU with its bootstrap of {boot:.2f} "
        "(printed "
        f"{values('001', 'figure 1')['bleu_x-bleu']:.2f}; correct {found['between']['bleu x-bleu']:.4f}) "
        "(`aggregation`)"
    )
    return line("001", "table 1, figures 1 to 5", "corpus scores look like those of one segment", shown)


def percentages() -> Found:
    metrics = {
        "BLEU": (341, 98.8),
        "COMET": (36, 10.4),
        "chrF": (30, 8.4),
        "METEOR": (17, 4.9),
        "BERTScore": (15, 4.3),
    }
    metrics |= {
        "TER": (15, 4.3),
        "BLEURT": (10, 2.9),
        "BLONDE": (3, 0.8),
        "UniTE": (3, 0.8),
        "Others": (17, 4.9),
    }
    kinds = {
        "inferred": (210, 60.1),
        "unclear": (122, 36.2),
        "explicit": (6, 1.7),
        "x-BLEU": (3, 0.9),
        "m-BLEU": (1, 0.3),
    }
    off = [
        f"{name} {count} of {total} is {100 * count / total:.1f} %, not {printed}"
        for part, total in ((metrics, 345), (kinds, 341))
        for name, (count, printed) in part.items()
        if abs(100 * count / total - printed) > 0.1
    ]
    counted = sum(count for count, _ in kinds.values())
    shown = f"table 3 counts {counted} of 341 papers; {'; '.join(off)}. From the printed numbers"
    return line("001", "tables 2, 3", "counts and percentages do not fit", shown)


def side_of_the_test() -> Found:
    rows = [row for row in ours("spa")["discrimination"] if row["year"] == "wmt23"]
    known = values("003", "table 1, WMT23")
    distance = {
        side: sum(
            abs(
                row[f"significant_{side}_sided_with_copies"]
                - known[f"{row['dataset']} {row['meta']} significant"]
            )
            for row in rows
        )
        for side in ("one", "two")
    }
    shown = (
        f"the six numbers of significant comparisons of WMT23 differ from ours by {distance['two']} in all "
        f"with two-sided tests, by {distance['one']} with one-sided ones (`spa`); the text says neither"
    )
    return line("003", "table 1", "which side was tested is not said", shown)


def systems_of_zh_en() -> Found:
    pairs = [comb(n, 2) for n in (12, 13, 14)]
    shown = (
        "WMT23 compares 249 pairs of systems over its three language pairs; 12, 13 and 14 systems make "
        f"{sum(pairs)}, "
        f"12, 13 and 15 make {comb(12, 2) + comb(13, 2) + comb(15, 2)}"
    )
    return line("003", "table 1", "WMT23 zh-en has 15 systems, not 14", shown)


def order_of_systems(folder: Path) -> Found:
    found = orders(folder / "wmt23" / "wmt23_en-de_metrics.parquet")
    described = [f"{name} {low:.4f} to {high:.4f}" for name, (low, high) in found.items()]
    shown = (
        "mt-metrics-eval takes the systems in the order of a Python set, which changes from process to "
        "process, and tests "
        f"each pair in one direction. SPA of WMT23 en-de over 50 orders: {', '.join(described)}"
    )
    return line("003", "the public tool", "SPA depends on the order of systems", shown)


def shrinkage() -> Found:
    content = ours("system_dependence")
    rows = [row for pair in ("en-de", "he-en", "zh-en") for row in content[pair]]
    related = [row["correlation_with_human_means"] for row in rows]
    shares = [row["residual_range"] / row["sysdep"] for row in rows]
    constant = {pair: content[pair][0]["constant"] for pair in ("en-de", "he-en", "zh-en")}
    below = sum(value < -0.9 for value in related)
    shown = (
        "a metric that knows nothing has a SysDep of "
        f"{', '.join(f'{v:.2f} ({p})' for p, v in constant.items())}: the "
        "spread of the systems, shrunk to their mean. Deviations follow people's means with a correlation "
        "below −.9 for "
        f"{below} of {len(rows)} metrics and pairs; after shrinkage {ends(shares)} of SysDep is left, median "
        f"{sorted(shares)[len(shares) // 2]:.2f} (`system_dependence`)"
    )
    return line("004", "SysDep", "most of it is shrinkage, which treats equal systems alike", shown)


def entries(folder: Path) -> dict[str, Entry]:
    """Tables that need no experiment."""
    toy = {"A": (0.9, 0.9, 0.3), "B": (0.7, 0.7, 0.7), "C": (0.3, 0.3, 0.9)}
    means = {name: sum(row) / len(row) for name, row in toy.items()}
    example = Entry(", ".join(f"{name} {value:.1f}" for name, value in means.items()), means)
    counts = _counts(folder)
    described = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in counts.items())
    data = Entry(described, counts, {"as many of everything": False})
    return {
        "000 table 1": example,
        "002 table 1": example,
        "000 table 2": _methods(
            {"mt": ("removal", "swapping", "llm"), "asr": ("phonetic", "llm"), "ranking": ("rank_swapping",)}
        ),
        "000 table 4": _methods(ALL_METHODS),
        "000 table 3": data,
        "002 table 2": data,
    }


ALL_METHODS = {
    "mt": (
        "removal",
        "insertion",
        "swapping",
        "synonym",
        "pronoun",
        "entity",
        "negation",
        "negation_removal",
        "llm",
    ),
    "asr": ("removal", "insertion", "swapping", "phonetic", "llm"),
    "ranking": ("rank_swapping",),
}


def _methods(wanted: dict[str, Sequence[str]]) -> Entry:
    """How many of the paper's methods metassay has, by task."""
    found = {
        task: len(find_perturbations_for(find_task(task)).keys() & set(names))
        for task, names in wanted.items()
    }
    return Entry("; ".join(f"{task}: {count}" for task, count in found.items()), found)


def _counts(folder: Path) -> dict[str, int]:
    systems: set[str] = set()
    for path in sorted(
        [*(folder / "wmt21").glob("wmt21_??-??.parquet"), *(folder / "wmt22").glob("wmt22_??-??.parquet")]
    ):
        systems |= set(pl.read_parquet(path, columns=["system"])["system"])
    speech = pl.read_parquet(folder / "asr" / "asr_librispeech_test_clean.parquet", columns=["system"])
    runs = pl.read_parquet(folder / "trec_covid" / "runs_top100.parquet")
    return {
        "mt_systems": len(systems),
        "mt_metrics": 6,  # BLEU, chrF, ROUGE-1, -2 and -L, METEOR; the others need checkpoints
        "asr_systems": speech["system"].n_unique(),
        "asr_metrics": 5,
        "rankers": runs[next(c for c in runs.columns if c in {"run", "system", "tag"})].n_unique(),
        "ranking_measures": len(PAPER_MEASURES),
    }


if __name__ == "__main__":
    main()
