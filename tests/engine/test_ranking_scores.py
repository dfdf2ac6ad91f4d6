"""Scoring lists over threads: any number of workers, our measures, sentinels and metrics of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from metassay.engine import ranking_scores
from metassay.engine.batches import OutputRows
from metassay.engine.ranking_scores import score_ranked_rows
from metassay.engine.scoring import measure_metric_run_times, score_rows
from metassay.errors import InputError, MetricFailure
from metassay.metrics.base import Metric
from metassay.metrics.registry import parse_metrics


@dataclass(frozen=True)
class Judged(Metric):
    """Share of the list that was judged: a metric that reads the mapping of grades."""

    name: ClassVar[str] = "judged"
    task: ClassVar[str] = "ranking"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "qrels"})
    bad: bool = False

    def score(self, batch):
        shares = [np.mean([d in own for d in out]) for out, own in zip(batch.output, batch["qrels"])]
        return np.array([np.inf if self.bad else share for share in shares])


FRAME = pl.DataFrame(
    {"item": ["q1", "q2", "q1"], "system": ["a", "a", "b"], "output": [["x", "y"], ["y"], ["z", "x", "y"]]}
)
QRELS = pl.DataFrame({"item": ["q1", "q1", "q2"], "document": ["x", "w", "v"], "grade": [1, 2, 1]})


def test_values_by_hand(monkeypatch):
    metrics = (*parse_metrics("map,p_1,ndcg,length,constant"), Judged())
    for at_once in (1, 2, 100):
        monkeypatch.setattr(ranking_scores, "LISTS_PER_BATCH", at_once)
        scored = score_ranked_rows(metrics, FRAME, QRELS, workers=2).scores
        np.testing.assert_allclose(scored["map"], [1 / 2, 0, 1 / 4])
        np.testing.assert_allclose(scored["p_1"], [1, 0, 0])
        ideal = 2 + 1 / np.log2(3)
        np.testing.assert_allclose(scored["ndcg"], [1 / ideal, 0, 1 / np.log2(3) / ideal])
        np.testing.assert_allclose(scored["length"], [2, 1, 3])
        np.testing.assert_allclose(scored["judged"], [1 / 2, 0, 1 / 3])


def test_an_infinite_score_names_the_item():
    with pytest.raises(MetricFailure, match="item q1"):
        score_ranked_rows([Judged(bad=True)], FRAME, QRELS)


def test_without_judgements_there_is_nothing_to_score():
    with pytest.raises(InputError, match="--qrels"):
        score_ranked_rows(parse_metrics("map"), FRAME, None)


def test_the_same_list_for_two_topics_is_two_lists():
    """Equal outputs are not equal scores: each topic has its own judgements."""
    frame = pl.DataFrame({"item": ["q1", "q2"], "system": ["a", "a"], "output": [["x", "v"], ["x", "v"]]})
    rows = OutputRows(frame.with_columns(language=pl.lit(None, pl.String)), QRELS)
    scored = score_rows(parse_metrics("recip_rank,map"), rows)
    np.testing.assert_allclose(scored.scores["recip_rank"], [1, 1 / 2])


def test_batches_hold_the_judgements_for_metrics_of_others():
    rows = OutputRows(FRAME.with_columns(language=pl.lit(None, pl.String)), QRELS)
    np.testing.assert_allclose(Judged().score(rows.build_metric_batch(Judged.needs)), [1 / 2, 0, 1 / 3])
    assert measure_metric_run_times([Judged(), *parse_metrics("map")], rows).keys() == {"judged", "map"}


def test_metrics_from_outside_see_who_made_a_list():
    @dataclass(frozen=True)
    class Maker(Metric):
        name: ClassVar[str] = "maker"
        task: ClassVar[str] = "ranking"
        needs: ClassVar[frozenset[str]] = frozenset({"output", "system", "item"})

        def score(self, batch):
            return np.array(
                [10 * (s == "b") + (i == "q2") for s, i in zip(batch["system"], batch["item"])], float
            )

    assert score_ranked_rows([Maker()], FRAME, QRELS).scores["maker"].tolist() == [0, 1, 10]
