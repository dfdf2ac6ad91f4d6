"""Scores that another program computed, as a metric that looks them up.

`metassay perturb` writes the texts to score to `texts.jsonl`; `metassay assay --scores` reads the scores. A
score belongs to a text by its id, by the text itself, or by its line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import polars as pl

from metassay.data.directions import ScoreDirection, decide_if_higher_is_better
from metassay.data.score_lists import ScoreList, read_score_lists
from metassay.errors import InputError, format_path_for_user
from metassay.metrics.base import Batch, Metric, Parameters, Scores
from metassay.metrics.external import ExternalMetric
from metassay.metrics.registry import find_metric
from metassay.results.data_summary import HIGHER, LOWER, METRIC_SCORE

# Every field on which the score of a text may depend.
IDENTIFYING_FIELDS = ("item", "output", "source", "references")


class SourcedScore(NamedTuple):
    """A score that was read from a file, and its position in the file for error messages."""

    score: float
    score_list: ScoreList
    position: int


@dataclass(frozen=True)
class PrecomputedScores(ExternalMetric):
    """A metric whose scores another program computed. The scores are read from files."""

    metric: str
    digest: str
    """A hash of all files that the scores come from."""
    lists: tuple[ScoreList, ...] = field(repr=False, compare=False)

    is_cacheable: ClassVar[bool] = False
    can_be_timed: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"item", "output"})
    optional_fields: ClassVar[frozenset[str]] = frozenset({"source", "references"})
    score_of_text: ClassVar[dict[str, float]] = {}
    """The score of each text, by the id of the text; set by `look_up_scores_of_texts`."""
    binding_notes: ClassVar[tuple[str, ...]] = ()
    """What a reader must know about the scores; set by `look_up_scores_of_texts`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.metric)
        same_name = _find_metassay_metric(self.metric)
        if same_name is not None:
            object.__setattr__(self, "tie_tolerance", same_name.tie_tolerance)
        object.__setattr__(self, "higher_is_better", self.find_score_direction().better == HIGHER)

    def find_score_direction(self) -> ScoreDirection:
        """Decide whether higher scores are better, from the name of the metric and from the scores.

        A column `prediction` has MetricX's predictions of errors.
        """
        if any(score_list.predicted_errors for score_list in self.lists):
            return ScoreDirection(self.metric, METRIC_SCORE, LOWER, "MetricX writes predicted errors")
        same_name = _find_metassay_metric(self.metric)
        counts_errors = same_name is not None and not same_name.higher_is_better
        lower_metrics = [self.metric] if counts_errors else []
        scores = np.concatenate([score_list.scores.cast(pl.Float64).to_numpy() for score_list in self.lists])
        return decide_if_higher_is_better(
            self.metric, scores, score_kind=METRIC_SCORE, lower_is_better_metrics=lower_metrics
        )

    def get_parameters_for_language(self, language: str | None) -> Parameters:
        """Return what identifies the scores: a hash of the files, and whether higher is better."""
        del language
        return {"scores": self.digest, "higher_is_better": self.higher_is_better}

    def list_notes_on_scores(self) -> tuple[str, ...]:
        """Return sentences about missing scores, unused scores, and the guess that lower scores are
        better.
        """
        return self.binding_notes

    def look_up_scores_of_texts(self, texts: pl.DataFrame) -> Self:
        """Find the scores of these texts in the files, and return a copy of the metric with these scores.

        `list_distinct_texts` builds the table of texts.

        Raises an error where a text has two scores that differ.
        """
        scores: dict[str, SourcedScore] = {}
        notes: list[str] = []
        for score_list in self.lists:
            matches = _match_scores_with_texts(score_list, texts)
            unmatched = _count_unmatched_scores(score_list, matches)
            if unmatched:
                file = format_path_for_user(score_list.file)
                notes.append(
                    f"{unmatched:,} scores of {self.name} in {file} belong to texts that are not compared."
                )
            for text_id, index in matches.iter_rows():
                score = score_list.scores[index]
                if score is not None:
                    _add_score_of_text(scores, text_id, SourcedScore(score, score_list, index))
        missing = len(texts) - len(scores)
        if missing:
            notes.append(f"{self.name}: {missing:,} of {len(texts):,} texts have no score.")
        if not self.higher_is_better:
            reason = self.find_score_direction().why
            notes.append(
                f"{self.name}: lower scores are treated as better ({reason}). If higher scores are better, "
                f"add --higher-is-better {self.name}."
            )
        score_of_text = {text_id: sourced.score for text_id, sourced in scores.items()}
        return self._copy_with(score_of_text=score_of_text, binding_notes=tuple(notes))

    def score(self, batch: Batch) -> Scores:
        """Return the score of each output from the files. An output without a score gets NaN."""
        if len(batch) == 0:
            return np.empty(0)
        text_ids = hash_texts_to_ids([batch.fields.get(name) for name in IDENTIFYING_FIELDS])
        return np.array([self.score_of_text.get(text_id, np.nan) for text_id in text_ids], dtype=np.float64)


def read_precomputed_scores(score_files: Any) -> tuple[PrecomputedScores, ...]:
    """Read files of scores. Returns one metric for each metric name in the files; several files can have
    scores of the same metric.
    """
    if score_files is None or (isinstance(score_files, list | tuple) and not score_files):
        return ()
    lists_by_metric: dict[str, list[ScoreList]] = {}
    for score_list in read_score_lists(score_files):
        lists_by_metric.setdefault(score_list.metric, []).append(score_list)
    metrics = []
    for metric, lists in lists_by_metric.items():
        digests = sorted({score_list.digest for score_list in lists})
        metrics.append(PrecomputedScores(metric, "+".join(digests), tuple(lists)))
    return tuple(metrics)


