"""Results in labels: everything that names a metric, and nothing else."""

from __future__ import annotations

import copy
import re

from metassay.reporting.pages import build_plain_page, render_notebook_html
from metassay.reporting.tables import Field
from metassay.reporting.wording import Label, in_labels

PLUS = "chrf(word_order=2)"


def test_names_lists_and_sentences_are_in_labels_and_the_rest_stays():
    result = {
        "global": [{"metric": "bleu", "accuracy": 0.5}, {"metric": PLUS, "accuracy": 0.6}],
        "contexts": {
            "bleu": {"local_accuracy": [{"metric": "bleu", "context": "bleu"}], "trend": {"bleu": 0.1}}
        },
        "recommendation": {
            "bleu": {
                "global": {
                    "metrics": [PLUS, "bleu"],
                    "choice": PLUS,
                    "why": f"{PLUS} leads on bleu; bleu follows.",
                }
            }
        },
        "pareto": [PLUS],
        "perturbations": {"bleu": 3},
        "notes": ["try --metrics bleu(tokenizer=char)", "bleu"],
        "manifest": {"metrics": {"bleu": "bleu|…"}, "metric": "bleu"},
    }
    before = copy.deepcopy(result)
    shown = in_labels(result)
    assert result == before
    assert [row["metric"] for row in shown["global"]] == ["BLEU", "chrF++"]
    assert shown["contexts"] == {
        "bleu": {"local_accuracy": [{"metric": "BLEU", "context": "bleu"}], "trend": {"BLEU": 0.1}}
    }
    assert shown["recommendation"]["bleu"]["global"] == {
        "metrics": ["chrF++", "BLEU"],
        "choice": "chrF++",
        "why": "chrF++ leads on bleu; BLEU follows.",
    }
    assert shown["pareto"] == ["chrF++"]
    for key in ("perturbations", "notes", "manifest"):
        assert shown[key] == result[key]


def test_compared_metrics_have_labels_and_compared_systems_their_names():
    metrics = {"metrics": [{"metric": "ter"}, {"metric": "bleu"}], "comparisons": [{"a": "ter", "b": "bleu"}]}
    assert in_labels(metrics)["comparisons"] == [{"a": "TER", "b": "BLEU"}]
    systems = [{"metric": "ter", "a": "ter", "b": "other"}]
    assert in_labels(systems) == [{"metric": "TER", "a": "ter", "b": "other"}]


def test_two_metrics_of_one_result_never_look_alike():
    rows = in_labels([{"metric": "bleu"}, {"metric": "BLEU"}, {"metric": "ter"}])
    assert [row["metric"] for row in rows] == ["bleu", "BLEU", "TER"]


def test_a_table_shows_labels_and_exports_specs():
    row = in_labels([{"metric": PLUS, "top_group": ["bleu", PLUS]}])[0]
    assert (Field("metric", "").format_cell(row), Field("metric", "").format_exact_value(row)) == (
        "chrF++",
        PLUS,
    )
    assert Field("top_group", "").format_cell(row) == "BLEU, chrF++"
    assert Field("top_group", "").format_exact_value(row) == f"bleu {PLUS}"


def test_labels_survive_copies():
    label = copy.deepcopy(Label("BLEU", "bleu"))
    assert (label, label.spec, str(label).spec) == ("BLEU", "bleu", "bleu")


def test_no_spec_is_left_for_people_to_read(results):
    """Whatever names a metric in the report of a whole assay does so by its label."""
    page = results(metrics=("rougel", PLUS, "bleu", "ter")).render()
    visible = page.split('id="provenance"')[0]
    text = re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", " ", visible, flags=re.DOTALL)
    assert "ROUGE-L" in text
    assert "chrF++" in text
    specs = [word for word in ("rougel", PLUS) if word in text]
    assert specs == [], text[max(0, text.find(specs[0]) - 200) : text.find(specs[0]) + 100]


def test_notebooks_show_labels():
    assert "<td>TER</td>" in render_notebook_html(
        build_plain_page("x", {"systems": [{"system": "a", "metric": "ter"}]})
    )


def test_a_spec_inside_another_name_is_left_alone():
    rows = [{"metric": "bleu"}, {"metric": "bleu-refA", "sentence": "bleu-refA beats bleu, not bleurt."}]
    assert in_labels(rows)[1]["sentence"] == "bleu-refA beats BLEU, not bleurt."


def test_metrics_that_decide_alike_stand_on_one_line():
    rows = [{"metric": name, "accuracy": 0.7, "context": "news"} for name in ("wil", "wip", "cer")]
    result = {
        "global": rows,
        "metrics": [{"metric": name, "signature": name} for name in ("wil", "wip", "cer")],
        "phi": {"metrics": ["wil", "wip", "cer"], "matrix": [[1, 1, 0.2], [1, 1, 0.2], [0.2, 0.2, 1]]},
        "recommendation": {"domain": {"news": {"choice": "wip", "top_group": ["wip", "wil", "cer"]}}},
        "claims": {"lead": [{"context": "news", "better": "cer", "worse": name} for name in ("wil", "wip")]},
        "trend": {"wil": 0.1, "wip": 0.1, "cer": 0.3},
        "same_decisions": [["wil", "wip"]],
    }
    shown = in_labels(result)
    assert [row["metric"] for row in shown["global"]] == ["WIL = WIP", "CER"]
    assert [row["metric"] for row in shown["metrics"]] == ["WIL", "WIP", "CER"]
    assert shown["phi"] == {"metrics": ["WIL = WIP", "CER"], "matrix": [[1, 0.2], [0.2, 1]]}
    assert shown["recommendation"]["domain"]["news"] == {
        "choice": "WIL = WIP",
        "top_group": ["WIL = WIP", "CER"],
    }
    assert [row["worse"] for row in shown["claims"]["lead"]] == ["WIL = WIP"]
    assert shown["trend"] == {"WIL = WIP": 0.1, "CER": 0.3}
