"""Which perturbations exist, and from text to perturbation and back."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from typing import Any

from metassay import plugins
from metassay.errors import InputError, UnknownName
from metassay.perturbations.base import Perturbation, parameter_fields
from metassay.specs import parse_spec, refuse_repeats, single_parts
from metassay.tasks.base import Task

MODULES = (
    "words",
    "replacement",
    "entity",
    "negation",
    "phonetic",
    "llm",
    "borrowed_span",
    "ranking",
    "sentences",
    "facts",
)
"""The modules of this package that define perturbations; each lists its classes in `PERTURBATIONS`."""

AnyPerturbation = Perturbation[Any]


@functools.cache
def known_perturbations() -> dict[str, type[AnyPerturbation]]:
    """Every perturbation class by name: ours, then those of installed packages."""
    found: dict[str, type[AnyPerturbation]] = {}
    for module in MODULES:
        for perturbation in importlib.import_module(f"metassay.perturbations.{module}").PERTURBATIONS:
            found[perturbation.name] = perturbation
    for name, perturbation in plugins.installed("perturbations").items():
        found.setdefault(name, perturbation)
    return found


def made_for(task: Task) -> dict[str, type[AnyPerturbation]]:
    """The perturbations that a task names, and those that name the task, by name."""
    return {
        name: perturbation
        for name, perturbation in known_perturbations().items()
        if name in task.perturbations or task.name in perturbation.tasks
    }


def default_perturbations(task: Task) -> tuple[AnyPerturbation, ...]:
    """Those at work for a task when none is named."""
    wanted = [p for p in made_for(task).values() if p.default]
    return tuple(perturbation for p in wanted for perturbation in p.defaults())


def parse_perturbation(text: str | AnyPerturbation) -> AnyPerturbation:
    """The perturbation that a spec such as `removal(strength=2)` names."""
    if isinstance(text, Perturbation):
        return text
    name, parameters = parse_spec(text)
    family = known_perturbations().get(name)
    if family is None:
        raise UnknownName("perturbation", name, known_perturbations())
    return family(**{key: _parameter(family, key, value) for key, value in parameters.items()})


def parse_perturbations(
    texts: str | AnyPerturbation | Iterable[str | AnyPerturbation], *, task: Task | None = None
) -> tuple[AnyPerturbation, ...]:
    """Several perturbations, from a comma-separated text or any mixture; none twice, all made for `task`."""
    found = tuple(parse_perturbation(part) for part in single_parts(texts))
    if not found:
        raise InputError("no perturbation was named.", remedy="See: metassay list perturbations")
    refuse_repeats([perturbation.spec for perturbation in found])
    if task is not None:
        _refuse_strangers(found, task)
    return found


def _refuse_strangers(found: Iterable[AnyPerturbation], task: Task) -> None:
    """An error for a perturbation that is not made for the task; an object of the user's own always is."""
    fitting, known = made_for(task), known_perturbations()
    for perturbation in found:
        if perturbation.name in known and perturbation.name not in fitting:
            remedy = f"Made for {task}: {', '.join(sorted(fitting))}."
            raise InputError(f"{perturbation.spec} is not made for {task}.", remedy=remedy)


def _parameter(family: type[AnyPerturbation], name: str, value: Any) -> Any:
    """The value of a parameter, checked against the kind of its default."""
    fields = {f.name: f for f in parameter_fields(family)}
    if name not in fields:
        raise UnknownName(f"parameter of {family.name}", name, fields)
    default = fields[name].default
    if isinstance(default, float) and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(default, int | float) and type(value) is not type(default):
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise InputError(f"{name} of {family.name} is {value!r}, not {kind}.")
    return value
