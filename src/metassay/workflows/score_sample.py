"""A sample of scored texts, which shows which metrics know nothing about quality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.uninformed_scores import build_table_of_text_lengths, find_property_that_determines_scores
from metassay.metrics.base import Metric
from metassay.metrics.sentinels import SENTINELS
from metassay.stats.arrays import FloatArray
from metassay.workflows.pair_scoring import ScoredPairs, list_texts_of_pairs

# The number of outputs whose pairs are in the sample, at most.
_MOST_OUTPUTS = 2_000
_TEXT_COLUMNS = ("item", "system", "output", "references")


@dataclass(frozen=True)
class ScoreSample:
    """A sample of outputs and perturbed outputs, with their scores by all metrics.

    A small data set has few outputs of equal length, so perturbed outputs are in the sample as well.
    """

    texts: pl.DataFrame
    scores: FloatArray
    """Float64[metrics, texts]."""

    def find_metrics_that_ignore_output_text(self, metrics: Sequence[Metric]) -> dict[str, str]:
        """Find the metrics whose scores are determined by one simple property of the output, such as its
        length. Returns this property for each of the metrics.
        """
        properties = build_table_of_text_lengths(self.texts)
        uninformed: dict[str, str] = {}
        for metric, scores in zip(metrics, self.scores):
            determining_property = find_property_that_determines_scores(scores, properties)
            if determining_property is not None and not isinstance(metric, tuple(SENTINELS)):
                uninformed[metric.spec] = determining_property
        return uninformed


def select_every_nth_scored_output(
    dataset: Dataset, scored_pairs: ScoredPairs, shard: slice | None = None
) -> ScoreSample:
    """Sample scored texts: every n-th output that has pairs, and the worse outputs of its pairs. If `shard`
    is given, only this slice of the data set is sampled.

    Which outputs are in the sample depends on the whole data set alone, so that the samples of all shards
    together are the sample of a run without shards.
    """
    first_row = 0 if shard is None else shard.start
    step = 1 + len(dataset) // _MOST_OUTPUTS
    is_used = (scored_pairs.rows + first_row) % step == 0
    rows = np.unique(scored_pairs.rows[is_used])
    texts = list_texts_of_pairs(
        dataset if shard is None else dataset.slice_rows(shard), scored_pairs.pairs.filter_pairs(is_used)
    )
    # Selected rows would keep the memory of all texts of the shard in use, so they are copied.
    columns = texts.select(name for name in _TEXT_COLUMNS if name in texts.columns)
    return ScoreSample(
        pl.DataFrame(columns.to_dict(as_series=False), schema=columns.schema),
        np.hstack([scored_pairs.output_scores[:, rows], scored_pairs.worse[:, is_used]]),
    )


def concatenate_score_samples(samples: Sequence[ScoreSample]) -> ScoreSample:
    """Join the samples from all slices (shards) of a data set."""
    return ScoreSample(
        pl.concat([sample.texts for sample in samples]),
        np.hstack([sample.scores for sample in samples]),
    )
