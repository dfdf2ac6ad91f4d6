"""`ScoreCube`: the scores that people and metrics gave to every output of a data set."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from metassay.data.directions import ScoreDirection, orient_scores
from metassay.data.score_arrays import ScoreArrays
from metassay.data.similar_names import warn_of_similar_names
from metassay.errors import InputError, UnknownName
from metassay.stats.arrays import FloatArray, LongArray

Metadata = Mapping[str, tuple[str | None, ...]]

# The name of a data set that has no year, language pair or test set.
UNNAMED_DATASET = "all"


@dataclass(frozen=True)
class ScoreCube:
    """All human and metric scores of one data set, each as an array with a row per system and a column per
    item.

    Scores have the direction of the file (lower may be better), with NaN where a score is missing. Methods
    return restricted cubes or arrays; a cube is never changed.
    """

    dataset: str
    systems: tuple[str, ...]
    items: tuple[str, ...]
    human_scores: Mapping[str, FloatArray]
    metric_scores: Mapping[str, FloatArray]
    item_metadata: Metadata = field(default_factory=dict)
    """Columns with one value per item (domain, document), in the order of `items`."""
    system_metadata: Metadata = field(default_factory=dict)
    """Columns with one value per system (family, size), in the order of `systems`."""
    lower_is_better: frozenset[str] = frozenset()
    """Names of the human and metric scores of which lower is better."""
    statistics: Mapping[str, FloatArray] = field(default_factory=dict)
    """Sufficient statistics `[systems, items, s]` of the metrics that have them."""
    text_measures: Mapping[str, FloatArray] = field(default_factory=dict)
    """Lengths of outputs and references `[systems, items]`. Empty if the scores were read without texts."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of outputs that were left out while the cube was built, by reason."""
    directions: tuple[ScoreDirection, ...] = ()
    """How the direction of each score was decided. Empty if the cube was built from arrays."""
    notes: tuple[str, ...] = ()
    """Sentences for the user about what was left out while the cube was built."""

    def __post_init__(self) -> None:
        shape = (len(self.systems), len(self.items))
        for name, scores in (*self.human_scores.items(), *self.metric_scores.items()):
            if scores.shape != shape:
                raise InputError(f"the scores of {name} have shape {scores.shape}, not {shape}.")
            if np.isinf(scores).any():
                raise InputError(f"a score of {name} is infinite.", remedy="A missing score is NaN.")
        for name in (
            *("human_scores", "metric_scores", "item_metadata", "system_metadata"),
            *("statistics", "text_measures"),
        ):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def qualified_items(self) -> list[str]:
        """The ids of the items, preceded by the name of the data set if it has one, so that they differ
        between data sets.
        """
        prefix = "" if self.dataset == UNNAMED_DATASET else f"{self.dataset}/"
        return [item if item.startswith(prefix) else prefix + item for item in self.items]

    @property
    def content_hash(self) -> str:
        """A hash of names, scores and directions of scores. Cubes with the same content have the same
        hash.
        """
        digest = hashlib.blake2b(digest_size=16)
        metadata = [sorted(self.item_metadata.items()), sorted(self.system_metadata.items())]
        digest.update(repr((self.dataset, self.systems, self.items, metadata)).encode())
        for name, scores in (*sorted(self.human_scores.items()), *sorted(self.metric_scores.items())):
            digest.update(name.encode())
            digest.update(scores.tobytes())
        for name in sorted(self.lower_is_better):
            digest.update(f"lower {name}".encode())
        return digest.hexdigest()

    def get_higher_is_better_scores(self, score_name: str) -> FloatArray:
        """Return the array of a human or metric score, negated if lower is better, so that higher is always
        better.
        """
        scores = {**self.metric_scores, **self.human_scores}
        if score_name not in scores:
            raise UnknownName("score", score_name, scores)
        return orient_scores(scores[score_name], higher_is_better=score_name not in self.lower_is_better)

    def to_score_arrays(
        self, human_score: str, metrics: Sequence[str], cluster_column: str | None = None
    ) -> ScoreArrays:
        """Return one human score and several metrics as arrays in which higher is always better.

        `cluster_column` names the metadata column whose values are resampled together.
        """
        oriented = [self.get_higher_is_better_scores(name) for name in metrics]
        stacked = np.stack(oriented) if oriented else np.empty((0, len(self.systems), len(self.items)))
        clusters = None if cluster_column is None else self.assign_items_to_clusters(cluster_column)
        return ScoreArrays(self.get_higher_is_better_scores(human_score), stacked, clusters)

    def check_metric_names(self, metric_names: Sequence[str] | None) -> tuple[str, ...]:
        """Return the sorted names of the requested metrics, or of all metrics if None. A name that does not
        exist is an error.
        """
        if metric_names is None:
            return tuple(sorted(self.metric_scores))
        for name in metric_names:
            if name not in self.metric_scores:
                raise UnknownName("metric", name, self.metric_scores)
        return tuple(sorted(set(metric_names)))

    def select_metrics(self, metric_names: Sequence[str] | None) -> ScoreCube:
        """Return the scores of only the named metrics, or of all metrics sorted by name."""
        selected = {name: self.metric_scores[name] for name in self.check_metric_names(metric_names)}
        return replace(self, metric_scores=selected)

    def select_items_and_systems(
        self, *, items: NDArray[np.bool_] | None = None, systems: NDArray[np.bool_] | None = None
    ) -> ScoreCube:
        """Return the scores of only those items and systems for which a mask is true. Without a mask, all are
        kept.
        """
        rows = np.arange(len(self.systems)) if systems is None else np.flatnonzero(systems)
        columns = np.arange(len(self.items)) if items is None else np.flatnonzero(items)

        def select_scores(scores_by_name: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
            return {name: array[np.ix_(rows, columns)] for name, array in scores_by_name.items()}

        def select_metadata(
            metadata: Metadata, kept_positions: LongArray
        ) -> dict[str, tuple[str | None, ...]]:
            return {name: tuple(values[k] for k in kept_positions) for name, values in metadata.items()}

        return replace(
            self,
            systems=tuple(self.systems[row] for row in rows),
            items=tuple(self.items[column] for column in columns),
            human_scores=select_scores(self.human_scores),
            metric_scores=select_scores(self.metric_scores),
            item_metadata=select_metadata(self.item_metadata, columns),
            system_metadata=select_metadata(self.system_metadata, rows),
            statistics=select_scores(self.statistics),
            text_measures=select_scores(self.text_measures),
        )

    def select_outputs_with_human_scores(self, human_score: str, *, every_system: bool = True) -> ScoreCube:
        """Return the scores of only those items and systems that have human scores. Systems also need metric
        scores.

        An item needs the human score of every remaining system; without `every_system`, of at least two.
        Notes name the systems that are left out.
        """
        if human_score not in self.human_scores:
            raise UnknownName("human score", human_score, self.human_scores)
        if not self.metric_scores:
            raise InputError(
                f"{self.dataset}: there is no metric to rank: all columns of numbers are human scores.",
                remedy="Add scores with --join FILE, or compute them with: metassay score --per-segment FILE",
            )
        systems, notes = _find_systems_with_human_and_metric_scores(self, human_score)
        is_rated = ~np.isnan(self.human_scores[human_score][systems])
        required = is_rated.shape[0] if every_system else 2
        items = np.asarray(is_rated.sum(axis=0) >= required)
        if not items.any():
            remedies = [
                *warn_of_similar_names(self.systems),
                "To compare each pair of systems on the items that both have, add --missing pairwise.",
            ]
            raise InputError(
                f"{self.dataset}: no item has a {human_score} score for every system.",
                remedy=" ".join(remedies),
            )
        rated = self.select_items_and_systems(items=items, systems=systems)
        if every_system:
            notes += _describe_metrics_with_missing_scores(rated)
        return rated.add_notes(*notes)

    def add_notes(self, *notes: str) -> ScoreCube:
        """Return the same scores with further notes for the user."""
        return replace(self, notes=(*self.notes, *notes))

    def encode_metadata_as_integers(self, metadata_column: str) -> tuple[list[str], LongArray]:
        """Replace the values of a metadata column by numbers. Returns the sorted distinct values, and the
        number of the value of each item.
        """
        if metadata_column not in self.item_metadata:
            raise UnknownName("column with one value per segment", metadata_column, self.item_metadata)
        labels = self.item_metadata[metadata_column]
        values = sorted({label for label in labels if label is not None})
        positions: dict[str | None, int] = {value: position for position, value in enumerate(values)}
        codes = np.array([positions.get(label, -1) for label in labels], dtype=np.int64)
        return values, codes

    def assign_items_to_clusters(self, cluster_column: str) -> LongArray:
        """Number the clusters of items, such as documents, from 0. Returns the number of the cluster of each
        item.

        An item without a value in the column is a cluster of its own.
        """
        values, codes = self.encode_metadata_as_integers(cluster_column)
        without_value = codes < 0
        codes[without_value] = len(values) + np.arange(int(without_value.sum()))
        return codes


def _find_systems_with_human_and_metric_scores(
    score_cube: ScoreCube, human_score: str
) -> tuple[NDArray[np.bool_], list[str]]:
    """Find the systems that have both human and metric scores. Returns a mask and notes on all other
    systems.
    """
    has_human = np.asarray(~np.isnan(score_cube.human_scores[human_score]).all(axis=1))
    has_metric = np.any(
        [~np.isnan(scores).all(axis=1) for scores in score_cube.metric_scores.values()], axis=0
    )
    notes = []
    for is_missing, kind in ((~has_human, "human"), (has_human & ~has_metric, "metric")):
        if is_missing.any():
            names = ", ".join(score_cube.systems[row] for row in np.flatnonzero(is_missing))
            notes.append(f"{score_cube.dataset}: systems without {kind} scores were left out: {names}.")
    rated = np.asarray(has_human & has_metric)
    if not rated.any():
        raise InputError(f"{score_cube.dataset}: no system has both human and metric scores.")
    return rated, notes


def _describe_metrics_with_missing_scores(score_cube: ScoreCube) -> list[str]:
    """Return a note that names the metrics for which no item has scores of all systems."""
    incomplete = [
        name for name, scores in score_cube.metric_scores.items() if np.isnan(scores).any(axis=0).all()
    ]
    if not incomplete:
        return []
    note = (
        f"{score_cube.dataset}: these metrics have no item with scores for all systems, so they are not "
        f"ranked: {', '.join(incomplete)}."
    )
    return [note]
