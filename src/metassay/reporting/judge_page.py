"""What `judge` shows on its page and in the terminal: how far judges can be trusted, and whom they favour."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import asdict
from scipy.special import ndtri

from metassay.data.directions import REQUESTED
from metassay.data.summary import DIVIDED_RATERS_REASON, NO_HUMAN_LABEL_REASON
from metassay.data.verdict_types import GRADE, PAIRWISE
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Page
from metassay.reporting.report_sections import ResultReport, build_report_sections
from metassay.reporting.sections.judge import (
    JUDGE_SECTIONS,
    is_self_preference_significant,
    sort_judges_by_accuracy,
)
from metassay.reporting.terminal.blocks import (
    Block,
    Details,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    select_columns,
)
from metassay.reporting.wording import (
    choose_decimals_for_percentage,
    format_number,
    format_p_value,
    format_percent,
    format_percent_interval,
    format_plural,
    join_names,
    list_names,
)
from metassay.results.data_summary import DataSummary
from metassay.results.judge import (
    HUMANS,
    AlternativeTestEntry,
    JudgeContent,
    JudgeEntry,
    SelfPreference,
)
from metassay.results.verdict import Claim, convert_sentences_to_findings
from metassay.stats.levels import SIGNIFICANCE_LEVEL

# The usual column of human labels, which sentences need not name.
DEFAULT_GOLD = "better"
_CAUSES_OF_MISSING_LABELS = {
    NO_HUMAN_LABEL_REASON: "there is no human label",
    DIVIDED_RATERS_REASON: "no label has a majority among the raters",
}
# What the accuracy of each type of verdict is counted over.
UNITS = {"pairwise": "pair", "label": "output", "grade": "pair"}
JUDGE_COLUMNS = (
    *("judge", "pairs", "accuracy", "low", "high", "base_rate", "both_orders_same", "position_bias"),
    *("length_bias", "repeats_same", "missing"),
)
ALTERNATIVE_TEST_COLUMNS = ("judge", "winning_rate", "advantage", "epsilon", "passes")


def build_judge_page(judge_result: JudgeContent) -> Page:
    """Build the report page of the command `judge`, which shows how far judges (models that rate outputs) can
    be trusted.
    """
    entries = sort_judges_by_accuracy(judge_result.judges)
    if len(entries) > 1:
        title = "Can these judges be trusted here, and whom do they favour?"
    else:
        title = "Can this judge be trusted here, and whom does it favour?"
    return Page(
        kicker="Judges",
        title=title,
        lead=[claim.sentence for claim in judge_result.verdict],
        sections=build_report_sections("judge", ResultReport(judge_result, MetricLabels([])), JUDGE_SECTIONS),
        notes=judge_result.notes,
    )


def describe_verdicts_not_compared_with_people(data_summary: DataSummary) -> list[str]:
    """Say how many verdicts do not count for the agreement with people, and why."""
    sentences = []
    for reason, cause in _CAUSES_OF_MISSING_LABELS.items():
        count = data_summary.left_out.get(reason, 0)
        if count:
            verb = "is" if count == 1 else "are"
            sentences.append(f"{format_plural(count, 'verdict')} {verb} not compared with people: {cause}.")
    return sentences


def list_main_findings_on_judges(judge_result: JudgeContent) -> list[Claim]:
    """Write the main statements of a report about LLM judges, with the numbers that support them.

    They say which judge to use, which to avoid, and which depend on the order; then comparisons.
    """
    judges = sort_judges_by_accuracy(judge_result.judges)
    measured = [judge for judge in judges if judge.accuracy is not None]
    if measured:
        claims = [
            _build_best_judge_claim(measured, judge_result),
            *_build_below_chance_claims(measured, judge_result),
        ]
    else:
        claims = [_build_unknown_judge_accuracy_claim(judges, judge_result)]
    return [
        *claims,
        *_build_order_consistency_claims(judges),
        *convert_sentences_to_findings(_describe_judge_comparisons(judge_result)),
    ]


def _build_best_judge_claim(judges: Sequence[JudgeEntry], judge_result: JudgeContent) -> Claim:
    """Name the judge that agrees best with people, and the judges that may be equally good because their
    intervals overlap.
    """
    best = judges[0]
    agreement = _describe_judge_accuracy(best, judge_result)
    if not _is_accuracy_different_from_chance(best, len(judges), is_above=True):
        return Claim(
            kind="none",
            metrics=[best.judge],
            value=best.accuracy,
            low=best.low,
            high=best.high,
            baseline=best.base_rate,
            sentence=f"No judge is shown to agree with people better than chance. {agreement}",
        )
    tied = [judge.judge for judge in judges[1:] if judge.high is None or judge.high >= (best.low or 0.0)]
    sentence = f"Use {best.judge}: {_describe_judge_accuracy(best, judge_result, subject='it')}"
    if tied:
        sentence += f" Tied with it (overlapping intervals): {join_names(tied)}."
    return Claim(
        kind="use",
        metrics=[best.judge, *tied],
        value=best.accuracy,
        low=best.low,
        high=best.high,
        baseline=best.base_rate,
        sentence=sentence,
    )


def _build_below_chance_claims(judges: Sequence[JudgeEntry], judge_result: JudgeContent) -> list[Claim]:
    """Name the judges that are shown to agree with people less often than by chance, or say that the
    direction of the grades is doubtful.
    """
    worse = [
        judge for judge in judges if _is_accuracy_different_from_chance(judge, len(judges), is_above=False)
    ]
    if not worse:
        return []
    is_any_better = any(
        _is_accuracy_different_from_chance(judge, len(judges), is_above=True) for judge in judges
    )
    if judge_result.kind == GRADE and not is_any_better and not _did_user_name_directions(judge_result):
        return [_doubt_direction_of_grades(worse, judge_result)]
    listed = [f"{judge.judge} ({format_percent(judge.accuracy)})" for judge in worse]
    return [
        Claim(
            kind="avoid",
            metrics=[judge.judge for judge in worse],
            sentence=f"Avoid {join_names(listed)}: right less often than by chance.",
        )
    ]


def _did_user_name_directions(judge_result: JudgeContent) -> bool:
    scores = [] if judge_result.data is None else judge_result.data.scores
    return any(score.why == REQUESTED for score in scores)


def _doubt_direction_of_grades(judges: Sequence[JudgeEntry], judge_result: JudgeContent) -> Claim:
    """Say that lower grades may be better, because judges give higher grades to outputs that people find
    worse.
    """
    names = [judge.judge for judge in judges]
    verb = "gives" if len(names) == 1 else "give"
    columns = [] if judge_result.data is None else [score.score for score in judge_result.data.scores]
    sentence = (
        f"{list_names(names, '')} {verb} higher grades to outputs that people find worse. If lower is better"
        f" in {' or '.join(columns)}, add --lower-is-better NAME; if higher is better in each,"
        " --higher-is-better NAME."
    )
    return Claim(kind="caveat", metrics=names, sentence=sentence)


def _build_order_consistency_claims(judges: Sequence[JudgeEntry]) -> list[Claim]:
    """Say how often each judge changes its verdict if the two outputs are shown in the other order. The least
    consistent judge comes first.
    """
    measured = [judge for judge in judges if judge.both_orders_same is not None]
    if not measured:
        return []
    ordered = sorted(measured, key=lambda judge: judge.both_orders_same or 0.0)
    listed = [f"{judge.judge} ({format_percent(1 - (judge.both_orders_same or 0.0))})" for judge in ordered]
    return [
        Claim(
            kind="finding",
            metrics=[judge.judge for judge in ordered],
            sentence=f"Pairs whose verdict changes with the order of the outputs: {', '.join(listed)}.",
        )
    ]


def _is_accuracy_different_from_chance(judge: JudgeEntry, judge_count: int, *, is_above: bool) -> bool:
    """Return whether the accuracy of a judge is significantly above (or below) chance, corrected for the
    number of judges.

    The 95 % interval is widened to the level that the correction asks for, as if it were normal.
    """
    if judge.accuracy is None or judge.low is None or judge.high is None or judge.base_rate is None:
        return False
    widening = float(ndtri(1 - SIGNIFICANCE_LEVEL / 2 / judge_count) / ndtri(1 - SIGNIFICANCE_LEVEL / 2))
    if is_above:
        return judge.accuracy - widening * (judge.accuracy - judge.low) > judge.base_rate
    return judge.accuracy + widening * (judge.high - judge.accuracy) < judge.base_rate


def _build_unknown_judge_accuracy_claim(judges: Sequence[JudgeEntry], judge_result: JudgeContent) -> Claim:
    """Say why it is not known how often the judges are right, and what data would be needed to find out."""
    names = [judge.judge for judge in judges]
    if judge_result.gold is None:
        reason = "there are no human labels to compare with"
        column = DEFAULT_GOLD if judge_result.kind == PAIRWISE else "human"
        remedy = f" Add a column {column} with human labels, or a file that has one: --join FILE."
    else:
        reason = f"no verdict can be compared with the human labels ({judge_result.gold})"
        remedy = ""
    verb = "is" if len(names) == 1 else "are"
    sentence = f"It is not known how often {list_names(names, '')} {verb} right: {reason}.{remedy}"
    return Claim(kind="unanswered", metrics=names, sentence=sentence)


def _describe_judge_accuracy(
    judge: JudgeEntry, judge_result: JudgeContent, *, subject: str | None = None
) -> str:
    """Say how often a judge agrees with people. The sentence begins with `subject`, or else with the name of
    the judge.
    """
    digits = choose_decimals_for_percentage(judge.low, judge.high)
    unit = format_plural(judge.pairs or 0, UNITS[judge_result.kind])
    if judge_result.kind == GRADE:
        origin = "different items" if judge_result.compares_items else "one item"
        unit += f" of outputs of {origin} with different human scores"
    label = "" if judge_result.gold == DEFAULT_GOLD else f" ({judge_result.gold})"
    text = (
        f"{subject or judge.judge} agrees with people{label} in"
        f" {format_percent(judge.accuracy, digits=digits)} of {unit}"
    )
    base_rate = f"chance would give {format_percent(judge.base_rate)}"
    if judge.low is None or judge.high is None or judge.base_rate is None:
        return f"{text}; {base_rate}."
    text += f" (95 % interval {format_percent_interval(judge.low, judge.high, digits=digits)})"
    return f"{text}; {base_rate}."


def _describe_judge_comparisons(judge_result: JudgeContent) -> list[str]:
    """Say which judges can replace a human rater, which favour their own model family, and how the accuracy
    of judges changed over time.
    """
    sentences = [
        _describe_alternative_annotator_test(entry)
        for entry in judge_result.alt_test
        if entry.winning_rate is not None
    ]
    sentences += _describe_self_preference(judge_result.self_preference)
    for drift in judge_result.drift:
        if drift.change is not None and drift.low is not None and drift.high is not None:
            sentences.append(
                f"{drift.judge}: accuracy changed by {_format_percentage_points(drift.change)} from"
                f" {drift.first_date} to {drift.last_date} (95 % interval"
                f" {_format_percentage_points(drift.low)} to {_format_percentage_points(drift.high)})."
            )
    return sentences


def _describe_alternative_annotator_test(alternative_test: AlternativeTestEntry) -> str:
    tested = [rater for rater, p in alternative_test.p_fdr.items() if p is not None]
    outcome = "passes" if alternative_test.passes else "does not pass"
    return (
        f"{alternative_test.judge} {outcome} the alternative annotator test: at ε ="
        f" {alternative_test.epsilon:g} it can replace {format_percent(alternative_test.winning_rate)} of"
        f" {format_plural(len(tested), 'rater')} (half are needed), and it is at least as close to the others"
        f" as they are in {format_percent(alternative_test.advantage)} of cases."
    )


def _describe_self_preference(self_preferences: Sequence[SelfPreference]) -> list[str]:
    """Say which judges favour or disadvantage outputs of their own model family, or that none is shown to
    favour them.
    """
    tested = [entry for entry in self_preferences if entry.own and entry.p_holm is not None]
    sentences = [
        _describe_family_preference(entry) for entry in tested if is_self_preference_significant(entry)
    ]
    if tested and not sentences:
        judges = join_names([entry.judge for entry in tested])
        sentences.append(f"No judge is shown to favour its own family (tested: {judges}).")
    return sentences


def _describe_family_preference(preference: SelfPreference) -> str:
    deviation = preference.deviation or 0.0
    verb = "favours" if deviation > 0 else "disadvantages"
    direction = "higher" if deviation > 0 else "lower"
    if preference.yardstick == HUMANS:
        comparison = "than outputs of other systems with equal human scores"
        unit = "standard deviations of its scores"
    else:
        comparison = "than the other judges do"
        unit = "standard deviations of systems"
    low, high = sorted(abs(end) for end in (preference.low or 0.0, preference.high or 0.0))
    return (
        f"{preference.judge} {verb} its own family {preference.family}: it rates them"
        f" {format_number(abs(deviation))} {unit} {direction} {comparison} (95 % interval"
        f" {format_number(low)} to {format_number(high)}; p {format_p_value(preference.p_holm)} after Holm's"
        " correction)."
    )


def _format_percentage_points(accuracy_difference: float) -> str:
    return f"{100 * accuracy_difference:+.1f} points".replace("-", "−")


def describe_judge_result(judge_result: JudgeContent) -> list[Block]:
    """Describe for the terminal how far each judge can be trusted. Columns without values are left out."""
    judge_rows = [asdict(entry) for entry in judge_result.judges]
    has_accuracy = any(entry.pairs for entry in judge_result.judges)
    # Without human labels no pair is counted for accuracy, so that the verdicts are counted instead.
    columns = [*JUDGE_COLUMNS] if has_accuracy else ["judge", "verdicts", *JUDGE_COLUMNS[2:]]
    columns = [name for name in columns if any(row[name] is not None for row in judge_rows)]
    blocks: list[Block] = [
        *convert_sentences_to_lines(claim.sentence for claim in judge_result.verdict),
        Table(
            select_columns(judge_rows, columns),
            title="Judges compared with human labels and with themselves" if has_accuracy else "Judges",
            digits=2,
        ),
    ]
    context_tables = [
        Table([asdict(entry) for entry in entries], title=f"Accuracy by {column}")
        for column, entries in judge_result.contexts.items()
    ]
    alternative_tests = [asdict(entry) for entry in judge_result.alt_test]
    return [
        *blocks,
        Details(
            [
                *context_tables,
                Table(
                    select_columns(alternative_tests, ALTERNATIVE_TEST_COLUMNS),
                    title="Alternative annotator test",
                ),
                Table(
                    [asdict(entry) for entry in judge_result.self_preference],
                    title="Self-preference by family",
                ),
                Table([msgspec.to_builtins(entry) for entry in judge_result.drift], title="Drift"),
            ]
        ),
        *convert_sentences_to_notes(judge_result.notes),
    ]
