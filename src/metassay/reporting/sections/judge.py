"""Sections of the `judge` page: accuracy, contexts, raters, families of systems, and the prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from metassay.reporting.charts.heatmaps import build_signed_heatmap
from metassay.reporting.charts.judges import build_judge_accuracy_chart
from metassay.reporting.pages import Chart, Section
from metassay.reporting.report_sections import ResultReport
from metassay.reporting.tables import Field, Grid, build_grid
from metassay.reporting.wording import (
    NO_VALUE,
    format_number,
    format_p_value,
    format_percent,
    format_percent_interval,
    format_plural,
)
from metassay.results.judge import (
    HUMANS,
    AlternativeTestEntry,
    JudgeContent,
    JudgeContextAccuracy,
    JudgeEntry,
    SelfPreference,
)
from metassay.stats.levels import SIGNIFICANCE_LEVEL

JudgeReport = ResultReport[JudgeContent]
EntryT = TypeVar("EntryT")

# What columns of the table mean.
COLUMN_EXPLANATIONS = {
    "base rate": "the agreement of the same verdicts if they were assigned to items at random",
    "position bias": "share of verdicts that prefer the output shown first, minus ½",
    "length bias": "accuracy where the better output is the longer one, minus where it is the shorter one",
    "corrected share": "the share of first outputs preferred (or of outputs called good), corrected for the"
    " errors of the judge (Rogan and Gladen)",
}
# How ties count, by the name of the option.
TIE_RULES = {
    "half": "A verdict counts if it prefers the same output in both orders; else it is a tie, which is half"
    " right.",
    "strict": "A verdict counts if it prefers the same output in both orders; else it is a tie, which is"
    " wrong.",
    "judgebench": "The verdicts of both orders are added up, as JudgeBench does: a preference and a tie count"
    " as the preference, two contradictory verdicts as wrong.",
}
ACCURACY_CAPTION = (
    "Share of pairs in which each judge agrees with people, best judge first, with 95 % intervals."
)


def build_overview_section(judge_report: JudgeReport) -> Section:
    """Build the section with a chart and a table of the judges, best first, and sentences about each
    judge.
    """
    entries = sort_judges_by_accuracy(judge_report.result.judges)
    table = build_text_table_of_entries("judges", "Judges", JUDGE_COLUMNS, entries)
    statements = []
    for entry in entries:
        text = " ".join(describe_judge_consistency(entry))
        if text:
            statements.append(f"{entry.judge}: {text[0].lower()}{text[1:]}")
    details = Section("What is known about each judge", [], bullets=statements, collapsed=len(entries) > 1)
    return Section(
        "Judges",
        charts=_build_accuracy_chart(entries),
        grids=[table],
        subsections=[
            *([details] if statements else []),
            Section("How to read the table", [_explain_judge_table_columns(judge_report.result, table)]),
        ],
    )


def _explain_judge_table_columns(judge_result: JudgeContent, table: Grid) -> str:
    """Explain the table of judges: where human labels come from, how ties count, and what the columns
    mean.
    """
    sentences = [
        f"Human labels: {judge_result.gold}." if judge_result.gold else "This table has no human labels."
    ]
    if any(entry.both_orders_same is not None for entry in judge_result.judges):
        sentences.append(TIE_RULES[judge_result.ties])
    sentences += [
        f"{field.label.capitalize()}: {COLUMN_EXPLANATIONS[field.label]}."
        for field in table.fields
        if field.label in COLUMN_EXPLANATIONS
    ]
    sentences.append("Intervals are 95 % intervals from resampled items.")
    return " ".join(sentences)


def _build_accuracy_chart(judges: Sequence[JudgeEntry]) -> list[Chart]:
    """Draw the accuracy of the judges, if at least two judges have one."""
    measured = [entry for entry in judges if entry.accuracy is not None]
    if len(measured) < 2:
        return []
    return [Chart("judges", build_judge_accuracy_chart(measured), ACCURACY_CAPTION)]


def build_contexts_section(judge_report: JudgeReport) -> Section | None:
    """Build the section with tables of the judges' accuracy by context, such as the domain. None if there are
    no contexts.
    """
    tables = [
        _build_context_accuracy_table(column, rows)
        for column, rows in judge_report.result.contexts.items()
        if rows
    ]
    if not tables:
        return None
    return Section("Accuracy within contexts", grids=tables[:1], folded=tables[1:])


def _build_context_accuracy_table(
    context_column: str, context_accuracies: Sequence[JudgeContextAccuracy]
) -> Grid:
    """Build a table of the accuracy of judges, with a row per judge and a column per context."""
    contexts = sorted({entry.context for entry in context_accuracies})
    accuracies = {
        (entry.judge, entry.context): format_share_with_interval(entry.accuracy, entry.low, entry.high)
        for entry in context_accuracies
    }
    judges = sorted({entry.judge for entry in context_accuracies})
    rows = []
    for judge in judges:
        judge_accuracies = [accuracies.get((judge, context), NO_VALUE) for context in contexts]
        rows.append([judge, *judge_accuracies])
    return build_text_table(
        f"by {context_column}", f"Accuracy by {context_column}", ["judge", *contexts], rows
    )


ALTERNATIVE_TEST = (
    "Alternative annotator test (Calderon et al., 2025): each rater is left out in turn, and judge and rater"
    " are compared by how close they are to the other raters."
)


def build_alternative_annotator_test_section(judge_report: JudgeReport) -> Section | None:
    """Build the section that tests whether a judge can replace a human rater. None if there are fewer than
    two raters.
    """
    if not judge_report.result.alt_test:
        return None
    table = build_text_table_of_entries(
        "alternative annotator",
        "Alternative annotator test",
        ALTERNATIVE_TEST_COLUMNS,
        judge_report.result.alt_test,
    )
    return Section("Can the judge replace a rater?", [ALTERNATIVE_TEST], grids=[table])


def _format_p_values_of_raters(alternative_test: AlternativeTestEntry) -> str:
    p_values = [
        f"{rater}: p {format_p_value(p)}" for rater, p in alternative_test.p_fdr.items() if p is not None
    ]
    return "; ".join(p_values) or NO_VALUE


ALTERNATIVE_TEST_COLUMNS: Mapping[str, Callable[[AlternativeTestEntry], str]] = {
    "judge": lambda test: test.judge,
    "winning rate": lambda test: format_percent(test.winning_rate),
    "advantage probability": lambda test: format_percent(test.advantage),
    "ε": lambda test: f"{test.epsilon:g}",
    "passes": lambda test: NO_VALUE if test.passes is None else "yes" if test.passes else "no",
    "adjusted p per rater": _format_p_values_of_raters,
}
FAMILY_CAPTION = (
    "Blue: the judge rates the systems of the family too high; red: too low; * where this is shown for the"
    " judge's own family (p ≤ .05 after Holm's correction)."
)
HUMAN_YARDSTICK = (
    "The deviation of a family is how much higher the judge rates its outputs than outputs of other systems"
    " with equal human scores, in standard deviations of the judge's scores. Human scores are taken as exact."
)
PANEL_YARDSTICK = (
    "There are no human scores: the yardstick is the panel of the other judges, by standardised system means."
    " A preference that all judges share does not show."
)
ONE_TEST = "Only the judge's own family is tested; the other rows describe and claim nothing."
NO_OWN_FAMILY = (
    "No judge is tested for self-preference, because the table does not name the judges' own families: add a"
    " column judge_family."
)


def build_favoured_model_families_section(judge_report: JudgeReport) -> Section | None:
    """Build the section on model families that judges favour. None if the data does not name families."""
    entries = judge_report.result.self_preference
    if not entries:
        return None
    explanation = HUMAN_YARDSTICK if entries[0].yardstick == HUMANS else PANEL_YARDSTICK
    tests = ONE_TEST if any(entry.own for entry in entries) else NO_OWN_FAMILY
    table = build_text_table_of_entries("families", "Deviation of each family", FAMILY_COLUMNS, entries)
    return Section(
        "Which families does it favour?",
        [explanation, tests],
        charts=_build_judge_family_heatmap(entries),
        grids=[table],
    )


def _format_interval_of_deviation(preference: SelfPreference) -> str:
    if preference.low is None:
        return NO_VALUE
    return f"{format_number(preference.low)} to {format_number(preference.high)}"


FAMILY_COLUMNS: Mapping[str, Callable[[SelfPreference], str]] = {
    "judge": lambda preference: preference.judge,
    "family": lambda preference: preference.family,
    "its own": lambda preference: "yes" if preference.own else NO_VALUE,
    "deviation": lambda preference: format_number(preference.deviation),
    "95 % interval": _format_interval_of_deviation,
    "p (Holm)": lambda preference: format_p_value(preference.p_holm),
}


def _build_judge_family_heatmap(self_preferences: Sequence[SelfPreference]) -> list[Chart]:
    """Draw a heatmap of how much each judge favours each model family, if it has more than two cells."""
    cells = []
    for entry in self_preferences:
        if entry.deviation is not None:
            mark = "*" if is_self_preference_significant(entry) else ""
            value = round(entry.deviation, 4)
            cells.append({"row": entry.judge, "column": entry.family, "value": value, "mark": mark})
    judges = list(dict.fromkeys(str(cell["row"]) for cell in cells))
    families = list(dict.fromkeys(str(cell["column"]) for cell in cells))
    if len(judges) * len(families) <= 2:
        return []
    description = f"How much {len(judges)} judges favour the systems of {len(families)} families."
    spec = build_signed_heatmap(description, cells, judges, families, ("judge", "family", "deviation"))
    return [Chart("families", spec, FAMILY_CAPTION)]


def build_prompt_section(judge_report: JudgeReport) -> Section | None:
    """Build the section with the prompt of the judge. None if no judge was asked in this run."""
    asked = judge_report.result.asked
    if asked is None:
        return None
    prompt_lines = [line for line in asked.prompt.split("\n") if line]
    return Section("What the model was asked", [asked.signature, *prompt_lines])


def sort_judges_by_accuracy(judges: Sequence[JudgeEntry]) -> list[JudgeEntry]:
    """Sort judges by accuracy, the highest first. Judges without an accuracy come last."""
    return sorted(judges, key=lambda entry: 1.0 if entry.accuracy is None else -entry.accuracy)


def describe_judge_consistency(judge: JudgeEntry) -> list[str]:
    """Say how consistent the verdicts of a judge are, and whether it prefers certain positions or lengths of
    outputs.
    """
    sentences = []
    if judge.both_orders_same is not None:
        share = format_judge_measure(judge, "both_orders_same")
        sentences.append(f"It prefers the same output in both orders in {share} of pairs.")
    sentences += _describe_position_bias(judge)
    sentences += _describe_length_bias(judge)
    if judge.repeats_same is not None:
        share = format_judge_measure(judge, "repeats_same")
        sentences.append(f"Asked again, it gives the same answer in {share} of cases.")
    if judge.missing:
        answers = format_plural(judge.verdicts, "answer")
        sentences.append(f"{judge.missing} of {answers} of {judge.judge} could not be read.")
    return sentences


def _describe_position_bias(judge: JudgeEntry) -> list[str]:
    """Say whether a judge prefers the output that is shown first or second, if this is significant."""
    bias = judge.position_bias
    ends = judge.intervals.get("position_bias")
    if bias is None or ends is None or ends[0] <= 0 <= ends[1]:
        return []
    position = "first" if bias > 0 else "second"
    low, high = sorted(0.5 + abs(end) for end in ends)
    share = f"{format_percent(0.5 + abs(bias))} ({format_percent_interval(low, high)})"
    return [f"It prefers the output shown {position} in {share} of verdicts; 50 % would be balanced."]


def _describe_length_bias(judge: JudgeEntry) -> list[str]:
    """Say whether a judge is right more often if the better output is the longer or the shorter one, if this
    is significant.
    """
    bias = judge.length_bias
    ends = judge.intervals.get("length_bias")
    if bias is None or ends is None or ends[0] <= 0 <= ends[1]:
        return []
    kind = "longer" if bias > 0 else "shorter"
    low, high = sorted(abs(end) for end in ends)
    sentence = (
        f"It is right more often where the better output is the {kind} one, by {100 * abs(bias):.0f} points"
        f" ({format_percent_interval(low, high)})."
    )
    return [sentence]


def is_self_preference_significant(preference: SelfPreference) -> bool:
    """Return whether a judge significantly favours or disadvantages its own model family (5 % level, Holm's
    correction).
    """
    return preference.p_holm is not None and preference.p_holm <= SIGNIFICANCE_LEVEL


def format_judge_measure(judge: JudgeEntry, field_name: str) -> str:
    """Write one measure of a judge, such as `both_orders_same`, in per cent with its interval."""
    ends = judge.intervals.get(field_name)
    share = format_percent(getattr(judge, field_name))
    return share if ends is None else f"{share} ({format_percent_interval(*ends)})"


def format_share_with_interval(share: float | None, low: float | None, high: float | None) -> str:
    """Write a share in per cent with its interval. An undefined interval is left out."""
    if share is None:
        return NO_VALUE
    return (
        format_percent(share)
        if low is None
        else f"{format_percent(share)} ({format_percent_interval(low, high)})"
    )


def build_text_table_of_entries(
    name: str, caption: str, columns: Mapping[str, Callable[[EntryT], str]], entries: Sequence[EntryT]
) -> Grid:
    """Build a table with a row for each entry. `columns` are functions that write its cells, by heading."""
    rows = [[write_cell(entry) for write_cell in columns.values()] for entry in entries]
    return build_text_table(name, caption, list(columns), rows)


def build_text_table(name: str, caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Grid:
    """Build a table of texts. Columns without values are left out, except for the first."""
    columns = []
    for column in range(len(headings)):
        if column == 0 or any(row[column] != NO_VALUE for row in rows):
            columns.append(column)
    fields = [Field(str(column), headings[column], "text") for column in columns]
    cells = [{str(column): row[column] for column in columns} for row in rows]
    return build_grid(name, caption, fields, cells)


JUDGE_COLUMNS: Mapping[str, Callable[[JudgeEntry], str]] = {
    "judge": lambda judge: judge.judge,
    "pairs": lambda judge: str(judge.pairs),
    "agrees with people": lambda judge: format_share_with_interval(judge.accuracy, judge.low, judge.high),
    "base rate": lambda judge: format_percent(judge.base_rate),
    "same in both orders": lambda judge: format_judge_measure(judge, "both_orders_same"),
    "position bias": lambda judge: format_number(judge.position_bias),
    "length bias": lambda judge: format_number(judge.length_bias),
    "same when repeated": lambda judge: format_judge_measure(judge, "repeats_same"),
    "missing": lambda judge: str(judge.missing),
    "corrected share": lambda judge: (
        NO_VALUE
        if judge.corrected is None
        else format_share_with_interval(judge.corrected.value, judge.corrected.low, judge.corrected.high)
    ),
    "cost": lambda judge: format_number(judge.cost),
}

# In the order of the page. Sections of plug-ins come between or after them, by their position.
JUDGE_SECTIONS = {
    10: build_overview_section,
    20: build_contexts_section,
    30: build_alternative_annotator_test_section,
    40: build_favoured_model_families_section,
    50: build_prompt_section,
}
