"""Judges in sentences, and on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.charts.against_people import ranking_chart
from metassay.reporting.charts.heatmaps import signed_chart
from metassay.reporting.pages import Chart, Page, Section
from metassay.reporting.tables import Field, Grid, grid
from metassay.reporting.wording import (
    NOTHING,
    digits_for,
    interval,
    listing,
    number,
    percent,
    plural,
    probability,
)

Found = Mapping[str, Any]
ABOUT = {
    "pairs": "pairs of outputs",
    "labels": "outputs",
    "scores": "pairs of outputs of one item that people tell apart",
}
FIELDS = (
    *("judge", "pairs", "agrees with people", "base rate", "same in both orders", "position bias"),
    *("length bias", "same when repeated", "missing", "corrected share", "cost"),
)
ALTERNATIVE = ("judge", "winning rate", "advantage probability", "ε", "passes", "adjusted p per person")
PREFERENCES = ("judge", "family", "deviation", "95 %", "p (Holm)")
TITLES = (
    "Can this judge be trusted here, and whom does it favour?",
    "Can these judges be trusted here, and whom do they favour?",
)
MEASURED = {
    "base rate": "the agreement that the same verdicts, dealt out at random, would have",
    "position bias": "share of askings in which the output shown first is named, less ½",
    "length bias": "accuracy where the better output is the longer one, less where it is the shorter",
    "corrected share": "the share of first outputs called better (or of outputs called good), corrected for "
    "the judge's errors (Rogan and Gladen)",
}
"""What the columns of the first table are."""
AGREEMENT_CAPTION = "Agreement with people, with 95 % intervals."
FAMILIES_CAPTION = (
    "Blue: the judge rates the family's systems too high; red: too low; * where p ≤ .05 after Holm."
)
ALTERNATIVE_TEST = (
    "Alternative annotator test (Calderon et al., 2025): each person is left out in turn, and judge and"
    " person are compared by how close they come to the others."
)
ALPHA = 0.05


def judge_sentences(found: Found) -> list[str]:
    """What a colleague would say of the judges, each with its uncertainty."""
    said = [
        " ".join(part for part in (_accuracy(row, found), *_of_judge(row)) if part) for row in found["judges"]
    ]
    return said + _comparing(found)


def _comparing(found: Found) -> list[str]:
    """Judges against single people, families and earlier versions."""
    said = [_alternative(row) for row in found["alt_test"] if row["winning_rate"] is not None]
    said += _families(found["self_preference"])
    said += [
        f"{row['judge']}: accuracy on {row['to']} is {_points(row['change'])} from {row['from']}"
        f" (95 % interval {_points(row['low'])} to {_points(row['high'])})."
        for row in found["drift"]
        if row["change"] is not None and row["low"] is not None
    ]
    return said


def judge_page(found: Found) -> Page:
    """The page of a `judge` result: those that agree most with people first."""
    rows = sorted(found["judges"], key=lambda row: 1.0 if row["accuracy"] is None else -row["accuracy"])
    judges = _text_grid("judges", "Judges", FIELDS, [_cells(row) for row in rows])
    about = [
        f"{row['judge']}: {said[0].lower()}{said[1:]}"
        for row in rows
        if (said := " ".join(filter(None, _of_judge(row))))
    ]
    measured = _measured(found, [field.label for field in judges.fields])
    sections = [Section("Judges", [measured, *about], _agreement(rows), [judges])]
    by_column = [_by_context(column, entries) for column, entries in found["contexts"].items() if entries]
    if by_column:
        sections.append(Section("Accuracy within contexts", grids=by_column[:1], folded=by_column[1:]))
    if found["alt_test"]:
        cells = [_alternative_cells(row) for row in found["alt_test"]]
        grids = [_text_grid("alternative annotator", "Alternative annotator test", ALTERNATIVE, cells)]
        sections.append(Section("Could the judge replace a person?", [ALTERNATIVE_TEST], grids=grids))
    if found["self_preference"]:
        sections.append(_favours(found["self_preference"]))
    if found["asked"]:
        asked = [found["asked"]["signature"], *found["asked"]["prompt"].split("\n")]
        sections.append(Section("What it was asked", [line for line in asked if line]))
    lead = [_accuracy(row, found) for row in rows] + _comparing(found)
    return Page("Judges", TITLES[len(rows) > 1], lead, sections, notes=found["notes"])


def _agreement(rows: Sequence[Found]) -> list[Chart]:
    """Each judge with its interval; nothing to compare where there is but one."""
    known = [
        {"metric": row["judge"], "value": row["accuracy"], "low": row["low"], "high": row["high"]}
        | {"rank": None, "baseline": False}
        for row in rows
        if row["accuracy"] is not None
    ]
    drawn = {"meta": "agreement with people", "dataset": "these items", "of": "judges", "metrics": known}
    return [Chart("judges", ranking_chart(drawn), AGREEMENT_CAPTION)] if len(known) > 1 else []


def _favours(rows: Sequence[Found]) -> Section:
    """The families whose systems each judge flatters or wrongs."""
    cells = [_preference_cells(row) for row in rows]
    grids = [_text_grid("families", "Families and what the judge makes of them", PREFERENCES, cells)]
    shown = [
        {"row": row["judge"], "column": row["family"], "value": round(row["deviation"], 4)}
        | {"mark": "*" if row["p_holm"] is not None and row["p_holm"] <= ALPHA else ""}
        for row in rows
        if row["deviation"] is not None
    ]
    judges, families = (list(dict.fromkeys(cell[name] for cell in shown)) for name in ("row", "column"))
    charts = []
    if len(judges) * len(families) > 2:
        description = f"What {len(judges)} judges make of systems of {len(families)} families."
        spec = signed_chart(description, shown, judges, families, ("judge", "family", "deviation"))
        charts = [Chart("families", spec, FAMILIES_CAPTION)]
    return Section("Whom does it favour?", [_yardstick(rows)], charts, grids)


def _measured(found: Found, shown: Sequence[str]) -> str:
    """How the columns of the first table were measured."""
    gold = f"People: {found['gold']}." if found["gold"] else "There is nothing from people in this table."
    half = "half right" if found["ties"] == "half" else "wrong"
    both = f" A verdict counts if it names the same output in both orders; else it is a tie, which is {half}."
    twice = any(row["both_orders_same"] is not None for row in found["judges"])
    columns = [f" {name.capitalize()}: {MEASURED[name]}." for name in shown if name in MEASURED]
    return f"{gold}{both if twice else ''}{''.join(columns)} Intervals are 95 % and resample items."


def _text_grid(name: str, caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Grid:
    """Cells that are text already, under these headings; columns without anything in them are left out."""
    kept = [n for n in range(len(headings)) if n == 0 or any(row[n] != NOTHING for row in rows)]
    fields = [Field(str(n), headings[n], "text") for n in kept]
    return grid(name, caption, fields, [{str(n): row[n] for n in kept} for row in rows])


def _of_judge(row: Found) -> list[str]:
    """What it prefers, and whether it says the same again."""
    name = row["judge"]
    said = [_both_orders(row), _position(row), _length(row)]
    if row["repeats_same"] is not None:
        said.append(f"Asked again, it gives the same answer in {_share(row, 'repeats_same')} of cases.")
    if row["missing"]:
        said.append(f"{row['missing']} of {plural(row['askings'], 'answer')} of {name} could not be read.")
    return said


def _accuracy(row: Found, found: Found) -> str:
    if row["accuracy"] is None:
        return (
            f"Nothing says how often {row['judge']} is right: there is nothing from people to compare with."
        )
    digits = digits_for(row["low"], row["high"])
    text = (
        f"{row['judge']} agrees with people ({found['gold']}) in {percent(row['accuracy'], digits=digits)} of"
        f" {row['pairs']} {ABOUT[found['kind']]}"
    )
    if row["low"] is not None:
        text += f" (95 % interval {interval(row['low'], row['high'], digits=digits)})"
    chance = f"base rates alone would give {percent(row['base_rate'])}"
    if row["low"] is not None and row["low"] <= row["base_rate"] <= row["high"]:
        return f"{text}; {chance}, which this cannot be told from."
    return f"{text}; {chance}."


def _both_orders(row: Found) -> str:
    if row["both_orders_same"] is None:
        return ""
    return f"It names the same output in both orders in {_share(row, 'both_orders_same')} of pairs."


def _position(row: Found) -> str:
    bias, ends = row["position_bias"], row["intervals"].get("position_bias")
    if bias is None or ends is None:
        return ""
    if ends[0] <= 0 <= ends[1]:
        return "It shows no preference for either place that chance does not explain."
    place = "first" if bias > 0 else "second"
    low, high = sorted(0.5 + (end if bias > 0 else -end) for end in ends)
    share = f"{percent(0.5 + abs(bias))} ({interval(low, high)})"
    return f"It names the output shown {place} in {share} of askings; even would be 50 %."


def _length(row: Found) -> str:
    bias, ends = row["length_bias"], row["intervals"].get("length_bias")
    if bias is None or ends is None or ends[0] <= 0 <= ends[1]:
        return ""
    kind = "longer" if bias > 0 else "shorter"
    low, high = sorted(abs(end) for end in ends)
    return (
        f"It is right more often where the better output is the {kind} one, by {100 * abs(bias):.0f} points"
        f" ({interval(low, high)})."
    )


def _share(row: Found, name: str) -> str:
    ends = row["intervals"].get(name)
    return percent(row[name]) + ("" if ends is None else f" ({interval(*ends)})")


def _alternative(row: Found) -> str:
    people = [name for name, p in row["p_fdr"].items() if p is not None]
    outcome = "passes" if row["passes"] else "does not pass"
    return (
        f"{row['judge']} {outcome} the alternative annotator test: at ε = {row['epsilon']:g} it may replace"
        f" {percent(row['winning_rate'])} of {plural(len(people), 'person', 'people')} (half are needed), and"
        f" it is at least as close to the others as they are in {percent(row['advantage'])} of cases."
    )


def _families(rows: Sequence[Found]) -> list[str]:
    found = []
    for row in rows:
        if row["p_holm"] is None or row["p_holm"] > ALPHA:
            continue
        if row["deviation"] < 0 and sum(other["judge"] == row["judge"] for other in rows) == 2:
            continue  # of two families the one is as much too low as the other is too high
        side = "higher" if row["deviation"] > 0 else "lower"
        other = (
            f"than people do, beside all other families, by {number(abs(row['deviation']))} points of the"
            " human score"
            if row["yardstick"] == "people"
            else f"than the panel of the other judges does, by {number(abs(row['deviation']))} standard"
            " deviations of systems; there are no people to say who is right"
        )
        found.append(
            f"{row['judge']} rates systems of {row['family']} {side} {other}"
            f" (p {probability(row['p_holm'])} after Holm)."
        )
    if rows and not found:
        judges = listing(sorted({row["judge"] for row in rows}))
        found.append(f"No preference for a family is shown by {judges} (p > .05 after Holm).")
    return found


def _yardstick(rows: Sequence[Found]) -> str:
    return (
        "People are the yardstick: a family's deviation is by how much reading human scores off the judge"
        " flatters its systems, less the same for all other systems. A judge that is noisy but fair pulls"
        " every system towards the mean, so a family of good systems then seems wronged, and one of bad"
        " systems flattered."
        if rows[0]["yardstick"] == "people"
        else "There are no human scores: the yardstick is the panel of the other judges, by standardised"
        " system means. Where all judges share a preference it does not show."
    )


def _points(value: float) -> str:
    return f"{100 * value:+.1f} points".replace("-", "−")


def _cells(row: Found) -> list[str]:
    corrected, cost = row["corrected"], row["cost"]
    return [
        row["judge"],
        str(row["pairs"]),
        _with_interval(row),
        percent(row["base_rate"]),
        _share(row, "both_orders_same"),
        number(row["position_bias"], digits=3),
        number(row["length_bias"], digits=3),
        _share(row, "repeats_same"),
        str(row["missing"]),
        _with_interval(corrected, "value"),
        NOTHING if cost is None else number(cost),
    ]


def _with_interval(row: Found | None, name: str = "accuracy") -> str:
    if row is None or row[name] is None:
        return NOTHING
    shown = percent(row[name])
    return shown if row["low"] is None else f"{shown} ({interval(row['low'], row['high'])})"


def _by_context(column: str, rows: Sequence[Found]) -> Grid:
    """Judges down, contexts across."""
    contexts = sorted({row["context"] for row in rows})
    known = {(row["judge"], row["context"]): row for row in rows}
    judges = sorted({row["judge"] for row in rows})
    cells = [[judge, *(_with_interval(known.get((judge, each))) for each in contexts)] for judge in judges]
    return _text_grid(f"by {column}", f"Accuracy by {column}", ["judge", *contexts], cells)


def _alternative_cells(row: Found) -> list[str]:
    passes = {None: NOTHING, True: "yes", False: "no"}[row["passes"]]
    each = "; ".join(f"{who}: p {probability(p)}" for who, p in row["p_fdr"].items() if p is not None)
    return [
        row["judge"],
        percent(row["winning_rate"]),
        percent(row["advantage"]),
        f"{row['epsilon']:g}",
        passes,
        each or NOTHING,
    ]


def _preference_cells(row: Found) -> list[str]:
    ends = NOTHING if row["low"] is None else f"{number(row['low'])} to {number(row['high'])}"
    return [row["judge"], row["family"], number(row["deviation"]), ends, probability(row["p_holm"])]
