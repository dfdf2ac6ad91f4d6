"""One self-contained page: no network, a strict content security policy, same result, same bytes.

From an assay's JSON object to everything the page shows, as plain values: sentences, tables, charts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from metassay.reporting.answer import answer
from metassay.reporting.caveats import caveats, remarks
from metassay.reporting.charts.accuracy import accuracy_chart, outside_frame, slot
from metassay.reporting.charts.heatmaps import agreement_chart
from metassay.reporting.charts.theme import CATEGORY, TOKENS, config
from metassay.reporting.findings import Column, Findings, find
from metassay.reporting.pages import policy, templates
from metassay.reporting.people import people_grids
from metassay.reporting.sections import accuracy, hypotheses, methods
from metassay.reporting.sections.examples import examples
from metassay.reporting.tables import Grid, plain_grids
from metassay.reporting.wording import Sentence, about, count, in_labels, listing, plural

DEFAULT_TITLE = "Which metric can you trust, here?"
CHARTED_UP_TO = 150


def summarize(result: Mapping[str, Any], labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The report's content, top to bottom, independent of HTML."""
    findings = find(result, labels)
    task = about(findings.task)
    return {
        "title": str(result.get("title") or DEFAULT_TITLE),
        "task": task.title if task else findings.task,
        "one": task.one if task else "output",
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
    summary = summarize(result, labels)
    style = templates().get_template("report.css.j2").render(tokens=TOKENS, category=CATEGORY).strip()
    program = (files("metassay.reporting") / "templates" / "report.js").read_text("utf-8").strip()
    vega = _vega() if _has_charts(summary) else ""
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            **summary,
            policy=policy(style, [vega, program]),
            style=Markup(style),  # noqa: S704 -- our own stylesheet, no user text
            vega=Markup(vega),  # noqa: S704 -- the charts library, no user text
            program=Markup(program),  # noqa: S704 -- our own script, no user text
            themes={
                scheme: {"config": config(scheme), "tokens": TOKENS[scheme]} for scheme in ("light", "dark")
            },
        )
    )


def render_fragment(result: Mapping[str, Any]) -> str:
    """What a notebook shows for a result, without scripts.

    For an assay the answer and the table of all outputs; for any other result its tables, cut to twenty rows.
    """
    if "contexts" in result and "global" in result:
        summary = summarize(result)
        return _fragment(summary["answer"], [summary["overall"]])
    return _fragment([], plain_grids(in_labels(result)))


def _fragment(sentences: Sequence[Sentence], grids: Sequence[Grid]) -> str:
    return templates().get_template("fragment.html.j2").render(answer=sentences, grids=grids)


@cache
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script that needs no network."""
    from vl_convert import javascript_bundle

    bundle: str = javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.strip().replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _has_charts(summary: Mapping[str, Any]) -> bool:
    charts = [column[kind] for column in summary["columns"] for kind in ("chart", "agreement")]
    return any(charts) or summary["methods"] is not None
