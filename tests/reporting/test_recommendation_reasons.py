"""Why a metric is recommended: sentences with their numbers."""

from dataclasses import replace

import numpy as np

from assay_builders import (
    make_accuracy,
    make_choice_table,
    make_claims,
    make_column,
    make_content,
    make_robustness,
)
from metassay.meta.contexts.choice import (
    MetricAccuracyTable,
    OverallMetricChoice,
    recommend_metric_for_each_context,
)
from metassay.reporting.labels import MetricLabels
from metassay.reporting.recommendation_reasons import ReasonWriter
from metassay.results.assay import OverallRecommendation

METRICS, CONTEXTS = ("A", "B", "C"), ("X", "Y", "Z")
TOY = np.array([[0.9, 0.9, 0.3], [0.7, 0.7, 0.7], [0.3, 0.3, 0.9]])  # Deviyani and Diaz (2025), table 1


def write_reason(
    table: MetricAccuracyTable,
    context: str,
    *,
    run_choice: OverallMetricChoice | None = None,
    same_decisions: list[list[str]] | None = None,
    labels: MetricLabels | None = None,
    pairs_from: str = "",
) -> str:
    """Explain the choice in one context of a table of exact accuracies; each context chooses by itself
    where the run has no choice.
    """
    rows = [
        [
            make_accuracy(metric, float(table.accuracy[m, c]), context=name)
            for m, metric in enumerate(table.metrics)
        ]
        for c, name in enumerate(table.contexts)
    ]
    robustness = [
        make_robustness(
            metric, stability=float(table.spread[m]), robust_accuracy=float(table.robust_accuracy[m])
        )
        for m, metric in enumerate(table.metrics)
    ]
    answer = None
    if run_choice is not None:
        answer = OverallRecommendation(metric=run_choice.metric, top_group=[run_choice.metric], exceptions=[])
    content = make_content(
        rows[0],
        {"column": make_column([row for local in rows[1:] for row in local], robustness=robustness)},
        answer=answer,
        cost_class=dict(table.cost_classes),
        same_decisions=same_decisions or [],
        claims=make_claims(small_contexts={"column": ["Y"]}),
        pairs_from=pairs_from,
    )
    criteria = table.criteria if run_choice is None else None
    writer = ReasonWriter(content, "column", criteria=criteria, metric_labels=labels or MetricLabels([]))
    return writer.explain_recommendation(
        context, recommend_metric_for_each_context(table, run_choice)[context]
    )


def test_the_sentence_names_the_metric_the_context_and_the_number() -> None:
    reason = write_reason(make_choice_table(METRICS, CONTEXTS, TOY), "Z")
    assert reason.startswith("C tells a better output from a worse one in 90 % of pairs on Z.")
    assert reason.endswith("It is the only metric in the top group; B follows with 70 %.")


def test_metrics_are_named_by_their_labels() -> None:
    table = make_choice_table(("bleu", "chrf(word_order=2)"), "XY", np.array([[0.9, 0.9], [0.7, 0.7]]))
    reason = write_reason(table, "X", labels=MetricLabels(table.metrics))
    assert reason.startswith("BLEU tells a better output")
    assert reason.endswith("chrF++ follows with 70 %.")


def test_the_sentence_says_what_the_pairs_are() -> None:
    table = make_choice_table(METRICS, CONTEXTS, TOY)
    assert "in 90 % of human pairs on Z." in write_reason(table, "Z", pairs_from="people")
    assert "in 90 % of perturbed pairs on Z." in write_reason(table, "Z", pairs_from="rule")


def test_the_sentence_names_a_difference_in_cost() -> None:
    table = make_choice_table(METRICS, CONTEXTS, TOY, cost_classes={"C": "neural GPU", "B": "cheap"})
    assert write_reason(table, "Z").endswith("B follows with 70 % and costs less (cheap against neural GPU).")
    table = make_choice_table(METRICS, CONTEXTS, TOY, cost_classes={"C": "cheap", "B": "tagger"})
    assert write_reason(table, "Z").endswith("B follows with 70 % and costs more (tagger against cheap).")
    table = make_choice_table(METRICS, CONTEXTS, TOY, cost_classes={"C": "cheap", "B": "cheap"})
    assert write_reason(table, "Z").endswith("B follows with 70 %.")


def test_the_choice_of_the_run_is_explained_in_every_context() -> None:
    table = make_choice_table(METRICS, CONTEXTS, TOY)
    choice = OverallMetricChoice("A", {"Z": ["B", "C"]})
    assert write_reason(table, "X", run_choice=choice).endswith("no other is shown to be more accurate here.")
    assert write_reason(table, "Y", run_choice=choice).endswith("has too few items for one of its own.")
    assert write_reason(table, "Z", run_choice=choice).endswith(
        "shown to be more accurate here than A, the choice over all contexts: 30 %."
    )


def test_metrics_that_decide_alike_are_one_opinion() -> None:
    table = make_choice_table("PQR", "XY", np.array([[0.8, 0.7], [0.8, 0.7], [0.8, 0.7]]))
    reason = write_reason(table, "X", same_decisions=[["P", "Q"]])
    assert "R may be as accurate; P is preferred" in reason
    assert "Q" not in reason
    alone = replace(table, may_be_best=np.array([[True] * 3, [True] * 3, [False] * 3]))
    reason = write_reason(alone, "X", same_decisions=[["P", "Q"]])
    assert "It is the only metric in the top group; R follows" in reason


def test_the_first_preference_that_decides_is_named() -> None:
    same = np.array([[0.8, 0.7], [0.8, 0.7]])
    by_cost = make_choice_table("PQ", "XY", same, cost_classes={"P": "neural CPU", "Q": "cheap"})
    assert "because it costs less" in write_reason(by_cost, "X")
    by_criterion = make_choice_table("PQ", "XY", same, criteria={"clarity": {"P": 1.0, "Q": 3.0}})
    assert "for its clarity" in write_reason(by_criterion, "Y")
    rarer = np.array([[0.8, 0.5, 0.8], [0.8, 0.8, 0.5]])
    by_mix = make_choice_table("QP", "XYZ", rarer, context_shares=np.array([0.5, 0.3, 0.2]))
    by_mix = replace(by_mix, may_be_best=np.ones((2, 4), dtype=bool))
    assert write_reason(by_mix, "X").endswith(
        "P is preferred because it is the safest choice when the shares of contexts change."
    )


def test_a_higher_estimate_of_another_is_named_and_a_clear_lead_decides() -> None:
    both = replace(make_choice_table("AB", "XYZ", TOY[:2]), may_be_best=np.ones((2, 4), dtype=bool))
    assert "though A has the higher estimate" in write_reason(both, "X")
    is_worse_than_another = np.zeros((2, 4), dtype=bool)
    is_worse_than_another[1, 1] = True
    assert write_reason(replace(both, is_worse_than_another=is_worse_than_another), "X").endswith(
        "A is preferred because a paired comparison puts the others behind it."
    )
