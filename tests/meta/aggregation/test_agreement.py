"""Aggregated scores equal those of sacrebleu, and known correlations of WMT23."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sacrebleu import corpus_bleu, corpus_chrf, sentence_bleu, sentence_chrf
from scipy.stats import pearsonr

from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError
from metassay.meta.aggregation.agreement import (
    HumanCorrelations,
    _compute_median_with_interval,
    _list_correlations_with_human_scores,
    compare_ways_to_aggregate_scores,
)
from metassay.meta.aggregation.system_scores import (
    ResamplingSettings,
    compute_bootstrap_scores,
    compute_corpus_scores,
    compute_corpus_segment_and_bootstrap_scores,
)
from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metrics
from metassay.results.aggregate import AGGREGATIONS

BLEU, CHRF, TER = parse_metrics("bleu,chrf,ter")
FEW = ResamplingSettings(resamples=50, size=40, repeats=20, sample_sizes=(1, 5))


def build_cube(outputs, references, human=None, group="2023/xx-en", metrics=(BLEU, CHRF, TER)) -> ScoreCube:
    batches = [Batch.from_texts(texts, [[r] for r in references]) for texts in outputs.values()]
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
    return outputs, references, build_cube(outputs, references, {"mqm": quality})


def test_corpus_and_segment_scores_equal_those_of_sacrebleu(small):
    outputs, references, cube = small
    for metric, corpus, sentence in (
        (BLEU, corpus_bleu, sentence_bleu),
        (CHRF, corpus_chrf, sentence_chrf),
    ):
        for row in compute_corpus_segment_and_bootstrap_scores(cube, metric, FEW):
            own = outputs[row.system]
            assert row.corpus == pytest.approx(corpus(own, [references]).score, rel=1e-12)
            mean = np.mean([sentence(o, [r]).score for o, r in zip(own, references)])
            assert row.segment == pytest.approx(mean, rel=1e-12)


def test_bootstrap_is_the_mean_of_official_scores_over_the_same_resamples(small):
    outputs, references, cube = small
    drawn = FEW.create_random_generator(cube.dataset, "bootstrap", 30).integers(0, 30, size=(50, 40))
    for row in compute_corpus_segment_and_bootstrap_scores(cube, BLEU, FEW):
        own = outputs[row.system]
        official = [corpus_bleu([own[i] for i in k], [[references[i] for i in k]]).score for k in drawn]
        assert row.bootstrap == pytest.approx(np.mean(official), rel=1e-12)
        assert row.standard_errors.bootstrap == pytest.approx(np.std(official, ddof=1), rel=1e-9)


def test_standard_error_of_the_segment_mean_is_sd_over_root_n(small):
    *_, cube = small
    for row, scores in zip(
        compute_corpus_segment_and_bootstrap_scores(cube, CHRF, ResamplingSettings(resamples=4000)),
        cube.metric_scores["chrf"],
    ):
        assert row.standard_errors.segment == pytest.approx(scores.std() / np.sqrt(30), rel=0.06)


def test_results_depend_on_the_seed_and_not_on_other_metrics(small):
    *_, cube = small
    both = compare_ways_to_aggregate_scores([cube], [BLEU, CHRF], FEW)
    assert compare_ways_to_aggregate_scores([cube], [BLEU, CHRF], FEW) == both
    only_chrf = compare_ways_to_aggregate_scores([cube], [CHRF], FEW)
    assert [row for row in both.systems if row.metric == "chrf"] == only_chrf.systems
    other_seed = compare_ways_to_aggregate_scores([cube], [BLEU, CHRF], replace(FEW, seed=1))
    assert other_seed.systems != both.systems


def test_corpus_and_segment_score_of_one_segment_are_equal(small):
    """On a single segment, corpus and segment chrF are the same number."""
    *_, cube = small
    rows = compare_ways_to_aggregate_scores([cube], [CHRF], FEW).downsampled
    single = next(row for row in rows if row.segments == 1 and row.against == "segment")
    assert single.median == pytest.approx(1)
    assert {(row.aggregation, row.against) for row in rows} == {
        ("corpus", "segment"),
        ("corpus", "bootstrap"),
        ("segment", "bootstrap"),
    }
    assert all(row.low <= row.median <= row.high for row in rows)


def test_human_agreement_is_oriented_and_uses_rated_segments(small):
    outputs, references, cube = small
    rows = compare_ways_to_aggregate_scores([cube], [BLEU, TER], FEW).human
    means = cube.human_scores["mqm"].mean(axis=1)
    official = [corpus_bleu(own, [references]).score for own in outputs.values()]
    correlations = {(row.metric, row.aggregation, row.group): row.pearson for row in rows}
    expected = pearsonr(official, means).statistic
    assert correlations["bleu", "corpus", "2023/xx-en"] == pytest.approx(expected)
    assert all(row.pearson > 0 for row in rows if row.metric == "ter")

    half = cube.human_scores["mqm"].copy()
    half[:, 15:] = np.nan
    rated = replace(cube, human_scores={"mqm": half})
    first = compare_ways_to_aggregate_scores([rated], [BLEU], FEW).human[0]
    official = [corpus_bleu(own[:15], [references[:15]]).score for own in outputs.values()]
    assert first.pearson == pytest.approx(pearsonr(official, half[:, :15].mean(axis=1)).statistic)
    assert first.systems == 5


def test_systems_are_scored_on_the_segments_that_they_have(small):
    outputs, references, cube = small
    statistics = cube.statistics["bleu"].copy()
    segments = cube.metric_scores["bleu"].copy()
    for scores in (statistics, segments):
        scores[1, 20:] = np.nan
        scores[4] = np.nan
    gaps = replace(cube, statistics={"bleu": statistics}, metric_scores={"bleu": segments}, human_scores={})
    rows = {row.system: row for row in compute_corpus_segment_and_bootstrap_scores(gaps, BLEU, FEW)}
    assert set(rows) == {"s0", "s1", "s2", "s3"}
    expected = corpus_bleu(outputs["s1"][:20], [references[:20]]).score
    assert rows["s1"].corpus == pytest.approx(expected, rel=1e-12)
    assert compute_corpus_scores(gaps, BLEU)[1] == rows["s1"].corpus
    assert np.isnan(compute_corpus_scores(gaps, BLEU)[4])
    np.testing.assert_array_equal(
        compute_bootstrap_scores(gaps, BLEU, FEW)[:4], [rows[f"s{k}"].bootstrap for k in range(4)]
    )
    assert len(compare_ways_to_aggregate_scores([gaps], [BLEU], FEW).between) == 3


def test_aggregating_nothing_is_an_error():
    with pytest.raises(InputError, match="at least one"):
        compare_ways_to_aggregate_scores([], [BLEU])


def test_correlations_with_mqm_on_wmt23(real_data):
    """Mean Pearson with MQM over three language pairs; the system scores equal those of sacrebleu."""
    cubes = []
    for pair in ("en-de", "he-en", "zh-en"):
        frame = pl.read_parquet(real_data(f"wmt23/wmt23_{pair}.parquet")).sort("system", "seg_id")
        frame = frame.filter((pl.col("hyp") != pl.col("ref")).mean().over("system") > 0.01)
        systems = frame["system"].unique().sort().to_list()
        outputs = {s: frame.filter(system=s)["hyp"].to_list() for s in systems}
        human = {"mqm": np.stack([frame.filter(system=s)["mqm"].to_numpy() for s in systems])}
        references = frame.filter(system=systems[0])["ref"].to_list()
        cubes.append(build_cube(outputs, references, human, f"2023/{pair}", (BLEU, CHRF)))
        expected = corpus_bleu(outputs[systems[0]], [references]).score
        assert compute_corpus_scores(cubes[-1], BLEU)[0] == pytest.approx(expected, rel=1e-12)
    rows = compare_ways_to_aggregate_scores(cubes, [BLEU, CHRF], ResamplingSettings(repeats=2)).human
    means = {(row.metric, row.aggregation): row.pearson for row in rows if row.group == "mean"}
    expected = {
        ("bleu", "corpus"): 0.809,
        ("bleu", "segment"): 0.826,
        ("bleu", "bootstrap"): 0.809,
        ("chrf", "corpus"): 0.828,
        ("chrf", "segment"): 0.855,
        ("chrf", "bootstrap"): 0.828,
    }
    assert means == pytest.approx(expected, abs=0.005)


def test_undefined_correlations_are_not_in_the_mean():
    by_group = {
        "one": HumanCorrelations(3, dict.fromkeys(AGGREGATIONS, 0.5)),
        "two": HumanCorrelations(2, dict.fromkeys(AGGREGATIONS, np.nan)),
    }
    rows = _list_correlations_with_human_scores("mqm", "bleu", by_group)
    corpus_rows = [(row.group, row.pearson) for row in rows if row.aggregation == "corpus"]
    assert corpus_rows == [("one", 0.5), ("two", None), ("mean", 0.5)]


def test_ranges_over_repeats_contain_95_percent():
    assert _compute_median_with_interval(np.linspace(0, 1, 1001)) == pytest.approx((0.025, 0.5, 0.975))
    assert _compute_median_with_interval(np.array([np.nan])) == (None, None, None)
