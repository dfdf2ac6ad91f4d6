"""Directions of scores: by name, by sign, and by what people prefer."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import metassay
from metassay.data.directions import (
    RequestedDirections,
    decide_if_higher_is_better,
    does_name_suggest_error_count,
)
from metassay.data.score_cautions import CONTRARY_LEVEL, does_metric_contradict_human_scores
from metassay.metrics.registry import load_metric_classes
from metassay.sample import get_bundled_sample_path


@pytest.mark.parametrize("kind", ["human", "metric"])
@pytest.mark.parametrize("name", ["TER", "WER", "cer", "TER-refA", "MetricX", "MetricX-24", "hter", "errors"])
def test_error_rates_are_lower_is_better(name: str, kind: str) -> None:
    assert decide_if_higher_is_better(name, np.array([3.0, 0.0, 12.5]), score_kind=kind).better == "lower"
    assert decide_if_higher_is_better(name, np.array([-3.0, 0.0, -12.5]), score_kind=kind).better == "higher"


@pytest.mark.parametrize(
    "name",
    [
        *("word_error_rate", "word-error-rate", "WordErrorRate", "errorCount", "error_rate_de", "errs"),
        *("metricx24", "MetricX24-hybrid", "google/metricx-24-hybrid-large-v2p6", "TERp", "Ter2", "PER"),
        *("EditDistance", "levenshtein", "CDER", "rmse", "toxicity", "hallucinationRate/hallucinations"),
        *(
            "MetricXQE",
            "WER/ref",
            "errorrate",
            "HyTER",
            "mistake",
            "edit_rate",
            "mqm_error_points",
            "severity",
        ),
    ],
)
def test_other_spellings_of_error_rates_are_lower_is_better(name: str) -> None:
    assert does_name_suggest_error_count(name, "metric")
    assert does_name_suggest_error_count(name, "human")


@pytest.mark.parametrize(
    "name", ["BLEU4", "BERTScore", "TransferScore", "tokens_per_second", "Character", "prefer", "meter2"]
)
def test_words_that_only_contain_an_error_rate_are_no_error_counts(name: str) -> None:
    assert does_name_suggest_error_count(name, "metric") == (name == "Character")


@pytest.mark.parametrize(
    "name",
    ["1-TER", "1 - WER", "100-cer", "-TER", "neg_ter", "inverse_wer", "TER_inv", "wer_accuracy", "error_f1"],
)
def test_error_rates_that_are_turned_around_are_higher_is_better(name: str) -> None:
    assert not does_name_suggest_error_count(name, "metric")


@pytest.mark.parametrize("name", ["rank", "human_rank", "rank_human", "Ranks", "Rank-rater1"])
def test_ranks_that_people_gave_are_lower_is_better(name: str) -> None:
    assert does_name_suggest_error_count(name, "human")
    assert not does_name_suggest_error_count(name, "metric")


@pytest.mark.parametrize("name", ["BLEU", "COMET", "recip_rank", "mbr-metricx-qe-src", "character_f1", "wip"])
def test_similarities_are_higher_is_better(name: str) -> None:
    assert (
        decide_if_higher_is_better(name, np.array([3.0, 0.0, 12.5]), score_kind="metric").better == "higher"
    )


def test_every_metric_of_ours_has_the_direction_of_its_name() -> None:
    for name, metric_class in load_metric_classes().items():
        assert does_name_suggest_error_count(name, "metric") == (not metric_class.higher_is_better), name


def test_mqm_counts_errors_if_most_outputs_have_none() -> None:
    assert decide_if_higher_is_better("mqm", np.array([0.0, 0.0, 5.0]), score_kind="human").better == "lower"
    assert (
        decide_if_higher_is_better("mqm", np.array([0.0, 0.0, -5.0]), score_kind="human").better == "higher"
    )
    assert (
        decide_if_higher_is_better("mqm", np.array([100.0, 100.0, 80.0]), score_kind="human").better
        == "higher"
    )


def test_the_user_decides() -> None:
    requested = RequestedDirections(lower_is_better=("BLEU",), higher_is_better=("TER",))
    scores = np.array([1.0, 2.0])
    assert (
        decide_if_higher_is_better("BLEU", scores, score_kind="metric", requested_directions=requested).better
        == "lower"
    )
    assert (
        decide_if_higher_is_better("TER", scores, score_kind="metric", requested_directions=requested).better
        == "higher"
    )


def test_a_metric_that_knows_nothing_is_rarely_called_worse_than_a_constant() -> None:
    rng = np.random.default_rng(3)
    draws = 1000
    human = rng.normal(size=(draws, 5, 30))
    metric = rng.gumbel(size=(draws, 5, 30))
    share = np.mean([does_metric_contradict_human_scores(human[i], metric[i]) for i in range(draws)])
    assert share <= 4 * CONTRARY_LEVEL
    assert does_metric_contradict_human_scores(human[0], -human[0] + metric[0])
    assert not does_metric_contradict_human_scores(human[0], human[0] + metric[0])


def test_rank_and_depend_warn_of_a_metric_that_is_worse_than_a_constant() -> None:
    rng = np.random.default_rng(0)
    rows = [(f"s{i}", k) for i in range(4) for k in range(30)]
    human = rng.normal(size=len(rows))
    table = pl.DataFrame(rows, schema=["system", "seg_id"], orient="row").with_columns(
        human=pl.Series(human), good=pl.Series(human + rng.normal(size=len(rows))), odd=pl.Series(-human)
    )
    for notes in (metassay.rank(table, draws=10).notes, metassay.depend(table, bootstraps=2).notes):
        assert [note for note in notes if "a constant score would be better" in note and "odd" in note]
        assert not [note for note in notes if "a constant score would be better" in note and "good" in note]


@pytest.mark.parametrize("human", ["hter", "errors", "mqm"])
def test_aggregate_reverses_human_scores_that_count_errors(human: str) -> None:
    few = {"metrics": "chrf", "resamples": 20, "repeats": 5}
    table = pl.read_parquet(get_bundled_sample_path("mt")).head(140)
    expected = metassay.aggregate(metassay.read(table), **few)
    counted = table.select(pl.exclude("mqm"), (-pl.col("mqm")).alias(human))
    result = metassay.aggregate(metassay.read(counted, human=human), **few)
    assert [row.pearson for row in result.human] == [row.pearson for row in expected.human]
    assert f"Lower {human} is better" in " ".join(result.notes)
    kept = metassay.aggregate(metassay.read(counted, human=human), higher_is_better=human, **few)
    assert any("a constant score would be better" in note for note in kept.notes)
    assert not any("a constant score would be better" in note for note in result.notes)
    assert kept.human[0].pearson == pytest.approx(-expected.human[0].pearson)


@pytest.mark.parametrize("human", ["hter", "mqm"])
def test_human_pairs_follow_the_direction_of_the_human_score(human: str) -> None:
    few = {"metrics": "chrf", "pairs": "human", "resamples": 20, "permutations": 9}
    table = pl.read_parquet(get_bundled_sample_path("mt")).head(140)
    expected = metassay.assay(metassay.read(table), **few).to_dict()["global"]
    counted = table.select(pl.exclude("mqm"), (-pl.col("mqm")).alias(human))
    result = metassay.assay(metassay.read(counted, human=human), human=human, **few).to_dict()
    assert result["global"] == expected
    assert f"Lower {human} is better" in " ".join(result["notes"])


@pytest.mark.parametrize(("name", "option"), [("ter", "--higher-is-better"), ("good", "--lower-is-better")])
def test_the_remedy_for_a_contrary_metric_is_the_other_direction(name: str, option: str) -> None:
    """A score that is reversed already cannot be corrected by reversing it."""
    rows = []
    for item in range(40):
        for system in range(3):
            quality = float(system + item % 3)
            score = 10 + quality if name == "ter" else -quality
            rows.append({"item": item, "system": f"s{system}", "mqm": quality, name: score})
    notes = metassay.rank(pl.DataFrame(rows), human="mqm", significance="none").notes
    (note,) = [note for note in notes if "a constant score would be better" in note]
    assert f"add {option}" in note.replace("_is_", "-is-")
