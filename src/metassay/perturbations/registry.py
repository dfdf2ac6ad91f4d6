"""Which perturbations exist, and from text to perturbation and back."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterable
from typing import Any

from metassay import plugins
from metassay.errors import InputError, UnknownName
from metassay.perturbations.base import Perturbation, parameter_fields

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

_SPEC = re.compile(r"\s*(?P<name>[\w-]+)\s*(?:\((?P<inside>[^()]*)\))?\s*")
_COMMA = re.compile(r",(?![^(]*\))")


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
    match = _SPEC.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not a perturbation.", remedy="Write NAME or NAME(strength=2).")
    family = known_perturbations().get(match["name"].lower())
    if family is None:
        raise UnknownName("perturbation", match["name"], known_perturbations())
    return family(**dict(_parameter(family, part) for part in (match["inside"] or "").split(",") if part))


def parse_perturbations(
    texts: str | AnyPerturbation | Iterable[str | AnyPerturbation], *, task: str | None = None
) -> tuple[AnyPerturbation, ...]:
    """Several perturbations, from a comma-separated text or any mixture; none twice, all made for `task`."""
    parts: list[str | AnyPerturbation] = []
    for text in [texts] if isinstance(texts, str | Perturbation) else texts:
        parts.extend(
            [part for part in _COMMA.split(text) if part.strip()] if isinstance(text, str) else [text]
        )
    found = tuple(parse_perturbation(part) for part in parts)
    if not found:
        raise InputError("no perturbation was named.", remedy="See: metassay list perturbations")
    specs = [perturbation.spec for perturbation in found]
    twice = sorted({spec for spec in specs if specs.count(spec) > 1})
    if twice:
        raise InputError(f"{', '.join(twice)} is asked for twice.")
    strangers = [p.spec for p in found if task is not None and task not in p.tasks]
    if strangers:
        fitting = ", ".join(sorted(n for n, p in known_perturbations().items() if task in p.tasks))
        raise InputError(f"{strangers[0]} is not made for {task}.", remedy=f"Made for {task}: {fitting}.")
    return found


def _parameter(family: type[AnyPerturbation], text: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in text.partition("="))
    fields = {f.name: f for f in parameter_fields(family)}
    if not equals:
        raise InputError(f"{text!r} is not parameter=value.")
    if name not in fields:
        raise UnknownName(f"parameter of {family.name}", name, fields)
    default = fields[name].default
    if not isinstance(default, int | float):
        return name, value
    try:
        return name, type(default)(value)
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise InputError(f"{name} of {family.name} is {value!r}, not {kind}.") from None
