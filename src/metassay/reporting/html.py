"""The page of an assay: from its JSON object to everything the page shows, as plain values.

What a reader should doubt stands here too: "Before you rely on this", and the remarks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from metassay.metrics.labels import label_metrics
from metassay.reporting.answer import answer
from metassay.reporting.charts.accuracy import accuracy_chart, outside_frame, slot
from metassay.reporting.charts.heatmaps import agreement_chart
from metassay.reporting.data_summary import describe_stored_data
from metassay.reporting.findings import Column, Estimate, Findings, brief, find
from metassay.reporting.pages import Chart, Page, Rendered, Section, fragment, plain_page, standing_alone
from metassay.reporting.people import people_grids
from metassay.reporting.sections import accuracy, hypotheses, methods
from metassay.reporting.sections.examples import examples
from metassay.reporting.tables import Grid
from metassay.reporting.wording import (
    Sentence,
    about,
    count,
    listing,
    named,
    percent,
    plural,
    sentence,
)

DEFAULT_TITLE = "Which metric can you trust, here?"
CHARTED_UP_TO = 150


def summarize(result: Mapping[str, Any], labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The report's content, top to bottom, independent of HTML."""
    findings = find(result, labels)
    task = about(findings.task)
    return {
        "title": str(result.get("title") or DEFAULT_TITLE),
        "task": task.title if task else findings.task,
        "one": task.output_noun if task else "output",
        "answer": answer(findings),
        "caveats": caveats(findings),
        "warnings": list(dict.fromkeys(str(warning) for warning in result.get("warnings") or ())),
        "people": people_grids(findings),
        "numbers": _numbers(findings),
        "metrics": [_metric(findings, name) for name in findings.ordered],
        "overall": accuracy.overall_grid(findings),
        "columns": [_column(findings, column, n) for n, column in enumerate(findings.columns)],
        "difficulty": methods.difficulty(findings),
        "methods": methods.methods(findings),
        "validity": methods.validity_grid(findings),
        "errors": accuracy.shared_errors(findings),
        "thrifty": accuracy.thrifty_sentence(findings),
        "frontier": accuracy.thrifty_chart(findings),
        "examples": examples(findings),
        "remarks": remarks(findings),
        "unit": methods.unit(result),
        "half_ties": methods.setting(result, "ties") == "half",
        "left_out": methods.left_out(result),
        "signatures": methods.signature_grid(findings.result),
        "manifest": methods.flat(result.get("manifest") or {}),
        "program_name": methods.program(result),
    }


def _numbers(findings: Findings) -> list[dict[str, str]]:
    result = findings.result
    contexts = sum(len(column.contexts) for column in findings.columns)
    perturbations = result.get("perturbations") or {}
    sentinels = plural(len(findings.sentinels), "sentinel")
    shown = [
        ("items", count(result.get("items")), ""),
        ("outputs", count(result.get("outputs")), ""),
        ("pairs", count(result.get("pairs")), _made_by(perturbations)),
        ("metrics", count(len(findings.metrics)), f"beside {sentinels}" if findings.sentinels else ""),
        ("contexts", count(contexts), listing([column.name for column in findings.columns][:4])),
    ]
    return [{"label": label, "value": value, "note": note} for label, value, note in shown]


def _made_by(perturbations: Mapping[str, Any]) -> str:
    return f"made by {plural(len(perturbations), 'perturbation')}" if perturbations else ""


def _metric(findings: Findings, name: str) -> dict[str, Any]:
    return {"name": name, "slot": slot(findings, name), "sentinel": name in findings.sentinels}


