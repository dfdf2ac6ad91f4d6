"""Scores that were made elsewhere, as a metric: it looks up what others computed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from metassay.data.directions import RequestedDirections
from metassay.data.given_scores import ScoreList, read_given_scores
from metassay.errors import InputError, display_path
from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.program_metric import ExternalMetric
from metassay.metrics.registry import parse_metric

READ = ("item", "output", "source", "references")
"""Everything of a text that a score may depend on."""


def text_ids(columns: Sequence[Sequence[Any] | None]) -> list[str]:
    """An id for each text, from `READ` of it, None where the data has no such column.

    It depends on nothing else, so that it is the same in every run, on any machine.
    """
    size = next(len(column) for column in columns if column is not None)
    filled = (repeat(None, size) if column is None else column for column in columns)
    return [
        hashlib.blake2b(
            json.dumps(
                [part if part is None or isinstance(part, str) else list(part) for part in row]
            ).encode(),
            digest_size=8,
        ).hexdigest()
        for row in zip(*filled)
    ]


def list_distinct_texts(scored: pl.DataFrame) -> pl.DataFrame:
    """`id, item, source, hypothesis, reference` of every distinct text among the rows to be scored, sorted.

    Where some text has several references, `reference` is the first and `references` has all.
    """
    columns = [scored[name].to_list() if name in scored.columns else None for name in READ]
    rows = scored.select(name for name in READ if name in scored.columns)
    rows = rows.with_columns(pl.Series("id", text_ids(columns))).unique("id").sort("item", "output", "id")
    made = [
        "id",
        "item",
        *(["source"] if "source" in rows.columns else []),
        pl.col("output").alias("hypothesis"),
    ]
    if "references" in rows.columns:
        made.append(pl.col("references").list.first().alias("reference"))
        if (rows["references"].list.len() > 1).any():
            made.append("references")
    return rows.select(made)


@dataclass(frozen=True)
class PrecomputedScores(ExternalMetric):
    """One metric of files of scores; its scores are those of the texts that it was bound to."""

    metric: str
    digest: str
    """Of all files that its scores come from."""
    lists: tuple[ScoreList, ...] = field(repr=False, compare=False)

    is_cacheable: ClassVar[bool] = False
    can_be_timed: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"item", "output"})
    optional_fields: ClassVar[frozenset[str]] = frozenset({"source", "references"})
    found: ClassVar[dict[str, float]] = {}
    said: ClassVar[tuple[str, ...]] = ()
    """What binding it to texts left to say."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.metric)
        ours = _ours(self.metric)
        if ours is not None:
            object.__setattr__(self, "higher_is_better", ours.higher_is_better)
            object.__setattr__(self, "tie_tolerance", ours.tie_tolerance)
        elif self.predicted_errors:
            object.__setattr__(self, "higher_is_better", False)

    @property
    def predicted_errors(self) -> bool:
        """Whether the scores are MetricX's predictions of errors."""
        return any(part.predicted_errors for part in self.lists)

    def settings(self, language: str | None) -> dict[str, Any]:
        """The hash of the files, and the direction."""
        del language
        return {"scores": self.digest, "higher_is_better": self.higher_is_better}

    def notes(self) -> tuple[str, ...]:
        """Scores that are missing or astray, and a direction that was guessed."""
        return self.said

    def bind_to_texts(self, texts: pl.DataFrame) -> Self:
        """Return the metric with the score of each of these texts (`list_distinct_texts`)."""
        scores: dict[str, tuple[float, ScoreList, int]] = {}
        notes: list[str] = []
        for part in self.lists:
            matched, astray = _matched(part, texts)
            if astray:
                notes.append(
                    f"{astray:,} scores of {self.name} in {display_path(part.file)} "
                    "are of texts not compared here."
                )
            own = part.scores.to_list()
            for text, index in matched:
                _enter(scores, text, own[index], part, index)
        missing = len(texts) - len(scores)
        if missing:
            notes.append(f"{self.name}: {missing:,} of {len(texts):,} texts have no score.")
        if self.predicted_errors and not self.higher_is_better:
            notes.append(
                f"{self.name} is read as MetricX writes it: lower is better. Else say --higher-is-better."
            )
        found = {text: score for text, (score, _, _) in scores.items()}
        return self._with(found=found, said=tuple(notes))

    def score(self, batch: Batch) -> Scores:
        """The scores that were given; NaN where there is none."""
        columns = [batch.fields.get(name) for name in READ]
        ids = text_ids(columns) if len(batch) else []
        return np.array([self.found.get(own, np.nan) for own in ids], dtype=np.float64)


