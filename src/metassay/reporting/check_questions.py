"""Which questions a data set can answer, with the command for each, and what is missing for the others."""

from __future__ import annotations

from metassay.reporting.wording import find_task, format_count, format_number, format_plural
from metassay.results.check import CheckContent, CheckedQuestion

# Rated items from which metrics are compared with human scores; contexts of `rank` need as many.
FEWEST_RATED_ITEMS = 20
# Rated items from which `estimate` computes intervals.
FEWEST_RATED_FOR_ESTIMATES = 10
# Systems from which `rank` computes intervals.
FEWEST_SYSTEMS = 3
_ITEMS_TO_RATE = 100
# Stands for the files and reading options in a command.
DATA = "DATA"


def list_answerable_questions(check_result: CheckContent) -> list[CheckedQuestion]:
    """List what a user can ask of a data set, questions that its columns can answer first."""
    human, rated = _choose_human_score(check_result)
    option = f"--human {human or 'COLUMN'}"
    systems = len(check_result.systems)
    single_system = "there is one system only" if systems < 2 else None
    no_perturbation = None
    if not any(row.applies for row in check_result.perturbations):
        no_perturbation = "no perturbation applies to these outputs; perhaps --language is missing"
    questions = [
        CheckedQuestion("which metric detects errors here?", f"metassay assay {DATA}", no_perturbation),
        CheckedQuestion(
            "which system is better by a metric?", f"metassay score {DATA} --test bootstrap", single_system
        ),
    ]
    task = find_task(check_result.task)
    if task is None or not task.is_ranking:
        missing_ratings = _describe_missing_ratings(check_result, FEWEST_RATED_ITEMS)
        few_systems = f"needs {FEWEST_SYSTEMS} systems, there are {systems}"
        too_few = _describe_missing_ratings(check_result, FEWEST_RATED_FOR_ESTIMATES)
        items = format_count(rated) if too_few is None else "a few"
        questions += [
            CheckedQuestion(
                "which metric ranks systems as people do?",
                f"metassay rank {DATA} {option}",
                few_systems if systems < FEWEST_SYSTEMS else missing_ratings,
            ),
            CheckedQuestion(
                f"which system do people prefer, from {items} rated items?",
                f"metassay estimate {DATA} {option}",
                too_few,
            ),
            *_build_best_two_systems_questions(check_result),
            CheckedQuestion(
                "which systems does a metric favour?",
                f"metassay depend {DATA} {option}",
                single_system or missing_ratings,
            ),
        ]
        unrated = check_result.items - rated
        if unrated:
            named = "" if human is None else f" {option}"
            command = f"metassay annotate {DATA}{named} --count {min(_ITEMS_TO_RATE, unrated)}"
            questions.append(CheckedQuestion("which items should be rated next?", command))
    return sorted(questions, key=lambda question: question.missing is not None)


def _build_best_two_systems_questions(check_result: CheckContent) -> list[CheckedQuestion]:
    """Say how many more rated items would separate the two best systems, if they are not separated yet."""
    pair = check_result.undecided_systems
    if pair is None:
        return []
    rated = format_plural(pair.rated, "rated item")
    more = format_plural(pair.needed - pair.rated, "more rated item")
    missing = (
        f"the difference of {format_number(pair.difference)} on {rated} may be chance;"
        f" if it is real, about {more} show it with probability 80 %"
    )
    if pair.needed > check_result.items:
        missing += f", and only {format_count(check_result.items - pair.rated)} are left"
    return [
        CheckedQuestion(
            f"do people prefer {pair.best} or {pair.second}?",
            f"metassay estimate {DATA} --human {pair.human}",
            missing,
        )
    ]


def _choose_human_score(check_result: CheckContent) -> tuple[str | None, int]:
    """Choose the human score with the most rated items; the first if several have as many."""
    if not check_result.rated_items:
        return None, 0
    human = max(check_result.rated_items, key=lambda name: check_result.rated_items[name])
    return human, check_result.rated_items[human]


def _describe_missing_ratings(check_result: CheckContent, needed: int) -> str | None:
    """Say how many human ratings are missing, and how to name a human score that was taken for a metric."""
    human, rated = _choose_human_score(check_result)
    if human is None:
        missing = f"needs human scores of {format_plural(needed, 'item')}"
        if len(check_result.metric_columns) == 1:
            (column,) = check_result.metric_columns
            missing += f"; if {column} is one, add --human {column}"
        return missing
    if rated < needed:
        return f"needs {format_plural(needed - rated, 'more rated item')}"
    return None
