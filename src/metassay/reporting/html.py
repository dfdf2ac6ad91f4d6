"""One self-contained page: no network, a strict content security policy, same result, same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from metassay.reporting.charts.theme import CATEGORY, TOKENS, config
from metassay.reporting.labels import in_labels
from metassay.reporting.pages import policy, templates
from metassay.reporting.summarize import summarize
from metassay.reporting.tables import Grid, plain_grids
from metassay.reporting.wording import Sentence


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
