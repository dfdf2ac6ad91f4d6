"""Does one metric depend on systems more than another? A paired bootstrap of the difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.errors import InputError
from metassay.meta.dependence.cells import Cells
from metassay.meta.dependence.fits import (
    CONFIDENCE,
    SystemDependence,
    measure,
    spread,
)
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import Counts

ROUNDING = 1e-9


@dataclass(frozen=True)
class Difference:
    """SysDep of a minus SysDep of b: estimate, symmetric 95 % interval, two-sided p-value."""

    difference: float
    low: float
    high: float
    p: float


def compare_dependence(cells: Cells, other: FloatArray, counts: Counts) -> Difference:
    """Compare the metric of `cells` with another one on the same cells and resamples."""
    return paired_difference(measure(cells, counts), measure(cells.with_metric(other), counts))


def paired_difference(a: SystemDependence, b: SystemDependence) -> Difference:
    """The difference of two metrics measured on the same resamples.

    p is the share of resamples in which the difference strays from that of the single fits by as much as that
    is from 0.
    """
    if a.replicates is None or b.replicates is None:
        raise InputError("comparing two metrics takes a bootstrap.", remedy="Ask for bootstraps=200.")
    estimate = a.sysdep - b.sysdep
    single = spread(a.single) - spread(b.single)
    error = spread(a.replicates) - spread(b.replicates) - single
    half = float(np.quantile(np.abs(error), CONFIDENCE))
    strays = np.count_nonzero(np.abs(error) >= np.abs(single) - ROUNDING * (a.sysdep + b.sysdep))
    return Difference(estimate, estimate - half, estimate + half, float((1 + strays) / (1 + len(error))))
