"""Which questions a data set can answer, with the command for each, and what is missing for the others."""

from __future__ import annotations

import shlex

from metassay.reporting.check_judge_questions import list_questions_about_judges
from metassay.reporting.wording import find_installed_task, format_count, format_number, format_plural
from metassay.results.check import (
    DATA,
    PAIRS,
    SCORES,
    VERDICTS,
    CheckContent,
    CheckedQuestion,
    CheckedTestSet,
)

# Rated items from which metrics are compared with human scores; contexts of `rank` need as many.
FEWEST_RATED_ITEMS = 20
# Rated items from which `estimate` computes intervals.
FEWEST_RATED_FOR_ESTIMATES = 10
# Systems from which `rank` computes intervals.
FEWEST_SYSTEMS = 3
_ITEMS_TO_RATE = 100
# Columns with more values are not suggested as contexts.
_MOST_CONTEXTS = 50
_NEEDS_OUTPUTS = "needs the outputs: add --join FILE, or --column output=COLUMN if a column holds them"


def list_user_questions_answerable_first(check_result: CheckContent) -> list[CheckedQuestion]:
    """List questions that users may ask about a data set, each with the command that answers it. Questions
    that the data can answer come first.
    """
    if check_result.kind == VERDICTS:
        questions = list_questions_about_judges(check_result)
    elif check_result.kind == PAIRS:
        questions = _list_questions_about_pairs(check_result)
    else:
        questions = _list_questions_about_metrics(check_result)
    return sorted(questions, key=lambda question: question.missing is not None)


def _list_questions_about_metrics(check_result: CheckContent) -> list[CheckedQuestion]:
    """List questions about metrics and systems, each with the command that answers it and what the data lacks
    for it.
    """
    questions = [
        _build_question_on_error_detection(check_result),
        _build_question_on_better_system(check_result),
    ]
    task = find_installed_task(check_result.task)
    if task is None or not task.is_ranking:
        questions += [
            _build_question_on_metric_ranking(check_result),
            _build_question_on_preferred_system(check_result),
            *_build_question_on_best_two_systems(check_result),
            _build_question_on_favoured_systems(check_result),
            *_build_question_on_items_to_rate(check_result),
        ]
    return questions


def _list_questions_about_pairs(check_result: CheckContent) -> list[CheckedQuestion]:
    """List questions about metrics for data that consists of pairs of a better and a worse output."""
    command = f"metassay assay --pairs {DATA}"
    questions = [CheckedQuestion("which metric prefers the better output most often?", command)]
    for column, values in check_result.contexts.items():
        if column != "system" and 1 < values <= _MOST_CONTEXTS:
            questions.append(
                CheckedQuestion(
                    f"does this depend on {column}?", f"{command} --context {shlex.quote(column)}"
                )
            )
            break
    return questions


def _build_question_on_error_detection(check_result: CheckContent) -> CheckedQuestion:
    missing = None
    if check_result.kind == SCORES:
        missing = _NEEDS_OUTPUTS
    elif not any(row.applies for row in check_result.perturbations):
        reasons = [row.why for row in check_result.perturbations if row.why is not None]
        missing = "; ".join(["no perturbation applies to these outputs", *reasons[:1]])
    return CheckedQuestion("which metric detects errors here?", f"metassay assay {DATA}", missing)


def _build_question_on_better_system(check_result: CheckContent) -> CheckedQuestion:
    missing = "there is one system only" if len(check_result.systems) < 2 else None
    if check_result.kind == SCORES:
        missing = _NEEDS_OUTPUTS
    return CheckedQuestion(
        "which system is better by a metric?", f"metassay score {DATA} --test bootstrap", missing
    )


def _build_question_on_metric_ranking(check_result: CheckContent) -> CheckedQuestion:
    question = "which metric ranks systems as people do?"
    human, _ = _choose_human_score(check_result)
    command = f"metassay rank {DATA} --human {_quote_column_for_command(human)}"
    systems = len(check_result.systems)
    if systems < FEWEST_SYSTEMS:
        return CheckedQuestion(question, command, f"needs {FEWEST_SYSTEMS} systems, there are {systems}")
    return CheckedQuestion(question, command, _describe_missing_scores(check_result, FEWEST_RATED_ITEMS))


def _build_question_on_preferred_system(check_result: CheckContent) -> CheckedQuestion:
    human, rated = _choose_human_score(check_result)
    missing = _describe_missing_scores(check_result, FEWEST_RATED_FOR_ESTIMATES)
    test_set = _choose_test_set_with_most_ratings(check_result, human)
    if test_set is not None:
        rated = test_set.rated_items.get(human or "", 0)
    items = "a few" if missing is not None else format_count(rated)
    return CheckedQuestion(
        f"which system do people prefer, from {items} rated items?",
        f"metassay estimate {DATA}{_format_test_set_filter_options(test_set)} --human"
        f" {_quote_column_for_command(human)}",
        missing,
    )


