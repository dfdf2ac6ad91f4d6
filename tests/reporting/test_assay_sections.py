"""What the sections of an assay's report say of results whose answer is known."""

from __future__ import annotations

from typing import Any

import pytest

from assay_builders import (
    make_accuracy,
    make_claims,
    make_column,
    make_confounding,
    make_content,
    make_recommendation,
    make_robustness,
)
from metassay.reporting.assay_report import AssayReport, ReportedColumn, prepare_assay_report
from metassay.reporting.charts.accuracy import build_difficulty_chart
from metassay.reporting.charts.theme import render_svg
from metassay.reporting.sections.assay_accuracy import (
    describe_accuracy_by_text_distance,
    describe_accuracy_trend,
    describe_metric_with_largest_spread,
    name_ranges_of_edit_shares,
)
from metassay.reporting.sections.assay_agreement import describe_rank_agreement
from metassay.reporting.sections.assay_choice import (
    describe_safest_metric,
    name_unbeaten_metrics,
)
from metassay.reporting.sections.assay_numbers import build_agreement_table, build_difficulty_table
from metassay.reporting.sections.assay_perturbations import build_perturbations_section
from metassay.reporting.sections.assay_tests import (
    build_table_of_accuracy_tests,
    describe_accuracy_differences_between_contexts,
)
from metassay.results.assay import (
    AccuracyTest,
    AccuracyTrend,
    AccuracyVariation,
    AgreementPrediction,
    BinAccuracy,
    ContextGroup,
    Difficulty,
    DifficultyBin,
    HumanPairDistances,
    OverallRecommendation,
    OverlookedPerturbation,
    PredictableAgreement,
    RankAgreement,
)


def make_view(
    accuracies: dict[str, float], claims: Any = None, **fields: Any
) -> tuple[AssayReport, ReportedColumn]:
    rows = [make_accuracy("bleu", accuracy, context=context) for context, accuracy in accuracies.items()]
    overall = [make_accuracy("bleu", 0.8, 0.7, 0.9)]
    content = make_content(overall, {"col": make_column(rows, **fields)}, claims=claims or make_claims())
    view = prepare_assay_report(content)
    return view, view.context_columns[0]


BUCKETS = {f"[{n},{n + 1}]": 0.5 for n in range(5)}


@pytest.mark.parametrize(
    ("rho", "start", "shown"), [(1.0, "Accuracy rises", "1.00"), (-1.0, "Accuracy falls", "−1.00")]
)
def test_a_trend_that_is_claimed_is_described(rho, start, shown):
    claims = make_claims(trends=[AccuracyTrend(column="col", metric="bleu", p=0.01)])
    sentence = str(describe_accuracy_trend(*make_view(BUCKETS, claims, trend={"bleu": rho})))
    assert sentence.startswith(start)
    assert sentence.endswith(f"accuracy is {shown} for BLEU.")


@pytest.mark.parametrize("trend", [None, {}, {"bleu": None}])
def test_contexts_without_an_order_have_no_trend(trend):
    assert describe_accuracy_trend(*make_view({"a": 0.5}, trend=trend)) is None


def test_a_trend_that_is_not_claimed_is_said_not_to_be_shown():
    sentence = str(describe_accuracy_trend(*make_view(BUCKETS, trend={"bleu": 1.0})))
    assert sentence == "Accuracy is not shown to follow the order of col for any metric."


def test_only_a_metric_that_is_claimed_to_vary_is_described():
    claims = make_claims(variations=[AccuracyVariation(column="col", metric="bleu", p=0.01)])
    sentence = str(describe_metric_with_largest_spread(*make_view({"a": 0.5, "b": 0.8}, claims)))
    assert sentence == "The accuracy of BLEU varies: 80\u202f% on b, 50\u202f% on a."
    assert describe_metric_with_largest_spread(*make_view({"a": 0.5, "b": 0.8})) is None


