"""The pages of `rank` and `aggregate`: sentences first, then charts and tables, in a file without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from markupsafe import Markup

from metassay.reporting.charts.against_people import comparisons_chart, ranking_chart
from metassay.reporting.charts.heatmaps import matrix_chart
from metassay.reporting.charts.theme import Spec, data_uri, drawn, file_name
from metassay.reporting.pages import plain_style, policy, templates
from metassay.reporting.wording import NOTHING, count, in_labels, named, number, percent, plural

Row = Mapping[str, Any]
SIGNIFICANT = 0.05
WIDTH = 720
RANKING_CAPTION = "Agreement with people, best first, with 95 % intervals; a line where a cluster begins."
MATRIX_CAPTION = "One-sided p-values, the better metric in the row; filled where p ≤ .05."
BETWEEN_CAPTION = "Pearson correlation of system scores between aggregations, over all systems."
AGGREGATIONS = {
    "corpus": "the corpus score",
    "segment": "the mean of segment scores",
    "bootstrap": "the mean over resamples",
}
EXPLANATION = (
    "Each system has three scores: one from the summed statistics (corpus), the mean of the segment scores"
    " (segment, m-), and the mean of corpus scores over resamples (bootstrap, x-)."
)
META_NAMES = {"spans": "span F1"}
"""Meta-metrics that people know under another name."""
MAPPINGS = {
    "f_G": "Read through f_G",
    "f_G unseen": "For two systems that f_G has not seen",
    "f_k": "Read through each system's own f_k",
}
ROWS_SHOWN = 500


def ranking_files(
    result: Mapping[str, Any], frame: pl.DataFrame, labels: Mapping[str, str]
) -> dict[str, Any]:
    """What a ranking leaves: the page, the result as JSON and CSV, its comparisons, analyses and charts."""
    files: dict[str, Any] = {"results/rank.json": result, "results/rank.csv": frame.write_csv()}
    compared = [
        {name: one[name] for name in ("dataset", "meta", "context")} | row
        for one in result["results"]
        for row in one["comparisons"]
    ]
    if compared:
        files["results/comparisons.csv"] = pl.DataFrame(compared).write_csv()
    for name, rows in result.get("analysis", {}).items():
        files[f"results/{name}.csv"] = pl.DataFrame(rows, infer_schema_length=None).write_csv()
    for one in in_labels(result, labels)["results"]:
        place = "charts/" + file_name("-".join((one["dataset"], one["meta"], one["context"])))
        files[f"{place}.svg"] = drawn(ranking_chart(one))
        if one["comparisons"]:
            files[f"{place}-comparisons.svg"] = drawn(comparisons_chart(one))
    files["report.html"] = render_ranking(result, labels)
    return files


def aggregation_files(result: Row, frame: pl.DataFrame) -> dict[str, Any]:
    """What `aggregate` leaves: the page, the result as JSON, its system scores and its tables as CSV."""
    files: dict[str, Any] = {"results/aggregate.json": result, "results/aggregate.csv": frame.write_csv()}
    for name in ("between", "downsampled", "human"):
        if result[name]:
            table = pl.DataFrame(result[name], infer_schema_length=None)
            files[f"results/aggregate-{name}.csv"] = table.write_csv()
    files["report.html"] = render_aggregation(result)
    return files


def render_ranking(result: Row, labels: Mapping[str, str] | None = None) -> str:
    """The page of a `rank` result (its JSON object)."""
    result = in_labels(result, labels)
    rankings: Sequence[Row] = result["results"]
    whole = [one for one in rankings if one["context"] == "global"] or rankings
    parts = [_ranking_part(one, result["human"]) for one in rankings]
    analyses = [(str(name), rows) for name, rows in (result.get("analysis") or {}).items()]
    averages = [(f"Average of {mean['meta']}", mean["metrics"]) for mean in result.get("average") or ()]
    more = [_table(name, rows) for name, rows in (*averages, *analyses) if rows]
    if more:
        parts.append({"name": "Averages and analyses", "sentences": [], "figures": [], "tables": more})
    return _page(
        "Which metric agrees best with people?",
        [best_sentence(one, result["human"]) for one in whole],
        [doubt for one in whole for doubt in ranking_doubts(one)],
        parts,
        result["notes"],
    )


def best_sentence(one: Row, human: str) -> str:
    """Who agrees best with people in one ranking, and who cannot be told apart from it."""
    place = f"{one['dataset']}" + ("" if one["context"] == "global" else f", {one['context']}")
    metrics = [row for row in one["metrics"] if not row["baseline"] and row["value"] is not None]
    if not metrics:
        return f"No metric has a defined {one['meta']} with {human} on {place}."
    best = max(metrics, key=lambda row: float(row["value"]))
    whom = f"on these {count(one['systems'])} systems of {place}"
    opening = f"{best['metric']} agrees best with people ({human}) {whom}: {_value(one, best)}"
    rivals = [row["metric"] for row in metrics if row is not best]
    if not rivals:
        return f"{opening}. It is the only metric."
    if not one["comparisons"]:
        return f"{opening}. Whether it is ahead of the others was not tested."
    behind = {row["b"] for row in one["comparisons"] if row["a"] == best["metric"] and _significant(row)}
    alike = [name for name in rivals if name not in behind]
    beyond = " for systems like these" if one.get("answers_for") == "systems like these" else ""
    if alike:
        return f"{opening}. {named(alike, '')} cannot be told apart from it{beyond}."
    return f"{opening}, ahead of all others{beyond} (one-sided p ≤ .05)."


def _significant(row: Row, test: str = "p") -> bool:
    """Whether a comparison is significant by the test that was asked for, or by the one named."""
    p = row.get(test)
    return p is not None and p <= SIGNIFICANT


def significance_sentence(one: Row) -> str:
    """How many comparisons are significant, for whom; for both kinds of systems where both were tested."""
    rows = one["comparisons"]

    def found(test: str) -> int:
        return sum(_significant(row, test) for row in rows)

    single = "p_systems" not in rows[0]
    number_found = found("p" if single else "p_inputs")
    verb = "is" if number_found == 1 else "are"
    said = f"{count(number_found)} of {plural(len(rows), 'comparison')} {verb} significant"
    if single:
        whom = f" for {one['answers_for']}" if one.get("answers_for") else ""
        return f"{said}{whom} (one-sided p ≤ .05)."
    more = count(found("p_systems"))
    return f"{said} for these systems, {more} for systems like these (one-sided p ≤ .05)."


def ranking_doubts(one: Row) -> list[str]:
    """What weakens a ranking: a baseline that does as well, segments that were dropped."""
    metrics = [row for row in one["metrics"] if not row["baseline"] and row["value"] is not None]
    top = max((float(row["value"]) for row in metrics), default=None)
    place = one["dataset"] + ("" if one["context"] == "global" else f", {one['context']}")
    found = [
        f"{place}: {row['metric']}, a baseline that knows nothing of quality, has {_value(one, row)}, as much"
        " as the best metric."
        for row in one["metrics"]
        if row["baseline"] and row["value"] is not None and top is not None and row["value"] >= top
    ]
    if one["dropped_segments"]:
        found.append(f"{place}: {plural(one['dropped_segments'], 'segment')} without all scores left out.")
    return found


def _value(one: Row, row: Row) -> str:
    shown = f"{META_NAMES.get(one['meta'], one['meta'])} {number(row['value'], digits=3)}"
    if row.get("low") is None or row.get("high") is None:
        return shown
    return f"{shown} (95 % interval {number(row['low'], digits=3)}–{number(row['high'], digits=3)})"


def _ranking_part(one: Row, human: str) -> dict[str, Any]:
    where = "" if one["context"] == "global" else f", {one['context']}"
    name = f"{one['dataset']}{where}: {one['meta']} with {human}"
    figures = [_figure(ranking_chart(one), f"ranking of metrics, {name}", RANKING_CAPTION)]
    sentences = [f"{plural(one['systems'], 'system')}, {plural(one['segments'], 'segment')}."]
    tables = [_table("Numbers", one["metrics"], shown=True)]
    if one["comparisons"]:
        sentences.append(significance_sentence(one))
        figures.append(_figure(comparisons_chart(one), f"comparisons of metrics, {name}", MATRIX_CAPTION))
        tables.append(_table("Comparisons", one["comparisons"]))
    return {"name": name, "sentences": sentences, "figures": figures, "tables": tables}


def correction_sentences(rows: Sequence[Row], human: str) -> list[str]:
    """What reading a metric as a human score gains on one data set, and what it costs."""
    through = {name: [r for r in rows if r["mapping"] == name and not r["baseline"]] for name in MAPPINGS}
    said = []
    for mapping, how in MAPPINGS.items():
        own = through[mapping]
        if not own:
            return ["No metric has complete scores beside people's: no correction was tried."]
        better, worse = (
            sum(r[end] * sign > 0 for r in own) for end, sign in (("spa_low", 1), ("spa_high", -1))
        )
        most = max(own, key=lambda row: float(row["spa_gain"]))
        said.append(
            f"{how}, SPA with {human} on segments that were not fitted to is higher for {better} of "
            f"{plural(len(own), 'metric')} and lower for {worse} (95 % intervals, each alone); the largest "
            f"change upward is {number(most['spa_gain'], digits=3)}, of {most['metric']}."
        )
    (knows,) = (row for row in rows if row["baseline"] and row["mapping"] == "f_k")
    reached = sorted(float(row["spa"]) for row in through["f_k"])
    said.append(
        f"A metric that knows nothing has SPA {number(knows['spa'], digits=3)} through f_k, these metrics "
        f"{number(reached[0], digits=3)} to {number(reached[-1], digits=3)}: f_k repeats what people said of "
        "each system elsewhere, and needs their scores of every system."
    )
    tied = sorted(float(row["tied"]) for row in through["f_G"] if row["tied"] is not None)
    if tied:
        said.append(
            f"What f_G costs: of two outputs of a segment that a metric tells apart it makes "
            f"{percent(tied[len(tied) // 2], digits=1)} equal (median over metrics, at most "
            f"{percent(tied[-1], digits=1)})."
        )
    return said


def correction_table(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures of a correction, as a table of a page."""
    shown = ("metric", "mapping", "spa", "spa_gain", "spa_low", "spa_high", "pa", "pa_gain")
    picked = [{name: row[name] for name in (*shown, "kendall_item", "tied", "sysdep")} for row in rows]
    return _table("Read as human scores, tried on segments that were not fitted to", picked)


