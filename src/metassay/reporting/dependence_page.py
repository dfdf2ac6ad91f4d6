"""The page of system dependence: whom each metric flatters, beyond what noise explains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from metassay.reporting.charts.against_people import curves_chart, deviations_chart, rank_flow_chart
from metassay.reporting.charts.heatmaps import signed_chart
from metassay.reporting.charts.theme import Spec, drawn, file_name
from metassay.reporting.pages import Chart, Page, Section, render_page
from metassay.reporting.tables import Field, Grid, grid, rows_grid
from metassay.reporting.wording import in_labels, number, percent, plural
from metassay.stats.multiplicity import holm

Row = Mapping[str, Any]
Curves = Mapping[str, Mapping[str, Any]]
"""By data set and metric, the functions that are drawn."""
DEPENDENCE_WIDTH = 720
SIGNIFICANT = 0.05
TITLE = "Whom does a metric flatter?"
CAPTIONS = {
    "curves": "Expected human score given the metric: all systems together (dashed), each system (grey), the"
    " most flattered and the most wronged one in colour, with 95 % bands.",
    "deviations": "Expected deviation of each system, best first, with 95 % intervals. Grey: shrinkage, which"
    " any noisy metric has. Colour: what goes beyond it.",
    "ranks": "Order of the systems by people, by the score read off the metric, and by the metric itself.",
}
OVERVIEW_CAPTION = (
    "By how much each metric flatters (blue) or wrongs (red) each {by}, beyond shrinkage; in points of"
    " {human}, metrics with the least SysDep first."
)
FIELDS = (
    Field("metric", "metric", "name"),
    Field("sysdep", "SysDep", "number"),
    Field("low", "95 % from", "number"),
    Field("high", "to", "number"),
    Field("constant", "constant", "number", "SysDep of a metric that knows nothing"),
    Field("ratio", "ratio", "percent", "SysDep over constant"),
    Field("residual_range", "residual", "number", "what goes beyond shrinkage"),
    Field("p_equal", "p equal", "probability"),
    Field("p_fair", "p fair", "probability"),
    Field("flattered", "flattered most", "text"),
    Field("wronged", "wronged most", "text"),
    Field("inverted", "inverted pairs", "count"),
    Field("explained", "of them by ED", "count"),
)
MAPPINGS = {
    "f_G": "Read through f_G",
    "f_G unseen": "For two systems that f_G has not seen",
    "f_k": "Read through each system's own f_k",
}


def dependence_files(
    result: Row, frame: pl.DataFrame, curves: Curves, labels: Mapping[str, str]
) -> dict[str, Any]:
    """What `depend` leaves: the result as JSON and CSV, the functions, every chart, and the page."""
    files: dict[str, Any] = {"results/depend.json": result, "results/depend.csv": frame.write_csv()}
    files["results/curves.json"] = curves
    for entry in in_labels(result, labels)["metrics"]:
        own = _own_curves(entry, curves)
        for kind, spec in dependence_charts(entry, own).items() if own else ():
            place = f"charts/{file_name(entry['dataset'])}/{file_name(entry['metric'].spec)}"
            files[f"{place}-{kind}.svg"] = drawn(spec, width=DEPENDENCE_WIDTH)
    files["report.html"] = render_page(dependence_page(result, curves, labels))
    return files


def _own_curves(entry: Row, curves: Curves) -> Row | None:
    spec = str(getattr(entry["metric"], "spec", entry["metric"]))
    found: Row | None = curves.get(entry["dataset"], {}).get(spec)
    return found


def dependence_charts(entry: Row, curves: Row) -> dict[str, Spec]:
    """The three charts of one metric, its entry in labels: curves, deviations, ranks."""
    return {
        "curves": curves_chart(entry, curves),
        "deviations": deviations_chart(entry),
        "ranks": rank_flow_chart(entry),
    }


def dependence_page(
    result: Row, curves: Curves | None = None, labels: Mapping[str, str] | None = None
) -> Page:
    """The page of a `depend` result (its JSON object); `curves` are those of its run."""
    result = in_labels(result, labels)
    datasets = {
        name: [entry for entry in result["metrics"] if entry["dataset"] == name]
        for name in dict.fromkeys(entry["dataset"] for entry in result["metrics"])
    }
    lead = []
    for name, entries in datasets.items():
        before = f"{name}: " if len(datasets) > 1 else ""
        lead += [f"{before}{said}" for said in dependence_sentences(entries)]
    sections = [
        section
        for name, entries in datasets.items()
        for section in _sections(name, entries, result, curves or {})
    ]
    return Page("System dependence", TITLE, lead, [*sections, _explained(result)], notes=result["notes"])


def dependence_sentences(entries: Sequence[Row]) -> list[str]:
    """What a colleague would say first."""
    least = min(entries, key=lambda entry: (entry["sysdep"], entry["metric"]))
    unfair = unfair_metrics(entries)
    first = f"{least['metric']} depends least: SysDep {number(least['sysdep'])}"
    if least["ratio"] is not None:
        first += f", {percent(least['ratio'])} of what a metric that knows nothing has"
    said = [f"{first}."]
    if unfair:
        worst = max(unfair, key=lambda entry: (entry["residual_range"], entry["metric"]))
        liked, wronged = ends(worst)
        prefer = "prefers" if len(unfair) == 1 else "prefer"
        said.append(
            f"{len(unfair)} of {plural(len(entries), 'metric')} {prefer} somebody beyond what even noise"
            f" explains (p fair ≤ .05, Holm over the metrics), {worst['metric']} the most: {liked} over"
            f" {wronged}, by {number(worst['residual_range'])}."
        )
    return said


def unfair_metrics(entries: Sequence[Row]) -> list[Row]:
    """Those that prefer somebody beyond noise: p fair ≤ .05 after Holm over the metrics."""
    adjusted = holm([math.nan if entry["p_fair"] is None else entry["p_fair"] for entry in entries])
    return [entry for entry, p in zip(entries, adjusted.tolist()) if p <= SIGNIFICANT]


def ends(entry: Row) -> tuple[str, str]:
    """Whom a metric flatters and whom it wrongs the most, beyond shrinkage."""
    residual = entry["residual"]
    return max(residual, key=residual.__getitem__), min(residual, key=residual.__getitem__)


def _sections(name: str, entries: Sequence[Row], result: Row, curves: Curves) -> list[Section]:
    tried = [row for row in result.get("corrections", ()) if row["dataset"] == name]
    local = [{"metric": e["metric"]} | dict(row) for e in entries for row in e.get("local") or ()]
    reacts = [{"metric": e["metric"]} | dict(row) for e in entries for row in e.get("sensitivity") or ()]
    further = [("Within contexts", local), ("How SysDep reacts to what is not the metric", reacts)]
    where = f", {name}" if len({entry["dataset"] for entry in result["metrics"]}) > 1 else ""
    found = [
        Section(
            f"Metrics and whom they prefer{where}",
            charts=_overview(name, entries, result),
            grids=[_grid(name, entries)],
            folded=[rows_grid(caption, caption, rows) for caption, rows in further if rows],
        )
    ]
    if tried:
        sentences = correction_sentences(tried, result["human"])
        found.append(Section(f"Read as human scores{where}", sentences, folded=[correction_grid(tried)]))
    choices = [_choice(entry, own) for entry in entries if (own := _own_curves(entry, curves)) is not None]
    if choices:
        found.append(Section(f"One metric at a time{where}", choices=choices))
    return found


def _overview(name: str, entries: Sequence[Row], result: Row) -> list[Chart]:
    """Metrics × systems; only where there are two of each, else the table says it all."""
    means: Row = next((entry["human_means"] for entry in entries if entry.get("human_means")), {})
    systems = sorted(
        {one for e in entries for one in e["residual"]}, key=lambda one: (-means.get(one, 0), one)
    )
    cells = [
        {"row": e["metric"], "column": one, "value": round(e["residual"][one], 4), "mark": ""}
        for e in entries
        for one in systems
        if e["residual"].get(one) is not None
    ]
    if len(entries) < 2 or len(systems) < 2:
        return []
    caption = OVERVIEW_CAPTION.format(by=result["by"], human=result["human"])
    description = (
        f"By how much each of {plural(len(entries), 'metric')} flatters or wrongs each {result['by']}."
    )
    titles = ("metric", result["by"], "flattered by")
    spec = signed_chart(description, cells, [e["metric"] for e in entries], systems, titles)
    return [Chart(f"preferences {name}", spec, caption)]


def _grid(name: str, entries: Sequence[Row]) -> Grid:
    rows = []
    for entry in entries:
        liked, wronged = ends(entry)
        explained = sum(pair["explained"] for pair in entry["inversions"])
        more = {"inverted": len(entry["inversions"]), "explained": explained}
        rows.append({**entry, "flattered": liked, "wronged": wronged, **more})
    return grid(f"dependence {name}", f"Dependence of every metric, {name}", FIELDS, rows)


def _choice(entry: Row, curves: Row) -> Section:
    charts = [
        Chart(f"{entry['metric']} {kind}", spec, CAPTIONS[kind])
        for kind, spec in dependence_charts(entry, curves).items()
    ]
    pairs = [
        {"better": pair["better"], "worse": pair["worse"], "by people": pair["human_gap"]}
        | {"by the metric": pair["metric_gap"], "because": _because(pair)}
        for pair in entry["inversions"]
    ]
    caption = "Pairs that people put in one order and the metric in the other"
    name = entry["metric"]
    return Section(name, (), charts, [rows_grid(f"inversions {name}", caption, pairs)] if pairs else [])


def _because(pair: Row) -> str:
    return "of the deviations" if pair["explained"] else "of averaging on the metric's scale"


def _explained(result: Row) -> Section:
    by, human = result["by"], result["human"]
    what = (
        f"SysDep is how much further a metric flatters one {by} than another, in points of {human}: the range"
        " of the expected deviations (ED). A metric that knows nothing has the value under constant, so most"
        " of SysDep is shrinkage to the mean, which any noisy metric shows; what goes beyond that is the"
        " residual."
    )
    tested = (
        f"p equal tests that the expected {human} given the metric is the same for all; p fair, that the"
        f" metric is {human} plus noise which prefers nobody. p equal supposes that residuals spread alike"
        f" everywhere (with one {by} three times as noisy as the others it rejects in 12 % instead of 5),"
        " p fair that the noise has one size (a metric that sees large errors only fails it more often,"
        " however evenly it does so)."
    )
    return Section("How it was measured", [what, tested])


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


def correction_grid(rows: Sequence[Row]) -> Grid:
    """The figures of a correction, as a table of a page."""
    shown = ("metric", "mapping", "spa", "spa_gain", "spa_low", "spa_high", "pa", "pa_gain")
    caption = "Read as human scores, tried on segments that were not fitted to"
    return rows_grid("corrections", caption, rows, (*shown, "kendall_item", "tied", "sysdep"))
