"""Section of the `assay` page: how it was measured, remarks, and what was left out."""

from __future__ import annotations

from metassay.reporting.assay_caveats import list_remarks_on_data
from metassay.reporting.assay_report import AssayReport
from metassay.reporting.pages import Footnote, Section
from metassay.reporting.wording import Sentence, format_count, format_sentence, list_names

_LISTED_NAMES = 5


def build_method_section(assay_report: AssayReport) -> Section:
    """Build the section that explains the methods. Other sections refer to its footnotes."""
    subsections = []
    remarks = list_remarks_on_data(assay_report)
    if remarks:
        subsections.append(Section("Remarks", bullets=remarks))
    left_out = _list_data_left_out(assay_report)
    if left_out:
        subsections.append(Section("What was left out", bullets=left_out))
    return Section(
        "How it was measured",
        footnotes=_build_method_footnotes(assay_report),
        subsections=subsections,
        anchor="notes",
        collapsed=True,
    )


def _list_data_left_out(assay_report: AssayReport) -> list[str]:
    """List which data was left out. Each entry has the reason, the number, and the names of what is
    missing.
    """
    counts = assay_report.result.left_out
    names = assay_report.result.named_left_out
    entries = []
    for reason in dict.fromkeys([*counts, *names]):
        if not counts.get(reason) and not names.get(reason):
            continue
        number = f": {format_count(counts[reason])}" if reason in counts else ""
        listed = f" ({list_names(names[reason], '', at_most=_LISTED_NAMES)})" if names.get(reason) else ""
        entries.append(f"{reason}{number}{listed}")
    return entries


def _build_method_footnotes(assay_report: AssayReport) -> list[Footnote]:
    footnotes = [
        Footnote("accuracy", "Accuracy", _explain_accuracy(assay_report)),
        Footnote(
            "top",
            "Top group",
            "The best metric of a context and those not significantly worse by a paired bootstrap of the"
            " difference, corrected for having picked the best; each group on its own, so of twenty groups"
            " one may leave out the best by chance. The metric to use is chosen once, over all contexts: from"
            " its group the one of the cheapest cost class, then the most accurate; those that a paired"
            " comparison clearly puts behind another come last. In a context another takes its place only"
            " where it is claimed to be more accurate there.",
        ),
        Footnote(
            "claims",
            "Claims",
            "Sentences that name a difference (a context where another metric is more accurate, metrics that"
            " vary, an order that does not hold, a trend, a prediction, a dependence on the perturbation)"
            " share one error rate: where nothing differs, at most 5\u202f% of reports say anything of the"
            " kind. All contexts of all columns count, except those too small to take part.",
        ),
        Footnote(
            "h1",
            "Does accuracy differ?",
            "Chi-square on the table contexts × (right, wrong) of pair counts, with contexts − 1 degrees of"
            " freedom. Pairs of one item are not independent, so the permutation test decides: whole outputs,"
            " or whole clusters, exchange their context labels, and means are weighed by the spread within"
            " each context. CMH is the Cochran–Mantel–Haenszel test stratified by perturbation. “differs”"
            " means p ≤ .05, after correction for all claims of the report.",
        ),
        Footnote("h2", "Rank agreement", _explain_rank_agreement()),
        Footnote(
            "methods",
            "Confounding",
            "A metric is confounded when its accuracy depends on the perturbation; the variance is taken over"
            " single perturbations, and a test decides, corrected for the number of metrics.",
        ),
        Footnote(
            "sentinels",
            "Sentinels",
            "length scores an output by its length, constant gives all the same score, random draws at"
            " random, random_per_system draws once per system. A metric worth using beats them.",
        ),
    ]
    if assay_report.result.human_comparison is not None:
        footnotes.append(Footnote("people", "Human scores", _explain_human_scores()))
    return footnotes


def _explain_accuracy(assay_report: AssayReport) -> Sentence:
    # A page in a notebook has no manifest.
    identity = assay_report.manifest.get("identity", {})
    has_half_ties = identity.get("configuration", {}).get("ties") == "half"
    ties = "counts half" if has_half_ties else "is wrong"
    cluster = assay_report.result.cluster
    return format_sentence(
        "For each item, the share of pairs in which the metric scores the better output higher; a tie {ties}."
        " Then the mean over items. Intervals are 95\u202f% intervals from a bootstrap over clusters:"
        " {column} ({why}). {source:cite}",
        ties=ties,
        column=cluster.column,
        why=cluster.why,
        source="Deviyani and Diaz, Contextual Metric Meta-Evaluation by Measuring Local Metric Accuracy,"
        " 2025.",
    )


def _explain_rank_agreement() -> Sentence:
    return format_sentence(
        "The metrics are ordered by accuracy in two contexts; the statistic gives more weight to the top of"
        " the order. τ-AP: {first:cite}; with ties: {second:cite}. The noise ceiling of a context is the"
        " agreement that two samples of it, each of its size, would have, extrapolated from its random halves"
        " (Spearman and Brown).",
        first=(
            "Yilmaz, Aslam and Robertson, A New Rank Correlation Coefficient for Information Retrieval, 2008"
        ),
        second="Urbano and Marrero, The Treatment of Ties in AP Correlation, 2017",
    )


def _explain_human_scores() -> Sentence:
    return format_sentence(
        "A human pair is two systems’ outputs for one item with different human scores. Accuracy is computed"
        " as on perturbed pairs. SPA, soft pairwise accuracy, is the mean over pairs of systems of"
        " 1 − |p of human scores − p of the metric| ({source:cite}). τ is Kendall’s τ-b between two orders of"
        " the metrics, its interval from resamples of the same clusters for both; what a second sample of"
        " human scores would reach is extrapolated from random halves (Spearman and Brown). The choice"
        " follows human pairs where the metric that is right most often on them is shown to be ahead there of"
        " the choice by perturbed pairs, a claim that shares the error rate of all others.",
        source=(
            "Thompson, Mathur, Deutsch and Khayrallah, Improving Statistical Significance in Human Evaluation"
            " of Automatic Metrics via Soft Pairwise Accuracy, 2024"
        ),
    )
