"""Which questions a data set can answer, with the command for each, and what is missing for the others."""

from __future__ import annotations

from metassay.reporting.wording import find_task, format_count, format_number, format_plural
from metassay.results.check import CheckContent, CheckedQuestion

FEWEST_RATED_ITEMS = 20
"""Rated items from which metrics are compared with human scores; contexts of `rank` need as many."""
FEWEST_RATED_FOR_ESTIMATES = 10
"""Rated items from which `estimate` computes intervals."""
FEWEST_SYSTEMS = 3
"""Systems from which `rank` computes intervals."""
_ITEMS_TO_RATE = 100
DATA = "DATA"
"""Stands for the files and reading options in a command."""


def list_questions(result: CheckContent) -> list[CheckedQuestion]:
    """List the questions of a user, those that the data can answer first."""
    questions = [_ask_for_error_detection(result), _ask_for_better_system(result)]
    task = find_task(result.task)
    if task is None or not task.is_ranking:
        questions += [
            _ask_for_ranking(result),
            _ask_for_estimates(result),
            *_ask_for_best_two_systems(result),
            _ask_for_favoured_systems(result),
            *_ask_for_items_to_rate(result),
        ]
    return sorted(questions, key=lambda question: question.missing is not None)


def _ask_for_error_detection(result: CheckContent) -> CheckedQuestion:
    missing = None
    if not any(row.applies for row in result.perturbations):
        missing = "no perturbation applies to these outputs; perhaps --language is missing"
    return CheckedQuestion("which metric detects errors here?", f"metassay assay {DATA}", missing)


def _ask_for_better_system(result: CheckContent) -> CheckedQuestion:
    missing = "there is one system only" if len(result.systems) < 2 else None
    return CheckedQuestion(
        "which system is better by a metric?", f"metassay score {DATA} --test bootstrap", missing
    )


def _ask_for_ranking(result: CheckContent) -> CheckedQuestion:
    question = "which metric ranks systems as people do?"
    human, _ = _choose_human_score(result)
    command = f"metassay rank {DATA} --human {human or 'COLUMN'}"
    systems = len(result.systems)
    if systems < FEWEST_SYSTEMS:
        return CheckedQuestion(question, command, f"needs {FEWEST_SYSTEMS} systems, there are {systems}")
    return CheckedQuestion(question, command, _describe_missing_ratings(result, FEWEST_RATED_ITEMS))


def _ask_for_estimates(result: CheckContent) -> CheckedQuestion:
    human, rated = _choose_human_score(result)
    missing = _describe_missing_ratings(result, FEWEST_RATED_FOR_ESTIMATES)
    items = "a few" if missing is not None else format_count(rated)
    return CheckedQuestion(
        f"which system do people prefer, from {items} rated items?",
        f"metassay estimate {DATA} --human {human or 'COLUMN'}",
        missing,
    )


def _ask_for_best_two_systems(result: CheckContent) -> list[CheckedQuestion]:
    """Say how many more rated items would separate the two best systems, if they are not separated yet."""
    pair = result.undecided_systems
    if pair is None:
        return []
    rated = format_plural(pair.rated, "rated item")
    more = format_plural(pair.needed - pair.rated, "more rated item")
    missing = (
        f"the difference of {format_number(pair.difference)} on {rated} may be chance;"
        f" if it is real, about {more} show it with probability 80 %"
    )
    if pair.needed > result.items:
        missing += f", and only {format_count(result.items - pair.rated)} are left"
    return [
        CheckedQuestion(
            f"do people prefer {pair.best} or {pair.second}?",
            f"metassay estimate {DATA} --human {pair.human}",
            missing,
        )
    ]


def _ask_for_favoured_systems(result: CheckContent) -> CheckedQuestion:
    human, _ = _choose_human_score(result)
    missing = _describe_missing_ratings(result, FEWEST_RATED_ITEMS)
    if len(result.systems) < 2:
        missing = "there is one system only"
    return CheckedQuestion(
        "which systems does a metric favour?", f"metassay depend {DATA} --human {human or 'COLUMN'}", missing
    )


def _ask_for_items_to_rate(result: CheckContent) -> list[CheckedQuestion]:
    """Suggest `annotate`, unless all items are rated."""
    human, rated = _choose_human_score(result)
    unrated = result.items - rated
    if not unrated:
        return []
    option = "" if human is None else f" --human {human}"
    count = min(_ITEMS_TO_RATE, unrated)
    command = f"metassay annotate {DATA}{option} --count {count}"
    return [CheckedQuestion("which items should be rated next?", command)]


def _choose_human_score(result: CheckContent) -> tuple[str | None, int]:
    """Choose the human score with most rated items, the first of equal ones."""
    if not result.rated_items:
        return None, 0
    human = max(result.rated_items, key=lambda name: result.rated_items[name])
    return human, result.rated_items[human]


def _describe_missing_ratings(result: CheckContent, needed: int) -> str | None:
    """Say how many ratings are missing, and how to name a human score that was taken for a metric."""
    human, rated = _choose_human_score(result)
    if human is None:
        missing = f"needs human scores of {format_plural(needed, 'item')}"
        if len(result.metric_columns) == 1:
            (column,) = result.metric_columns
            missing += f"; if {column} is one, add --human {column}"
        return missing
    if rated < needed:
        return f"needs {format_plural(needed - rated, 'more rated item')}"
    return None