def _build_question_on_best_two_systems(check_result: CheckContent) -> list[CheckedQuestion]:
    """Say how many more items must be rated to show which of the two best systems is better. The list is
    empty if this is already known.
    """
    pair = check_result.undecided_systems
    if pair is None:
        return []
    rated = format_plural(pair.rated, "rated item")
    more = format_plural(pair.needed - pair.rated, "more rated item")
    missing = (
        f"the difference of {format_number(pair.difference)} on {rated} may be chance;"
        f" if it is real, about {more} show it with probability 80 %"
    )
    left = check_result.items - pair.rated
    if pair.needed - pair.rated > left:
        missing += f"; this data has {format_count(left) if left else 'no'} more"
    return [
        CheckedQuestion(
            f"do people prefer {pair.best} or {pair.second}?",
            f"metassay estimate {DATA} --human {_quote_column_for_command(pair.human)}",
            missing,
        )
    ]


def _build_question_on_favoured_systems(check_result: CheckContent) -> CheckedQuestion:
    human, _ = _choose_human_score(check_result)
    missing = _describe_missing_scores(check_result, FEWEST_RATED_ITEMS)
    if len(check_result.systems) < 2:
        missing = "there is one system only"
    return CheckedQuestion(
        "which systems does a metric favour?",
        f"metassay depend {DATA} --human {_quote_column_for_command(human)}",
        missing,
    )


def _build_question_on_items_to_rate(check_result: CheckContent) -> list[CheckedQuestion]:
    """Suggest the command that chooses items for people to rate. The list is empty if all items are rated
    already, or if there is no metric.
    """
    human, rated = _choose_human_score(check_result)
    items = check_result.items
    test_set = _choose_test_set_with_most_ratings(check_result, human)
    if test_set is not None:
        items, rated = test_set.items, test_set.rated_items.get(human or "", 0)
    unrated = items - rated
    if not unrated or _needs_metric_scores(check_result):
        return []
    option = "" if human is None else f" --human {_quote_column_for_command(human)}"
    count = min(_ITEMS_TO_RATE, unrated)
    command = f"metassay annotate {DATA}{_format_test_set_filter_options(test_set)}{option} --count {count}"
    return [CheckedQuestion("which items should be rated next?", command)]


def _choose_human_score(check_result: CheckContent) -> tuple[str | None, int]:
    """Choose the human score with the most rated items, and return its name and the number of these items."""
    if not check_result.rated_items:
        return None, 0
    human = max(check_result.rated_items, key=lambda name: check_result.rated_items[name])
    return human, check_result.rated_items[human]


def _choose_test_set_with_most_ratings(
    check_result: CheckContent, human_score: str | None
) -> CheckedTestSet | None:
    """Choose the test set with the most rated items. None if the data has only one test set."""
    if not check_result.test_sets:
        return None
    return max(check_result.test_sets, key=lambda test_set: test_set.rated_items.get(human_score or "", 0))


def _format_test_set_filter_options(test_set: CheckedTestSet | None) -> str:
    """Write the command line options `--where` that select a test set."""
    columns = {} if test_set is None else test_set.columns
    return "".join(f" --where {shlex.quote(f'{name}={value}')}" for name, value in columns.items())


def _quote_column_for_command(column: str | None) -> str:
    """Quote the name of a column for a shell command. `COLUMN` stands for an unknown name."""
    return "COLUMN" if column is None else shlex.quote(column)


def _needs_metric_scores(check_result: CheckContent) -> bool:
    """Return whether the data has neither metric scores nor the outputs from which they could be computed."""
    return check_result.kind == SCORES and not check_result.metric_columns


def _describe_missing_scores(check_result: CheckContent, needed: int) -> str | None:
    """Say that metrics are missing, or how many items must still be rated by people. None if the data has
    enough scores.
    """
    if _needs_metric_scores(check_result):
        return "needs metric scores: add --join FILE"
    human, rated = _choose_human_score(check_result)
    if human is None:
        missing = f"needs human scores of {format_plural(needed, 'item')}"
        if len(check_result.metric_columns) == 1:
            (column,) = check_result.metric_columns
            missing += f"; if {column} is one, add --human {_quote_column_for_command(column)}"
        return missing
    if rated < needed:
        return f"needs {format_plural(needed - rated, 'more rated item')}"
    return None