def _column(findings: Findings, column: Column, position: int) -> dict[str, Any]:
    charted = thinned(column)
    agreement = column.agreement
    return {
        "name": column.name,
        "id": f"column-{position}",
        "contexts": len(column.contexts),
        "charted": len(charted.contexts),
        "spread": accuracy.spread_sentence(findings, column),
        "trend": accuracy.trend_sentence(findings, column),
        "chart": accuracy_chart(findings, charted) if column.contexts else None,
        "outside": outside_frame(findings, charted),
        "accuracy": accuracy.accuracy_grid(findings, column),
        "detail": accuracy.detail_grid(findings, column),
        "mix": accuracy.mix_grid(column),
        "choices": accuracy.recommendation_grid(findings, column),
        "robust": accuracy.robust_sentence(column),
        "robustness": accuracy.robustness_grid(column),
        "h1": hypotheses.h1_grid(findings, column),
        "h1_sentence": hypotheses.h1_sentence(findings, column),
        "h1_exchanged": hypotheses.exchanged(column),
        "agreement": agreement_chart(agreement, column.name) if agreement else None,
        "agreement_sentences": hypotheses.agreement_sentences(findings, column),
        "agreement_grid": hypotheses.agreement_grid(findings, column),
    }


def thinned(column: Column, at_most: int = CHARTED_UP_TO) -> Column:
    """The column with no more contexts than a chart can show, evenly spaced in their order."""
    total = len(column.contexts)
    if total <= at_most:
        return column
    kept = tuple(column.contexts[n * (total - 1) // (at_most - 1)] for n in range(at_most))
    return replace(column, contexts=kept)


def render(result: Mapping[str, Any], labels: Mapping[str, str] | None = None) -> str:
    """The report of an assay (its JSON object, with optional keys) as one HTML file.

    Optional keys: `title`, `metrics`, `examples`, `validity`, `warnings`, `named_left_out`, `manifest`.
    Every text from the result is escaped, charts run without `eval`, and the page's policy allows
    exactly the styles and scripts it was made with, by their hashes.
    """
    return _page(summarize(result, labels))


def _page(summary: Mapping[str, Any]) -> str:
    return standing_alone("report.html.j2", summary, charts=bool(assay_charts(summary)))


def rendered_assay(result: Mapping[str, Any]) -> Rendered:
    """The page of an assay, with its charts and tables."""
    summary = summarize(result)
    return Rendered(_page(summary), assay_charts(summary), assay_grids(summary))


def assay_charts(summary: Mapping[str, Any]) -> list[Chart]:
    """Every chart of an assay's page, from its summary."""
    found = [
        (f"{kind} by {column['name']}", column[key])
        for column in summary["columns"]
        for kind, key in (("accuracy", "chart"), ("agreement", "agreement"))
    ]
    found += [(name, (summary[name] or {}).get("chart")) for name in ("difficulty", "methods")]
    found += [("accuracy and cost", summary["frontier"]), ("shared errors", summary["errors"])]
    return [Chart(name, spec) for name, spec in found if spec]


def assay_grids(value: Any) -> list[Grid]:
    """Every table of an assay's page, wherever in its summary."""
    if isinstance(value, Grid):
        return [value]
    inside = (
        value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    )
    return [grid for each in inside for grid in assay_grids(each)]


def assay_page(result: Mapping[str, Any]) -> Page:
    """The answer, the table of all outputs and every chart: what a notebook shows of an assay."""
    summary = summarize(result)
    parts = [Section("All outputs", charts=assay_charts(summary), grids=[summary["overall"]])]
    return Page(
        summary["task"], summary["title"], summary["answer"], parts, list(map(str, summary["caveats"]))
    )


def render_fragment(result: Mapping[str, Any]) -> str:
    """What a notebook shows for a result, without scripts."""
    assayed = "contexts" in result and "global" in result
    return fragment(assay_page(result) if assayed else plain_page("result", result))


def caveats(findings: Findings) -> list[Sentence]:
    """What a careful reader must know before using the answer."""
    best = findings.best
    if best is None or best.accuracy is None:
        return []
    found = [
        _beaten_by_sentinel(findings, best),
        _confounded(findings, best),
        _single(findings),
        *_mislabelled(findings),
        _lost_methods(findings),
        *_unscored(findings, best),
    ]
    return [caveat for caveat in found if caveat is not None]


def remarks(findings: Findings) -> list[str]:
    """What else is to be known, each thing once, and nothing that a warning says."""
    groups = findings.result.get("same_decisions") or ()
    labels = label_metrics(sorted({str(name) for group in groups for name in group}))
    listed = "; ".join(listing([labels[str(name)] for name in group]) for group in groups)
    alike = [f"Decided every pair alike, and so one opinion on one line: {listed}."] if groups else []
    said = {str(warning) for warning in findings.result.get("warnings") or ()}
    notes = dict.fromkeys(str(note) for note in findings.result.get("notes") or ())
    data = describe_stored_data(findings.result.get("data"))
    return [*data, *alike, *(note for note in notes if note not in said)]


def _beaten_by_sentinel(findings: Findings, best: Estimate) -> Sentence | None:
    better = [
        estimate
        for name in sorted(findings.uninformed - {best.metric})
        if (estimate := findings.overall[name]).accuracy is not None
        and (estimate.accuracy or 0.0) >= (best.accuracy or 0.0)
    ]
    if not better:
        return None
    return sentence(
        "{sentinel:metric}, which knows nothing of quality, is right in {share:figure}: the pairs give "
        "themselves away, and no accuracy here should be trusted.",
        sentinel=better[0].metric,
        share=brief(better[0]),
    )


def _confounded(findings: Findings, best: Estimate) -> Sentence | None:
    shown = findings.claimed("method")
    rows = [row for row in findings.result.get("confounding") or () if row.get("flag")]
    flagged = [
        str(row["metric"])
        for row in (rows if shown is None else shown)
        if str(row["metric"]) not in findings.sentinels
    ]
    if not flagged:
        return None
    first = sorted(flagged, key=lambda name: name != best.metric)
    return sentence(
        "The accuracy of {metrics} depends on how the worse outputs were made: see {where:section}.",
        metrics=named(first, "metric"),
        where="accuracy by perturbation method",
    )


def _mislabelled(findings: Findings) -> list[Sentence]:
    """Of rankings: how many copies did not lose gain, and whether their pairs are among those counted."""
    rows = [row for row in findings.result.get("validity") or () if row.get("worse") is not None]
    total = sum(row["worse"] + (row["equal"] or 0) + (row["better"] or 0) for row in rows)
    wrong = total - sum(row["worse"] for row in rows)
    if not total or not wrong:
        return []
    known = findings.result.get("valid_pairs_only")
    fate = "they were dropped" if known else "errors on them are not the metrics’"
    text = "{share:figure} of the reordered lists did not lose gain, so their labels are wrong: {fate}."
    said = [sentence(text, share=percent(wrong / total, digits=1), fate=fate)]
    circular = [name for name in findings.metrics if name.lower().startswith("ndcg")]
    if known and circular:
        text = (
            "Which lists are worse was told by discounted gain, which is what {names} measure{s}: {they} "
            "favoured."
        )
        one = len(circular) == 1
        grammar = {"s": "s" if one else "", "they": "it is" if one else "they are"}
        said.append(sentence(text, names=named(circular, "metric"), **grammar))
    for row in rows:
        if row.get("refused"):
            text = "{method} was refused: its copies gained as often as not ({better} gained, {worse} lost)."
            counts = {name: count(row[name]) for name in ("better", "worse")}
            said.append(sentence(text, method=str(row["perturbation"]), **counts))
    return said


def _lost_methods(findings: Findings) -> Sentence | None:
    """Methods that were at work and made no pair: for want of a dictionary, say."""
    rows = [row for row in findings.result.get("validity") or () if "applied" in row]
    lost = [str(row["perturbation"]) for row in rows if not row["applied"] and not row.get("refused")]
    if not lost:
        return None
    return sentence(
        "{lost} of {all} of making outputs worse did not apply here ({names}): no metric was tried on "
        "their errors.",
        lost=count(len(lost)),
        all=plural(len(rows), "way"),
        names=named(lost, "", at_most=5),
    )


def _unscored(findings: Findings, best: Estimate) -> list[Sentence]:
    """Contexts where the metric chosen scored no pair."""
    found = []
    for column in findings.columns:
        missing = [
            context
            for context in column.contexts
            if (estimate := column.estimates.get((context, best.metric))) is None or estimate.accuracy is None
        ]
        if missing:
            text = "{metric:metric} scored no pair on {contexts}."
            found.append(sentence(text, metric=best.metric, contexts=named(missing, "context", at_most=5)))
    return found


def _single(findings: Findings) -> Sentence | None:
    if len(findings.metrics) > 1:
        return None
    return sentence("Only one metric was assayed: a choice needs at least two.")