def read_precomputed_scores(source: Any) -> tuple[PrecomputedScores, ...]:
    """The metrics in files of scores; files that name the same metric each hold a part of its scores."""
    if source is None or (isinstance(source, list | tuple) and not source):
        return ()
    by_name: dict[str, list[ScoreList]] = {}
    for part in read_given_scores(source):
        by_name.setdefault(part.metric, []).append(part)
    made = []
    for name, parts in by_name.items():
        digests = sorted({part.digest for part in parts})
        whole = digests[0] if len(digests) == 1 else "+".join(digests)
        made.append(PrecomputedScores(name, whole, tuple(parts)))
    return tuple(made)


def orient_metrics(metrics: Sequence[Metric], requested: RequestedDirections) -> tuple[Metric, ...]:
    """Return the metrics with the directions that the user requested.

    Only metrics from outside can be redirected: the direction of our own metrics is part of their definition.
    """
    redirectable = [metric.spec for metric in metrics if isinstance(metric, ExternalMetric)]
    requested.check(redirectable, "metric from outside")
    oriented: list[Metric] = []
    for metric in metrics:
        if isinstance(metric, ExternalMetric) and metric.spec in requested.names:
            higher_is_better = metric.spec in requested.higher_is_better
            oriented.append(metric.with_direction(higher_is_better=higher_is_better))
        else:
            oriented.append(metric)
    return tuple(oriented)


def _matched(part: ScoreList, texts: pl.DataFrame) -> tuple[list[tuple[str, int]], int]:
    """The text of each score that is one, as (id, place in the list), and how many are of no text here."""
    if part.keys is None:
        if len(part.scores) != len(texts):
            raise InputError(
                f"there are {len(part.scores):,} lines, and {len(texts):,} texts to score.",
                place=part.place(len(part.scores) - 1),
                remedy="One line is needed for each line of texts.jsonl, which metassay perturb writes.",
            )
        found = texts.select("id").with_row_index("index")
    elif "id" in part.keys.columns:
        found = _by_id(part, part.keys["id"], texts["id"])
    else:
        found = _by_text(part, part.keys, texts)
    given = found.filter(part.scores.is_not_null().gather(found["index"]))
    astray = 0 if part.keys is None else len(part.keys) - found["index"].n_unique()
    return list(given.select("id", "index").iter_rows()), astray


def _by_id(part: ScoreList, ids: pl.Series, known: pl.Series) -> pl.DataFrame:
    unknown = ~ids.is_in(known.implode())
    if unknown.any():
        index = int(unknown.arg_max() or 0)
        raise InputError(
            f"the id {ids[index]} belongs to no text.",
            place=part.place(index),
            remedy="The texts must come from metassay perturb with the same data, seed and settings.",
        )
    return pl.DataFrame({"id": ids}).with_row_index("index")


def _by_text(part: ScoreList, keys: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """By output and whatever else both sides tell of it; spaces around texts are no difference."""
    here = texts.rename({"hypothesis": "output"})
    shared = [name for name in ("item", "source", "reference", "output") if name in keys and name in here]
    stripped = [pl.col(name).str.strip_chars() for name in shared]
    left = keys.select(stripped).with_row_index("index")
    found = left.join(here.select("id", *stripped), on=shared, nulls_equal=True, maintain_order="left")
    if found.is_empty():
        raise InputError(
            "no score is of a text that is compared here.",
            place=part.place(0),
            remedy="The texts must be those of metassay perturb with the same data, seed and settings.",
        )
    return found


def _enter(
    scores: dict[str, tuple[float, ScoreList, int]], text: str, score: float, part: ScoreList, index: int
) -> None:
    """Take up a score; a text with two that differ is an error."""
    before = scores.setdefault(text, (score, part, index))
    if before[0] != score:
        raise InputError(
            f"the text has the score {score:g} here and {before[0]:g} in {before[1].place(before[2])}.",
            place=part.place(index),
        )


def _ours(name: str) -> Metric | None:
    try:
        return parse_metric(name)
    except InputError:
        return None