def render_aggregation(result: Row) -> str:
    """The page of an `aggregate` result (its JSON object)."""
    result = in_labels(result)
    figures = [_figure(chart, "correlations", BETWEEN_CAPTION)] if (chart := _between(result)) else []
    systems = [
        {name: value for name, value in row.items() if name != "standard_errors"}
        | {f"± {name}": error for name, error in (row.get("standard_errors") or {}).items()}
        for row in result["systems"]
    ]
    tables = [
        ("System scores; after ±, the standard error over resampled segments", systems),
        ("Pearson between aggregations, over all systems", result["between"]),
        ("Pearson after keeping few segments", result["downsampled"]),
        ("Pearson of system scores with people", result["human"]),
    ]
    shown = [_table(name, rows, shown=n == 0) for n, (name, rows) in enumerate(tables) if rows]
    part = {
        "name": "Three aggregations of every system",
        "sentences": [EXPLANATION],
        "figures": figures,
        "tables": shown,
    }
    title = "Corpus scores or means of segments?"
    return _page(title, aggregation_sentences(result), [], [part], result["notes"])


def aggregation_sentences(result: Row) -> list[str]:
    """Where the aggregations differ most, and which follows people best; nothing of it is tested."""
    between = [row for row in result["between"] if row["pearson"] is not None]
    said = []
    if between:
        least = min(between, key=lambda row: float(row["pearson"]))
        said.append(
            f"Over all systems {least['x']} and {least['y']} agree least: Pearson {number(least['pearson'])}."
        )
    means = [row for row in result["human"] if row["group"] == "mean"] or result["human"]
    known = [row for row in means if row["pearson"] is not None]
    if known:
        best = max(known, key=lambda row: float(row["pearson"]))
        kind = AGGREGATIONS.get(best["aggregation"], best["aggregation"])
        said.append(
            f"With people ({best['human']}) {kind} of {best['metric']} correlates highest: Pearson "
            f"{number(best['pearson'])} over {plural(best['systems'], 'system')}. Whether it is ahead of the "
            "others was not tested."
        )
    return said or ["No correlation is defined: it takes at least two systems that differ."]


