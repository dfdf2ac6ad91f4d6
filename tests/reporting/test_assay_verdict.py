"""The verdict of an assay, against sentences written by hand."""

from __future__ import annotations

import msgspec
import pytest

from assay_builders import make_accuracy, make_claims, make_column, make_content, make_perturbation
from metassay.reporting.assay_report import prepare_assay_report
from metassay.reporting.assay_verdict import list_main_findings_of_assay
from metassay.reporting.verdict_lines import (
    list_answers_as_rows,
    list_closing_lines_of_verdict,
    list_opening_lines_of_verdict,
)
from metassay.results.assay import (
    BestMetric,
    HumanAccuracy,
    HumanChoice,
    HumanComparison,
    MetricLead,
    OrderAgreement,
    OverallRecommendation,
    RankingAgreement,
    SavingChoice,
    SecondSampleCeiling,
)
from metassay.results.base import Interval
from metassay.results.data_summary import DataSummary, ScoreSummary, SystemSummary

UNDEFINED = OrderAgreement(
    tau=None, low=None, high=None, corrected_tau=None, corrected_low=None, corrected_high=None
)


def make_result(**fields):
    overall = [
        make_accuracy("chrf", 0.86, 0.85, 0.87),
        make_accuracy("bleu", 0.80, 0.78, 0.82),
        make_accuracy("ter", 0.70, 0.68, 0.72),
    ]
    leads = [
        MetricLead(column=None, context="global", better="chrf", worse=worse, p=0.01)
        for worse in ("bleu", "ter")
    ]
    defaults = {
        "answer": OverallRecommendation(metric="chrf", top_group=["chrf"], exceptions=[]),
        "claims": make_claims(leads=leads),
    }
    return make_content(overall, **(defaults | fields))


def make_human_row(metric, accuracy, spa, saved=0.03):
    return HumanAccuracy(
        metric=metric,
        accuracy=accuracy,
        low=accuracy - 0.02,
        high=accuracy + 0.02,
        ties=0.0,
        pairs=900,
        rank=1,
        spa=spa,
        spa_low=spa - 0.05,
        spa_high=spa + 0.05,
        rank_spa=1,
        labels_saved=saved,
        labels_saved_low=saved - 0.02,
        labels_saved_high=saved + 0.02,
    )


def make_comparison(**fields):
    defaults = {
        "human": "mqm",
        "items": 50,
        "pairs": 900,
        "systems": 5,
        "segments": 50,
        "followed": False,
        "by_perturbed_pairs": BestMetric(metric="chrf"),
        "by_human_pairs": HumanChoice(metric="chrf", top_group=["chrf", "bleu"]),
        "by_spa": BestMetric(metric="bleu"),
        "by_labels_saved": SavingChoice(metric="chrf", top_group=["chrf", "bleu"], p=0.01),
        "spa_constant": 0.52,
        "metrics": [
            make_human_row("chrf", 0.63, 0.72),
            make_human_row("bleu", 0.62, 0.74),
            make_human_row("ter", 0.55, 0.60),
        ],
        "agreement": RankingAgreement(
            statistic="kendall",
            perturbed_with_human=UNDEFINED,
            perturbed_with_spa=UNDEFINED,
            human_with_spa=UNDEFINED,
        ),
        "ceiling": SecondSampleCeiling(pairs=None, spa=None),
        "contexts": {},
    }
    return HumanComparison(**(defaults | fields))


def write_opening(result):
    return [
        line.replace("\u202f", " ")
        for line in list_opening_lines_of_verdict(list_main_findings_of_assay(prepare_assay_report(result)))
    ]


def test_without_human_scores_the_verdict_says_what_the_data_cannot_tell():
    assert write_opening(make_result()) == [
        "To detect errors in single translations, use chrF.",
        "This data cannot tell which metric ranks systems as people do: it has no human scores.",
        "100 translations, 50 items, no human scores.",
    ]


def test_pairs_by_human_score_do_not_count_as_data_without_human_scores():
    result = make_result(pairs_from="people")
    assert write_opening(result) == [
        "Use chrF.",
        (
            "Which metric ranks systems as people do was not measured with pairs by human score. To find out:"
            " metassay rank DATA"
        ),
        "100 translations, 50 items, pairs by human score.",
    ]
    view = prepare_assay_report(result)
    claims = list_main_findings_of_assay(view)
    # The user need not rely on results of other data.
    assert [claim.kind for claim in claims if claim.kind in {"prior", "next"}] == []
    assert [row["best"] for row in list_answers_as_rows(claims, view.labels, "mt")] == ["chrF", "not known"]


