"""Do perturbations do what their labels say? How often they apply, how much they change, who disagrees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from metassay.data.dataset import Dataset
from metassay.perturbations.pairs import Pairs


@dataclass(frozen=True)
class Validity:
    """What is known about one perturbation method."""

    perturbation: str
    outputs: int
    """Outputs it was tried on."""
    applied: float
    """Share of outputs that it made a different text of."""
    unchanged: float
    """Share of outputs that came back as they were, and were discarded."""
    pairs: int
    edit_distance: float | None
    """Mean number of characters edited; None for rankings or without pairs."""
    edit_share: float | None
    """Mean of edited characters over the length of the longer text."""
    judged: int
    """Pairs whose worse text is another system's output for the item and was scored by people."""
    disagreements: int
    """Judged pairs in which people scored the text that is called worse higher."""
    ties: int
    """Judged pairs in which people scored both alike."""


def perturbation_validity(pairs: Pairs, dataset: Dataset) -> list[Validity]:
    """One row per method, in the order of their names.

    Is y′ really worse? A synonym often is not, and then an "error" of the metric is the label's. Where some
    system returned exactly y′ for the item and people scored it, their scores decide.
    """
    judgements = _judgements(pairs.frame, dataset)
    frames = {str(name): rows for (name,), rows in pairs.frame.group_by("perturbation")}
    return [
        _row(spec, count, frames.get(spec), judgements.get(spec, []))
        for spec, count in sorted(pairs.counts.items())
    ]


def to_frame(rows: Sequence[Validity]) -> pl.DataFrame:
    """The rows as a table."""
    return pl.DataFrame([asdict(row) for row in rows])


def _row(spec: str, count: Any, frame: pl.DataFrame | None, differences: list[float]) -> Validity:
    tried = count.applied + count.not_applicable + count.unchanged
    distance, share = _edits(frame)
    return Validity(
        spec,
        outputs=tried,
        applied=count.applied / tried if tried else 0.0,
        unchanged=count.unchanged / tried if tried else 0.0,
        pairs=count.pairs,
        edit_distance=distance,
        edit_share=share,
        judged=len(differences),
        disagreements=sum(difference < 0 for difference in differences),
        ties=sum(difference == 0 for difference in differences),
    )


def _edits(frame: pl.DataFrame | None) -> tuple[float | None, float | None]:
    if frame is None or frame.is_empty() or frame["output"].dtype != pl.String:
        return None, None
    output, worse = frame["output"].to_list(), frame["worse"].to_list()
    distances = process.cpdist(output, worse, scorer=Levenshtein.distance, dtype=np.int64)
    lengths = np.maximum([len(text) for text in output], [len(text) for text in worse])
    return float(distances.mean()), float((distances / np.maximum(lengths, 1)).mean())


def _judgements(frame: pl.DataFrame, dataset: Dataset) -> Mapping[str, list[float]]:
    """By method, human score of y minus human score of y′, for every pair where both are known."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    if not dataset.human or dataset.kind.ranked:
        return found
    scored = dataset.outputs.select("item", "output", score=pl.mean_horizontal(dataset.human)).drop_nulls(
        "score"
    )
    means = scored.group_by("item", "output").agg(pl.col("score").mean())
    judged = frame.join(means, on=["item", "output"]).join(
        means.rename({"output": "worse", "score": "worse_score"}), on=["item", "worse"]
    )
    for method, better, worse in judged.select("perturbation", "score", "worse_score").iter_rows():
        found[method].append(better - worse)
    return found