def make_test(metric: str = "bleu", **fields: Any) -> AccuracyTest:
    defaults: dict[str, Any] = {
        "chi2": 9.0,
        "dof": 1,
        "cramers_v": 0.2,
        "p": 0.001,
        "p_permutation": 0.01,
        "p_cmh": 0.01,
        "p_holm": 0.001,
        "p_permutation_holm": 0.02,
        "p_cmh_holm": 0.02,
        "cluster_variance_ratio": None,
    }
    return AccuracyTest(metric=metric, **(defaults | fields))


VARIES = make_claims(variations=[AccuracyVariation(column="col", metric="bleu", p=0.01)])


def test_a_difference_is_shown_only_where_it_is_claimed():
    """Significant in its column alone is not enough: all claims of a report share one error rate."""
    table = build_table_of_accuracy_tests(*make_view({"a": 0.1, "b": 0.2}, h1=[make_test()]))
    assert table is not None
    assert table.rows[0]["differs"] == "not shown"
    table = build_table_of_accuracy_tests(*make_view({"a": 0.1, "b": 0.2}, VARIES, h1=[make_test()]))
    assert table is not None
    assert table.rows[0]["differs"] == "yes"


def test_a_column_that_cannot_be_tested_has_no_p_value():
    """Contexts that are the clusters: the p-value of chi-square does not take its place."""
    test = make_test(p_holm=1e-9, p_permutation=None, p_permutation_holm=None)
    view, column = make_view({"a": 0.1, "b": 0.2}, h1=[test])
    table = build_table_of_accuracy_tests(view, column)
    assert table is not None
    assert table.rows[0]["differs"] is None
    assert "cannot be tested" in str(describe_accuracy_differences_between_contexts(view, column))


def test_tests_in_words():
    assert str(
        describe_accuracy_differences_between_contexts(
            *make_view({"a": 0.1, "b": 0.2}, VARIES, h1=[make_test()])
        )
    ) == (
        "Accuracy differs between values of col for BLEU (1 of 1); "
        "the difference is moderate (largest Cramér’s V 0.20, BLEU)."
    )
    assert str(
        describe_accuracy_differences_between_contexts(*make_view({"a": 0.1, "b": 0.2}, h1=[make_test()]))
    ) == ("For none of 1 metric is accuracy shown to differ between values of col.")
    assert (
        str(describe_accuracy_differences_between_contexts(*make_view({"a": 0.1})))
        == "There is nothing to test: col has one value only."
    )


@pytest.mark.parametrize(
    ("cramers_v", "word"), [(0.09, "slight"), (0.11, "moderate"), (0.29, "moderate"), (0.31, "large")]
)
def test_the_size_of_an_effect_has_the_usual_names(cramers_v, word):
    """The limits .1 and .3 are those of Cohen (1988)."""
    view, column = make_view({"a": 0.1, "b": 0.2}, VARIES, h1=[make_test(cramers_v=cramers_v)])
    assert f"the difference is {word} (largest Cramér’s V {cramers_v:.2f}" in str(
        describe_accuracy_differences_between_contexts(view, column)
    )


def make_agreement(matrix: list[list[float | None]], **fields: Any) -> RankAgreement:
    contexts = ["global", *"abc"[: len(matrix[0]) - 1]]
    undefined = [None] * len(contexts)
    defaults: dict[str, Any] = {
        "statistic": "kendall",
        "low": matrix,
        "high": matrix,
        "ceiling": undefined,
        "p_global": undefined,
        "p_global_holm": undefined,
        "context_groups": [],
        "prediction": None,
    }
    return RankAgreement(contexts=contexts, matrix=matrix, **(defaults | fields))


def write_agreement(agreement: RankAgreement, claims: Any = None) -> list[str]:
    view, column = make_view({"a": 0.1, "b": 0.2, "c": 0.3}, claims, h2=agreement)
    return [str(each) for each in describe_rank_agreement(view, column, agreement)]


def make_group(contexts: str, *metrics: str) -> ContextGroup:
    return ContextGroup(contexts=list(contexts), agreement=0.9, metrics=list(metrics))


