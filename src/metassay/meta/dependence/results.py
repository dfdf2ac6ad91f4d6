"""What is known about the system dependence of every metric, and what it does to rankings of systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from metassay.errors import UnknownName
from metassay.meta.dependence.curves import Curves, Sensitivity, curves
from metassay.meta.dependence.deviations import Difference, Split, SystemDependence, spread
from metassay.meta.dependence.null_hypotheses import pooled_pearson
from metassay.meta.dependence.scored_outputs import Cells
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import Counts


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


@dataclass(frozen=True)
class LocalDependence:
    """SysDep within one context (a domain, say)."""

    column: str
    context: str
    outputs: int
    dependence: SystemDependence
    constant: float
    residual_range: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "column": self.column,
            "context": self.context,
            "outputs": self.outputs,
            "sysdep": self.dependence.sysdep,
            "low": self.dependence.low,
            "high": self.dependence.high,
            "constant": self.constant,
            "residual_range": self.residual_range,
        }


@dataclass(frozen=True)
class MetricDependence:
    """What one metric does to every group, the part that is shrinkage, and what becomes of the ranking."""

    metric: str
    cells: Cells = field(repr=False)
    counts: Counts = field(repr=False)
    dependence: SystemDependence
    split: Split
    constant: float
    p_equal: float
    p_fair: float | None
    leave_one_out: FloatArray
    rankings: Rankings
    inversions: tuple[Inversion, ...]
    estimators: dict[str, FloatArray]
    local: tuple[LocalDependence, ...] = ()
    sensitivity: tuple[Sensitivity, ...] = ()

    @property
    def ratio(self) -> float | None:
        """SysDep as a share of what a metric that knows nothing has."""
        return self.dependence.sysdep / self.constant if self.constant > 0 else None

    def curves(self, points: int = 60) -> Curves:
        """f_G and every f_k with bands."""
        return curves(self.cells, self.counts, points=points)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, `null` where there is none."""
        return self.figures() | {
            "deviations": self._by_group(self.dependence.deviations),
            "shrinkage": self._by_group(self.split.shrinkage),
            "residual": self._by_group(self.split.residual),
            "inversions": [asdict(pair) | {"explained": pair.explained} for pair in self.inversions],
            "deviations_low": self._by_group(self.dependence.deviations_low),
            "deviations_high": self._by_group(self.dependence.deviations_high),
            "leave_one_out": self._by_group(self.leave_one_out),
            "human_means": self._by_group(self.cells.human_means),
            "metric_means": self._by_group(self.cells.metric_means),
            "remapped_means": self._by_group(self.cells.human_means + self.dependence.deviations),
            "rankings": {name: list(order) for name, order in asdict(self.rankings).items()},
            "estimators": {name: float(spread(values)) for name, values in self.estimators.items()},
            "local": [local.to_dict() for local in self.local],
            "sensitivity": [asdict(row) for row in self.sensitivity],
        }

    def figures(self) -> dict[str, Any]:
        """The figures that are one number for the metric."""
        return {
            "metric": self.metric,
            "sysdep": self.dependence.sysdep,
            "low": self.dependence.low,
            "high": self.dependence.high,
            "constant": self.constant,
            "ratio": self.ratio,
            "slope": self.split.slope,
            "residual_range": self.split.residual_range,
            "p_equal": self.p_equal,
            "p_fair": self.p_fair,
            "pearson": pooled_pearson(self.cells),
            "outputs": len(self.cells.human),
        }

    def _by_group(self, values: FloatArray | None) -> dict[str, float | None]:
        if values is None:
            return dict.fromkeys(self.cells.names)
        known = zip(self.cells.names, values.tolist())
        return {name: None if math.isnan(value) else value for name, value in known}


@dataclass(frozen=True)
class MetricComparison:
    """Two metrics: the difference of their SysDep, a minus b, on the outputs that both have scored."""

    a: str
    b: str
    difference: Difference

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {"a": self.a, "b": self.b} | asdict(self.difference)


@dataclass(frozen=True)
class DependenceReport:
    """System dependence of all metrics against one human score; metrics sorted by SysDep, the lowest first.

    `left_out` gives, for each metric that could not be measured, the reason.
    """

    human: str
    by: str
    metrics: tuple[MetricDependence, ...]
    comparisons: tuple[MetricComparison, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, metric: str) -> MetricDependence:
        """One metric's part."""
        for entry in self.metrics:
            if entry.metric == metric:
                return entry
        raise UnknownName("metric", metric, [entry.metric for entry in self.metrics])

    def curves(self) -> dict[str, dict[str, Any]]:
        """f_G and every f_k of each metric, as plain values: what the charts are drawn from."""
        return self._curves

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay depend`."""
        return self._content

    def to_frame(self) -> pl.DataFrame:
        """One row per metric: SysDep, what it means, and how many pairs of systems are inverted."""
        return self._frame

    @cached_property
    def _curves(self) -> dict[str, dict[str, Any]]:
        return {entry.metric: entry.curves().to_dict() for entry in self.metrics}

    @cached_property
    def _content(self) -> dict[str, Any]:
        return {
            "schema_version": 1,
            "human": self.human,
            "by": self.by,
            "metrics": [entry.to_dict() for entry in self.metrics],
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
            "left_out": self.left_out,
        }

    @cached_property
    def _frame(self) -> pl.DataFrame:
        return pl.DataFrame([row(entry) for entry in self.metrics], schema=ROW)

    def written_up(self, *, drawn: bool = False) -> DependenceReport:
        """The same, with tables and, if `drawn`, curves ready: what is read off it later takes no time."""
        self.to_frame()
        self.to_dict()
        if drawn:
            self.curves()
        return self


ROW: dict[str, type[pl.DataType]] = {
    "metric": pl.String,
    "sysdep": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "constant": pl.Float64,
    "ratio": pl.Float64,
    "residual_range": pl.Float64,
    "p_equal": pl.Float64,
    "p_fair": pl.Float64,
    "flattered": pl.String,
    "wronged": pl.String,
    "inversions": pl.Int64,
    "explained": pl.Int64,
}


def row(entry: MetricDependence) -> dict[str, Any]:
    """One metric's line in the table; flattered and wronged beyond shrinkage, by the largest residuals."""
    residual, names = entry.split.residual, entry.cells.names
    figures = entry.figures()
    return {name: figures[name] for name in ROW if name in figures} | {
        "flattered": names[int(residual.argmax())],
        "wronged": names[int(residual.argmin())],
        "inversions": len(entry.inversions),
        "explained": sum(pair.explained for pair in entry.inversions),
    }


def sorted_by_sysdep(entries: Sequence[MetricDependence]) -> tuple[MetricDependence, ...]:
    """The least dependent metric first, equal ones by name."""
    return tuple(sorted(entries, key=lambda entry: (entry.dependence.sysdep, entry.metric)))


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
