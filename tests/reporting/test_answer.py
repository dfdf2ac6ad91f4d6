"""The sentences at the top, against sentences written by hand."""

from __future__ import annotations

from metassay.reporting.answer import answer, answer_lines
from metassay.reporting.findings import find
from metassay.reporting.html import caveats


def _row(metric, accuracy, low=None, high=None, context=None):
    return {"metric": metric, "accuracy": accuracy, "low": low, "high": high, "context": context}


def _result(**extra):
    return {
        "task": "mt",
        "global": [
            _row("chrf", 0.89, 0.88, 0.9),
            _row("comet", 0.87, 0.86, 0.88),
            _row("length", 0.5, 0.49, 0.51),
        ],
        "contexts": {
            "domain": {
                "local_accuracy": [
                    _row("chrf", 0.91, 0.9, 0.92, "news"),
                    _row("comet", 0.87, 0.86, 0.88, "news"),
                    _row("chrf", 0.78, 0.75, 0.8, "conversation"),
                    _row("comet", 0.88, 0.86, 0.9, "conversation"),
                ],
                "h1": None,
                "h2": None,
            }
        },
        **extra,
    }


def _said(result, part=answer):
    return [str(said).replace("\u202f", " ") for said in part(find(result))]


def test_the_best_metric_with_its_interval_and_where_it_changes():
    assert _said(_result()) == [
        (
            "chrF tells a better translation from a worse one in 89 % of pairs (95 % interval 88–90), "
            "ahead of COMET with 87 % (86–88)."
        ),
        "By domain nothing speaks against it in 1 of 2; on conversation trust COMET, right in 88 % (86–90) against 78 % (75–80).",
    ]


def test_the_recommendation_decides_where_there_is_one():
    both = {"metrics": ["comet", "chrf"], "top_group": ["comet", "chrf"], "why": ""}
    result = _result(recommendation={"domain": {"news": both, "conversation": both, "global": both}})
    assert _said(result) == [
        (
            "chrF tells a better translation from a worse one in 89 % of pairs (95 % interval 88–90); "
            "COMET cannot be told apart from it."
        ),
        (
            "It stays in the top group for every domain, from 78 % (75–80) on conversation "
            "to 91 % (90–92) on news."
        ),
    ]


def test_each_task_has_its_word():
    assert "a better transcript from" in _said(_result(task="asr"))[0]
    assert "a better ranking from" in _said(_result(task="ranking"))[0]


def test_nothing_scored_is_said():
    assert _said({"global": [_row("bleu", None)]}) == [
        "No pair could be scored, so there is no metric to recommend here."
    ]


def test_a_sentinel_that_wins_is_a_warning():
    result = _result()
    result["global"][2]["accuracy"] = 0.95
    assert _said(result, caveats)[0].startswith(
        "length, which knows nothing of quality, is right in 95 % (49–51)"
    )


def test_confounded_metrics_are_named_best_first_and_sentinels_are_not():
    flags = [{"metric": name, "flag": True} for name in ("comet", "chrf", "length")]
    assert _said(_result(confounding=flags), caveats) == [
        (
            "The accuracy of chrF and COMET depends on how the worse outputs were made: see "
            "accuracy by perturbation method."
        )
    ]


def test_one_metric_is_no_choice():
    result = {"task": "mt", "global": [_row("bleu", 0.8, 0.7, 0.9)]}
    assert _said(result, caveats) == ["Only one metric was assayed: a choice needs at least two."]


def _claims(*leads, **more):
    rows = [dict(zip(("column", "context", "better", "worse", "p"), lead)) for lead in leads]
    return {"error_rate": 0.05, "lead": rows, "method": [], "set_aside": {}, **more}