MATRIX = [[1, 0.9, 0.8, 0.7], [0.9, 1, 0.2, 0.5], [0.8, 0.2, 1, 0.6], [0.7, 0.5, 0.6, 1]]
GROUPS = [make_group("a"), make_group("bc", "bleu")]


def test_agreement_in_words():
    agreement = make_agreement(MATRIX, ceiling=[1.0, 0.8, 0.9, 1.0], context_groups=GROUPS)
    claims = make_claims(order={"col": {"a": 0.02, "b": 0.5, "c": 1.0}})
    assert write_agreement(agreement, claims) == [
        (
            "Two contexts of col typically agree on the order of the metrics with Kendall’s τ = 0.50. "
            "a and b agree least (0.20)."
        ),
        (
            "For comparison, two samples of the same context, each as large as these, would agree with 0.90 on "
            "average."
        ),
        "The order of the metrics is shown to differ from the overall order on a.",
        "With 1 metric, the agreement can take only a few values.",
    ]


def test_an_order_that_is_not_shown_to_differ_is_not_claimed_to():
    agreement = make_agreement(MATRIX, context_groups=GROUPS)
    sentences = write_agreement(agreement, make_claims(order={"col": {"a": 0.2, "b": 1.0}}))
    assert sentences[1] == "No context is shown to order the metrics differently than all outputs together."


def test_the_deciding_p_value_of_the_order_is_in_the_table():
    view, column = make_view(
        {"a": 0.1, "b": 0.2, "c": 0.3},
        make_claims(order={"col": {"a": 0.04, "b": 0.9, "c": 0.3}}),
        h2=make_agreement(MATRIX),
    )
    table = build_agreement_table(view, column)
    assert table is not None
    assert [row["p"] for row in table.rows] == [0.04, 0.9, 0.3]


def test_the_same_order_everywhere_needs_no_more_words():
    sentences = write_agreement(make_agreement([[1, 1, 1], [1, 1, 1], [1, 1, 1]], ceiling=[1, 1, 1]))
    assert sentences[0] == "The metrics come in the same order for every col."
    assert len(sentences) == 2


def test_one_agreement_of_one_is_not_unanimity():
    sentences = write_agreement(make_agreement([[1, 1, 0.4], [1, 1, 0.4], [0.4, 0.4, 1]]))
    assert "same order for every" not in sentences[0]


def test_agreement_with_global_alone():
    sentences = write_agreement(make_agreement([[1, 0.4, None, 0.8]]))
    assert "with Kendall’s τ = 0.60. global and a agree least (0.40)." in sentences[0]


@pytest.mark.parametrize(
    ("explained", "is_claimed", "words"),
    [
        (0.31, True, "(year) explain 31\u202f% of the variation"),
        (-0.4, True, "(year) are not shown to predict"),
        (0.31, False, "(year) are not shown to predict"),
    ],
)
def test_prediction_in_words(explained, is_claimed, words):
    prediction = AgreementPrediction(
        intercept=0.5,
        coefficients={"year": 0.1},
        rmse=0.1,
        mae=0.1,
        baseline_rmse=0.1,
        explained=explained,
        pairs=3,
        p=0.02,
    )
    claims = make_claims(predictions=[PredictableAgreement(column="col", p=0.02)] if is_claimed else [])
    sentences = write_agreement(make_agreement([[1, 0.5], [0.5, 1]], prediction=prediction), claims)
    assert words in sentences[1]


def test_the_robust_choice_and_the_cheapest_metrics_are_named():
    rows = [make_accuracy("bleu", 0.8, context=context) for context in "ab"]
    robustness = [make_robustness("bleu", worst_case=0.61, worst_context="b", robust_accuracy=0.74)]
    content = make_content(
        [make_accuracy("bleu", 0.8), make_accuracy("chrf", 0.7)],
        {"col": make_column(rows, robustness=robustness)},
        {"col": {"global": make_recommendation("bleu", robust_choice="bleu")}},
        cost_class={"bleu": "lexical", "chrf": "neural small"},
        pareto=["bleu", "chrf"],
    )
    view = prepare_assay_report(content)
    assert str(describe_safest_metric(view, view.context_columns[0])) == (
        "If the shares of the contexts of col may change, BLEU is the safest choice: in the least"
        " favourable mix near the observed one, its accuracy is 74\u202f%."
    )
    assert (
        str(name_unbeaten_metrics(view)) == "No metric is both more accurate and cheaper than BLEU and chrF."
    )


