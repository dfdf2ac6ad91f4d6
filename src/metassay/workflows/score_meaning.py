"""Estimate what score differences between systems mean to people, from a finished run of `rank`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from metassay.data.directions import orient_scores
from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError, InputLocation
from metassay.meta.decisions.difference_meaning import (
    find_agreement_curve,
    predict_human_agreement,
)
from metassay.meta.people.averages import remove_reference_suffix
from metassay.metrics.base import Metric
from metassay.results.rank import AgreementCurve, RankContent
from metassay.results.score import DifferenceMeaning
from metassay.store.remote import download_run_if_remote
from metassay.store.run_folder import RunFolder
from metassay.workflows.run_files import get_run_command


def predict_how_often_people_agree(
    score_cubes: Sequence[ScoreCube], metrics: Sequence[Metric], rank_run: str | Path
) -> list[DifferenceMeaning]:
    """Estimate how often people agree with the score difference between two systems, for every metric and
    every two systems.

    `rank_run` is a run folder of `rank` with the analysis `thresholds`. Its metrics are found by name, with
    or without the reference that WMT adds (`chrF-refA`).
    """
    result = read_rank_run(rank_run)
    meanings: list[DifferenceMeaning] = []
    for metric in metrics:
        for cube in score_cubes:
            curve = _find_human_agreement_curve(result.analyses.thresholds or [], metric, cube)
            scores = orient_scores(cube.metric_scores[metric.spec], higher_is_better=metric.higher_is_better)
            meanings += predict_human_agreement(
                scores,
                cube.systems,
                curve,
                metric=metric.spec,
                human=result.human,
                dataset=cube.dataset,
                group=cube.dataset if len(score_cubes) > 1 else None,
            )
    return meanings


def read_rank_run(run: str | Path) -> RankContent:
    """Read the result of a run of `rank` that has the analysis `thresholds`. Raises an error for
    other runs.
    """
    folder = RunFolder.open_for_reading(download_run_if_remote(run))
    command = get_run_command(folder)
    if command != "rank":
        raise InputError(f"is a run of {command}, not of rank.", location=InputLocation(file=str(run)))
    result = folder.read_result("results/rank.json", RankContent)
    if not result.analyses.thresholds:
        raise InputError(
            "has no curves of agreement.",
            location=InputLocation(file=str(run)),
            remedy="Repeat that run of rank with --analysis=thresholds.",
        )
    return result


def _find_human_agreement_curve(
    agreement_curves: Sequence[AgreementCurve], metric: Metric, score_cube: ScoreCube
) -> AgreementCurve | None:
    """Find the curve that says how often people agree with score differences of this metric. Returns None if
    the run has none.
    """
    names = [metric.spec, metric.label]
    names += [
        curve.metric
        for curve in agreement_curves
        if remove_reference_suffix(curve.metric).lower() in {name.lower() for name in names}
    ]
    return find_agreement_curve(agreement_curves, names, score_cube.dataset)
