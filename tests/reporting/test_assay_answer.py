"""The sentences at the top of an assay's report and its caveats, against sentences written by hand."""

from __future__ import annotations

import msgspec

from assay_builders import make_accuracy, make_claims, make_column, make_content, make_perturbation
from metassay.reporting.assay_answer import describe_assay_answer
from metassay.reporting.assay_caveats import list_answer_caveats
from metassay.reporting.assay_report import prepare_assay_report
from metassay.results.assay import Answer, ContextException, PerturbationDependence


def make_result(**fields):
    overall = [make_accuracy("chrf", 0.89, 0.88, 0.9), make_accuracy("comet", 0.87, 0.86, 0.88)]
    rows = [
        make_accuracy("chrf", 0.91, 0.9, 0.92, context="news"),
        make_accuracy("comet", 0.87, 0.86, 0.88, context="news"),
        make_accuracy("chrf", 0.78, 0.75, 0.8, context="conversation"),
        make_accuracy("comet", 0.88, 0.86, 0.9, context="conversation"),
    ]
    defaults = {"answer": Answer(metric="chrf", top_group=["chrf"], exceptions=[])}
    return make_content(overall, {"domain": make_column(rows)}, **(defaults | fields))


def write(result, part=describe_assay_answer):
    return [str(each).replace("\u202f", " ") for each in part(prepare_assay_report(result))]


def test_the_best_metric_is_stated_with_its_interval_and_the_runner_up():
    assert write(make_result()) == [
        (
            "chrF tells a better translation from a worse one in 89 % of perturbed pairs"
            " (95 % interval 88–90), ahead of COMET with 87 % (86–88)."
        ),
        "chrF is best or tied in every domain, from 78 % (75–80) on conversation to 91 % (90–92) on news.",
    ]


def test_tied_metrics_are_named_with_the_best():
    answer = Answer(metric="chrf", top_group=["chrf", "comet"], exceptions=[])
    assert write(make_result(answer=answer, pairs_from="people"))[0] == (
        "chrF tells a better translation from a worse one in 89 % of human pairs (95 % interval 88–90);"
        " tied with it: COMET."
    )


def test_a_context_with_another_metric_is_named():
    exception = ContextException(column="domain", context="conversation", metric="comet")
    answer = Answer(metric="chrf", top_group=["chrf"], exceptions=[exception])
    assert write(make_result(answer=answer))[1] == (
        "chrF is best or tied in 1 of 2 values of domain; on conversation trust COMET, right in"
        " 88 % (86–90) against 78 % (75–80)."
    )


def test_each_task_has_its_word():
    assert "a better transcript from" in write(make_result(task="asr"))[0]
    assert "a better ranking from" in write(make_result(task="ranking"))[0]


def test_a_run_without_scores_recommends_nothing():
    assert write(make_content([make_accuracy("bleu", None)])) == [
        "No pair could be scored, so there is no metric to recommend here."
    ]


def test_small_contexts_are_not_mentioned():
    claims = make_claims(small_contexts={"domain": ["conversation"]})
    assert "conversation" not in write(make_result(claims=claims))[1]
    claims = make_claims(small_contexts={"domain": ["conversation", "news"]})
    assert write(make_result(claims=claims))[1] == "Every domain is too small for a claim of its own."


def test_contexts_of_one_item_are_not_mentioned_and_equal_accuracies_have_no_range():
    result = make_result()
    rows = result.contexts["domain"].local_accuracy
    equal = [msgspec.structs.replace(row, accuracy=0.9) for row in rows]
    tiny = make_accuracy("chrf", 1.0, context="tiny", items=1)
    column = msgspec.structs.replace(result.contexts["domain"], local_accuracy=[*equal, tiny])
    sentence = write(msgspec.structs.replace(result, contexts={"domain": column}))[1]
    assert sentence == "chrF is best or tied in every domain, at 90 % in all of them."


def test_a_sentinel_that_wins_is_a_caveat():
    result = make_result(sentinels=[make_accuracy("length", 0.95, 0.94, 0.96)])
    assert write(result, list_answer_caveats)[0].startswith(
        "length, which knows nothing of quality, is right in 95 % (94–96)"
    )


def test_confounded_metrics_are_named_the_chosen_one_first():
    dependences = [PerturbationDependence(metric=metric, p=0.01) for metric in ("comet", "chrf")]
    result = make_result(claims=make_claims(perturbation_dependences=dependences))
    assert write(result, list_answer_caveats) == [
        (
            "The accuracy of chrF and COMET depends on how the worse outputs were made: see accuracy by"
            " perturbation."
        )
    ]


def test_a_single_metric_is_a_caveat():
    answer = Answer(metric="bleu", top_group=["bleu"], exceptions=[])
    result = make_content([make_accuracy("bleu", 0.8, 0.7, 0.9)], answer=answer)
    assert write(result, list_answer_caveats) == ["Only one metric was assayed: a choice needs at least two."]


def test_wrong_labels_of_rankings_and_unused_perturbations_are_caveats():
    rows = [
        make_perturbation("rank_swapping", applied=90, worse=70, equal=10, better=10),
        make_perturbation("shuffle", applied=10, worse=4, equal=0, better=6, refused=1),
    ]
    rows += [make_perturbation(f"m{n}", applied=0) for n in range(7)]
    result = make_result(perturbation_statistics=rows, valid_pairs_only=True)
    assert write(result, list_answer_caveats) == [
        "26.0 % of the reordered lists did not lose gain, so their labels are wrong: they were dropped.",
        "shuffle was refused: it improved rankings as often as not (6 gained, 4 lost).",
        (
            "7 of 9 perturbations did not apply here (m0, m1, m2, m3, m4 and 2 more): no metric was tried on"
            " their errors."
        ),
    ]
    kept = write(msgspec.structs.replace(result, valid_pairs_only=False), list_answer_caveats)
    assert kept[0].endswith("so their labels are wrong: errors on them are not errors of the metrics.")


def test_ndcg_is_favoured_where_gain_decides_what_is_worse():
    rows = [make_perturbation("rank_swapping", applied=90, worse=70, equal=10, better=10)]
    result = make_result(perturbation_statistics=rows, valid_pairs_only=True)
    overall = [*result.overall, make_accuracy("ndcg", 0.88, 0.87, 0.89)]
    caveat = write(msgspec.structs.replace(result, overall=overall), list_answer_caveats)[1]
    assert caveat.endswith("nDCG measures just that, so it is favoured.")
