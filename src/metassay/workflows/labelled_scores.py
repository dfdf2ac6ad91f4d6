"""Read human labels on some items and metric scores on all items, for `estimate` and `annotate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metassay.data.annotation_file import PROBABILITY, AnnotationFile, read_annotation_file
from metassay.data.directions import orient_scores, warn_of_scores_that_may_count_errors
from metassay.data.score_cautions import warn_if_score_scales_differ
from metassay.data.score_cube import ScoreCube
from metassay.data.score_selection import SelectedScores, choose_human_score
from metassay.data.similar_names import warn_of_similar_names
from metassay.errors import InputError, InputLocation, UnknownName
from metassay.meta.decisions.labelled_scores import ITEM, LabelledScores, detect_labelling_unit
from metassay.options import split_comma_separated_names
from metassay.stats.arrays import FloatArray, convert_labels_to_integers
from metassay.workflows.options import AnnotateOptions, EstimateOptions
from metassay.workflows.read import Source
from metassay.workflows.read_scores import mark_metrics_that_ignore_output_text, read_human_and_metric_scores

# The largest share of chosen items that may be without a rating.
LARGEST_UNRATED_SHARE = 0.2


@dataclass(frozen=True)
class LabelledData:
    """A data set in which people have labelled some of the items, with its metric scores and notes for the
    user.
    """

    scores: LabelledScores
    human: str
    cube: ScoreCube
    """The items of `scores` in the same order, with their metadata."""
    selected_scores: SelectedScores
    notes: tuple[str, ...]


def read_labelled_scores(
    data_source: Source, options: EstimateOptions | AnnotateOptions, *, needs_labels: bool
) -> LabelledData:
    """Read a data set that has metric scores for all items and human labels for some items.

    Systems without labels are left out if `needs_labels`. Items on which some system has no metric score are
    left out, and metrics that do not score every output of the remaining items. Also left out are metrics
    that know only the system, the item or the length of an output.
    """
    labels_file = None if options.labels is None else read_annotation_file(options.labels)
    # An annotation file brings labels, so that the data itself need not have any.
    needs_column = needs_labels and labels_file is None
    read = _read_human_and_metric_scores(data_source, options, needs_column=needs_column)
    human = _choose_human_column(read, options, labels_file, needs_labels=needs_labels)
    cube = _choose_labelled_dataset(read.cubes, human, needs_labels=needs_column)
    notes = [*read.notes, *cube.notes]
    if labels_file is not None:
        cube = _add_human_scores_from_annotation_file(cube, human, labels_file, str(options.labels))
        notes += _warn_of_unrated_items(labels_file, str(options.labels))
        if needs_labels and human not in cube.human_scores:
            raise build_no_labels_error(human)
    if human in cube.human_scores:
        notes += warn_if_score_scales_differ(human, dict(zip(cube.systems, cube.human_scores[human])))
        systems, system_notes = _select_labelled_systems(cube, human)
        cube = cube.select_items_and_systems(systems=systems)
        notes += system_notes
        # If lower is known to be better, a count of errors is no surprise.
        if human not in cube.lower_is_better:
            notes += warn_of_scores_that_may_count_errors(human, cube.human_scores[human])
    probabilities = _get_item_sampling_probabilities(cube)
    metric_names = [
        name for name in cube.check_metric_names(read.metrics or None) if not _is_probability_column(name)
    ]
    is_scored = _find_items_scored_by_any_metric(cube, metric_names)
    if not is_scored.all():
        count = int((~is_scored).sum())
        verb = "was" if count == 1 else "were"
        notes.append(
            f"{count} of {len(is_scored)} items {verb} left out because some system has no metric score."
        )
    if not is_scored.any():
        raise InputError(
            "no item has a metric score for every system.",
            remedy=" ".join(warn_of_similar_names(cube.systems)) or None,
        )
    cube = cube.select_items_and_systems(items=is_scored)
    probabilities = None if probabilities is None else probabilities[is_scored]
    metrics, metric_notes = _select_metrics_without_missing_scores(cube, metric_names)
    notes += metric_notes
    marked_cube, uninformed = mark_metrics_that_ignore_output_text(cube.select_metrics(list(metrics)))
    metrics = {name: scores for name, scores in metrics.items() if name not in uninformed}
    notes += marked_cube.notes
    if uninformed:
        notes.append(
            f"Metrics that do not rate single outputs were left out: {', '.join(sorted(uninformed))}."
        )
    scores = _arrange_labelled_scores(cube, human, metrics, probabilities, options.cluster)
    return LabelledData(scores, human, cube, read, tuple(dict.fromkeys(notes)))


def _arrange_labelled_scores(
    score_cube: ScoreCube,
    human_score: str,
    metrics: Mapping[str, FloatArray],
    probabilities: FloatArray | None,
    unit: str | None,
) -> LabelledScores:
    """Arrange human labels and metric scores in arrays [systems, items], with the items or documents that
    people label as a whole.

    `unit` is `item` or the column of documents. If it is None, it is detected from the labels.
    """
    labels = np.full((len(score_cube.systems), len(score_cube.items)), np.nan)
    if human_score in score_cube.human_scores:
        labels = score_cube.get_higher_is_better_scores(human_score)
    labelled_items = np.asarray(~np.isnan(labels).all(axis=0))
    probabilities = _complete_selection_probabilities(probabilities, labelled_items, score_cube.items)
    if unit is None:
        unit = detect_labelling_unit(score_cube, labelled_items)
    units = np.arange(len(score_cube.items))
    if unit != ITEM:
        units = convert_labels_to_integers(score_cube.assign_items_to_clusters(unit))
    return LabelledScores(score_cube.systems, score_cube.items, labels, metrics, units, unit, probabilities)


def build_no_labels_error(human_column: str) -> InputError:
    """Build the error for data in which no item has a human label."""
    return InputError(
        f"no item has a label yet: {human_column} is empty.",
        remedy="Choose items to have rated with: metassay annotate DATA --count 100",
    )


def _read_human_and_metric_scores(
    data_source: Source, options: EstimateOptions | AnnotateOptions, *, needs_column: bool
) -> SelectedScores:
    """Read human and metric scores. If the labels are in a file of their own, the data needs no column of
    human scores.
    """
    try:
        return read_human_and_metric_scores(data_source, options, needs_human_scores=False)
    except UnknownName:
        if needs_column or options.human is None:
            raise
        # The name may be that of the scores in the annotation file, which the data does not have.
        return read_human_and_metric_scores(
            data_source, replace(options, human=None), needs_human_scores=False
        )


def _add_human_scores_from_annotation_file(
    score_cube: ScoreCube, human_score_name: str, annotations: AnnotationFile, annotation_path: str
) -> ScoreCube:
    """Add the human scores in a file of ratings to a data set. The probability with which each item was
    chosen for rating is added too.
    """
    system_positions = {name: row for row, name in enumerate(score_cube.systems)}
    item_positions = {name: column for column, name in enumerate(score_cube.qualified_items)}
    no_scores = np.full((len(score_cube.systems), len(score_cube.items)), np.nan)
    labels = score_cube.human_scores.get(human_score_name, no_scores).copy()
    probabilities = no_scores.copy()
    for number, row in enumerate(annotations.rows, start=1):
        if row.item not in item_positions or row.system not in system_positions:
            raise InputError(
                f"the data has no output of item {row.item} by system {row.system}.",
                location=InputLocation(file=annotation_path, row=number),
                remedy="Name the data that the file was made for.",
            )
        position = (system_positions[row.system], item_positions[row.item])
        probabilities[position] = row.probability
        if row.score is not None:
            labels[position] = row.score
    human_scores = dict(score_cube.human_scores)
    if not np.isnan(labels).all():
        human_scores[human_score_name] = labels
    metric_scores = {
        name: scores for name, scores in score_cube.metric_scores.items() if not _is_probability_column(name)
    }
    return replace(
        score_cube, human_scores=human_scores, metric_scores=metric_scores | {PROBABILITY: probabilities}
    )


def _warn_of_unrated_items(annotation_file: AnnotationFile, annotation_path: str) -> list[str]:
    """Return a note on chosen items that nobody has rated in a file of ratings. Raises an error if there are
    too many.

    The probabilities in the file hold only if the chosen items are rated.
    """
    chosen = {row.item for row in annotation_file.rows}
    rated = {row.item for row in annotation_file.rows if row.score is not None}
    unrated = len(chosen - rated)
    if not unrated:
        return []
    verb = "has" if unrated == 1 else "have"
    statement = f"{unrated} of {len(chosen)} chosen items {verb} no rating yet"
    if unrated > LARGEST_UNRATED_SHARE * len(chosen):
        raise InputError(
            f"{statement}; estimates would be biased.",
            location=InputLocation(file=annotation_path),
            remedy="Have the items in the file rated first.",
        )
    return [f"{statement}. If they differ from the others, estimates are biased."]


def _choose_human_column(
    selected_scores: SelectedScores,
    options: EstimateOptions | AnnotateOptions,
    annotation_file: AnnotationFile | None,
    *,
    needs_labels: bool,
) -> str:
    """Return the name of the human score: the one that the user named, that of the file of ratings, or the
    only one in the data.

    Without any label the name is `human`, unless `needs_labels`. A column that is empty on whole items may be
    a human score under an unusual name, so that the user has to name it, or the metrics.
    """
    names = split_comma_separated_names(options.human)
    if annotation_file is not None and not names:
        return annotation_file.human
    has_labels = any(cube.human_scores for cube in selected_scores.cubes)
    if names or has_labels:
        return choose_human_score(selected_scores.cubes, names)
    if not selected_scores.metrics:
        _reject_metrics_with_unscored_items(selected_scores.cubes)
    if needs_labels:
        raise build_no_labels_error("the human score")
    return "human"


def _reject_metrics_with_unscored_items(score_cubes: Sequence[ScoreCube]) -> None:
    """Raise an error if a column that seems to hold metric scores is empty on some items, because it may hold
    human scores.
    """
    for score_cube in score_cubes:
        for name, scores in score_cube.metric_scores.items():
            has_score = np.asarray(~np.isnan(scores).all(axis=0))
            if _is_probability_column(name) or has_score.all():
                continue
            raise InputError(
                f"{name} has scores on {int(has_score.sum())} of {len(has_score)} items."
                " It is not known whether it is a human score or a metric.",
                remedy=f"Add --human {name} if it is a human score, or name the metrics with --metrics.",
            )


def _choose_labelled_dataset(
    score_cubes: Sequence[ScoreCube], human_score: str, *, needs_labels: bool
) -> ScoreCube:
    """Return the data set that has human labels, or the only data set if none has any. Raises an error if
    there are several.
    """
    labelled_cubes = [cube for cube in score_cubes if human_score in cube.human_scores]
    if needs_labels and not labelled_cubes:
        raise build_no_labels_error(human_score)
    candidates = labelled_cubes or list(score_cubes)
    if len(candidates) > 1:
        names = ", ".join(cube.dataset for cube in candidates)
        raise InputError(
            f"there are several data sets: {names}.",
            remedy="Choose one with --where, such as --where lp=en-de.",
        )
    return candidates[0]


def _select_labelled_systems(score_cube: ScoreCube, human_score: str) -> tuple[NDArray[np.bool_], list[str]]:
    """Return which systems have human labels, and a note on the systems that have none."""
    has_labels = np.asarray(~np.isnan(score_cube.human_scores[human_score]).all(axis=1))
    missing = [score_cube.systems[row] for row in np.flatnonzero(~has_labels)]
    if not missing:
        return has_labels, []
    return has_labels, [f"Systems without a {human_score} label were left out: {', '.join(missing)}."]


def _is_probability_column(column_name: str) -> bool:
    """Return whether a column holds the probabilities with which items were chosen to be labelled."""
    return column_name.lower() == PROBABILITY


def _get_item_sampling_probabilities(score_cube: ScoreCube) -> FloatArray | None:
    """Return the probability with which each item was chosen to be labelled, or NaN for items without one.
    Returns None if the data has no such column.
    """
    names = [name for name in score_cube.metric_scores if _is_probability_column(name)]
    if not names:
        return None
    by_system = score_cube.metric_scores[names[0]]
    has_value = ~np.isnan(by_system)
    # `nanmin` warns about items without any value.
    lowest = np.where(has_value, by_system, np.inf).min(axis=0)
    highest = np.where(has_value, by_system, -np.inf).max(axis=0)
    differs = np.flatnonzero(has_value.any(axis=0) & (lowest != highest))
    if len(differs):
        raise InputError(
            f"item {score_cube.items[differs[0]]} has several values of {names[0]}.",
            remedy="All outputs of an item are chosen together, so they must have the same probability.",
        )
    return np.asarray(np.where(has_value.any(axis=0), lowest, np.nan))


def _complete_selection_probabilities(
    probabilities: FloatArray | None, labelled_items: NDArray[np.bool_], items: Sequence[str]
) -> FloatArray | None:
    """Check that each labelled item has a probability of having been chosen. Missing probabilities of other
    items are set to 1.

    The probabilities of items without labels have no effect.
    """
    if probabilities is None:
        return None
    is_wrong = labelled_items & ~((probabilities > 0) & (probabilities <= 1))
    if is_wrong.any():
        raise InputError(
            f"item {items[int(is_wrong.argmax())]} is labelled, but its {PROBABILITY} is missing or not"
            " between 0 and 1.",
            remedy=f"Fill in the column {PROBABILITY} for all labelled items, or leave the column out.",
        )
    # Any number above 0 would do: items without labels get no weight.
    return np.where(np.isnan(probabilities), 1.0, probabilities)


def _find_items_scored_by_any_metric(score_cube: ScoreCube, metrics: Sequence[str]) -> NDArray[np.bool_]:
    """Find the items on which at least one metric has scores for every system."""
    has_score = [~np.isnan(score_cube.metric_scores[name]) for name in metrics]
    return np.asarray(np.any(has_score, axis=0).all(axis=0))


def _select_metrics_without_missing_scores(
    score_cube: ScoreCube, metric_names: Sequence[str]
) -> tuple[dict[str, FloatArray], list[str]]:
    """Select the metrics that score every output. Returns their scores, reversed if lower is better, and a
    note on the metrics that are left out.
    """
    metrics: dict[str, FloatArray] = {}
    incomplete: list[str] = []
    for name in metric_names:
        scores = score_cube.metric_scores[name]
        if np.isnan(scores).any():
            incomplete.append(name)
        else:
            metrics[name] = orient_scores(scores, higher_is_better=name not in score_cube.lower_is_better)
    if not incomplete:
        return metrics, []
    return metrics, [f"Metrics without a score for every output were left out: {', '.join(incomplete)}."]
