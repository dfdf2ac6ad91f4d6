"""Prepare a data set for scoring: leave out references that are listed as systems, normalise texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from metassay.data.clusters import CLUSTER_COLUMNS
from metassay.data.dataset import Dataset
from metassay.data.directions import looks_like_penalties
from metassay.data.normalisation import choose_normalisation, normalise_texts
from metassay.data.reference_systems import drop_reference_systems
from metassay.text.words import is_spaceless

if TYPE_CHECKING:
    from metassay.data.score_cube import ScoreCube

_LANGUAGE_SAMPLE = 1000
"""Number of outputs that are checked for spaces."""


def prepare_dataset(dataset: Dataset, *, normalize: str | None, keep_references: bool) -> Dataset:
    """Leave out systems that are the reference, unless `keep_references`, and normalise the texts.

    `normalize` names a scheme of `text.normalize`; None means the default of the task.
    """
    if not keep_references:
        dataset = drop_reference_systems(dataset)
    notes = note_unknown_language(dataset)
    normalised = normalise_texts(dataset, choose_normalisation(dataset, normalize))
    return normalised.with_notes(*notes)


def note_unknown_language(dataset: Dataset) -> list[str]:
    """Return a note if most texts are written without spaces and their language is unknown.

    Without the language, metrics split these texts at spaces, which makes a sentence one word.
    """
    if dataset.task_definition.is_ranking or None not in dataset.languages:
        return []
    texts = dataset.outputs["output"].head(_LANGUAGE_SAMPLE).drop_nulls().to_list()
    spaceless = sum(is_spaceless(text) for text in texts)
    if 2 * spaceless <= len(texts):
        return []
    note = (
        "Most texts are written without spaces, and their language is not known, so that metrics split them "
        "at spaces all the same: name it with --language."
    )
    return [note]


def doubts(cubes: Iterable[ScoreCube], human: str, *, clustered: bool) -> list[str]:
    """What a reader of comparisons with people should doubt: the direction of their scores, and the unit."""
    rated = [cube for cube in cubes if human in cube.human_scores]
    return [*dict.fromkeys(note for cube in rated for note in _doubted(cube, human, clustered=clustered))]


def _doubted(cube: ScoreCube, human: str, *, clustered: bool) -> list[str]:
    found = []
    if human not in cube.lower_is_better and looks_like_penalties(human, cube.human_scores[human]):
        found.append(
            f"{human} is never negative, and higher is taken for better. If it counts errors, say so: "
            f"--lower-is-better {human}."
        )
    known = {name.lower(): name for name in reversed(list(cube.item_metadata))}
    for column in () if clustered else (known[name] for name in CLUSTER_COLUMNS if name in known):
        units = len(np.unique(cube.cluster_codes(column)))
        if 1 < units < len(cube.items):
            found.append(
                f"Segments are taken as independent of each other, though several lie in one {column}. Where "
                f"those go together, intervals and tests need it as their unit: --cluster {column}."
            )
            break
    return found
