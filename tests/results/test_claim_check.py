"""Contradictions between claims: each kind is noticed, and the verdicts of real data have none."""

from __future__ import annotations

import pytest

import metassay
from claim_check import find_contradictions, find_contradictions_between_verdicts
from metassay.results.verdict import Claim

USE = Claim(kind="use", metrics=["chrf", "bleu"], sentence="Use chrF or BLEU.")
ANSWER = Claim(
    kind="answer", question="rank_systems", metrics=["chrf"], value=0.7, low=0.6, high=0.8, sentence="chrF."
)
CONTRADICTIONS = {
    "is recommended and to be avoided": [USE, Claim(kind="avoid", metrics=["bleu"], sentence="Avoid BLEU.")],
    "is best for a question and to be avoided": [
        ANSWER,
        Claim(kind="avoid", metrics=["chrf"], sentence="Avoid chrF."),
    ],
    "general recommendations": [USE, Claim(kind="none", sentence="No metric.")],
    "which is not said": [
        USE,
        Claim(kind="answer", question="save_labels", metrics=["ter"], sentence="TER saves most."),
    ],
    "not of chrf": [USE, Claim(kind="regret", metrics=["ter"], sentence="It costs nothing.")],
    "is answered twice": [ANSWER, Claim(kind="unanswered", question="rank_systems", sentence="Unknown.")],
    "is outside": [Claim(kind="finding", value=0.9, low=0.1, high=0.2, sentence="Odd.")],
    "p is 0.2": [Claim(kind="avoid", metrics=["ter"], p=0.2, sentence="Avoid TER.")],
    "named twice": [Claim(kind="finding", metrics=["ter", "ter"], sentence="TER and TER.")],
    "said twice": [ANSWER, Claim(kind="finding", sentence="chrF.")],
    "an empty sentence": [Claim(kind="finding", sentence=" ")],
}


@pytest.mark.parametrize("problem", CONTRADICTIONS)
def test_every_kind_of_contradiction_is_noticed(problem):
    (found,) = find_contradictions(CONTRADICTIONS[problem])
    assert problem in found


def test_claims_that_agree_are_no_contradiction():
    other_scope = Claim(
        kind="answer", question="rank_systems", metrics=["bleu", "chrf"], scope="b", sentence="b."
    )
    other_winner = Claim(
        kind="use", question="save_labels", metrics=["ter"], sentence="To save labels use TER."
    )
    saving = Claim(kind="answer", question="save_labels", metrics=["ter"], sentence="TER saves most.")
    assert find_contradictions([USE, ANSWER, other_scope, other_winner, saving]) == []


def test_two_verdicts_contradict_each_other_where_neither_best_metric_is_tied():
    other = Claim(kind="answer", question="rank_systems", metrics=["bleu"], sentence="BLEU.")
    tied = Claim(kind="answer", question="rank_systems", metrics=["bleu", "chrf"], sentence="BLEU.")
    assert len(find_contradictions_between_verdicts([ANSWER], [other])) == 1
    assert find_contradictions_between_verdicts([ANSWER], [tied]) == []
    assert find_contradictions_between_verdicts([tied], [ANSWER]) == []


TEXT_DATA = {
    "wmt21/wmt21_en-de.parquet": {"human": "mqm"},
    "wmt22/wmt22_en-de.parquet": {"human": "mqm"},
    "wmt23/wmt23_he-en.parquet": {"human": "mqm"},
    "wmt23/wmt23_zh-en.parquet": {"human": "mqm"},
    "text/realsumm.parquet": {"human": "litepyramid_recall"},
}


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("path", TEXT_DATA)
def test_assay_rank_depend_and_aggregate_do_not_contradict_each_other(real_data, path):
    """The claims of each verb are checked as in every test; here those of assay and rank together, too."""
    data = str(real_data(path))
    human = TEXT_DATA[path]["human"]
    dataset = metassay.read(data, human=human)
    assayed = metassay.assay(dataset, human=human, resamples=300, permutations=199)
    ranked = metassay.rank(data, human=human, draws=299)
    assert find_contradictions_between_verdicts(assayed.content.verdict, ranked.verdict) == []
    saved = metassay.rank(data, human=human, meta="labels_saved", draws=299)
    assert find_contradictions_between_verdicts(assayed.content.verdict, saved.verdict) == []
    metassay.depend(data, human=human, bootstraps=20, draws=99)
    metassay.aggregate(data, resamples=50, repeats=20)
    metassay.score(data, metrics="bleu,chrf", test="bootstrap", draws=100)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("pair", ["en-de", "he-en", "zh-en"])
def test_the_metrics_of_wmt23_have_no_contradictions(real_data, pair):
    data = str(real_data(f"wmt23/wmt23_{pair}.parquet"))
    metrics = str(real_data(f"wmt23/wmt23_{pair}_metrics.parquet"))
    ranked = metassay.rank(data, join=metrics, human="mqm", context="domain", draws=199)
    depends = metassay.depend(data, join=metrics, human="mqm", bootstraps=20, draws=99)
    assert ranked.verdict
    (lowest,) = [claim for claim in depends.verdict if claim.kind == "answer"]
    findings = [claim for claim in depends.verdict if claim.kind == "finding"]
    assert all(" most " not in claim.sentence for claim in findings if lowest.metrics[0] in claim.metrics)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("asr/asr_librispeech_test_clean.parquet", {"task": "asr"}),
        ("trec_covid/runs_top100.parquet", {"qrels": "trec_covid/qrels-round1.txt"}),
    ],
)
def test_data_without_human_scores_has_no_contradictions(real_data, path, options):
    if "qrels" in options:
        options = {"qrels": str(real_data(options["qrels"]))}
    dataset = metassay.read(str(real_data(path)), **options)
    result = metassay.assay(dataset, resamples=300, permutations=199)
    questions = {claim.question: claim.kind for claim in result.content.verdict if claim.question is not None}
    assert questions["rank_systems"] in {"unanswered", "next"}


@pytest.mark.real_data
def test_judges_of_llmbar_have_no_contradictions(real_data):
    verdicts = str(real_data("judges/llmbar_verdicts.parquet"))
    result = metassay.judge(verdicts, join=str(real_data("judges/llmbar_pairs.parquet")))
    kinds = {claim.kind: claim.metrics for claim in result.verdict}
    assert kinds["use"] == ["GPT-4"]
    assert kinds["avoid"] == ["ChatGPT"]