def _between(result: Row) -> Spec | None:
    rows = [row for row in result["between"] if row["pearson"] is not None]
    names = list(dict.fromkeys(name for row in rows for name in (row["x"], row["y"])))
    if len(names) < 3:
        return None
    cells = [{"row": name, "column": name, "value": 1.0} for name in names]
    for row in rows:
        value = round(float(row["pearson"]), 4)
        cells += [{"row": a, "column": b, "value": value} for a, b in _both(row["x"], row["y"])]
    return matrix_chart("Correlation between aggregations.", names, cells, ())


def _both(one: str, other: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return (one, other), (other, one)


def _figure(spec: Spec, alt: str, caption: str) -> dict[str, str]:
    return {"source": data_uri(drawn(spec, width=WIDTH)), "alt": alt, "caption": caption}


def _table(caption: str, rows: Sequence[Row], *, shown: bool = False) -> dict[str, Any]:
    fields = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_cell(row.get(field)) for field in fields] for row in rows[:ROWS_SHOWN]]
    left = len(rows) - ROWS_SHOWN
    more = f" (the first {count(ROWS_SHOWN)} of {count(len(rows))} rows)" if left > 0 else ""
    headings = [field.replace("_", " ") for field in fields]
    return {"caption": f"{caption}{more}", "fields": headings, "rows": cells, "open": shown}


def _cell(value: Any) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    return number(value, digits=3) if isinstance(value, float) else str(value)


def _page(
    title: str, lead: Sequence[str], doubts: Sequence[str], parts: Sequence[Row], notes: Sequence[str]
) -> str:
    style = plain_style()
    page = templates().get_template("scores.html.j2")
    return page.render(
        policy=policy(style),
        style=Markup(style),  # noqa: S704 -- our own stylesheet, no user text
        title=title,
        lead=lead,
        doubts=doubts,
        parts=parts,
        notes=list(dict.fromkeys(notes)),
    )
