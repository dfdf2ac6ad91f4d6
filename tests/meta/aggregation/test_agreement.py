"""Aggregation against sacrebleu, exact expectations and the figures of WMT23."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sacrebleu import corpus_bleu, corpus_chrf, sentence_bleu, sentence_chrf
from scipy.stats import pearsonr

from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError
from metassay.meta.aggregation.agreement import _human_rows, _quantiles, aggregate_scores
from metassay.meta.aggregation.system_scores import (
    AGGREGATIONS,
    Resampling,
    bootstrap_means,
    corpus_scores,
    system_scores,
)
from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metrics

BLEU, CHRF, TER = parse_metrics("bleu,chrf,ter")
FEW = Resampling(resamples=50, size=40, repeats=20, downsampled=(1, 5))


def panel_of(outputs, references, human=None, group="2023/xx-en", metrics=(BLEU, CHRF, TER)) -> ScoreCube:
    batches = [Batch.of(own, [[r] for r in references]) for own in outputs.values()]
    statistics = {m.spec: np.stack([m.statistics(b) for b in batches]) for m in metrics}
    segments = {m.spec: np.stack([m.score(b) for b in batches]) for m in metrics}
    ids = tuple(map(str, range(len(references))))
    return ScoreCube(group, tuple(outputs), ids, human or {}, segments, statistics=statistics)


@pytest.fixture(scope="module")
def small(some_words):
    rng = np.random.default_rng(0)
    references = [" ".join(rng.choice(some_words, rng.integers(4, 15))) for _ in range(30)]

    def system(noise):
        return [
            " ".join(rng.choice(some_words) if rng.random() < noise else w for w in r.split())
            for r in references
        ]

    outputs = {f"s{k}": system(0.1 + 0.1 * k) for k in range(5)}
    quality = -np.arange(5.0)[:, None] + rng.normal(size=(5, 30))
    return outputs, references, panel_of(outputs, references, {"mqm": quality})


def test_corpus_and_segment_scores_are_the_official_ones(small):
    outputs, references, panel = small
    for metric, corpus, sentence in (
        (BLEU, corpus_bleu, sentence_bleu),
        (CHRF, corpus_chrf, sentence_chrf),
    ):
        for row in system_scores(panel, metric, FEW):
            own = outputs[row.system]
            assert row.scores["corpus"] == pytest.approx(corpus(own, [references]).score, rel=1e-12)
            mean = np.mean([sentence(o, [r]).score for o, r in zip(own, references)])
            assert row.scores["segment"] == pytest.approx(mean, rel=1e-12)


def test_bootstrap_is_the_mean_of_official_scores_over_the_same_resamples(small):
    outputs, references, panel = small
    drawn = FEW.stream(panel.dataset, "bootstrap", 30).integers(0, 30, size=(50, 40))
    for row in system_scores(panel, BLEU, FEW):
        own = outputs[row.system]
        official = [corpus_bleu([own[i] for i in k], [[references[i] for i in k]]).score for k in drawn]
        assert row.scores["bootstrap"] == pytest.approx(np.mean(official), rel=1e-12)
        assert row.errors["bootstrap"] == pytest.approx(np.std(official, ddof=1), rel=1e-9)


def test_the_standard_error_of_a_segment_mean_is_the_textbook_one(small):
    *_, panel = small
    for row, scores in zip(
        system_scores(panel, CHRF, Resampling(resamples=4000)), panel.metric_scores["chrf"]
    ):
        assert row.errors["segment"] == pytest.approx(scores.std() / np.sqrt(30), rel=0.06)


def test_seeds_decide_and_order_does_not(small):
    *_, panel = small
    again = aggregate_scores([panel], [BLEU, CHRF], FEW).to_dict()
    assert aggregate_scores([panel], [BLEU, CHRF], FEW).to_dict() == again
    other = aggregate_scores([panel], [CHRF], FEW).to_dict()
    assert [row for row in again["systems"] if row["metric"] == "chrf"] == other["systems"]
    seeded = aggregate_scores([panel], [BLEU, CHRF], Resampling(50, 40, 20, (1, 5), seed=1)).to_dict()
    assert seeded["systems"] != again["systems"]


def test_one_segment_is_one_corpus(small):
    """On a single segment, corpus and segment chrF are the same number."""
    *_, panel = small
    rows = aggregate_scores([panel], [CHRF], FEW).downsampled
    single = next(row for row in rows if row["segments"] == 1 and row["against"] == "segment")
    assert single["median"] == pytest.approx(1)
    assert {(row["aggregation"], row["against"]) for row in rows} == {
        ("corpus", "segment"),
        ("corpus", "bootstrap"),
        ("segment", "bootstrap"),
    }
    assert all(row["low"] <= row["median"] <= row["high"] for row in rows)


def test_agreement_with_people_is_oriented_and_on_rated_segments(small):
    outputs, references, panel = small
    found = aggregate_scores([panel], [BLEU, TER], FEW).human
    means = panel.human_scores["mqm"].mean(axis=1)
    official = [corpus_bleu(own, [references]).score for own in outputs.values()]
    row = next(
        r for r in found if (r["metric"], r["aggregation"], r["group"]) == ("bleu", "corpus", "2023/xx-en")
    )
    assert row["pearson"] == pytest.approx(pearsonr(official, means).statistic)
    assert all(r["pearson"] > 0 for r in found if r["metric"] == "ter")

    half = panel.human_scores["mqm"].copy()
    half[:, 15:] = np.nan
    rated = replace(panel, human_scores={"mqm": half})
    found = aggregate_scores([rated], [BLEU], FEW).human
    official = [corpus_bleu(own[:15], [references[:15]]).score for own in outputs.values()]
    assert found[0]["pearson"] == pytest.approx(pearsonr(official, half[:, :15].mean(axis=1)).statistic)
    assert found[0]["systems"] == 5


def test_missing_outputs_stay_missing(small):
    outputs, references, panel = small
    statistics, segments = panel.statistics["bleu"].copy(), panel.metric_scores["bleu"].copy()
    statistics[1, 20:], segments[1, 20:] = np.nan, np.nan
    statistics[4], segments[4] = np.nan, np.nan
    gaps = replace(panel, statistics={"bleu": statistics}, metric_scores={"bleu": segments}, human_scores={})
    rows = {row.system: row for row in system_scores(gaps, BLEU, FEW)}
    assert set(rows) == {"s0", "s1", "s2", "s3"}
    expected = corpus_bleu(outputs["s1"][:20], [references[:20]]).score
    assert rows["s1"].scores["corpus"] == pytest.approx(expected, rel=1e-12)
    assert corpus_scores(gaps, BLEU)[1] == rows["s1"].scores["corpus"]
    assert np.isnan(corpus_scores(gaps, BLEU)[4])
    np.testing.assert_array_equal(
        bootstrap_means(gaps, BLEU, FEW)[:4], [rows[f"s{k}"].scores["bootstrap"] for k in range(4)]
    )
    assert len(aggregate_scores([gaps], [BLEU], FEW).between) == 3


def test_nothing_to_aggregate_is_refused():
    with pytest.raises(InputError, match="at least one"):
        aggregate_scores([], [BLEU])


def test_the_figures_of_wmt23(real_data):
    """Mean Pearson with MQM over the three language pairs, on system scores that equal sacrebleu's."""
    panels = []
    for pair in ("en-de", "he-en", "zh-en"):
        frame = pl.read_parquet(real_data(f"wmt23/wmt23_{pair}.parquet")).sort("system", "seg_id")
        frame = frame.filter((pl.col("hyp") != pl.col("ref")).mean().over("system") > 0.01)
        systems = frame["system"].unique().sort().to_list()
        outputs = {s: frame.filter(system=s)["hyp"].to_list() for s in systems}
        human = {"mqm": np.stack([frame.filter(system=s)["mqm"].to_numpy() for s in systems])}
        references = frame.filter(system=systems[0])["ref"].to_list()
        panels.append(panel_of(outputs, references, human, f"2023/{pair}", (BLEU, CHRF)))
        own = outputs[systems[0]]
        assert corpus_scores(panels[-1], BLEU)[0] == pytest.approx(
            corpus_bleu(own, [references]).score, rel=1e-12
        )
    found = aggregate_scores(panels, [BLEU, CHRF], Resampling(repeats=2)).human
    means = {(row["metric"], row["aggregation"]): row["pearson"] for row in found if row["group"] == "mean"}
    expected = {
        ("bleu", "corpus"): 0.809,
        ("bleu", "segment"): 0.826,
        ("bleu", "bootstrap"): 0.809,
        ("chrf", "corpus"): 0.828,
        ("chrf", "segment"): 0.855,
        ("chrf", "bootstrap"): 0.828,
    }
    assert means == pytest.approx(expected, abs=0.005)


def test_a_correlation_that_is_undefined_does_not_count_in_the_mean():
    found = {
        "one": dict.fromkeys(AGGREGATIONS, (3, 0.5)),
        "two": dict.fromkeys(AGGREGATIONS, (2, float("nan"))),
    }
    rows = [row for row in _human_rows("mqm", "bleu", found) if row["aggregation"] == "corpus"]
    assert [(row["group"], row["pearson"]) for row in rows] == [("one", 0.5), ("two", None), ("mean", 0.5)]


def test_ranges_over_repeats_hold_95_per_cent():
    assert _quantiles(np.linspace(0, 1, 1001)) == pytest.approx((0.025, 0.5, 0.975))
    assert _quantiles(np.array([np.nan])) == (None, None, None)
