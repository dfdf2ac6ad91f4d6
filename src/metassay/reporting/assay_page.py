"""The page of `assay`: which metric to trust, where, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.assay_answer import write_answer
from metassay.reporting.assay_caveats import list_caveats
from metassay.reporting.assay_tables import build_global_table
from metassay.reporting.assay_view import AssayView, build_view
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import KeyFigure, Page
from metassay.reporting.report_sections import build_sections
from metassay.reporting.wording import about, count, listing, plural
from metassay.results.assay import AssayContent
from metassay.results.wrong_pairs import WrongPairs

TITLE = "Which metric can you trust, here?"
_LISTED_COLUMNS = 4


def build_assay_page(
    result: AssayContent,
    labels: MetricLabels | None = None,
    *,
    wrong_pairs: WrongPairs | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> Page:
    """Build the page of an assay; pairs to browse and the manifest are known for runs with a folder."""
    view = build_view(result, labels, wrong_pairs=wrong_pairs, manifest=manifest)
    task = about(result.task)
    return Page(
        kicker=result.task if task is None else task.title,
        title=TITLE,
        lead=write_answer(view),
        sections=build_sections("assay", view),
        doubts=[*list_caveats(view), *dict.fromkeys(result.warnings)],
        key_figures=_list_key_figures(view),
        main_tables=[build_global_table(view)],
    )


def _list_key_figures(view: AssayView) -> list[KeyFigure]:
    result = view.result
    contexts = sum(len(column.contexts) for column in view.columns)
    perturbations = len(result.perturbations)
    made_by = f"made by {plural(perturbations, 'perturbation')}" if perturbations else ""
    sentinels = f"and {plural(len(view.sentinels), 'sentinel')}" if view.sentinels else ""
    columns = listing([column.name for column in view.columns[:_LISTED_COLUMNS]])
    return [
        KeyFigure("items", count(result.items)),
        KeyFigure("outputs", count(result.outputs)),
        KeyFigure("pairs", count(result.pairs), made_by),
        KeyFigure("metrics", count(len(view.metrics)), sentinels),
        KeyFigure("contexts", count(contexts), columns),
    ]
