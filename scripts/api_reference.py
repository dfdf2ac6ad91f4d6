"""docs/api.md, made from the docstrings of what users may rely on: `python -m scripts.api_reference`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import metassay

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
ARRAYS = {
    "metassay.meta.pairwise": ("pairwise_accuracy", "soft_pairwise_accuracy"),
    "metassay.meta.dependence": ("system_dependence",),
    "metassay.stats.rank_correlation": ("tau_ap", "tau_ap_a", "tau_ap_b", "weighted_tau", "kendall_tau"),
}
"""Functions on arrays that are promised under these paths."""


def page() -> str:
    """The whole page."""
    lines = ["# What can I call from Python?", "", INTRODUCTION, "", "## Verbs", ""]
    for name in metassay.VERBS:
        lines += entry(f"metassay.{name}", getattr(metassay, name))
    lines += ["## Functions on arrays", ""]
    for module, names in ARRAYS.items():
        for name in names:
            lines += entry(f"{module}.{name}", getattr(importlib.import_module(module), name))
    lines += ["## Types", ""]
    for name in metassay.TYPES:
        lines += entry(f"metassay.{name}", getattr(metassay, name))
    return "\n".join(lines).rstrip() + "\n"


INTRODUCTION = """Made from docstrings by `python -m scripts.api_reference`. What is not named here is
internal and may change without notice; [what may change, and how](stability.md)."""


def entry(name: str, thing: Any) -> list[str]:
    """A heading, the signature and the docstring; of a class, its public methods too."""
    lines = [f"### `{name}`", "", "```text", f"{name}{signature(thing)}", "```", "", *text(thing), ""]
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        for method, function in methods(thing):
            lines += [f"- **`{method}{signature(function)}`** {summary(function)}"]
        lines += [""]
    return lines


def methods(thing: type) -> Iterable[tuple[str, Any]]:
    """Methods that the class and its bases here define, with a docstring."""
    for name, member in inspect.getmembers(thing, inspect.isfunction):
        if not name.startswith("_") and member.__doc__ and member.__module__.startswith("metassay"):
            yield name, member


def signature(thing: Any) -> str:
    """As a caller writes it; a setting whose default is long is shown as `…`."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    shown = []
    star = False
    for parameter in found.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        prefix = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(
            parameter.kind, ""
        )
        star = star or prefix == "*"
        default = (
            "" if parameter.default is inspect.Parameter.empty else f"={default_text(parameter.default)}"
        )
        shown.append(f"{prefix}{parameter.name}{default}")
    return f"({', '.join(shown)})"


def default_text(value: Any) -> str:
    known = repr(value)
    return known if len(known) < 30 and " at 0x" not in known and not known.startswith("<") else "…"


def text(thing: Any) -> list[str]:
    """The docstring, its examples as a fence that is not run (the suite runs them as doctests)."""
    lines: list[str] = []
    inside = False
    for line in inspect.cleandoc(thing.__doc__ or "").splitlines():
        if line.startswith(">>> ") and not inside:
            lines += ["```pycon"]
            inside = True
        elif inside and not line.strip():
            lines += ["```"]
            inside = False
        lines.append(line)
    return [*lines, "```"] if inside else lines


def summary(function: Any) -> str:
    """The first paragraph in one line."""
    return " ".join(inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].split())


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
