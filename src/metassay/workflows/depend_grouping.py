"""From a table of scores to outputs that are grouped, clustered, weighted and oriented as the user asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.data.cube import ScoreTable
from metassay.errors import UnknownName
from metassay.meta.dependence.outputs import ScoredOutputs, scored_outputs

SYSTEM = "system"
DOMAIN = "domain"


@dataclass(frozen=True)
class Grouping:
    """What to compare: all metrics or those named, some turned around; by which column, in which units.

    Without `contexts` system dependence is also measured within domains, where there are any.
    """

    human: str
    by: str = SYSTEM
    metrics: tuple[str, ...] = ()
    lower_is_better: tuple[str, ...] = ()
    contexts: tuple[str, ...] | None = None
    cluster: str | None = None
    weight: str | None = None

    def outputs(self, table: ScoreTable) -> ScoredOutputs:
        """The table, a row per output; outputs without a group are left out."""
        systems, segments = len(table.systems), len(table.segments)
        system = np.repeat(table.systems, segments)
        labels = system if self.by == SYSTEM else _output_labels(table, self.by)
        keep = np.array([label is not None for label in labels])
        weight = None if self.weight is None else self._metrics(table, [self.weight])[self.weight]
        return scored_outputs(
            table.human[self.human].ravel()[keep],
            {name: scores.ravel()[keep] for name, scores in self._metrics(table, self.metrics).items()},
            system=system[keep],
            item=np.tile([f"{place:09}" for place in range(segments)], systems)[keep],
            group=labels[keep],
            cluster=None if self.cluster is None else np.tile(_clusters(table, self.cluster), systems)[keep],
            weight=None if weight is None else np.nan_to_num(weight.ravel()[keep]),
            contexts={name: _named(_output_labels(table, name))[keep] for name in self._contexts(table)},
        )

    def _metrics(self, table: ScoreTable, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        for name in (*names, *self.lower_is_better):
            if name not in table.metrics:
                raise UnknownName("metric", name, table.metrics)
        chosen = names or [name for name in table.metrics if name != self.weight]
        lower = self.lower_is_better
        return {name: -table.metrics[name] if name in lower else table.metrics[name] for name in chosen}

    def _contexts(self, table: ScoreTable) -> list[str]:
        wanted = (DOMAIN,) if self.contexts is None else self.contexts
        return [name for name in wanted if name != self.by and (self.contexts or name in table.labels)]


def _output_labels(table: ScoreTable, column: str) -> NDArray[np.object_]:
    """The value of a column for each output, systems first; None where there is none."""
    if column in table.labels:
        return np.tile(np.array(table.labels[column], dtype=np.object_), len(table.systems))
    if column in table.system_labels:
        return np.repeat(np.array(table.system_labels[column], dtype=np.object_), len(table.segments))
    raise UnknownName("column of segments or systems", column, (SYSTEM, *table.labels, *table.system_labels))


def _named(labels: NDArray[np.object_]) -> NDArray[np.str_]:
    return np.array(["(none)" if label is None else label for label in labels])


def _clusters(table: ScoreTable, column: str) -> list[str]:
    """Clusters of segments; a segment without one stands for itself."""
    if column not in table.labels:
        raise UnknownName("column of segments", column, table.labels)
    return [
        f"segment {item}" if label is None else f"cluster {label}"
        for label, item in zip(table.labels[column], table.segments)
    ]
