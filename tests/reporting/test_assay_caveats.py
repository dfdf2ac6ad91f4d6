"""The caveats of an assay, against sentences written by hand."""

from __future__ import annotations

import msgspec

from assay_builders import make_accuracy, make_claims, make_column, make_content, make_perturbation
from metassay.reporting.assay_caveats import list_reasons_to_doubt_recommendation
from metassay.reporting.assay_report import prepare_assay_report
from metassay.results.assay import OverallRecommendation, PerturbationDependence


def make_result(**fields):
    overall = [make_accuracy("chrf", 0.89, 0.88, 0.9), make_accuracy("comet", 0.87, 0.86, 0.88)]
    rows = [
        make_accuracy("chrf", 0.91, 0.9, 0.92, context="news"),
        make_accuracy("comet", 0.87, 0.86, 0.88, context="news"),
        make_accuracy("chrf", 0.78, 0.75, 0.8, context="conversation"),
        make_accuracy("comet", 0.88, 0.86, 0.9, context="conversation"),
    ]
    defaults = {"answer": OverallRecommendation(metric="chrf", top_group=["chrf"], exceptions=[])}
    return make_content(overall, {"domain": make_column(rows)}, **(defaults | fields))


def write(result):
    return [
        str(each).replace("\u202f", " ")
        for each in list_reasons_to_doubt_recommendation(prepare_assay_report(result))
    ]


def test_a_sentinel_that_wins_is_a_caveat():
    result = make_result(sentinels=[make_accuracy("length", 0.95, 0.94, 0.96)])
    assert write(result)[0].startswith("length, which knows nothing of quality, is right in 95 % (94–96)")


def test_confounded_metrics_are_named_the_chosen_one_first():
    dependences = [PerturbationDependence(metric=metric, p=0.01) for metric in ("comet", "chrf")]
    result = make_result(claims=make_claims(perturbation_dependences=dependences))
    assert write(result) == [
        (
            "The accuracy of chrF and COMET depends on how the worse outputs were made: see accuracy by"
            " perturbation."
        )
    ]


def test_a_single_metric_is_a_caveat():
    answer = OverallRecommendation(metric="bleu", top_group=["bleu"], exceptions=[])
    result = make_content([make_accuracy("bleu", 0.8, 0.7, 0.9)], answer=answer)
    assert write(result) == ["Only one metric was assayed: a choice needs at least two."]


def test_wrong_labels_of_rankings_and_unused_perturbations_are_caveats():
    rows = [
        make_perturbation("rank_swapping", applied=90, worse=70, equal=10, better=10),
        make_perturbation("shuffle", applied=10, worse=4, equal=0, better=6, refused=1),
    ]
    rows += [make_perturbation(f"m{n}", applied=0) for n in range(7)]
    result = make_result(perturbation_statistics=rows, valid_pairs_only=True)
    assert write(result) == [
        "26.0 % of the reordered lists did not lose gain, so their labels are wrong: they were dropped.",
        "shuffle was refused: it improved rankings as often as not (6 gained, 4 lost).",
        (
            "7 of 9 perturbations did not apply here (m0, m1, m2, m3, m4 and 2 more): no metric was tried on"
            " their errors."
        ),
    ]
    kept = write(msgspec.structs.replace(result, valid_pairs_only=False))
    assert kept[0].endswith("so their labels are wrong: errors on them are not errors of the metrics.")


def test_ndcg_is_favoured_where_gain_decides_what_is_worse():
    rows = [make_perturbation("rank_swapping", applied=90, worse=70, equal=10, better=10)]
    result = make_result(perturbation_statistics=rows, valid_pairs_only=True)
    overall = [*result.overall, make_accuracy("ndcg", 0.88, 0.87, 0.89)]
    caveat = write(msgspec.structs.replace(result, overall=overall))[1]
    assert caveat.endswith("nDCG measures just that, so it is favoured.")
