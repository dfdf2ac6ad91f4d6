"""Which questions a table of verdicts of judges can answer, and what is missing for the others."""

from __future__ import annotations

from metassay.results.check import DATA, CheckContent, CheckedQuestion, CheckedVerdicts

_JUDGE = f"metassay judge {DATA}"
_PAIRWISE = "pairwise"
# The alternative annotator test compares a judge with each of several raters.
_FEWEST_RATERS = 2


def list_questions_about_judges(check_result: CheckContent) -> list[CheckedQuestion]:
    """List questions that users may ask about judges (models that rate outputs), with the command that
    answers each and what the data lacks for it.
    """
    verdicts = check_result.verdicts
    if verdicts is None:
        return []
    if not verdicts.judges:
        how = f"needs verdicts; to ask a model: {_JUDGE} --llm-url URL --llm-model NAME"
        return [CheckedQuestion("how often does a judge pick the better output?", _JUDGE, how)]
    questions = [
        CheckedQuestion("how often is a judge right?", _JUDGE, _describe_missing_human_labels(verdicts))
    ]
    if verdicts.kind == _PAIRWISE:
        orders = None if verdicts.has_both_orders else "needs both orders, marked in a column swapped"
        question = "does a judge change its verdict with the order of the outputs?"
        questions.append(CheckedQuestion(question, _JUDGE, orders))
    replacement = "can a judge replace a human rater?"
    questions.append(CheckedQuestion(replacement, _JUDGE, _describe_missing_raters(verdicts)))
    preference = "does a judge favour systems of its own family?"
    questions.append(CheckedQuestion(preference, _JUDGE, _describe_missing_model_family_columns(verdicts)))
    return questions


def _describe_missing_human_labels(judge_verdicts: CheckedVerdicts) -> str | None:
    """Say that human labels are missing, and how to add them. None if there are labels."""
    if judge_verdicts.labelled:
        return None
    column = "better" if judge_verdicts.kind == _PAIRWISE else "human"
    if judge_verdicts.human is not None:
        return f"{judge_verdicts.human} has no labels"
    return f"needs human labels: a column {column}, or a file that has one with --join FILE"


def _describe_missing_raters(judge_verdicts: CheckedVerdicts) -> str | None:
    """Say that the verdicts of more people are needed. None if there are enough raters."""
    if len(judge_verdicts.raters) >= _FEWEST_RATERS:
        return None
    return (
        f"needs the verdicts of {_FEWEST_RATERS} or more people, each in a column such as human:ann"
        " or named with --people"
    )


def _describe_missing_model_family_columns(judge_verdicts: CheckedVerdicts) -> str | None:
    """Name the missing columns that say to which model family judges and systems belong. None if the data has
    them.
    """
    if judge_verdicts.has_families:
        return None
    if judge_verdicts.kind == _PAIRWISE:
        return "needs the columns judge_family, system_1, system_2, family_1 and family_2"
    return "needs the columns judge_family, system and family"
