"""A Griffe extension that adapts our docstrings and signatures for the API reference (docs/api.md).

mkdocstrings builds the reference with Griffe, which reads source code. Two things it cannot know: a verb
decorated with `replace_options_parameter_by_keywords(Options)` has the fields of `Options` as keywords, and
doctests are code.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import griffe


class ApiPages(griffe.Extension):
    """Shows verbs with their keywords, and doctests as code."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Give a verb the parameters that its decorator gives it."""
        if any(
            str(decorator.value).startswith("replace_options_parameter_by_keywords(")
            for decorator in func.decorators
        ):
            verb = getattr(importlib.import_module(func.module.path), func.name)
            parameters = inspect.signature(verb).parameters.values()
            func.parameters = griffe.Parameters(*map(convert_parameter, parameters))

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Mark the doctests of a docstring as code."""
        if obj.docstring is not None:
            obj.docstring.value = fence_doctests(obj.docstring.value)


def convert_parameter(parameter: inspect.Parameter) -> griffe.Parameter:
    """Convert a parameter of a signature to that of Griffe, with a short annotation."""
    is_required = parameter.default is inspect.Parameter.empty
    return griffe.Parameter(
        parameter.name,
        annotation=inspect.formatannotation(parameter.annotation).replace("collections.abc.", ""),
        kind=griffe.ParameterKind[parameter.kind.name.lower()],
        default=None if is_required else repr(parameter.default),
    )


def fence_doctests(docstring: str) -> str:
    """Put each block of doctest lines between code fences."""
    lines: list[str] = []
    is_doctest = False
    for line in docstring.splitlines():
        if line.startswith(">>> ") and not is_doctest:
            lines.append("```pycon")
            is_doctest = True
        elif is_doctest and not line.strip():
            lines.append("```")
            is_doctest = False
        lines.append(line)
    if is_doctest:
        lines.append("```")
    return "\n".join(lines)
