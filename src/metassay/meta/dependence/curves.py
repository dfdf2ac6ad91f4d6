"""The fitted functions themselves, f_k and f_G with confidence bands, on a common grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.meta.dependence.cells import Cells
from metassay.meta.dependence.fits import CONFIDENCE
from metassay.stats.arrays import FloatArray, plain
from metassay.stats.isotonic import Counts, fit_isotonic, predict
from metassay.stats.score_order import sort_scores


@dataclass(frozen=True)
class Curve:
    """One function: mean and pointwise 95 % band of its bootstrap fits; NaN outside its own scores."""

    name: str
    mean: FloatArray
    low: FloatArray
    high: FloatArray

    def to_dict(self) -> dict[str, list[float | None]]:
        """As plain values, `null` where the function is not defined."""
        return {
            name: plain(values)
            for name, values in (("mean", self.mean), ("low", self.low), ("high", self.high))
        }


@dataclass(frozen=True)
class Curves:
    """`pooled` is f_G, `own` holds f_k of each group; all on `grid`."""

    grid: FloatArray
    pooled: Curve
    own: tuple[Curve, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values: what the charts are drawn from."""
        return {
            "grid": self.grid.tolist(),
            "global": self.pooled.to_dict(),
            "groups": {curve.name: curve.to_dict() for curve in self.own},
        }


def curves(cells: Cells, counts: Counts, *, points: int = 60) -> Curves:
    """f_G and every f_k on quantiles of the metric's scores; without resamples one fit, and no band."""
    grid = np.unique(np.quantile(cells.metric, np.linspace(0, 1, points)))
    if not len(counts):
        counts = np.ones((1, cells.clusters), dtype=np.uint32)
    pooled = _curve("global", cells, np.ones(len(cells.group), dtype=bool), counts, grid)
    own = tuple(_curve(name, cells, cells.group == k, counts, grid) for k, name in enumerate(cells.names))
    return Curves(grid, pooled, own)


def _curve(name: str, cells: Cells, mine: NDArray[np.bool_], counts: Counts, grid: FloatArray) -> Curve:
    scores = sort_scores(cells.metric[mine])
    human, weight, cluster = cells.human[mine], cells.weight[mine], cells.cluster[mine]
    fits = np.stack(
        [predict(scores, fit_isotonic(scores, human, weight * count[cluster]), grid) for count in counts]
    )
    fits = fits[~np.isnan(fits).any(axis=1)]
    outside = (grid < scores.knots[0]) | (grid > scores.knots[-1])
    tail = (1 - CONFIDENCE) / 2
    summaries = (fits.mean(axis=0), np.quantile(fits, tail, axis=0), np.quantile(fits, 1 - tail, axis=0))
    mean, low, high = (np.where(outside, np.nan, summary) for summary in summaries)
    return Curve(name, mean, low, high)
