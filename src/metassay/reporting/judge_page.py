"""Judges in sentences, and on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.pages import Page, Section
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
    *("judge", "pairs", "agrees with people", "95 %", "base rate", "same in both orders", "position bias"),
    *("length bias", "same when repeated", "missing", "corrected share", "cost"),
)
ALTERNATIVE = ("judge", "winning rate", "advantage probability", "ε", "passes", "adjusted p per person")
PREFERENCES = ("judge", "family", "deviation", "95 %", "p (Holm)")
TITLE = "Can this judge be trusted here, and whom does it favour?"
MEASURED = (
    " Base rate: the agreement that the same verdicts, dealt out at random, would have. Position bias: share"
    " of askings in which the output shown first is named, less ½. Length bias: accuracy where the better"
    " output is the longer one, less accuracy where it is the shorter. Corrected share: the share of first"
    " outputs called better (or of outputs called good), corrected for the judge's errors (Rogan and Gladen)."
    " Intervals are 95 % and resample items."
)
ALTERNATIVE_TEST = (
    "Alternative annotator test (Calderon et al., 2025): each person is left out in turn, and judge and"
    " person are compared by how close they come to the others."
)
ALPHA = 0.05


def judge_sentences(found: Found) -> list[str]:
    """What a colleague would say of the judges, each with its uncertainty."""
    said: list[str] = []
    for row in found["judges"]:
        said += [" ".join(part for part in _of_judge(row, found) if part)]
    said += [_alternative(row) for row in found["alt_test"] if row["winning_rate"] is not None]
    said += _families(found["self_preference"])
    said += [
        f"{row['judge']}: accuracy on {row['to']} is {_points(row['change'])} from {row['from']}"
        f" (95 % interval {_points(row['low'])} to {_points(row['high'])})."
        for row in found["drift"]
        if row["change"] is not None and row["low"] is not None
    ]
    return [sentence for sentence in said if sentence]


def judge_page(found: Found) -> Page:
    """The page of a `judge` result."""
    judges = _text_grid("judges", "Judges", FIELDS, [_cells(row) for row in found["judges"]])
    sections = [Section("Judges", _measured(found), grids=[judges])]
    by_column = [
        _text_grid(f"by {column}", f"Accuracy by {column}", ["judge", *part["contexts"]], part["rows"])
        for column, rows in found["contexts"].items()
        if rows
        for part in [_by_context(rows)]
    ]
    if by_column:
        sections.append(Section("Accuracy within contexts", grids=by_column[:1], folded=by_column[1:]))
    if found["alt_test"]:
        rows = [_alternative_cells(row) for row in found["alt_test"]]
        grids = [_text_grid("alternative annotator", "Alternative annotator test", ALTERNATIVE, rows)]
        sections.append(Section("Could the judge replace a person?", [ALTERNATIVE_TEST], grids=grids))
    if found["self_preference"]:
        rows = [_preference_cells(row) for row in found["self_preference"]]
        grids = [_text_grid("families", "Families and what the judge makes of them", PREFERENCES, rows)]
        sections.append(Section("Whom does it favour?", [_yardstick(found["self_preference"])], grids=grids))
    if found["asked"]:
        said = [found["asked"]["signature"], *found["asked"]["prompt"].split("\n")]
        sections.append(Section("What it was asked", [line for line in said if line]))
    return Page("Judges", TITLE, judge_sentences(found), sections, notes=found["notes"])


def _measured(found: Found) -> list[str]:
    """How the columns of the first table were measured."""
    gold = f"People: {found['gold']}." if found["gold"] else "There is nothing from people in this table."
    half = "half right" if found["ties"] == "half" else "wrong"
    both = f" A verdict counts if it names the same output in both orders; else it is a tie, which is {half}."
    return [gold + (both if found["kind"] == "pairs" else "") + MEASURED]


def _text_grid(name: str, caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Grid:
    """Cells that are text already, under these headings."""
    fields = [Field(str(n), heading, "text") for n, heading in enumerate(headings)]
    return grid(name, caption, fields, [{str(n): cell for n, cell in enumerate(row)} for row in rows])


def _of_judge(row: Found, found: Found) -> list[str]:
    name = row["judge"]
    return [
        _accuracy(row, found),
        _both_orders(row),
        _position(row),
        _length(row),
        ""
        if row["repeats_same"] is None
        else f"Asked again, it gives the same answer in {_share(row, 'repeats_same')} of cases.",
        ""
        if not row["missing"]
        else f"{row['missing']} of {plural(row['askings'], 'answer')} of {name} could not be read.",
    ]


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
    if not rows:
        return ""
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
        percent(row["accuracy"], digits=1),
        interval(row["low"], row["high"], digits=1),
        percent(row["base_rate"]),
        _share(row, "both_orders_same"),
        number(row["position_bias"], digits=3),
        number(row["length_bias"], digits=3),
        _share(row, "repeats_same"),
        str(row["missing"]),
        NOTHING
        if corrected is None
        else f"{percent(corrected['value'])} ({interval(corrected['low'], corrected['high'])})",
        NOTHING if cost is None else number(cost),
    ]


def _by_context(rows: Sequence[Found]) -> dict[str, Any]:
    contexts = sorted({row["context"] for row in rows})
    cells = {(row["judge"], row["context"]): row for row in rows}
    judges = sorted({row["judge"] for row in rows})

    def shown(row: Found | None) -> str:
        if row is None or row["accuracy"] is None:
            return NOTHING
        return f"{percent(row['accuracy'])} ({interval(row['low'], row['high'])})"

    return {
        "contexts": contexts,
        "rows": [[judge, *(shown(cells.get((judge, each))) for each in contexts)] for judge in judges],
    }


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
