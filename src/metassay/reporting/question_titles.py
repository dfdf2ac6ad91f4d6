"""The questions of users, in words, with the noun of the task: `Detect errors in single translations`."""

from __future__ import annotations

from metassay.reporting.wording import find_task
from metassay.results.verdict import Question

_TITLES: dict[Question, str] = {
    "detect_errors": "Detect errors in single {outputs}",
    "prefer_better": "Prefer the better {output} of your pairs",
    "choose_outputs": "Choose {outputs} as people do",
    "rank_systems": "Rank systems as people do",
    "save_labels": "Save human labels",
}


def write_question_title(question: Question, task_name: str) -> str:
    """Write the title of a question of a user: `Rank systems`."""
    task = find_task(task_name)
    output = "output" if task is None else task.output_noun
    return _TITLES[question].format(output=output, outputs=get_output_noun(task_name))


def describe_purpose(question: Question, task_name: str) -> str:
    """Write the purpose of a question as part of a sentence: `rank systems as people do`."""
    title = write_question_title(question, task_name)
    return title[0].lower() + title[1:]


def get_output_noun(task_name: str) -> str:
    """Return the plural noun for the outputs of a task: `translations`."""
    task = find_task(task_name)
    return "outputs" if task is None else task.output_noun_plural
