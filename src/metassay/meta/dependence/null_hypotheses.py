"""Is it more than chance? Two null hypotheses about a metric, each with its own simulated worlds.

*Equal*: E[h | m] is the same for every system. Residuals h − f_G(m) then belong to no system in particular:
they are exchanged between the systems of an item, and SysDep is measured again. With enough data any noisy
metric fails this one. It holds its level where residuals spread alike in all systems: with one system
three times as noisy as the others it rejects in 12 % instead of 5.

*Fair*: the metric is the human score plus independent noise, as much of it as gives the metric's own
correlation. That shrinks every system towards the mean but prefers none; the statistic is the range of the
residual ED. Noise of one size is part of the hypothesis: a metric that sees large errors only fails it,
however evenly it does so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.meta.dependence.deviations import error_scale, expected_deviations, split_deviations, spread
from metassay.meta.dependence.scored_outputs import Cells
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.compilation import kernel
from metassay.stats.isotonic import fit_isotonic, group_means_by_score, group_means_by_value, predict

DRAWS = 999
BATCH = 16


def p_equal(cells: Cells, rng: np.random.Generator, draws: int = DRAWS) -> float:
    """P-value of SysDep if E[h | m] were the same for every group."""
    observed = float(spread(expected_deviations(cells)))
    return _p_value(observed, equal_null(cells, rng, draws), cells)


def p_fair(cells: Cells, rng: np.random.Generator, draws: int = DRAWS) -> float | None:
    """P-value of the residual range if the metric were noisy but fair; None for two groups: no residual."""
    if cells.groups < 3:
        return None
    observed = split_deviations(expected_deviations(cells), cells.human_means).residual_range
    return _p_value(observed, fair_null(cells, rng, draws), cells)


def equal_null(cells: Cells, rng: np.random.Generator, draws: int = DRAWS) -> FloatArray:
    """SysDep in `draws` worlds where the residuals are exchanged.

    Systems exchange them within an item, in the same way for all items of a cluster, and f_G is fitted again.
    Where every item belongs to one group (domains, speakers), whole clusters exchange their groups instead.
    """
    fit = fit_isotonic(cells.sorted_metric, cells.human, cells.weight)
    fitted = predict(cells.sorted_metric, fit, cells.metric)
    residual = (cells.human - fitted) * error_scale(fit, len(fitted))
    for holder in (cells.cluster, cells.item):
        if _is_nested(holder, cells.group):
            return _relabelled(cells, residual, holder, rng, draws)
    return _exchanged(cells, fitted, residual, rng, draws)


def fair_null(cells: Cells, rng: np.random.Generator, draws: int = DRAWS) -> FloatArray:
    """Residual range of `draws` metrics h + N(0, σ²), σ matched to the metric's pooled Pearson correlation.

    Where that is not positive, noise is all the metric has.
    """
    correlation = pooled_pearson(cells)
    signal, noise = (
        (cells.human, noise_for(cells, correlation)) if correlation > 0 else (0.0 * cells.human, 1.0)
    )
    null = []
    for batch in _batches(draws):
        metrics = signal + noise * rng.standard_normal((batch, len(cells.human)))
        remapped = group_means_by_score(metrics, cells.human, cells.weight, cells.group, cells.groups)
        null += [
            split_deviations(row, cells.human_means).residual_range for row in remapped - cells.human_means
        ]
    return np.array(null)


def pooled_pearson(cells: Cells) -> float:
    """Correlation of metric and human score over all cells; 0 where either is constant."""
    human = cells.human - np.average(cells.human, weights=cells.weight)
    metric = cells.metric - np.average(cells.metric, weights=cells.weight)
    scale = np.sqrt((cells.weight @ human**2) * (cells.weight @ metric**2))
    return float(np.clip(cells.weight @ (human * metric) / scale, -1, 1)) if scale > 0 else 0.0


def noise_for(cells: Cells, correlation: float) -> float:
    """Standard deviation of the noise that, added to the human score, gives this correlation with it."""
    mean = np.average(cells.human, weights=cells.weight)
    variance = np.average((cells.human - mean) ** 2, weights=cells.weight)
    return float(np.sqrt(variance * (1 / correlation**2 - 1)))


def _p_value(observed: float, null: FloatArray, cells: Cells) -> float:
    """Share of worlds, ours among them, that reach the observed value; rounding makes no difference."""
    tolerance = 1e-9 * float(np.ptp(cells.human))
    return float((1 + np.count_nonzero(null >= observed - tolerance)) / (1 + len(null)))


def _batches(draws: int) -> list[int]:
    """How many draws to hold in memory at a time."""
    return [min(BATCH, draws - start) for start in range(0, draws, BATCH)]


def _is_nested(holder: LongArray, group: LongArray) -> bool:
    """Whether everything that a holder (item, cluster) holds belongs to one group."""
    pairs = np.unique(np.stack([holder, group]), axis=1).shape[1]
    return bool(pairs == holder.max() + 1)


def _relabelled(
    cells: Cells, residual: FloatArray, holder: LongArray, rng: np.random.Generator, draws: int
) -> FloatArray:
    """SysDep when whole holders exchange their groups; f_G does not change."""
    label = np.zeros(holder.max() + 1, dtype=np.int64)
    label[holder] = cells.group
    sums, totals = np.bincount(holder, cells.weight * residual), np.bincount(holder, cells.weight)
    null = np.empty(draws)
    for draw in range(draws):
        shuffled = rng.permutation(label)
        null[draw] = spread(np.bincount(shuffled, sums) / np.bincount(shuffled, totals))
    return null


def _exchanged(
    cells: Cells, fitted: FloatArray, residual: FloatArray, rng: np.random.Generator, draws: int
) -> FloatArray:
    """SysDep when the systems of an item exchange residuals, refitted."""
    units = int(cells.unit.max()) + 1
    table = np.full((cells.item.max() + 1, units), -1, dtype=np.int64)
    table[cells.item, cells.unit] = np.arange(len(cells.item))
    cluster = np.zeros(len(table), dtype=np.int64)
    cluster[cells.item] = cells.cluster
    null = []
    for batch in _batches(draws):
        human = fitted + np.stack(
            [_exchange(table, cluster, rng.random((cells.clusters, units)), residual) for _ in range(batch)]
        )
        remapped = group_means_by_value(cells.sorted_metric, human, cells.weight, cells.group, cells.groups)
        null.append(spread(remapped - np.stack([cells.group_means(row) for row in human])))
    return np.concatenate(null) if null else np.empty(0)


@kernel
def _exchange(
    table: NDArray[np.int64], cluster: NDArray[np.int64], uniform: FloatArray, residual: FloatArray
) -> FloatArray:
    """Residuals dealt out anew among the systems of each item, in one order of the systems per cluster.

    `table[item, unit]` is a cell or -1. An item that lacks systems uses its cluster's order without them.
    """
    units = table.shape[1]
    orders = np.empty(uniform.shape, np.int64)
    for c in range(len(uniform)):
        orders[c] = np.arange(units)
        for last in range(units - 1, 0, -1):
            other = int(uniform[c, last] * (last + 1))
            orders[c, last], orders[c, other] = orders[c, other], orders[c, last]
    swapped = residual.copy()
    for item in range(len(table)):
        source = 0
        order = orders[cluster[item]]
        for unit in range(units):
            if table[item, unit] < 0:
                continue
            while table[item, order[source]] < 0:
                source += 1
            swapped[table[item, unit]] = residual[table[item, order[source]]]
            source += 1
    return swapped
