"""What system dependence does to rankings: three orders of the systems, and each pair a metric inverts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metassay.meta.dependence.cells import Cells
from metassay.stats.arrays import FloatArray


@dataclass(frozen=True)
class Rankings:
    """Groups best first: by mean human score, by mean metric score, and by mean f_G(m)."""

    human: tuple[str, ...]
    metric: tuple[str, ...]
    remapped: tuple[str, ...]


@dataclass(frozen=True)
class Inversion:
    """Two groups that people put in one order and the metric's means in the other.

    `human_gap` > 0 and `metric_gap` < 0 are better minus worse. `deviation_gap` is by how much more the worse
    one is flattered, ED(worse) − ED(better). Where that exceeds the human gap the deviations *explain* the
    inversion: the remapped means invert it too. Elsewhere it comes from averaging on the metric's scale.
    """

    better: str
    worse: str
    human_gap: float
    metric_gap: float
    deviation_gap: float

    @property
    def explained(self) -> bool:
        """Whether the expected deviations alone invert the pair."""
        return self.deviation_gap > self.human_gap


def rankings(cells: Cells, deviations: FloatArray) -> Rankings:
    """The three orders; the remapped mean is the human mean plus the expected deviation."""
    return Rankings(
        ranked(cells.names, cells.human_means),
        ranked(cells.names, cells.metric_means),
        ranked(cells.names, cells.human_means + deviations),
    )


def ranked(names: Sequence[str], means: FloatArray) -> tuple[str, ...]:
    """Names by falling mean, equal ones by name."""
    return tuple(name for _, name in sorted(zip((-means).tolist(), names)))


def inversions(cells: Cells, deviations: FloatArray) -> tuple[Inversion, ...]:
    """Every inverted pair, the largest human gap (the worst case) first."""
    human, metric = cells.human_means, cells.metric_means
    found = [
        Inversion(
            cells.names[i],
            cells.names[j],
            float(human[i] - human[j]),
            float(metric[i] - metric[j]),
            float(deviations[j] - deviations[i]),
        )
        for i in range(cells.groups)
        for j in range(cells.groups)
        if human[i] > human[j] and metric[i] < metric[j]
    ]
    return tuple(sorted(found, key=lambda pair: (-pair.human_gap, pair.better, pair.worse)))
