"""Errors in the papers that follow from what they print, and tables that need no experiment.

    python -m reproduce.errors.run FOLDER     a folder with wmt21, wmt22, asr and trec_covid

Run it after the other scripts, because it reads their `ours.json`. Writes README.md and `ours.json` next to
this file. Exits with an error if an error of a paper can no longer be shown.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path
from typing import Any

import polars as pl
from reproduce.entry import Entry, Reason, format_table, to_json_entries, write_json
from reproduce.ledger import load_published
from scipy.stats import chi2

from metassay.metrics.ranking import PAPER_MEASURES
from metassay.perturbations.registry import find_perturbations_for
from metassay.tasks import find_task

FOLDER = Path(__file__).parent
PERTURBATIONS = {
    "mt": (
        *("removal", "insertion", "swapping", "synonym", "pronoun", "entity", "negation", "negation_removal"),
        "llm",
    ),
    "asr": ("removal", "insertion", "swapping", "phonetic", "llm"),
    "ranking": ("rank_swapping",),
}
"""All perturbations of the paper by task (000, table 4)."""
EXAMPLE_PERTURBATIONS = {
    "mt": ("removal", "swapping", "llm"),
    "asr": ("phonetic", "llm"),
    "ranking": ("rank_swapping",),
}
"""The perturbations of 000, table 2."""
PUBLISHED_SIZES = {"mt_systems": 62, "asr_systems": 6, "rankers": 21}
WMT23_SYSTEM_PAIRS = 249
"""Pairs of systems that WMT23 compares over its three language pairs."""


@dataclass(frozen=True)
class PublishedError:
    """An error in a paper, with the check that shows it."""

    paper: str
    place: str
    statement: str
    evidence: str
    holds: bool


def main() -> None:
    folder = Path(sys.argv[1])
    errors = [
        check_p_values(),
        check_wip_and_wil(),
        check_variance_of_combinations(),
        check_corpus_and_bootstrap(),
        check_name_of_comet(),
        check_percentages(),
        check_systems_of_zh_en(),
    ]
    shown = [error for error in errors if error is not None]
    entries = to_json_entries(build_entries(folder))
    write_json(FOLDER / "ours.json", {"ledger": entries, "errors": [asdict(error) for error in shown]})
    rows = [[error.paper, error.place, error.statement, error.evidence] for error in shown]
    table = format_table(["paper", "where", "what is wrong", "what shows it"], rows)
    text = "\n".join(["# Errors in the papers", "", *table, "", NOTE])
    (FOLDER / "README.md").write_text(text + "\n", encoding="utf-8")
    if failed := [error.statement for error in shown if not error.holds]:
        sys.exit("no longer shown: " + "; ".join(failed))


NOTE = """`python -m reproduce.errors.run FOLDER` writes this table. It lists only what follows from the
printed numbers and the definitions in the papers. It does not say how an error came about, nor that other
conclusions of the paper are wrong."""


def load_published_values(paper: str, what: str) -> dict[str, float]:
    """Return the printed numbers of an entry."""
    values: dict[str, float] = next(
        entry["values"]
        for entry in load_published()["entry"]
        if (entry["paper"], entry["what"]) == (paper, what)
    )
    return values


def load_measured_values(script: str, name: str) -> dict[str, float]:
    """Return our figures for an entry of another script."""
    content = json.loads((FOLDER.parent / script / "ours.json").read_text(encoding="utf-8"))
    values: dict[str, float] = content["ledger"][name]["values"]
    return values


def check_p_values() -> PublishedError | None:
    """Compare the p values of 000, tables 5 and 6, with those of the χ² next to them. None if they agree."""
    printed = {
        ("table 5", "comet", 61): 7.264963e-110,
        ("table 5", "unite_src", 61): 2.631570e-109,
        ("table 5", "unite_unified", 61): 2.211392e-136,
        ("table 6", "wer", 72): 2.884115e-99,
        ("table 6", "mer", 72): 7.168449e-77,
        ("table 6", "wil", 72): 2.412446e-230,
        ("table 6", "cer", 72): 8.197217e-181,
    }
    wrong = []
    for (table, metric, degrees), p in printed.items():
        ratio = float(chi2.sf(load_published_values("000", table)[metric], degrees)) / p
        if not 0.99 < ratio < 1.01:
            wrong.append(f"{metric} of {table} by a factor of {ratio:.3g}")
    if not wrong:
        return None
    return PublishedError(
        "000", "tables 5, 6", "p values are not those of their χ²", "; ".join(wrong), holds=True
    )


def check_wip_and_wil() -> PublishedError:
    """WIP = 1 − WIL, so that both order every pair alike."""
    published = load_published_values("000", "table 6")
    ours = load_measured_values("contextual", "000 table 6")
    evidence = (
        "WIP = 1 − WIL, so that both prefer the same texts and every test of their accuracies gives the "
        "same result. "
        f"Printed are χ² {published['wil']:.0f} and {published['wip']:.0f}; ours are {ours['wil']:.1f} and "
        f"{ours['wip']:.1f}"
    )
    holds = abs(published["wil"] - published["wip"]) > 1 and abs(ours["wil"] - ours["wip"]) < 1e-6
    return PublishedError("000", "table 6", "WIL and WIP have different χ²", evidence, holds)


def check_variance_of_combinations() -> PublishedError:
    """Variance over combinations falls for any numbers."""
    n = 9
    factors = [(n - k) / (k * (n - 1)) for k in range(1, n)]
    evidence = (
        "the mean of k of n numbers has variance σ²/k · (n − k)/(n − 1) over all combinations, whatever the "
        "numbers are. With n = 9 that is "
        + ", ".join(f"{factor:.3f}" for factor in factors)
        + " of σ² for k = 1 to 8. So the figure does not show that confounding becomes smaller"
    )
    holds = all(later < earlier for earlier, later in itertools.pairwise(factors))
    return PublishedError("000", "figure 5", "the variance falls by arithmetic", evidence, holds)


def check_corpus_and_bootstrap() -> PublishedError:
    """A bootstrap score is a mean of corpus scores of the same segments."""
    described = []
    holds = True
    for metric, figure in (("bleu", "figure 1"), ("chrf", "figure 2")):
        key = f"{metric}_x-{metric}"
        published = load_published_values("001", figure)[key]
        ours = load_measured_values("aggregation", f"001 {figure}")[key]
        described.append(f"{metric} {published:.2f} (ours {ours:.4f})")
        holds &= published < 0.6 and ours > 0.99
    evidence = (
        "a bootstrap score is the mean of corpus scores over resamples of the same segments, so that both "
        f"must correlate near 1. Printed are {', '.join(described)}. The figures do not show the cause; "
        "`aggregation` shows how far references in the wrong shape would explain it"
    )
    return PublishedError(
        "001", "figures 1, 2", "corpus and bootstrap scores hardly correlate", evidence, holds
    )


def check_name_of_comet() -> PublishedError:
    """Footnote 7 names a reference-free model."""
    published = load_published_values("001", "table 1, MQM")["comet"]
    ours = load_measured_values("aggregation", "001 table 1, MQM")["comet"]
    evidence = (
        "footnote 7 names wmt22-cometkiwi-da, which reads source and output, no reference. Its official "
        "scores give "
        f"{ours:.3f} here; printed is {published:.3f}"
    )
    return PublishedError(
        "001", "table 1", "what is called COMET is CometKiwi", evidence, abs(published - ours) < 0.05
    )


def check_percentages() -> PublishedError:
    """Recompute the percentages of 001, tables 2 and 3, from their counts."""
    metrics = {
        "BLEU": (341, 98.8),
        "COMET": (36, 10.4),
        "chrF": (30, 8.4),
        "METEOR": (17, 4.9),
        "BERTScore": (15, 4.3),
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
    wrong = [
        f"{name} {count} of {total} is {100 * count / total:.1f} %, not {printed}"
        for table, total in ((metrics, 345), (kinds, 341))
        for name, (count, printed) in table.items()
        if abs(100 * count / total - printed) > 0.1
    ]
    counted = sum(count for count, _ in kinds.values())
    evidence = f"table 3 counts {counted} of 341 papers; {'; '.join(wrong)}"
    return PublishedError(
        "001", "tables 2, 3", "counts and percentages do not match", evidence, bool(wrong) and counted != 341
    )


def check_systems_of_zh_en() -> PublishedError:
    """Count pairs of systems with the printed numbers of systems."""
    printed = sum(comb(systems, 2) for systems in (12, 13, 14))
    actual = sum(comb(systems, 2) for systems in (12, 13, 15))
    evidence = (
        f"WMT23 compares {WMT23_SYSTEM_PAIRS} pairs of systems over its three language pairs; 12, 13 and 14 "
        f"systems make {printed}, 12, 13 and 15 make {actual}"
    )
    holds = actual == WMT23_SYSTEM_PAIRS != printed
    return PublishedError("003", "table 1", "WMT23 zh-en has 15 systems, not 14", evidence, holds)


def build_entries(folder: Path) -> dict[str, Entry]:
    """Build the lines of tables that need no experiment."""
    accuracies = {"A": (0.9, 0.9, 0.3), "B": (0.7, 0.7, 0.7), "C": (0.3, 0.3, 0.9)}
    means = {name: sum(row) / len(row) for name, row in accuracies.items()}
    toy_example = Entry(", ".join(f"{name} {value:.1f}" for name, value in means.items()), means)
    sizes = _build_sizes(folder)
    return {
        "000 table 1": toy_example,
        "002 table 1": toy_example,
        "000 table 2": _count_perturbations(EXAMPLE_PERTURBATIONS),
        "000 table 4": _count_perturbations(PERTURBATIONS),
        "000 table 3": sizes,
        "002 table 2": sizes,
    }


def _count_perturbations(names_by_task: Mapping[str, Sequence[str]]) -> Entry:
    """Count how many perturbations of the paper metassay has, by task."""
    counts = {
        task: len(find_perturbations_for(find_task(task)).keys() & set(names))
        for task, names in names_by_task.items()
    }
    return Entry("; ".join(f"{task}: {count}" for task, count in counts.items()), counts)


def _build_sizes(folder: Path) -> Entry:
    systems: set[str] = set()
    for year in ("wmt21", "wmt22"):
        for path in sorted((folder / year).glob(f"{year}_??-??.parquet")):
            systems |= set(pl.read_parquet(path, columns=["system"])["system"])
    speech = pl.read_parquet(folder / "asr" / "asr_librispeech_test_clean.parquet", columns=["system"])
    runs: pl.DataFrame = pl.read_parquet(folder / "trec_covid" / "runs_top100.parquet")
    run_column = next(name for name in runs.columns if name in {"run", "system", "tag"})
    sizes: dict[str, Any] = {
        "mt_systems": len(systems),
        "mt_metrics": 6,  # BLEU, chrF, ROUGE-1, -2 and -L, METEOR; the others need checkpoints
        "asr_systems": speech["system"].n_unique(),
        "asr_metrics": 5,
        "rankers": runs[run_column].n_unique(),
        "ranking_measures": len(PAPER_MEASURES),
    }
    description = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in sizes.items())
    reasons = [
        Reason(
            "the outputs of the paper are not public in full: available are the rated translations of WMT21 "
            "and WMT22 and four recognisers on LibriSpeech test-clean",
            all(sizes[name] < PUBLISHED_SIZES[name] for name in ("mt_systems", "asr_systems")),
            f"{sizes['mt_systems']} of 62 and {sizes['asr_systems']} of 6 systems",
        ),
        Reason(
            "runs of TREC-COVID are used instead of recommenders on MovieLens",
            sizes["rankers"] != PUBLISHED_SIZES["rankers"] and not (folder / "movielens").exists(),
            f"{sizes['rankers']} runs",
        ),
        Reason(
            "eight of the fourteen translation metrics are neural, and their checkpoints are not available",
            not list(folder.glob("**/*.ckpt")),
        ),
    ]
    return Entry(description, sizes, {"as many of everything": [False]}, reasons, uses_random_numbers=False)


if __name__ == "__main__":
    main()