def test_human_scores_that_were_not_compared_with_metrics_are_not_denied():
    mqm = ScoreSummary("mqm", "human", "higher", "default", ["de"], 100)
    data = DataSummary(outputs=100, items=50, systems=[SystemSummary("a", 100, 50)], scores=[mqm])
    assert write_opening(make_result(data=data))[1:] == [
        "Which metric ranks systems as people do was not measured.",
        "100 translations, 1 system, 50 items, human scores not used.",
    ]


def test_with_human_scores_there_is_one_row_per_question():
    human_leads = [MetricLead(column=None, context="global", better="chrf", worse="ter", p=0.02)]
    result = make_result(human_comparison=make_comparison())
    claims = msgspec.structs.replace(result.claims, human_leads=human_leads)
    result = msgspec.structs.replace(result, claims=claims)
    assert write_opening(result) == [
        "Use chrF.",
        "Avoid TER: it detects fewer errors and agrees less with people.",
        "100 translations, 50 items, human score mqm.",
    ]
    view = prepare_assay_report(result)
    rows = list_answers_as_rows(list_main_findings_of_assay(view), view.labels, "mt")
    assert [tuple(str(cell).replace("\u202f", " ") for cell in row.values()) for row in rows] == [
        ("Detect errors in single translations", "chrF", "86 % (85–87)", "none", "coin: 50 %"),
        ("Choose translations as people do", "chrF", "63 % (61–65)", "BLEU", "coin: 50 %"),
        ("Rank systems as people do", "BLEU", "SPA 0.74 (0.69–0.79)", "chrF", "constant: 0.52"),
        ("Save human labels", "chrF", "100 ratings worth 103 (101–105)", "BLEU", "None"),  # 100 / (1 - .03)
    ]


def test_another_winner_for_one_question_is_named_in_the_headline():
    choice = SavingChoice(metric="ter", top_group=["ter"], p=0.001)
    result = make_result(human_comparison=make_comparison(by_labels_saved=choice))
    assert write_opening(result)[:2] == [
        "Use chrF.",
        "To save human labels, use TER instead.",
    ]


def test_metrics_that_are_not_shown_to_save_labels_are_not_named():
    choice = SavingChoice(metric="ter", top_group=["ter"], p=0.2)
    result = make_result(human_comparison=make_comparison(by_labels_saved=choice))
    view = prepare_assay_report(result)
    row = list_answers_as_rows(list_main_findings_of_assay(view), view.labels, "mt")[-1]
    assert (row["best"], row["result"]) == ("none is shown to", None)
    assert write_opening(result)[0] == "Use chrF."


def test_the_best_metric_for_a_question_is_not_to_be_avoided():
    human_leads = [
        MetricLead(column=None, context="global", better="chrf", worse=worse, p=0.02)
        for worse in ("bleu", "ter")
    ]
    result = make_result(human_comparison=make_comparison())
    claims = msgspec.structs.replace(result.claims, human_leads=human_leads)
    verdict = list_main_findings_of_assay(
        prepare_assay_report(msgspec.structs.replace(result, claims=claims))
    )
    (avoid,) = [claim for claim in verdict if claim.kind == "avoid"]
    assert avoid.metrics == ["ter"]  # bleu is first by SPA


@pytest.mark.parametrize(
    ("top_group", "sentence"),
    [
        (["chrf", "bleu"], "use chrF or BLEU: no reliable difference."),
        (["chrf", "bleu", "ter"], "use chrF, BLEU or TER: no reliable difference."),
    ],
)
def test_tied_metrics_are_named_together(top_group, sentence):
    answer = OverallRecommendation(metric="chrf", top_group=top_group, exceptions=[])
    assert write_opening(make_result(answer=answer))[0].endswith(sentence)


def test_no_metric_is_recommended_where_a_sentinel_does_as_well():
    lines = write_opening(make_result(sentinels=[make_accuracy("length", 0.9, 0.89, 0.91)]))
    assert lines[0] == (
        "No metric can be recommended: length, which knows nothing of quality, is right as often as the best"
        " of them."
    )


def test_a_loss_that_rounds_to_zero_has_an_upper_limit():
    rows = [make_accuracy(metric, 0.8, context=context) for metric in ("chrf", "bleu") for context in "ab"]
    contexts = {"domain": make_column(rows, regret=Interval(0.0, 0.0, 0.0004))}
    result = msgspec.structs.replace(make_result(), contexts=contexts)
    closing = list_closing_lines_of_verdict(list_main_findings_of_assay(prepare_assay_report(result)))
    assert closing[3].replace("\u202f", " ") == (
        "Using chrF for every domain costs less than 0.1 points (95 % interval)."
    )


def test_the_cost_of_one_metric_is_that_of_the_costliest_column():
    rows = [make_accuracy(metric, 0.8, context=context) for metric in ("chrf", "bleu") for context in "ab"]
    contexts = {
        "domain": make_column(rows, regret=Interval(0.004, 0.0, 0.01)),
        "system": make_column(rows, regret=Interval(0.001, 0.0, 0.002)),
    }
    result = msgspec.structs.replace(make_result(), contexts=contexts)
    closing = list_closing_lines_of_verdict(list_main_findings_of_assay(prepare_assay_report(result)))
    assert closing[3].replace("\u202f", " ") == (
        "Using chrF for every domain costs at most 1.0 points (95 % interval)."
    )


