"""Tasks: machine translation, speech recognition, ranking and text generation, one module each."""

from metassay.tasks.registry import (
    BUILT_IN_TASKS,
    FALLBACK_TASK,
    find_task,
    guess_task,
    list_human_criteria,
    load_tasks,
)

__all__ = [
    "BUILT_IN_TASKS",
    "FALLBACK_TASK",
    "find_task",
    "guess_task",
    "list_human_criteria",
    "load_tasks",
]
