"""Find scores that depend on nothing but the system, the item or the length of an output.

Such scores can agree with people by accident: one system may be better than the others, or longer outputs may
be. They say nothing about the quality of a single output, so a metric with such scores is never recommended.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.score_cube import ScoreCube
from metassay.stats.arrays import FloatArray

SYSTEM = "system"
ITEM = "item"
WORD_COUNT = "number of words"
CHARACTER_COUNT = "number of characters"

# With fewer repetitions, equal scores of outputs with, say, the same length may be a coincidence.
_FEWEST_REPETITIONS = 20
# Most properties are ruled out by the first rows, which is much faster than a look at all of them.
_FIRST_ROWS = 2000


def list_output_properties(dataset: Dataset) -> dict[str, pl.Series]:
    """Return properties of every output, such as its length, on which a good metric does not depend alone."""
    outputs = dataset.outputs
    properties = {SYSTEM: outputs["system"], ITEM: outputs["item"]}
    if outputs["output"].dtype == pl.String:
        properties[WORD_COUNT] = outputs["output"].str.split(" ").list.len()
        properties[CHARACTER_COUNT] = outputs["output"].str.len_chars()
    return properties


def find_property_that_determines_scores(scores: FloatArray, properties: dict[str, pl.Series]) -> str | None:
    """Return the first property, such as length, whose value alone determines the scores of a metric.

    Outputs without a score (NaN) are left out. A property needs 20 outputs whose value another output has.
    """
    is_scored = ~np.isnan(scores)
    for name, values in properties.items():
        table = pl.DataFrame({"value": values, "score": scores}).filter(pl.Series(is_scored))
        # Almost always the first rows show that the property does not determine the scores.
        if _have_equal_values_equal_scores(table.head(_FIRST_ROWS)) and _have_equal_values_equal_scores(
            table
        ):
            repetitions = len(table) - table["value"].n_unique()
            if repetitions >= _FEWEST_REPETITIONS:
                return name
    return None


def find_uninformed_metrics(score_cube: ScoreCube) -> dict[str, str]:
    """Find the metrics of a cube whose scores depend on the system alone, or on the item alone.

    Returns the name of that property by metric.
    """
    systems, items = len(score_cube.systems), len(score_cube.items)
    properties = {
        SYSTEM: pl.Series(np.repeat(np.arange(systems), items)),
        ITEM: pl.Series(np.tile(np.arange(items), systems)),
    }
    uninformed: dict[str, str] = {}
    for metric, scores in score_cube.metric_scores.items():
        determining_property = find_property_that_determines_scores(scores.ravel(), properties)
        if determining_property is not None:
            uninformed[metric] = determining_property
    return uninformed


def _have_equal_values_equal_scores(table: pl.DataFrame) -> bool:
    """Whether all rows with the same value of a property have the same score."""
    score_counts = table.group_by("value").agg(pl.col("score").n_unique())["score"]
    return bool((score_counts == 1).all())
