"""What a mapping of a metric's scores gains and loses in the eyes of people who did not help to fit it.

Every fold is judged by itself, and values are means over folds: SPA and PA of the systems' order, Kendall's
tau within segments, how many pairs of outputs fall together that the metric tells apart, and how far systems
are flattered apart from each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metassay.meta.people.intervals import percentile_interval
from metassay.meta.people.meta_metrics import Judged, meta_metric
from metassay.meta.people.significance import plain
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.random import CORRECTION_DRAWS, branch

RAW, POOLED, UNSEEN, OWN = "raw", "f_G", "f_G unseen", "f_k"
"""A metric as it is; read through f_G; through an f_G that saw neither of two systems; through f_k."""
_SAME = 1e-12


class Mapped(Protocol):
    """Scores as mapped, `[systems, segments]`, and pairs of unseen systems, `[pairs, segments]`."""

    @property
    def pooled(self) -> FloatArray:
        """Through f_G."""
        ...

    @property
    def own(self) -> FloatArray:
        """Through f_k."""
        ...

    @property
    def unseen(self) -> FloatArray:
        """Differences of two systems through an f_G that saw neither."""
        ...

    @property
    def fold(self) -> LongArray:
        """The fold of each segment."""
        ...


class Trial:
    """Human scores `[systems, segments]` against which mappings are tried; the same resamples for all."""

    def __init__(self, human: FloatArray, clusters: LongArray, *, draws: int, seed: int) -> None:
        units = int(clusters.max()) + 1
        rng = branch(seed, CORRECTION_DRAWS)
        weights = rng.multinomial(units, np.full(units, 1 / units), size=draws)
        self.human = human
        self.weights = np.concatenate([np.ones((1, len(clusters))), weights[:, clusters]])
        """The first row is the data itself."""

    def rows(self, metric: FloatArray, mapped: Mapped) -> list[dict[str, Any]]:
        """One row per mapping; empty where fewer than two systems are rated, or no segment is complete."""
        rated = np.flatnonzero(~(np.isnan(self.human) | np.isnan(metric)).all(axis=1))
        complete = ~np.isnan(self.human[rated] + metric[rated] + mapped.pooled[rated] + mapped.own[rated])
        segments = np.asarray(complete.all(axis=0))
        if len(rated) < 2 or not segments.any():
            return []
        part = np.ix_(rated, np.flatnonzero(segments))
        scores = {RAW: metric[part], POOLED: mapped.pooled[part], OWN: mapped.own[part]}
        human, fold = self.human[part], mapped.fold[segments]
        i, j = np.triu_indices(len(rated), 1)
        gaps = {name: own[i] - own[j] for name, own in scores.items()}
        gaps[UNSEEN] = mapped.unseen[np.ix_(_places(len(self.human), rated), np.flatnonzero(segments))]
        order = {
            name: np.stack([human[i] - human[j], np.where(np.abs(gaps[name]) < _SAME, 0.0, gaps[name])])
            for name in (RAW, POOLED, UNSEEN, OWN)
        }
        agreement = {
            meta: self._by_fold(meta, order, fold, self.weights[:, segments]) for meta in ("spa", "pa")
        }
        within = _within_segments(human, scores)
        return [
            {
                "mapping": name,
                "segments": int(segments.sum()),
                **_gains(agreement, name),
                "kendall_item": within.get(name),
                "tied": None if name == UNSEEN else _tied(gaps[RAW], gaps[name]),
                "sysdep": _spread(human, scores[name], fold) if name in {POOLED, OWN} else None,
            }
            for name in order
        ]

    @staticmethod
    def _by_fold(
        meta: str, order: Mapping[str, FloatArray], fold: LongArray, weights: FloatArray
    ) -> dict[str, FloatArray]:
        """The mean over folds of a meta-metric, `[1 + draws]`, for each mapping."""
        judge = meta_metric(meta)
        return {
            name: np.mean(
                [judge.with_gaps(gaps, weights * (fold == held)) for held in np.unique(fold)], axis=0
            )
            for name, gaps in order.items()
        }


def _places(systems: int, rated: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the pairs of rated systems stand among all pairs."""
    place = np.full((systems, systems), -1)
    place[np.triu_indices(systems, 1)] = np.arange(systems * (systems - 1) // 2)
    i, j = np.triu_indices(len(rated), 1)
    found: NDArray[np.int64] = place[rated[i], rated[j]]
    return found


def _gains(agreement: Mapping[str, Mapping[str, FloatArray]], name: str) -> dict[str, float | None]:
    """SPA and PA of a mapping, and what it has more than the metric as it is, with 95 % intervals."""
    found: dict[str, float | None] = {}
    for meta, values in agreement.items():
        more = values[name] - values[RAW]
        low, high = percentile_interval(more[1:])
        found[meta] = plain(float(values[name][0]))
        for part, value in (("gain", more[0]), ("low", low), ("high", high)):
            found[f"{meta}_{part}"] = None if name == RAW else plain(float(value))
    return found


def _within_segments(human: FloatArray, scores: Mapping[str, FloatArray]) -> dict[str, float | None]:
    values = meta_metric("kendall:item").values(Judged(human, np.stack(list(scores.values()))))
    return {name: plain(float(value)) for name, value in zip(scores, values)}


def _tied(raw: FloatArray, mapped: FloatArray) -> float | None:
    """Of the pairs of outputs that the metric tells apart, the share that the mapping does not."""
    apart = raw != 0
    return float((np.abs(mapped[apart]) < _SAME).mean()) if apart.any() else None


def _spread(human: FloatArray, mapped: FloatArray, fold: LongArray) -> float:
    """How much further one system is flattered than another, within a fold, on average."""
    ranges = []
    for held in np.unique(fold):
        deviation = (mapped - human)[:, fold == held].mean(axis=1)
        ranges.append(deviation.max() - deviation.min())
    return float(np.mean(ranges))
