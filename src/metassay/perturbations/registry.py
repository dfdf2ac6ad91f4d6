"""All perturbations by name: those of this package, and those of installed plug-ins."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from typing import Any

from metassay import plugins
from metassay.errors import InputError, UnknownName
from metassay.perturbations.base import AnyPerturbation, Perturbation, list_perturbation_parameters
from metassay.specs import parse_name_and_parameters, reject_duplicate_metrics, split_metric_names
from metassay.tasks.base import Task

# Modules of this package with perturbations. Each lists its classes in `PERTURBATIONS`.
MODULES = (
    "words",
    "pronoun",
    "phonetic",
    "entity",
    "negation",
    "llm",
    "ranking",
    "sentences",
    "facts",
    "senses",
)


@functools.cache
def load_perturbations() -> dict[str, type[AnyPerturbation]]:
    """Load the classes of all perturbations (rules that make outputs worse) by name. A plug-in cannot replace
    a built-in perturbation.
    """
    classes: dict[str, type[AnyPerturbation]] = {}
    for module in MODULES:
        for perturbation_class in importlib.import_module(f"metassay.perturbations.{module}").PERTURBATIONS:
            classes[perturbation_class.name] = perturbation_class
    for name, perturbation_class in plugins.load_entry_points("perturbations").items():
        # A plug-in that replaced a built-in perturbation would change results under the same name.
        classes.setdefault(name, perturbation_class)
    return classes


def is_built_in_perturbation(perturbation: AnyPerturbation) -> bool:
    """Return whether a perturbation belongs to metassay, and not to a plug-in or user code."""
    is_registered = load_perturbations().get(perturbation.name) is type(perturbation)
    return is_registered and not plugins.hash_user_code(perturbation)


def find_perturbations_for(task: Task) -> dict[str, type[AnyPerturbation]]:
    """Return by name the perturbation classes that can be applied to outputs of a task, such as
    translation.
    """
    return {
        name: perturbation_class
        for name, perturbation_class in load_perturbations().items()
        if name in task.perturbations or task.name in perturbation_class.tasks
    }


def list_default_perturbations(task: Task) -> tuple[AnyPerturbation, ...]:
    """Return the perturbations that are applied to outputs of a task if the user names none."""
    defaults: list[AnyPerturbation] = []
    for perturbation_class in find_perturbations_for(task).values():
        if perturbation_class.default:
            defaults += perturbation_class.list_defaults()
    return tuple(defaults)


def parse_perturbation(spec: str | AnyPerturbation) -> AnyPerturbation:
    """Create the perturbation that a text such as `removal(strength=2)` describes."""
    if isinstance(spec, Perturbation):
        return spec
    name, values = parse_name_and_parameters(spec)
    perturbation_class = load_perturbations().get(name)
    if perturbation_class is None:
        raise UnknownName("perturbation", name, load_perturbations())
    parameters = {key: _convert_parameter(perturbation_class, key, value) for key, value in values.items()}
    return perturbation_class(**parameters)


def parse_perturbations(
    specs: str | AnyPerturbation | Iterable[str | AnyPerturbation], *, task: Task | None = None
) -> tuple[AnyPerturbation, ...]:
    """Create perturbations from texts that describe them, given as a list or separated by commas. Duplicates
    raise an error.

    With `task`, perturbations that do not suit it are refused.
    """
    perturbations = tuple(parse_perturbation(spec) for spec in split_metric_names(specs))
    if not perturbations:
        raise InputError("no perturbation was named.", remedy="See: metassay list perturbations")
    reject_duplicate_metrics([perturbation.spec for perturbation in perturbations])
    if task is not None:
        _reject_perturbations_of_other_tasks(perturbations, task)
    return perturbations


def _reject_perturbations_of_other_tasks(perturbations: Iterable[AnyPerturbation], task: Task) -> None:
    """Raise an error if one of the perturbations cannot be applied to outputs of a task, such as
    translation.
    """
    suitable = find_perturbations_for(task)
    for perturbation in perturbations:
        if perturbation.name in load_perturbations() and perturbation.name not in suitable:
            remedy = f"Made for {task}: {', '.join(sorted(suitable))}."
            raise InputError(f"{perturbation.spec} is not made for {task}.", remedy=remedy)


def _convert_parameter(perturbation_class: type[AnyPerturbation], name: str, value: Any) -> Any:
    """Convert a parameter value that a user gave to the type of its default. If that is not possible, an
    error is raised.
    """
    fields = {field.name: field for field in list_perturbation_parameters(perturbation_class)}
    if name not in fields:
        raise UnknownName(f"parameter of {perturbation_class.name}", name, fields)
    default = fields[name].default
    # In Python, True and False are integers.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, float) and is_number:
        return float(value)
    if isinstance(default, int | float) and type(value) is not type(default):
        expected = "a whole number" if isinstance(default, int) else "a number"
        raise InputError(f"{name} of {perturbation_class.name} is {value!r}, not {expected}.")
    return value
