"""Find a task by name, or guess it from the columns of a table."""

from __future__ import annotations

import functools

from metassay import plugins
from metassay.errors import InputError, UnknownName
from metassay.tasks import asr, mt, ranking, text
from metassay.tasks.base import TableEvidence, Task

# Special tasks come before general ones, because `guess_task` takes the first that matches.
BUILT_IN_TASKS = (ranking.TASK, asr.TASK, mt.TASK, text.TASK)
# The task of a table that no task recognises.
FALLBACK_TASK = text.TASK


@functools.lru_cache(maxsize=1)
def load_tasks() -> dict[str, Task]:
    """Load all tasks of metassay and of plug-ins, by name."""
    tasks: dict[str, Task] = {}
    for name, task in plugins.load_entry_points("tasks").items():
        if not isinstance(task, Task):
            raise InputError(f"the plug-in task {name} is a {type(task).__name__}, not a metassay.Task.")
        tasks[task.name] = task
    for task in BUILT_IN_TASKS:
        tasks[task.name] = task
    return tasks


@functools.lru_cache(maxsize=1)
def list_human_criteria() -> frozenset[str]:
    """Return the names, in lower case, of all qualities that people rate, such as fluency."""
    names: set[str] = set()
    for task in load_tasks().values():
        names.update(criterion.lower() for criterion in task.human_criteria)
    return frozenset(names)


def find_task(name_or_task: str | Task) -> Task:
    """Find a task by name. A `Task` object is returned unchanged."""
    if isinstance(name_or_task, Task):
        return name_or_task
    tasks = load_tasks()
    if name_or_task not in tasks:
        raise UnknownName("task", name_or_task, tasks)
    return tasks[name_or_task]


def guess_task(table_evidence: TableEvidence) -> tuple[Task, str]:
    """Guess the task from facts about a table. Returns the task and a reason that can follow the word
    "because".
    """
    for task in load_tasks().values():
        reason = task.explain_match(table_evidence)
        if reason is not None:
            return task, reason
    return FALLBACK_TASK, "no column indicates another task"
