"""Sections of the `score` page: system scores, what differences mean, and tests between systems."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metassay.reporting.agreement_curves import (
    TITLE,
    build_score_difference_rows,
    explain_source_of_human_agreement,
)
from metassay.reporting.charts.heatmaps import build_signed_heatmap
from metassay.reporting.charts.theme import Spec
from metassay.reporting.pages import Chart, Section
from metassay.reporting.report_sections import ResultReport
from metassay.reporting.score_page import group_comparisons_by_metric, is_difference_significant
from metassay.reporting.tables import build_grid_from_rows
from metassay.results.score import ScoreContent, SystemComparison

MOST_ROWS = 2000
SYSTEM_COLUMNS = ("group", "system", "metric", "corpus", "segment", "bootstrap", "low", "high")


def build_systems_section(score_report: ResultReport[ScoreContent]) -> Section:
    """Build the section with the scores of the systems and the signatures of the metrics."""
    rows = []
    signatures = {}
    for system in score_report.result.systems:
        label = score_report.labels[system.metric]
        row = {name: getattr(system, name) for name in SYSTEM_COLUMNS} | {"metric": label}
        rows.append(row)
        signatures[label] = {"metric": label, "signature": system.signature}
    scores = build_grid_from_rows(
        "systems", "Scores of every system", rows, SYSTEM_COLUMNS, at_most=MOST_ROWS
    )
    return Section(
        "System scores",
        grids=[scores],
        folded=[build_grid_from_rows("signatures", "Signatures", list(signatures.values()))],
    )


def build_human_agreement_section(score_report: ResultReport[ScoreContent]) -> Section | None:
    """Build the section on how often people agree with score differences. None if no run of the command
    `rank` was given to learn this from.
    """
    meanings = score_report.result.meanings
    if not meanings:
        return None
    rows = build_score_difference_rows(meanings, score_report.labels)
    table = build_grid_from_rows("meanings", TITLE, rows, at_most=MOST_ROWS)
    return Section(TITLE, [explain_source_of_human_agreement(meanings)], grids=[table])


EXPLANATION = (
    "A difference is the score of one system minus that of the other; whether higher or lower is better"
    " depends on the metric."
)
CAPTION = (
    "Which systems differ: score of the system in the row minus that of the system in the column; * where"
    " p ≤ .05 after Holm's correction."
)
COMPARISON_COLUMNS = ("a", "b", "difference", "p", "p_holm", "segments")


def build_comparisons_section(score_report: ResultReport[ScoreContent]) -> Section | None:
    """Build the section with tests of the differences between systems by each metric. None if no test was
    requested.
    """
    choices = []
    for (metric, group), comparisons in group_comparisons_by_metric(score_report.result).items():
        label = score_report.labels[metric]
        title = f"{label}, {group}" if group else label
        choices.append(_build_comparison_subsection(title, comparisons))
    if not choices:
        return None
    return Section("Differences between systems", [EXPLANATION], choices=choices)


def _build_comparison_subsection(title: str, comparisons: Sequence[SystemComparison]) -> Section:
    systems: dict[str, None] = {}
    cells: list[Spec] = []
    for comparison in comparisons:
        systems |= {comparison.a: None, comparison.b: None}
        if comparison.difference is not None:
            mark = "*" if is_difference_significant(comparison) else ""
            value = round(comparison.difference, 4)
            cells.append({"row": comparison.a, "column": comparison.b, "value": value, "mark": mark})
            cells.append({"row": comparison.b, "column": comparison.a, "value": -value, "mark": mark})
    description = f"Differences between {len(systems)} systems by {title}."
    names = list(systems)
    spec = build_signed_heatmap(description, cells, names, names, ("system", "minus", "difference"))
    rows = [msgspec.structs.asdict(comparison) for comparison in comparisons]
    table = build_grid_from_rows(
        f"differences {title}", f"Differences by {title}", rows, COMPARISON_COLUMNS, at_most=MOST_ROWS
    )
    return Section(title, charts=[Chart(f"differences {title}", spec, CAPTION)], grids=[table])


# In the order of the page. Sections of plug-ins come between or after them, by their position.
SCORE_SECTIONS = {10: build_systems_section, 15: build_human_agreement_section, 20: build_comparisons_section}
