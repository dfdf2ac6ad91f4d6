"""Shell completion of metrics, meta-metrics, perturbations, tasks, and of columns in the data files already
typed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

COMPLETED_OPTIONS = ("metrics", "meta", "perturbations", "contexts", "context", "task", "human", "systems")


def build_shell_completer(option_name: str) -> Callable[[str], list[str]] | None:
    """Return a function that completes values of an option in the shell, or None if its values cannot be
    completed.
    """
    if option_name not in COMPLETED_OPTIONS:
        return None

    def complete_value(incomplete: str) -> list[str]:
        return list_shell_completions(option_name, incomplete)

    return complete_value


def list_shell_completions(option_name: str, typed_text: str) -> list[str]:
    """Return the possible values of an option that begin with the typed text."""
    # The shell replaces the whole word, so that names before the comma are repeated.
    earlier_names, comma, last_name = typed_text.rpartition(",")
    try:
        values = _list_possible_values_of_option(option_name)
    except Exception:  # noqa: BLE001 - a message would end up in the middle of the line being typed
        return []
    return [
        f"{earlier_names}{comma}{value}" for value in values if value.lower().startswith(last_name.lower())
    ]


def _list_possible_values_of_option(option_name: str) -> list[str]:
    from metassay.workflows.list import list_metrics, list_perturbations, list_task_names
    from metassay.workflows.options import list_meta_metric_names

    if option_name == "task":
        return list_task_names()
    if option_name == "meta":
        return list_meta_metric_names()
    if option_name == "perturbations":
        return [entry.perturbation for entry in list_perturbations().perturbations]
    if option_name == "metrics":
        names = [entry.metric for entry in list_metrics().metrics]
        # A cut-off must be a number to be a metric that can be computed: ndcg_10 instead of ndcg_k.
        complete_names = [f"{name.removesuffix('_k')}_10" if name.endswith("_k") else name for name in names]
        return [*complete_names, "chrf++"]
    return _list_names_in_typed_files(option_name)


def _list_names_in_typed_files(option_name: str) -> list[str]:
    """Return the columns or systems of the data files that the user has already typed."""
    from metassay.workflows.read import read

    typed_line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    files = [word for word in typed_line.split()[2:] if Path(word).exists()]
    dataset = read(files)
    if option_name == "systems":
        return list(dataset.systems)
    if option_name == "human":
        return list(dataset.human)
    return ["system", *dataset.metadata, *dataset.human]
