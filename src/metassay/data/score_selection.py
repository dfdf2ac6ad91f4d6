"""Select the score cubes that a command compares, by the names and directions that the user requested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from metassay.data.directions import RequestedDirections, warn_of_negated_scores
from metassay.data.fingerprint import DataFingerprint, hash_outputs_and_human_scores
from metassay.data.score_cautions import warn_of_doubtful_scores
from metassay.data.score_cube import ScoreCube
from metassay.data.summary import summarize_score_cubes
from metassay.errors import InputError
from metassay.results.data_summary import DataSummary


@dataclass(frozen=True)
class ScoreRequest:
    """What the user asked for: names of human scores, and whether lower or higher is better for some
    scores.
    """

    human: tuple[str, ...] = ()
    """Names of human scores."""
    directions: RequestedDirections = field(default_factory=RequestedDirections)
    has_clusters: bool = False
    """Whether the user named a column of clusters."""


@dataclass(frozen=True)
class SelectedScores:
    """The scores to compare, as one `ScoreCube` (table of scores) per data set, with the names of the human
    score and of the metrics.
    """

    cubes: tuple[ScoreCube, ...]
    human: str
    """Name of the human score. Empty if none is needed."""
    metrics: tuple[str, ...]
    """Names of the requested metrics. Empty if all metrics are meant."""
    notes: tuple[str, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    """Hash of the content of each cube, by the name of its data set."""
    fingerprint: DataFingerprint | None = None
    """Counts and hashes by which runs on the same data are recognised. None if no scores were read."""
    summary: DataSummary | None = None
    """Counts of items, systems and scores. None if no scores were read."""

    def select_datasets_with_human_score(self, human_score: str) -> SelectedScores:
        """Return only the data sets that have a human score of this name."""
        cubes = tuple(cube for cube in self.cubes if human_score in cube.human_scores)
        if not cubes:
            raise InputError(f"no data set has the human score {human_score}.")
        hashes = {cube.dataset: self.hashes[cube.dataset] for cube in cubes}
        return replace(self, cubes=cubes, hashes=hashes)


def select_score_cubes(
    score_cubes: Sequence[ScoreCube],
    score_request: ScoreRequest,
    metrics: Sequence[str],
    notes: Sequence[str] = (),
    *,
    needs_human_scores: bool,
    needs_metric_scores: bool = True,
) -> SelectedScores:
    """Select the data sets that have the human and metric scores that are needed. Also decides whether higher
    or lower scores are better.

    Raises an error if no data set has these scores, or if a name in `metrics` is a metric of none of the data
    sets.
    """
    usable_cubes = []
    unusable_notes = []
    for cube in score_cubes:
        has_metrics = bool(cube.metric_scores) or not needs_metric_scores
        if has_metrics and (cube.human_scores or not needs_human_scores):
            usable_cubes.append(cube)
        else:
            unusable_notes.append(f"{cube.dataset} was left out because it has no metric or no human scores.")
    if not usable_cubes:
        raise _build_no_comparable_scores_error(score_cubes)
    reversal_notes = warn_of_negated_scores(
        direction for cube in usable_cubes for direction in cube.directions
    )
    human = choose_human_score(usable_cubes, score_request.human) if needs_human_scores else ""
    oriented_cubes = _set_lower_is_better_scores(usable_cubes, score_request.directions)
    for cube in oriented_cubes:
        cube.check_metric_names(metrics or None)  # raises an error for a name that is no metric
    cautions = warn_of_doubtful_scores(oriented_cubes, human, has_clusters=score_request.has_clusters)
    return SelectedScores(
        cubes=tuple(oriented_cubes),
        human=human,
        metrics=tuple(metrics),
        notes=(
            *notes,
            *unusable_notes,
            *reversal_notes,
            *cautions,
        ),
        hashes={cube.dataset: cube.content_hash for cube in oriented_cubes},
        fingerprint=hash_human_scores(oriented_cubes),
        summary=summarize_score_cubes(oriented_cubes, human or None),
    )


def _build_no_comparable_scores_error(score_cubes: Sequence[ScoreCube]) -> InputError:
    """Return the error for data in which no data set has the scores that a comparison needs."""
    has_metrics = any(cube.metric_scores for cube in score_cubes)
    return InputError(
        "there are no human scores." if has_metrics else "there is no metric to rank.",
        remedy="Add a column with --join FILE, name one with --human, or name metrics with --metrics.",
    )


def _set_lower_is_better_scores(
    score_cubes: Sequence[ScoreCube], requested_directions: RequestedDirections
) -> list[ScoreCube]:
    """Set for each score of the data sets whether lower or higher is better, as the user requested."""
    names = dict.fromkeys(name for cube in score_cubes for name in (*cube.metric_scores, *cube.human_scores))
    requested_directions.check_score_names(names)
    oriented = []
    for cube in score_cubes:
        lower = requested_directions.list_scores_where_lower_is_better(cube.lower_is_better)
        oriented.append(replace(cube, lower_is_better=lower))
    return oriented


def choose_human_score(score_cubes: Sequence[ScoreCube], requested_names: Sequence[str]) -> str:
    """Choose the first human score that the user named, or else the only one in the data. Several are an
    error.
    """
    if requested_names:
        return requested_names[0]
    # a name with a colon (`mqm:rater1`) is the score of one rater
    names = list(dict.fromkeys(name for cube in score_cubes for name in cube.human_scores if ":" not in name))
    if not names:
        raise InputError("there is no column of human scores.", remedy="Name one with --human COLUMN.")
    if len(names) > 1:
        raise InputError(
            f"there are several human scores: {', '.join(names)}.", remedy="Choose one with --human COLUMN."
        )
    return names[0]


def hash_human_scores(score_cubes: Sequence[ScoreCube]) -> DataFingerprint:
    """Compute counts and hashes of the human scores of all data sets together, by which a later run
    recognises the same scores.
    """
    human_names = sorted({name for cube in score_cubes for name in cube.human_scores})
    no_scores = pl.lit(None, dtype=pl.Float64)
    tables = []
    for cube in score_cubes:
        items = cube.qualified_items
        columns = {"item": np.tile(items, len(cube.systems)), "system": np.repeat(cube.systems, len(items))}
        scores = {name: array.ravel() for name, array in cube.human_scores.items()}
        missing = [no_scores.alias(name) for name in human_names if name not in cube.human_scores]
        table = pl.DataFrame(columns | scores).with_columns(missing)
        tables.append(table.select("item", "system", *human_names))
    return hash_outputs_and_human_scores(pl.concat(tables), human_names)
