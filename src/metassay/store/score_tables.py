"""Tables of scores, sorted by the hash of what was scored."""

from __future__ import annotations

import numpy as np
import polars as pl

from metassay.metrics.base import Scores
from metassay.stats.hashes import Hashes, argsort_hashes, look_up_hashes


def make_score_table(content_hashes: Hashes, scores: Scores) -> pl.DataFrame:
    """Build a table of scores and the hashes of the scored outputs, sorted by hash. Undefined scores (NaN)
    are left out.
    """
    defined = ~np.isnan(scores)
    content_hashes = content_hashes[defined]
    order = argsort_hashes(content_hashes)
    content_hashes = content_hashes[order]
    return pl.DataFrame(
        {"high": content_hashes[:, 0], "low": content_hashes[:, 1], "score": scores[defined][order]}
    )


def copy_scores_from_table(table: pl.DataFrame, content_hashes: Hashes, scores: Scores) -> None:
    """Copy scores from a table into an array, for those outputs whose hashes the table has."""
    positions = look_up_hashes(content_hashes, table["high"].to_numpy(), table["low"].to_numpy())
    is_found = positions >= 0
    scores[is_found] = table["score"].to_numpy()[positions[is_found]]
