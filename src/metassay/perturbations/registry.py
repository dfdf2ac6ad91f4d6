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

MODULES = (
    "words",
    "synonym",
    "pronoun",
    "entity",
    "negation",
    "negation_removal",
    "phonetic",
    "llm",
    "borrowed_span",
    "ranking",
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


def default_perturbations(task: str) -> tuple[AnyPerturbation, ...]:
    """Those at work for a task when none is named."""
    wanted = [p for p in known_perturbations().values() if p.default and task in p.tasks]
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
    texts: str | AnyPerturbation | Iterable[str | AnyPerturbation], *, task: str | None = None
) -> tuple[AnyPerturbation, ...]:
    """Several perturbations, from a comma-separated text or any mixture; none twice, all made for `task`."""
    found = tuple(parse_perturbation(part) for part in single_parts(texts))
    if not found:
        raise InputError("no perturbation was named.", remedy="See: metassay list perturbations")
    refuse_repeats([perturbation.spec for perturbation in found])
    strangers = [p.spec for p in found if task is not None and task not in p.tasks]
    if strangers:
        fitting = ", ".join(sorted(n for n, p in known_perturbations().items() if task in p.tasks))
        raise InputError(f"{strangers[0]} is not made for {task}.", remedy=f"Made for {task}: {fitting}.")
    return found


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