def test_only_what_holds_for_the_whole_report_is_claimed():
    """Intervals apart on conversation, but no claim among all contexts: then none is made."""
    assert _said(_result(claims=_claims(), pairs_from="rule")) == [
        (
            "chrF tells a better translation from a worse one in 89 % of perturbed pairs "
            "(95 % interval 88–90); COMET cannot be told apart from it."
        ),
        (
            "For no domain is another metric shown to be more accurate; it runs from 78 % (75–80) on "
            "conversation to 91 % (90–92) on news."
        ),
    ]


def test_a_claim_is_made_of_the_context_it_is_about():
    leads = [(None, "global", "chrf", "comet", 0.01), ("domain", "conversation", "comet", "chrf", 0.02)]
    assert _said(_result(claims=_claims(*leads), pairs_from="people")) == [
        (
            "chrF tells a better translation from a worse one in 89 % of human pairs "
            "(95 % interval 88–90), ahead of COMET with 87 % (86–88)."
        ),
        (
            "By domain nothing speaks against it in 1 of 2; on conversation trust COMET, right in "
            "88 % (86–90) against 78 % (75–80)."
        ),
    ]


def test_contexts_that_were_set_aside_are_not_told_of():
    claims = _claims(set_aside={"domain": ["conversation"]})
    assert "conversation" not in _said(_result(claims=claims))[1]
    claims = _claims(set_aside={"domain": ["conversation", "news"]})
    assert _said(_result(claims=claims))[1] == "Every domain is too small for a claim of its own."


def test_what_a_reader_should_doubt_of_rankings_and_lost_methods():
    rows = [
        {"perturbation": "rank_swapping", "applied": 90, "worse": 70, "equal": 10, "better": 10},
        {"perturbation": "shuffle", "applied": 10, "worse": 4, "equal": 0, "better": 6, "refused": 1},
    ]
    rows += [{"perturbation": f"m{n}", "applied": 0} for n in range(7)]
    result = _result(validity=rows, valid_pairs_only=True)
    assert _said(result, caveats) == [
        "26.0 % of the reordered lists did not lose gain, so their labels are wrong: they were dropped.",
        "shuffle was refused: its copies gained as often as not (6 gained, 4 lost).",
        (
            "7 of 9 ways of making outputs worse did not apply here (m0, m1, m2, m3, m4 and 2 more): "
            "no metric was tried on their errors."
        ),
    ]
    kept = _said(result | {"valid_pairs_only": False}, caveats)
    assert kept[0].endswith("so their labels are wrong: errors on them are not the metrics’.")


def test_ndcg_is_favoured_where_gain_decides_what_is_worse():
    rows = [{"perturbation": "rank_swapping", "applied": 90, "worse": 70, "equal": 10, "better": 10}]
    result = _result(validity=rows, valid_pairs_only=True)
    result["global"].append(_row("ndcg", 0.88, 0.87, 0.89))
    assert _said(result, caveats)[1].endswith("which is what nDCG measures: it is favoured.")


def test_a_context_of_one_item_and_equal_accuracies():
    result = _result(claims=_claims())
    rows = result["contexts"]["domain"]["local_accuracy"]
    rows.append(_row("chrf", 1.0, None, None, "tiny") | {"items": 1})
    assert "tiny" not in " ".join(_said(result))
    for row in rows:
        row["accuracy"] = 0.9
    assert _said(result)[1].endswith("it runs at 90 % everywhere.")


def test_the_run_s_own_answer_decides():
    """The cheaper metric was chosen, and on conversation the other one: every door reads that."""
    settled = {
        "metric": "comet",
        "top_group": ["comet", "chrf"],
        "exceptions": [{"column": "domain", "context": "news", "metric": "chrf"}],
    }
    said = _said(_result(answer=settled, claims=_claims()))
    assert said[0].startswith("COMET tells a better translation")
    assert said[0].endswith("; chrF cannot be told apart from it.")
    assert said[1].endswith("on news trust chrF, right in 91 % (90–92) against 87 % (86–88).")
    assert answer_lines({"answer": settled}) == [
        "Use comet; chrf cannot be told apart from it.",
        "On news (domain) use chrf.",
    ]
