"""Labels in reports and notebooks: people read labels, and other programs read specs."""

from __future__ import annotations

import copy
import re

from metassay.reporting.labels import MetricLabel
from metassay.reporting.pages import build_page_of_tables, render_notebook_html
from metassay.reporting.tables import Field, build_tables_of_row_lists

PLUS = "chrf(word_order=2)"


def test_plain_tables_have_labels_and_export_specs():
    result = {
        "accuracies": [{"metric": PLUS, "context": "bleu", "a": "bleu"}],
        "verdict": [{"metrics": ["bleu", PLUS], "sentence": f"{PLUS} is better than bleu on bleu."}],
        "notes": ["bleu"],
    }
    before = copy.deepcopy(result)
    accuracies, verdict = build_tables_of_row_lists(result)
    assert result == before
    assert accuracies.rows[0] == {"metric": "chrF++", "context": "bleu", "a": "bleu"}
    assert Field("metric", "").format_cell(accuracies.rows[0]) == "chrF++"
    assert Field("metric", "").format_exact_value(accuracies.rows[0]) == PLUS
    assert Field("metrics", "").format_cell(verdict.rows[0]) == "BLEU, chrF++"
    assert Field("metrics", "").format_exact_value(verdict.rows[0]) == f"bleu {PLUS}"
    assert verdict.rows[0]["sentence"] == "chrF++ is better than BLEU on bleu."


def test_metrics_with_the_same_decisions_are_one_in_lists():
    rows = [{"metrics": ["wip", "wil", "cer"]}]
    (table,) = build_tables_of_row_lists({"verdict": rows, "same_decisions": [["wil", "wip"]]})
    assert table.rows[0]["metrics"] == ["WIL = WIP", "CER"]


def test_labels_survive_copies():
    label = copy.deepcopy(MetricLabel("BLEU", "bleu"))
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
        build_page_of_tables("x", {"systems": [{"system": "a", "metric": "ter"}]})
    )