def test_what_a_metric_overlooks_is_listed_for_metrics_and_not_for_sentinels():
    overlooked = [
        OverlookedPerturbation(perturbation="case", accuracy=0.0, p_holm=0.001),
        OverlookedPerturbation(perturbation="order", accuracy=0.282, p_holm=0.02),
    ]
    rows = [
        make_confounding("bleu", {"case": 0.5, "order": 0.5}, overlooked=overlooked),
        make_confounding("chrf", {"case": 0.5, "order": 0.5}),
        make_confounding("length", {"case": 0.5, "order": None}, overlooked=overlooked, sentinel=True),
    ]
    overall = [make_accuracy("bleu", 0.8, 0.7, 0.9), make_accuracy("chrf", 0.8, 0.7, 0.9)]
    sentinels = [make_accuracy("length", 0.2, 0.1, 0.3)]
    section = build_perturbations_section(
        prepare_assay_report(make_content(overall, sentinels=sentinels, confounding=rows))
    )
    assert section is not None
    missed = str(section.sentences[1])
    assert "BLEU misses case (0\u202f% right) and order (28\u202f% right) (" in missed
    assert "chrF" not in missed
    assert "length" not in missed
    assert "correction for 5 tests" in missed


def test_difficulty_in_words_table_and_chart():
    bins = [
        DifficultyBin(low=0.01, median=0.02, high=0.034, pairs=50),
        DifficultyBin(low=0.04, median=0.1, high=0.3, pairs=49),
    ]
    rows = [
        BinAccuracy(
            metric=metric,
            bin=position,
            accuracy=accuracy,
            low=accuracy - 0.1,
            high=accuracy + 0.1,
            ties=0.0,
            items=9,
            pairs=50,
        )
        for metric, accuracies in {"bleu": (0.6, 0.9), "chrf": (0.5, 0.7)}.items()
        for position, accuracy in enumerate(accuracies)
    ]
    people = HumanPairDistances(human="mqm", pairs=7, low=0.2, median=0.41, high=0.55)
    difficulty = Difficulty(measure="edit share", median=0.06, bins=bins, accuracy=rows, human_pairs=people)
    overall = [make_accuracy("bleu", 0.8, 0.7, 0.9), make_accuracy("chrf", 0.8, 0.7, 0.9)]
    answer = OverallRecommendation(metric="bleu", top_group=["bleu"], exceptions=[])
    view = prepare_assay_report(make_content(overall, difficulty=difficulty, answer=answer))
    assert [str(each) for each in describe_accuracy_by_text_distance(view, difficulty)] == [
        (
            "BLEU is right in 60\u202f% (50–70) of the pairs whose texts differ in 3.4\u202f% of their "
            "characters or less, and in 90\u202f% (80–100) of those that differ in 4.0\u202f% or more."
        ),
        (
            "The texts of human pairs (mqm) differ in 41\u202f% of their characters (median; middle half "
            "20\u202f% to 55\u202f%), those of these pairs in 6.0\u202f%."
        ),
    ]
    table = build_difficulty_table(view)
    assert table is not None
    shown = [[field.format_cell(row) for field in table.fields] for row in table.rows]
    assert [row[:2] for row in shown] == [
        ["1.0\u202f% to 3.4\u202f%", "50"],
        ["4.0\u202f% to 30\u202f%", "49"],
    ]
    assert render_svg(
        build_difficulty_chart(view, difficulty, name_ranges_of_edit_shares(difficulty))
    ).startswith("<svg")
