"""Directions of scores: for which human scores and metrics lower is better, and their reversal.

All comparisons work on oriented scores, for which higher is better. The direction of a score follows from
the metric that it is known to come from, unless the user says otherwise (`--lower-is-better`,
`--higher-is-better`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName

if TYPE_CHECKING:
    from metassay.data.dataset import Dataset

ScoresT = TypeVar("ScoresT", float, NDArray[np.float64])


@dataclass(frozen=True)
class RequestedDirections:
    """The scores for which the user said that lower, or higher, is better."""

    lower_is_better: tuple[str, ...] = ()
    higher_is_better: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The scores whose direction the user named."""
        return (*self.lower_is_better, *self.higher_is_better)

    def check(self, known: Collection[str], kind: str = "score") -> None:
        """Raise an error if a name is unknown or has both directions."""
        for name in self.names:
            if name not in known:
                raise UnknownName(kind, name, known)
        contradictory = {*self.lower_is_better} & {*self.higher_is_better}
        if contradictory:
            names = ", ".join(sorted(contradictory))
            raise InputError(f"{names} cannot be both lower and higher is better.")

    def apply_to(self, lower_is_better: Collection[str]) -> frozenset[str]:
        """Return the names for which lower is better, after the request has changed some of them."""
        return frozenset(({*lower_is_better} | {*self.lower_is_better}) - {*self.higher_is_better})

    def without(self, names: Collection[str]) -> RequestedDirections:
        """Return the request without `--lower-is-better` for these names, which are dealt with."""
        remaining = tuple(name for name in self.lower_is_better if name not in names)
        return replace(self, lower_is_better=remaining)


def orient_scores(scores: ScoresT, *, higher_is_better: bool) -> ScoresT:
    """Return the scores with the sign that makes higher better.

    >>> orient_scores(0.25, higher_is_better=False)
    -0.25
    """
    if higher_is_better:
        return scores
    return -scores


def orient_human_scores(
    dataset: Dataset, requested: RequestedDirections
) -> tuple[Dataset, RequestedDirections]:
    """Reverse the human scores for which the user said that lower is better, with a note for each.

    Also returns the part of the request that concerns other scores.
    """
    columns = [name for name in requested.lower_is_better if name in dataset.human]
    if not columns:
        return dataset, requested
    notes = [f"Of {name} lower is better: it is turned around." for name in columns]
    reversed_columns = [-dataset.outputs[name] for name in columns]
    oriented = replace(dataset, outputs=dataset.outputs.with_columns(reversed_columns))
    return oriented.with_notes(*notes), requested.without(columns)


def note_reversed_scores(reversed_scores: Iterable[str], requested: RequestedDirections) -> list[str]:
    """Return a note that names the scores that were reversed without a request of the user."""
    unrequested = sorted({*reversed_scores} - {*requested.names})
    if not unrequested:
        return []
    note = (
        f"Lower is better, so these scores are turned around: {', '.join(unrequested)}. "
        "Where that was done before, keep them with --higher-is-better."
    )
    return [note]


def looks_like_penalties(name: str, scores: NDArray[np.float64]) -> bool:
    """Whether human scores seem to count errors: they are called MQM and are never negative."""
    present = scores[~np.isnan(scores)]
    if "mqm" not in name.lower() or not len(present):
        return False
    return bool((present >= 0).all() and (present > 0).any())


def note_possible_penalties(name: str, scores: NDArray[np.float64]) -> list[str]:
    """Return a note if human scores that are taken as higher is better seem to count errors."""
    if not looks_like_penalties(name, scores):
        return []
    note = (
        f"{name} is never negative, and higher is taken for better. If it counts errors, say so: "
        f"--lower-is-better {name}."
    )
    return [note]
