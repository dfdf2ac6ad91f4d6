"""The part of a cube that people have rated, and what tells cubes of one data set from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.fingerprint import DataFingerprint, fingerprint_data
from metassay.data.score_cube import Cube
from metassay.errors import InputError, UnknownName


@dataclass(frozen=True)
class RatedPart:
    """Systems with human and metric scores, segments with human scores; `dropped` segments lack one."""

    cube: Cube
    metrics: tuple[str, ...]
    dropped: int


def rated_part(cube: Cube, human: str, metrics: Sequence[str] | None, *, pairwise: bool) -> RatedPart:
    """The rated part under these metrics, or all; notes of the cube name what was left out.

    Segments have the human score of every system; with `pairwise`, of two at least.
    """
    if human not in cube.human:
        raise UnknownName("human score", human, cube.human)
    names = cube.chosen_metrics(metrics)
    if not names:
        raise InputError(
            f"{cube.dataset}: there is no metric to rank: no column of numbers beside the human scores.",
            remedy="Add scores with --join FILE, or compute them with: metassay score --per-segment FILE",
        )
    kept, notes = _systems(cube, human, names)
    scored = ~np.isnan(cube.human[human][kept])
    seen = np.asarray(scored.sum(axis=0) >= 2 if pairwise else scored.all(axis=0))
    if not seen.any():
        raise InputError(
            f"{cube.dataset}: no segment has a {human} score of every system.",
            remedy="Compare each pair of systems on what both have: --missing pairwise.",
        )
    part = cube.within(seen, kept)
    idle = [name for name in names if np.isnan(part.oriented(name)).any(axis=0).all()]
    if idle and not pairwise:
        notes.append(f"{cube.dataset}: no segment has a score of every system by {', '.join(idle)}.")
    return RatedPart(replace(part, notes=(*cube.notes, *notes)), names, int((~seen).sum()))


def rated_parts(
    cubes: Sequence[Cube], human: str, metrics: Sequence[str] | None, *, pairwise: bool
) -> list[RatedPart]:
    """`rated_part` of each cube."""
    return [rated_part(cube, human, metrics, pairwise=pairwise) for cube in cubes]


def _systems(cube: Cube, human: str, metrics: Sequence[str]) -> tuple[NDArray[np.bool_], list[str]]:
    """Systems with human and metric scores, and a note on each kind of other ones."""
    seen = np.asarray(~np.isnan(cube.human[human]).all(axis=1))
    scored = np.any([~np.isnan(cube.metrics[name]).all(axis=1) for name in metrics], axis=0)
    notes = []
    for lacking, what in ((~seen, "human"), (seen & ~scored, "metric")):
        if lacking.any():
            names = ", ".join(name for name, gone in zip(cube.systems, lacking) if gone)
            notes.append(f"{cube.dataset}: left out, since they have no {what} scores: {names}.")
    kept = np.asarray(seen & scored)
    if kept.sum() < 2:
        raise InputError(f"{cube.dataset}: fewer than two systems have human and metric scores.")
    return kept, notes


def marks_of(found: Sequence[Cube]) -> DataFingerprint:
    """The marks of all data sets together; items are named as in a data set of outputs."""
    human = sorted({name for cube in found for name in cube.human})
    nothing = pl.lit(None, dtype=pl.Float64)
    frames = [
        pl.DataFrame(
            {
                "item": np.tile(cube.items, len(cube.systems)),
                "system": np.repeat(cube.systems, len(cube.items)),
            }
            | {name: scores.ravel() for name, scores in cube.human.items()}
        ).select("item", "system", *(name if name in cube.human else nothing.alias(name) for name in human))
        for cube in found
    ]
    return fingerprint_data(pl.concat(frames), human)


def only_human(found: Sequence[Cube], declared: Sequence[str]) -> str:
    """The human score asked for, the first where several are declared, or the only one there is."""
    if declared:
        return declared[0]
    known = list(dict.fromkeys(name for cube in found for name in cube.human if ":" not in name))
    if not known:
        raise InputError("there is no column of human scores.", remedy="Name one with --human COLUMN.")
    if len(known) > 1:
        raise InputError(
            f"there are several human scores: {', '.join(known)}.", remedy="Choose one with --human COLUMN."
        )
    return known[0]
