"""The page of `rank`: who agrees best with people, on which pairs of systems, and on how many segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from metassay.meta.people.downsampling import SUBSETS_PER_SIZE as SUBSETS
from metassay.meta.people.pair_p_values import MOST_SYSTEMS as READABLE
from metassay.reporting.charts.accuracy import downsampled_chart
from metassay.reporting.charts.against_people import ranking_chart
from metassay.reporting.charts.heatmaps import SIGNIFICANT, comparisons_chart, signed_chart
from metassay.reporting.charts.theme import Spec, drawn, file_name
from metassay.reporting.pages import Chart, Page, Section, render_page
from metassay.reporting.tables import rows_grid
from metassay.reporting.wording import count, in_labels, listing, named, number, percent, plural, probability

Row = Mapping[str, Any]
RANKING_CAPTION = "Agreement with people, best first, with 95 % intervals; a line where a cluster begins."
MATRIX_CAPTION = "One-sided p-values, the better metric in the row; filled where p ≤ .05."
META_NAMES = {"spans": "span F1"}
"""Meta-metrics that people know under another name."""
SECTIONS = 6
"""Rankings that stand one below the other; of more the reader picks one."""
PAIRS = (
    "SPA compares a metric with people on every pair of systems: who is better, and how surely. Systems are "
    "numbered in the order of people, best first. Each cell holds the one-sided p-value that the system in "
    "the row is better than the one in the column by chance alone. Blue: the row is better; red: the column; "
    "pale: it cannot be told."
)
DIFFERENCE_CAPTION = (
    "People’s p less the metric’s. Blue: the metric favours the row more than people do; red: less. SPA is 1 "
    "less the mean size of these differences."
)
FEWER = (
    "Medians over {subsets} random subsets of the segments that all metrics have; bands hold 95 % of them. "
    "Press a name to bring its line out."
)
SERIES = 12
"""Lines in one chart."""
CHOICES = 60
"""Metrics to pick from, over all rankings; of more the best."""
WRITTEN = 9
"""Systems up to which cells hold their numbers."""
SURE = 0.005
"""Differences of p-values that nobody would see; and p-values of somebody who is sure."""


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
    files["report.html"] = render_page(ranking_page(result, labels))
    return files


def ranking_page(result: Row, labels: Mapping[str, str] | None = None) -> Page:
    """The page of a `rank` result (its JSON object)."""
    result = in_labels(result, labels)
    rankings: Sequence[Row] = result["results"]
    whole = [one for one in rankings if one["context"] == "global"] or rankings
    parts = [_ranking_part(one, result["human"]) for one in whole]
    sections = parts if len(parts) <= SECTIONS else [Section("Rankings", choices=parts, of="ranking")]
    sections += [*_pairs_of_systems(whole), *_fewer_segments(whole)]
    within = [_ranking_part(one, result["human"]) for one in rankings if one not in whole]
    if within:
        sections.append(Section("Within contexts", choices=within, of="ranking"))
    analyses = [(str(name), rows) for name, rows in (result.get("analysis") or {}).items()]
    averages = [(f"Average of {mean['meta']}", mean["metrics"]) for mean in result.get("average") or ()]
    more = [rows_grid(name, name, rows) for name, rows in (*averages, *analyses) if rows]
    if more:
        sections.append(Section("Averages and analyses", grids=more[:1], folded=more[1:]))
    return Page(
        "Metrics against people",
        "Which metric agrees best with people?",
        [best_sentence(one, result["human"]) for one in whole],
        sections,
        [doubt for one in whole for doubt in ranking_doubts(one)],
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
    behind = {row["b"] for row in one["comparisons"] if row["a"] == best["metric"] and significant(row)}
    alike = [name for name in rivals if name not in behind]
    beyond = " for systems like these" if one.get("answers_for") == "systems like these" else ""
    if alike:
        return f"{opening}. {named(alike, '')} cannot be told apart from it{beyond}."
    return f"{opening}, ahead of all others{beyond} (one-sided p ≤ .05)."


def significant(row: Row, test: str = "p") -> bool:
    """Whether a comparison is significant by the test that was asked for, or by the one named."""
    p = row.get(test)
    return p is not None and p <= SIGNIFICANT


def significance_sentence(one: Row) -> str:
    """How many comparisons are significant, for whom; for both kinds of systems where both were tested."""
    rows = one["comparisons"]

    def found(test: str) -> int:
        return sum(significant(row, test) for row in rows)

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


def _ranking_part(one: Row, human: str) -> Section:
    where = "" if one["context"] == "global" else f", {one['context']}"
    name = f"{one['dataset']}{where}: {one['meta']} with {human}"
    charts = [Chart(f"ranking {name}", ranking_chart(one), RANKING_CAPTION)]
    sentences = [f"{plural(one['systems'], 'system')}, {plural(one['segments'], 'segment')}."]
    compared = []
    if one["comparisons"]:
        sentences.append(significance_sentence(one))
        charts.append(Chart(f"comparisons {name}", comparisons_chart(one), MATRIX_CAPTION))
        caption = "Comparisons, the better metric first"
        compared = [rows_grid(f"comparisons {name}", caption, one["comparisons"], at_most=2000)]
    return Section(name, sentences, charts, [rows_grid(name, "Agreement", one["metrics"])], compared)


def _pairs_of_systems(rankings: Sequence[Row]) -> list[Section]:
    """How surely people and a metric of the reader's choice prefer each system to each other."""
    soft = [one for one in rankings if one["meta"] == "spa"]
    known = [one for one in soft if one.get("preferences")]
    large = [f"{one['dataset']} ({count(one['systems'])})" for one in soft if one["systems"] > READABLE]
    said = (
        [f"Too many systems to draw every pair (--systems names some): {named(large, '')}."] if large else []
    )
    choices = []
    for one in known:
        rows = {row["metric"]: row for row in one["preferences"]["rows"]}
        order = [row["metric"] for row in one["metrics"] if row["metric"] in rows]
        for name in order[: max(1, CHOICES // len(known))]:
            title = name if len(known) == 1 else f"{one['dataset']}: {name}"
            choices.append(_preferences(title, one["preferences"]["systems"], rows[name]))
    if not choices:
        return [Section("Pairs of systems", said)] if said else []
    return [Section("Pairs of systems", [PAIRS, *said], choices=choices, of="metric")]


def _preferences(title: str, systems: Sequence[str], row: Row) -> Section:
    """The three heatmaps of one metric; where people and metric are sure of all, a sentence."""
    metric, numbered = row["metric"], [f"{n} {name}" for n, name in enumerate(systems, start=1)]
    pairs = [(a, b) for n, a in enumerate(numbered) for b in numbered[n + 1 :]]
    both = list(zip(pairs, row["human"], row["own"], strict=True))
    (one, other), human, own = max(both, key=lambda each: abs(each[1] - each[2]))
    if abs(human - own) < SURE:
        said = f"People and {metric} are equally sure of every pair: no p-value differs by {SURE:g}."
        return Section(title, [said])
    against = sum((h - 0.5) * (m - 0.5) < 0 for _, h, m in both)
    agreed = f"different systems in {count(against)} of" if against else "the same system in all"
    one, other = one.split(" ", 1)[1], other.split(" ", 1)[1]
    said = (
        f"{metric} and people prefer {agreed} {plural(len(both), 'pair')}. They differ most on "
        f"{one} and {other}: {_sure('people', human, one, other)}, {_sure(metric, own, one, other)}."
    )
    apart = [h - m for _, h, m in both]
    maps: list[tuple[str, str, Sequence[float], Sequence[float]]] = [
        ("people", "By people.", [0.5 - p for p in row["human"]], row["human"]),
        (metric, f"By {metric}.", [0.5 - p for p in row["own"]], row["own"]),
        (f"{metric} beside people", DIFFERENCE_CAPTION, apart, apart),
    ]
    sure = [name for name, _, values, _ in maps if min(values) >= 0.5 - SURE]
    charts = [
        Chart(
            f"pairs of systems {title}: {name}", _preference_chart(name, numbered, both, values, marks), text
        )
        for name, text, values, marks in maps
        if name not in sure
    ]
    more = [f"Not drawn, since sure of every pair, in the order of people: {name}." for name in sure]
    return Section(title, [said, *more], charts, beside=True)


def _sure(who: str, p: float, one: str, other: str) -> str:
    side = one if p <= 0.5 else other
    return f"{who} prefer{'' if who == 'people' else 's'} {side} with p {probability(min(p, 1 - p))}"


def _preference_chart(
    name: str, systems: Sequence[str], both: Sequence[Any], values: Sequence[float], marks: Sequence[float]
) -> Spec:
    """One heatmap: colours by `values`, in favour of the row, and `marks` written where there is room."""
    written = len(systems) <= WRITTEN
    cells = [
        {"row": one, "column": other, "value": round(value, 4), "p by people": human, "p by the metric": own}
        | {"mark": _short(mark) if written else ""}
        for ((one, other), human, own), value, mark in zip(both, values, marks)
    ]
    description = f"How surely each of {len(systems)} systems is preferred to each other: {name}."
    titles = ("system", "and", "in favour of the first", "p by people", "p by the metric")
    return signed_chart(description, cells, systems, systems[1:], titles, most=0.5, numbered=True)


def _short(value: float) -> str:
    """Two digits without the 0 before the point."""
    return f"{value:.2f}".replace("-", "−").replace("0.", ".", 1)


def _fewer_segments(rankings: Sequence[Row]) -> list[Section]:
    """What the ranking would be with fewer segments."""
    choices = [_downsampled(one) for one in rankings if one.get("downsampled")]
    if len(choices) < 2:
        return [replace(one, title="On fewer segments") for one in choices]
    return [Section("On fewer segments", choices=choices, of="ranking")]


def _downsampled(one: Row) -> Section:
    rows, meta = one["downsampled"], str(META_NAMES.get(one["meta"], one["meta"]))
    order = [row["metric"] for row in one["metrics"] if not row["baseline"] and row["value"] is not None]
    shown = set(order[:SERIES])
    apart = [row for row in rows if row["metric"] not in order]
    drawn_rows = [row for row in rows if row["metric"] in shown] + apart
    more = f" The {SERIES} best of {len(order)} metrics; all are in the table." if len(order) > SERIES else ""
    name = f"{one['dataset']}: {meta}"
    spec = downsampled_chart(drawn_rows, meta, order[:SERIES])
    table = rows_grid(f"fewer segments {name}", f"{meta} on fewer segments", rows, at_most=2000)
    chart = Chart(f"fewer segments {name}", spec, FEWER.format(subsets=SUBSETS) + more)
    return Section(name, [*_times_first(rows), *_of_baseline(apart, meta)], [chart], folded=[table])


def _times_first(rows: Sequence[Row]) -> list[str]:
    """How often the metric that is first on all segments is so on fewer."""
    total = max(row["segments"] for row in rows)
    best = max((row for row in rows if row["segments"] == total), key=lambda row: row["first"] or 0.0)
    times = {row["segments"]: row["first"] for row in rows if row["metric"] == best["metric"]}
    few = [size for size in times if size < total]
    if not few:
        return []
    parts = [f"on {count(size)} in {percent(times[size])}" for size in few[1::2] or few]
    said = f"On all {count(total)} segments {best['metric']} comes first, {listing(parts)} of random subsets."
    surely = [size for size in few if all(times[own] >= 0.95 for own in few if own >= size)]
    if not surely:
        return [said]
    return [said, f"On {count(surely[0])} segments and more it is first in at least 95 % of them."]


def _of_baseline(rows: Sequence[Row], meta: str) -> list[str]:
    """A metric that never differs, on the fewest and on all segments."""
    if len(rows) < 2:
        return []
    few, all_ = (number(row["median"], digits=2) for row in (rows[0], rows[-1]))
    said = (
        f"Compare values at one number of segments only: {rows[0]['metric']}, a baseline that knows nothing "
        f"of quality (dashed, where the frame holds it), has {meta} {few} on {count(rows[0]['segments'])} "
        f"segments and {all_} on {count(rows[-1]['segments'])}."
    )
    return [said]
