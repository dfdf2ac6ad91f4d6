"""The heat map of metrics by context: frames, titles and the columns that it is drawn for."""

from __future__ import annotations

import vl_convert

from assay_builders import make_accuracy, make_claims, make_column, make_content, make_recommendation
from metassay.reporting.assay_report import prepare_assay_report
from metassay.reporting.sections.assay_choice import build_choice_section
from metassay.reporting.sections.assay_heatmap import build_heatmap_section
from metassay.results.assay import AccuracyVariation, ContextException, OverallRecommendation

VARIATION = AccuracyVariation(column="domain", metric="chrf", p=0.01)
ACCURACIES = {"news": {"chrf": 0.9, "bleu": 0.8}, "chat": {"chrf": 0.6, "bleu": 0.7}, "few": {"chrf": 1.0}}


def make_view(exceptions=(), variations=(VARIATION,), small=("few",)):
    rows = [
        make_accuracy(metric, value, context=context)
        for context, values in ACCURACIES.items()
        for metric, value in values.items()
    ]
    recommendation = {
        "domain": {
            "news": make_recommendation("chrf", top_group=["chrf"]),
            "chat": make_recommendation("bleu", top_group=["bleu", "chrf"]),
        }
    }
    content = make_content(
        [make_accuracy("chrf", 0.8, 0.7, 0.9), make_accuracy("bleu", 0.75, 0.7, 0.8)],
        {"domain": make_column(rows)},
        recommendation,
        claims=make_claims(variations=list(variations), small_contexts={"domain": list(small)}),
        answer=OverallRecommendation(metric="chrf", top_group=["chrf"], exceptions=list(exceptions)),
    )
    return prepare_assay_report(content)


def test_metrics_that_are_tied_with_the_best_are_framed():
    (subsection,) = build_heatmap_section(make_view()).subsections
    spec = subsection.charts[0].spec
    framed = {(row["context"], row["metric"]) for row in spec["data"]["values"] if row["tied"] == "yes"}
    assert framed == {("news", "chrF"), ("chat", "chrF"), ("chat", "BLEU")}
    assert len(spec["data"]["values"]) == 4  # the context that is too small for claims is left out
    assert "1 further context below" in subsection.charts[0].caption
    assert vl_convert.vegalite_to_svg({**spec, "width": 260}).startswith("<svg")


def test_the_title_states_what_the_chart_shows():
    exception = ContextException(column="domain", context="chat", metric="bleu")
    (without,) = build_heatmap_section(make_view()).subsections
    (with_exception,) = build_heatmap_section(make_view([exception])).subsections
    assert without.title == "On perturbed pairs, no metric is shown to be better than chrF for any domain"
    assert (
        with_exception.title
        == "On perturbed pairs, another metric is better than chrF in 1 of 2 values of domain"
    )
    assert build_choice_section(make_view()).collapsed
    assert not build_choice_section(make_view([exception])).collapsed


def test_contexts_that_are_not_shown_to_differ_have_no_heat_map():
    assert build_heatmap_section(make_view(variations=())) is None
    assert not build_choice_section(make_view(variations=())).collapsed
