"""Tasks: what a data set is about, as values. Nobody compares their names; every room asks the value.

Which tasks exist, and which of them a table is about.
"""

from __future__ import annotations

import functools

from metassay import plugins
from metassay.errors import InputError, UnknownName
from metassay.tasks import asr, mt, ranking, text
from metassay.tasks.base import Evidence, Task

OURS = (ranking.TASK, asr.TASK, mt.TASK, text.TASK)
"""In the order in which they are asked whether a table is theirs: the particular before the general."""
GENERAL = text.TASK
"""What a table is about that no task recognises."""


@functools.cache
def known_tasks() -> dict[str, Task]:
    """Every task by name: those of installed packages, then ours."""
    found: dict[str, Task] = {}
    for name, task in plugins.installed("tasks").items():
        if not isinstance(task, Task):
            raise InputError(f"the plug-in task {name} is {type(task).__name__}, not a metassay.Task.")
        found[task.name] = task
    return found | {task.name: task for task in OURS}


@functools.cache
def criteria() -> frozenset[str]:
    """What people are asked to rate in any task, in lower case."""
    return frozenset(name.lower() for task in known_tasks().values() for name in task.criteria)


def find_task(task: str | Task) -> Task:
    """The task of that name; a value as it is."""
    if isinstance(task, Task):
        return task
    if task not in known_tasks():
        raise UnknownName("task", task, known_tasks())
    return known_tasks()[task]


def guess_task(evidence: Evidence) -> tuple[Task, str]:
    """The task that the evidence speaks for, and why, in words that follow "since"."""
    for task in known_tasks().values():
        why = task.recognise(evidence)
        if why is not None:
            return task, why
    return GENERAL, "nothing speaks for another task"