def test_no_better_than_a_coin_is_the_main_caveat():
    comparison = make_comparison(
        metrics=[make_human_row(metric, 0.51, 0.7) for metric in ("chrf", "bleu", "ter")]
    )
    closing = list_closing_lines_of_verdict(
        list_main_findings_of_assay(prepare_assay_report(make_result(human_comparison=comparison)))
    )
    assert closing == ["Keep in mind: no metric is shown to choose between two outputs better than a coin."]


def test_circular_labels_of_rankings_are_the_main_caveat():
    rows = [make_perturbation("rank_swapping", applied=90, worse=70, equal=10, better=10)]
    result = make_result(perturbation_statistics=rows, valid_pairs_only=True, task="ranking")
    overall = [*result.overall, make_accuracy("ndcg", 0.8)]
    closing = list_closing_lines_of_verdict(
        list_main_findings_of_assay(prepare_assay_report(msgspec.structs.replace(result, overall=overall)))
    )
    assert closing == [
        "Keep in mind: discounted gain decided which lists are worse; nDCG measures just that, so it is favoured."
    ]


def test_a_run_without_scores_recommends_nothing():
    verdict = list_main_findings_of_assay(prepare_assay_report(make_content([make_accuracy("bleu", None)])))
    assert [claim.sentence for claim in verdict] == ["No metric can be recommended: no pair could be scored."]


def test_without_human_scores_prior_evidence_and_the_next_command_are_offered():
    closing = list_closing_lines_of_verdict(list_main_findings_of_assay(prepare_assay_report(make_result())))
    neural = (  # means over three test sets in prior_evidence.json, by hand
        "On WMT23 neural metrics ranked systems better than chrF (mean SPA 0.81): GEMBA-MQM 0.95, XCOMET 0.92,"
        " COMET 0.92, MetricX-23 0.91."
    )
    loss = (
        "Always using chrF on WMT21–23 lost 0.02 of SPA on average, 0.06 at most, to the best of 7 word-overlap"
        " metrics on each test set."
    )
    command = "To find out for your data, have 50 items rated: metassay annotate DATA --count 50"
    assert closing[:3] == [neural, loss, command]
    assert not list_closing_lines_of_verdict(
        list_main_findings_of_assay(prepare_assay_report(make_result(task="ranking")))
    )
    other_task = list_closing_lines_of_verdict(
        list_main_findings_of_assay(prepare_assay_report(make_result(task="text")))
    )
    assert [line.partition(" rated: ")[2] for line in other_task] == ["metassay annotate DATA --count 50"]


def test_a_tie_of_all_metrics_is_said_in_words():
    overall = [make_accuracy(metric, 0.8) for metric in ("chrf", "bleu", "ter", "rouge1", "rougel", "length")]
    answer = OverallRecommendation(
        metric="chrf", top_group=["chrf", "bleu", "ter", "rouge1", "rougel"], exceptions=[]
    )
    view = prepare_assay_report(make_content(overall, answer=answer, claims=make_claims()))
    assert (
        list_answers_as_rows(list_main_findings_of_assay(view), view.labels, "mt")[0]["tied"] == "all others"
    )


def choose_caveat(**fields):
    claims = list_main_findings_of_assay(prepare_assay_report(make_result(**fields)))
    return next((claim.sentence for claim in claims if claim.kind == "caveat"), None)


def test_metrics_that_rank_systems_worse_than_a_published_neural_metric_get_a_caveat():
    assert choose_caveat(human_comparison=make_comparison()) == (
        "Keep in mind: no metric here ranks systems as well (SPA at most 0.79) as the neural metric COMET did"
        " on WMT23 (0.92; chrF had 0.81)."
    )


def test_metrics_that_may_rank_systems_as_well_as_a_neural_metric_get_no_such_caveat():
    rows = [make_human_row("chrf", 0.63, 0.72), make_human_row("bleu", 0.62, 0.90)]
    assert "COMET" not in (choose_caveat(human_comparison=make_comparison(metrics=rows)) or "")


def test_a_wide_interval_of_any_metric_prevents_the_comparison_with_a_neural_metric():
    wide = msgspec.structs.replace(make_human_row("bleu", 0.62, 0.70), spa_high=0.93)
    rows = [make_human_row("chrf", 0.63, 0.72), wide]
    choice = BestMetric(metric="chrf")
    caveat = choose_caveat(human_comparison=make_comparison(metrics=rows, by_spa=choice))
    assert "COMET" not in (caveat or "")
