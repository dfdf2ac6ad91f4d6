"""The pages of `aggregate` and `score`: sentences first, then charts and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from metassay.reporting.charts.heatmaps import SIGNIFICANT, matrix_chart, signed_chart
from metassay.reporting.charts.theme import Spec
from metassay.reporting.pages import Chart, Page, Section, render_page
from metassay.reporting.ranking_page import significant
from metassay.reporting.tables import rows_grid
from metassay.reporting.wording import count, in_labels, number, plural, probability

Row = Mapping[str, Any]
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
TESTS = {"bootstrap": "paired bootstrap", "randomization": "approximate randomisation"}
DIFFERENCES = (
    "A difference is the score of one system less that of the other; the metric says which way is better."
)
DIFFERENCES_CAPTION = "The system in the row less the one in the column; * where p ≤ .05 after Holm."


def aggregation_files(result: Row, frame: pl.DataFrame) -> dict[str, Any]:
    """What `aggregate` leaves: the page, the result as JSON, its system scores and its tables as CSV."""
    files: dict[str, Any] = {"results/aggregate.json": result, "results/aggregate.csv": frame.write_csv()}
    for name in ("between", "downsampled", "human"):
        if result[name]:
            table = pl.DataFrame(result[name], infer_schema_length=None)
            files[f"results/aggregate-{name}.csv"] = table.write_csv()
    files["report.html"] = render_page(aggregation_page(result))
    return files


def score_files(result: Row, frame: pl.DataFrame, segments: pl.DataFrame) -> dict[str, Any]:
    """What `score` leaves: the page, the result as JSON and CSV, its comparisons, and the segment scores."""
    files: dict[str, Any] = {"results/score.json": result, "results/score.csv": frame.write_csv()}
    if result["comparisons"]:
        compared = pl.DataFrame(result["comparisons"], infer_schema_length=None)
        files["results/comparisons.csv"] = compared.write_csv()
    files["results/segments.parquet"] = segments
    files["report.html"] = render_page(score_page(result))
    return files


def aggregation_page(result: Row, labels: Mapping[str, str] | None = None) -> Page:
    """The page of an `aggregate` result (its JSON object)."""
    result = in_labels(result, labels)
    systems = [
        {name: value for name, value in row.items() if name != "standard_errors"}
        | {f"± {name}": error for name, error in (row.get("standard_errors") or {}).items()}
        for row in result["systems"]
    ]
    tables = [
        ("Pearson between aggregations, over all systems", result["between"]),
        ("Pearson after keeping few segments", result["downsampled"]),
        ("Pearson of system scores with people", result["human"]),
    ]
    caption = "System scores; after ±, the standard error over resampled segments"
    spec = _between(result)
    part = Section(
        "Three aggregations of every system",
        [EXPLANATION],
        [Chart("between aggregations", spec, BETWEEN_CAPTION)] if spec else [],
        [rows_grid("systems", caption, systems)],
        [rows_grid(name, name, rows) for name, rows in tables if rows],
    )
    title = "Corpus scores or means of segments?"
    return Page("Aggregation", title, aggregation_sentences(result), [part], notes=result["notes"])


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
        both = ((row["x"], row["y"]), (row["y"], row["x"]))
        cells += [{"row": a, "column": b, "value": value} for a, b in both]
    return matrix_chart("Correlation between aggregations.", names, cells, ())


def score_page(result: Row, labels: Mapping[str, str] | None = None) -> Page:
    """The page of a `score` result (its JSON object)."""
    result = in_labels(result, labels)
    shown = [{name: value for name, value in row.items() if name != "signature"} for row in result["systems"]]
    signed = {
        row["metric"]: {name: row[name] for name in ("metric", "signature")} for row in result["systems"]
    }
    scores = rows_grid("systems", "Scores of every system", shown, at_most=2000)
    signatures = rows_grid("signatures", "Signatures", list(signed.values()))
    sections = [Section("System scores", grids=[scores], folded=[signatures])]
    choices = [_differences(*key, rows) for key, rows in _compared(result).items()]
    if choices:
        sections.append(Section("Differences between systems", [DIFFERENCES], choices=choices))
    lead = difference_sentences(result) or ["Scores of every system; nothing was tested (--test)."]
    return Page("Scores", "Which systems differ?", lead, sections, _too_few_draws(result), result["notes"])


def _compared(result: Row) -> dict[tuple[str, str], list[Row]]:
    """The comparisons of each metric, on each test set."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in result["comparisons"]:
        found.setdefault((row["metric"], row.get("group", "")), []).append(row)
    return found


def difference_sentences(result: Row) -> list[str]:
    """How many differences between systems each metric shows, after Holm's correction."""
    said = []
    for (metric, group), rows in _compared(result).items():
        clear = sum(significant(row, "p_holm") for row in rows)
        place = f" on {group}" if group else ""
        verb = "is" if clear == 1 else "are"
        said.append(
            f"By {metric}{place} {count(clear)} of {plural(len(rows), 'difference')} between systems {verb}"
            f" significant (p ≤ .05 by {TESTS.get(rows[0]['test'], rows[0]['test'])}, two-sided, after Holm)."
        )
    return said


def _too_few_draws(result: Row) -> list[str]:
    """Where even the smallest p could not be significant among so many comparisons."""
    return [
        f"{metric}{f', {group}' if group else ''}: the smallest p, {probability(least)}, is not small enough"
        f" among {plural(len(rows), 'comparison')}; with more draws (--draws) it may be."
        for (metric, group), rows in _compared(result).items()
        for least in [min((row["p"] for row in rows if row["p"] is not None), default=0.0)]
        if least * len(rows) > SIGNIFICANT >= least
    ]


def _differences(metric: str, group: str, rows: Sequence[Row]) -> Section:
    name = f"{metric}, {group}" if group else str(metric)
    systems = list(dict.fromkeys(each for row in rows for each in (row["a"], row["b"])))
    cells = [
        {"row": one, "column": other, "value": sign * round(row["difference"], 4)}
        | {"mark": "*" if significant(row, "p_holm") else ""}
        for row in rows
        if row["difference"] is not None
        for one, other, sign in ((row["a"], row["b"], 1), (row["b"], row["a"], -1))
    ]
    description = f"Differences between {len(systems)} systems by {name}."
    spec = signed_chart(description, cells, systems, systems, ("system", "less", "difference"))
    columns = ("a", "b", "difference", "p", "p_holm", "segments")
    table = rows_grid(f"differences {name}", f"Differences by {name}", rows, columns, at_most=2000)
    return Section(name, charts=[Chart(f"differences {name}", spec, DIFFERENCES_CAPTION)], grids=[table])