def hash_texts_to_ids(columns: Sequence[Sequence[Any] | None]) -> list[str]:
    """Compute an id for each text by hashing its item, output, source and references. A column that is None
    is missing.

    An id depends on nothing else, so that it is the same in every run and on any machine.
    """
    size = next(len(column) for column in columns if column is not None)
    filled = (repeat(None, size) if column is None else column for column in columns)
    ids = []
    for row in zip(*filled):
        values = [value if value is None or isinstance(value, str) else list(value) for value in row]
        content = json.dumps(values).encode()
        ids.append(hashlib.blake2b(content, digest_size=8).hexdigest())
    return ids


def list_distinct_texts(rows_to_score: pl.DataFrame) -> pl.DataFrame:
    """Return a table of the different texts to score, with their ids, sorted by item and text.

    Where some text has several references, `reference` is the first and `references` has all.
    """
    fields = [name for name in IDENTIFYING_FIELDS if name in rows_to_score.columns]
    columns = [rows_to_score[name].to_list() if name in fields else None for name in IDENTIFYING_FIELDS]
    rows = rows_to_score.select(fields).with_columns(pl.Series("id", hash_texts_to_ids(columns)))
    rows = rows.unique("id").sort("item", "output", "id")
    shown: list[pl.Expr] = [pl.col("id"), pl.col("item")]
    if "source" in fields:
        shown.append(pl.col("source"))
    shown.append(pl.col("output").alias("hypothesis"))
    if "references" in fields:
        shown.append(pl.col("references").list.first().alias("reference"))
        if (rows["references"].list.len() > 1).any():
            shown.append(pl.col("references"))
    return rows.select(shown)


def _match_scores_with_texts(score_list: ScoreList, texts: pl.DataFrame) -> pl.DataFrame:
    """Find the text that each score in a file belongs to. Returns a table of text ids and score positions."""
    if score_list.keys is None:
        matches = _match_scores_by_line_number(score_list, texts)
    elif "id" in score_list.keys.columns:
        matches = _match_scores_by_text_id(score_list, score_list.keys["id"], texts["id"])
    else:
        matches = _match_scores_by_text_content(score_list, score_list.keys, texts)
    return matches.select("id", "index")


def _count_unmatched_scores(score_list: ScoreList, matches: pl.DataFrame) -> int:
    """Count the scores in a file that belong to none of the texts."""
    if score_list.keys is None:
        return 0
    return len(score_list.keys) - matches["index"].n_unique()


def _match_scores_by_line_number(score_list: ScoreList, texts: pl.DataFrame) -> pl.DataFrame:
    """Match the first score of a file with the first text, the second with the second, and so on."""
    if len(score_list.scores) != len(texts):
        raise InputError(
            f"the file has {len(score_list.scores):,} lines, but there are {len(texts):,} texts to score.",
            location=score_list.get_file_location_of_score(len(score_list.scores) - 1),
            remedy="Write one line per line of texts.jsonl, the file that metassay perturb writes.",
        )
    return texts.select("id").with_row_index("index")


def _match_scores_by_text_id(
    score_list: ScoreList, score_ids: pl.Series, text_ids: pl.Series
) -> pl.DataFrame:
    """Match scores with texts by the ids in the file; raise an error for an unknown id."""
    is_unknown = ~score_ids.is_in(text_ids.implode())
    if is_unknown.any():
        index = int(is_unknown.arg_max() or 0)
        raise InputError(
            f"the id {score_ids[index]} belongs to no text.",
            location=score_list.get_file_location_of_score(index),
            remedy="The texts must come from metassay perturb with the same data, seed and settings.",
        )
    return pl.DataFrame({"id": score_ids}).with_row_index("index")


def _match_scores_by_text_content(
    score_list: ScoreList, score_texts: pl.DataFrame, texts: pl.DataFrame
) -> pl.DataFrame:
    """Match scores with texts that have the same output and, where both have them, the same item, source and
    reference.

    White space around texts is ignored.
    """
    texts = texts.rename({"hypothesis": "output"})
    shared = [
        name for name in ("item", "source", "reference", "output") if name in score_texts and name in texts
    ]
    stripped = [pl.col(name).str.strip_chars() for name in shared]
    numbered = score_texts.select(stripped).with_row_index("index")
    matches = numbered.join(texts.select("id", *stripped), on=shared, nulls_equal=True, maintain_order="left")
    if matches.is_empty():
        raise InputError(
            "no score belongs to a text that is compared.",
            location=score_list.get_file_location_of_score(0),
            remedy="The texts must be those of metassay perturb with the same data, seed and settings.",
        )
    return matches


def _add_score_of_text(scores: dict[str, SourcedScore], text_id: str, new_score: SourcedScore) -> None:
    """Add the score of a text to a dictionary; raise an error if the text already has a different score."""
    first = scores.setdefault(text_id, new_score)
    if first.score != new_score.score:
        raise InputError(
            f"the text has the score {new_score.score:g} here and {first.score:g} in "
            f"{first.score_list.get_file_location_of_score(first.position)}.",
            location=new_score.score_list.get_file_location_of_score(new_score.position),
        )


def _find_metassay_metric(metric_name: str) -> Metric | None:
    """Return the metric of metassay that has this name; None if there is none."""
    try:
        return find_metric(metric_name)
    except InputError:
        return None
