"""Measures which evaluation metric can be trusted, here.

The verbs `read check assay score perturb rank depend aggregate recommend compare report` are functions of
this package; each is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_VERBS = ("read", "check", "assay", "score", "aggregate", "perturb", "report", "demo")

if TYPE_CHECKING:
    from metassay.workflows.aggregate import aggregate
    from metassay.workflows.assay import assay
    from metassay.workflows.check import check
    from metassay.workflows.demo import demo
    from metassay.workflows.perturb import perturb
    from metassay.workflows.read import read
    from metassay.workflows.report import report
    from metassay.workflows.score import score

__all__ = ["aggregate", "assay", "check", "demo", "perturb", "read", "report", "score"]


def __getattr__(name: str) -> Any:
    if name in _VERBS:
        verb = getattr(importlib.import_module(f"metassay.workflows.{name}"), name)
        globals()[name] = verb
        return verb
    raise AttributeError(f"module 'metassay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_VERBS])
