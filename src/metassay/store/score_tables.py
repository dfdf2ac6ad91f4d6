"""Tables of scores, sorted by the digest of what was scored."""

from __future__ import annotations

import numpy as np
import polars as pl

from metassay.metrics.base import Scores
from metassay.stats.digests import Hashes, argsort_hashes, look_up_hashes


def make_score_table(digests: Hashes, scores: Scores) -> pl.DataFrame:
    """Make a table of digests and defined scores, sorted by digest."""
    defined = ~np.isnan(scores)
    digests = digests[defined]
    order = argsort_hashes(digests)
    digests = digests[order]
    return pl.DataFrame({"high": digests[:, 0], "low": digests[:, 1], "score": scores[defined][order]})


def fill_in_scores(table: pl.DataFrame, digests: Hashes, scores: Scores) -> None:
    """Write the scores that a table has for digests to an array; scores of other digests are not changed."""
    positions = look_up_hashes(digests, table["high"].to_numpy(), table["low"].to_numpy())
    is_found = positions >= 0
    scores[is_found] = table["score"].to_numpy()[positions[is_found]]
