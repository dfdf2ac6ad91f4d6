"""Compute four findings about metrics, and write docs/findings.md, docs/paper.md and their figures.

    python -m reproduce.findings.run FOLDER [--scores SCORES] [--only STAGES]
    python -m reproduce.findings.run --page                  # pages and figures from ours.json

FOLDER has wmt21, wmt22, wmt23 and text. SCORES is a folder for the scores of the lexical metrics, which take
longest: what is there is not scored again. Without `--scores` everything is scored. Each stage stores its
results in `ours.json`, so an interrupted run can be continued with `--only`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reproduce.entry import write_json
from reproduce.findings import contexts, dependence, questions, worth
from reproduce.findings.claims import list_claims
from reproduce.findings.figures import draw_figures
from reproduce.findings.page import PAGES, render_page
from reproduce.findings.score_sets import (
    LEXICAL_SETS,
    WMT,
    ScoreSet,
    load_lexical_set,
    load_official_set,
)

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
SEED = 2026
COLUMNS = ("domain", "system")
OFFICIAL_QUESTIONS = ("human", "acc_eq", "spa", "labels_saved", "residual")
FAMILY_QUESTIONS = (("perturbed", "human"), ("perturbed_half", "human_half"))
STRATEGY_TARGETS = ("human", "human_half", "acc_eq", "spa", "labels_saved")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--scores", type=Path)
    parser.add_argument("--only", help="stages, with commas between them", default="")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    path = FOLDER / "ours.json"
    if not options.page:
        with tempfile.TemporaryDirectory() as folder:
            stages = list_stages(options.data, options.scores or Path(folder))
            for name in options.only.split(",") if options.only else stages:
                new_results = stages[name]()
                print_progress(name)
                write_json(path, load_results(path) | new_results)
    results = load_results(path)
    if options.only:
        return
    draw_figures(results, ROOT / "docs" / "images")
    for name, path_of_page in PAGES.items():
        (ROOT / path_of_page).write_text(render_page(name, results), encoding="utf-8")
    if failed := [claim for claim, holds in list_claims(results).items() if not holds]:
        sys.exit("the pages say what the results do not show: " + "; ".join(failed))


def load_results(path: Path) -> dict[str, Any]:
    """Load the results of earlier stages."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def list_stages(data: Path, scores: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """List the parts of the computation by name; each returns its results."""
    sets = [load_official_set(data, year, pair) for year, pairs in WMT.items() for pair in pairs]
    return {
        "contexts": lambda: study_official_contexts(sets),
        "worth": lambda: {"labels_saved": worth.study_worth(sets, load_official_measures())},
        "dependence": lambda: {"dependence": [dependence.study_dependence(one) for one in sets]},
        "official": lambda: study_official_questions(sets),
        "lexical": lambda: study_lexical_sets(data, scores),
    }


def study_official_contexts(sets: list[ScoreSet]) -> dict[str, Any]:
    """Compute finding 1 for official metrics.

    Most metrics of WMT22 are coarse grades. With ties as wrong, the one fine metric is first everywhere. So
    these data sets are also studied with ties as half right.
    """
    rows = []
    for ties in (contexts.STRICT, contexts.HALF):
        for scores in sets:
            if ties == contexts.STRICT or scores.name.startswith("wmt22"):
                rows += [contexts.study_contexts(scores, column, SEED, ties) for column in COLUMNS]
    return {"contexts": rows}


def study_official_questions(sets: list[ScoreSet]) -> dict[str, Any]:
    """Compute finding 2 for the official metrics of WMT23."""
    newest = [scores for scores in sets if scores.name.startswith("wmt23")]
    measured = [questions.measure_official_set(scores, SEED) for scores in newest]
    families = [questions.find_official_family(name) for name in measured[0].metric_names]
    return {
        "official_questions": questions.compare_questions(measured, families, OFFICIAL_QUESTIONS, SEED),
        "official_regrets": questions.compute_regrets(measured, families, OFFICIAL_QUESTIONS, SEED),
    }


def score_lexical_metrics(data: Path, folder: Path) -> None:
    """Score the outputs and perturbed outputs of nine data sets with 29 lexical metrics."""
    script = ROOT / "benchmarks" / "people_scores.py"
    environment = os.environ | {"METASSAY_DATA": str(data)}
    subprocess.run([sys.executable, str(script), "shared", str(folder)], env=environment, check=True)


def study_lexical_sets(data: Path, folder: Path) -> dict[str, Any]:
    """Compute finding 2 for lexical metrics, and finding 1 for data sets without official metric scores."""
    score_lexical_metrics(data, folder)
    sets = [load_lexical_set(folder, name) for name in questions.LEXICAL_SETS]
    measured = []
    for scores in sets:
        measured.append(questions.measure_lexical_set(folder, scores, SEED))
        print_progress(f"questions: {scores.name}")
    families = [questions.find_lexical_family(name) for name in measured[0].metric_names]
    names = tuple(questions.QUESTIONS)
    lexical_contexts = [
        contexts.study_contexts(scores, "system", SEED) for scores in sets if scores.name in LEXICAL_SETS
    ]
    values = [
        {"set": m.name, "metric": metric, "family": family}
        | {question: m.values[question][k] for question in names}
        for m in measured
        for k, (metric, family) in enumerate(zip(m.metric_names, families))
    ]
    return {
        "lexical_contexts": lexical_contexts,
        "lexical_values": values,
        "lexical_questions": questions.compare_questions(measured, families, names, SEED),
        "lexical_regrets": questions.compute_regrets(measured, families, names, SEED),
        "strategies": questions.compare_strategies(measured, STRATEGY_TARGETS),
        "family_pairs": questions.compare_within_and_between_families(measured, families, FAMILY_QUESTIONS),
        "representatives": questions.compare_questions(
            [questions.keep_representatives(m) for m in measured], questions.REPRESENTATIVES, names, SEED
        ),
    }


def load_official_measures() -> dict[tuple[str, str], dict[str, Any]]:
    """Load SPA and acc_eq of official metrics, which `reproduce/which_metric` computed."""
    rows = json.loads((FOLDER.parent / "which_metric" / "ours.json").read_text(encoding="utf-8"))["rows"]
    measures = {}
    for row in rows:
        name = row["metric"]
        if name.startswith("GEMBA-") and name != "GEMBA-MQM" and row["reads"] == "source":
            name = f"{name}-QE"
        measures[f"{row['year']} {row['lp']}", name] = row
    return measures


def print_progress(step: str) -> None:
    print(f"{time.process_time():6.1f} s  {step}", flush=True)


if __name__ == "__main__":
    main()
