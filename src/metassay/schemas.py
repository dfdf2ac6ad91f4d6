"""JSON schemas of what each command prints with `--json`. Keys may be added, never changed or removed.

Schemas of commands with a typed result are generated from its type.
"""

from __future__ import annotations

import importlib
import json
import math
from importlib.resources import files
from typing import Any

from metassay.results.base import json_schema

RESULT_TYPES = {
    "annotate": "annotate:AnnotateContent",
    "assay": "assay:AssayContent",
    "check": "check:CheckContent",
    "compare": "compare:CompareContent",
    "depend": "depend:DependContent",
    "estimate": "estimate:EstimateContent",
    "recommend": "recommend:RecommendContent",
    "watch": "watch:WatchContent",
}
"""Types of results by command, as `module:class` below `metassay.results`."""


def schema(command: str) -> dict[str, Any]:
    """Return the JSON schema of a command's output."""
    if command in RESULT_TYPES:
        module, _, name = RESULT_TYPES[command].partition(":")
        return json_schema(getattr(importlib.import_module(f"metassay.results.{module}"), name))
    text = files(__package__).joinpath(f"{command}.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


_KINDS: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def first_fault(value: Any, wanted: Any, at: str = "") -> tuple[str, str] | None:
    """Where a value departs from a schema, as `contexts.domain.h1[2].p`, and how; None where it does not.

    Knows those words of JSON Schema that ours use, as jsonschema reads them.
    """
    choices = wanted.get("anyOf")
    if choices is not None and all(first_fault(value, choice, at) for choice in choices):
        return min((first_fault(value, choice, at) or ("", "") for choice in choices), key=_depth)
    fault = _own_fault(value, wanted)
    if fault is not None:
        return at, fault
    if isinstance(value, dict):
        return _fault_inside(value, wanted, at)
    if isinstance(value, list) and "items" in wanted:
        return next(
            filter(None, (first_fault(v, wanted["items"], f"{at}[{i}]") for i, v in enumerate(value))), None
        )
    return None


def _depth(fault: tuple[str, str]) -> int:
    """A choice that fails deep inside was the one that was meant."""
    return -fault[0].count(".") - fault[0].count("[")


def _own_fault(value: Any, wanted: Any) -> str | None:
    """What is wrong with a value itself, not with what it holds."""
    kinds = wanted.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        return f"{' or '.join(kinds)} was expected"
    if "const" in wanted and not _same(value, wanted["const"]):
        return f"{wanted['const']!r} was expected"
    if "enum" in wanted and not any(_same(value, choice) for choice in wanted["enum"]):
        return f"one of {', '.join(map(str, wanted['enum']))} was expected"
    if isinstance(value, str) and len(value) < wanted.get("minLength", 0):
        return "the text is too short"
    if _is(value, "number") and not wanted.get("minimum", -math.inf) <= value <= wanted.get(
        "maximum", math.inf
    ):
        return f"{value} is out of bounds"
    missing = [name for name in wanted.get("required", ()) if isinstance(value, dict) and name not in value]
    return f"{missing[0]} is missing" if missing else None


def _fault_inside(value: dict[str, Any], wanted: Any, at: str) -> tuple[str, str] | None:
    known, others = wanted.get("properties", {}), wanted.get("additionalProperties", True)
    for name, inner in value.items():
        schema_of = known.get(name, others)
        place = f"{at}.{name}" if at else name
        if schema_of is False:
            return place, "this is not known here"
        found = first_fault(inner, schema_of, place) if isinstance(schema_of, dict) else None
        if found is not None:
            return found
    return None


def _is(value: Any, kind: str) -> bool:
    if kind == "integer":
        return _is(value, "number") and (isinstance(value, int) or value.is_integer())
    return isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _same(value: Any, other: Any) -> bool:
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)
