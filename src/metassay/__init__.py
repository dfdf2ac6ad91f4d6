"""Measures which evaluation metric can be trusted, here.

The verbs `read check assay score perturb rank depend aggregate judge recommend compare report` are functions
of this package; each is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "aggregate",
    "assay",
    "check",
    "compare",
    "demo",
    "depend",
    "judge",
    "perturb",
    "rank",
    "read",
    "recommend",
    "report",
    "score",
]

if TYPE_CHECKING:
    from metassay.workflows.aggregate import aggregate
    from metassay.workflows.assay import assay
    from metassay.workflows.check import check
    from metassay.workflows.compare import compare
    from metassay.workflows.demo import demo
    from metassay.workflows.depend import depend
    from metassay.workflows.judge import judge
    from metassay.workflows.perturb import perturb
    from metassay.workflows.rank import rank
    from metassay.workflows.read import read
    from metassay.workflows.recommend import recommend
    from metassay.workflows.report import report
    from metassay.workflows.score import score


def __getattr__(name: str) -> Any:
    if name in __all__:
        verb = getattr(importlib.import_module(f"metassay.workflows.{name}"), name)
        globals()[name] = verb
        return verb
    raise AttributeError(f"module 'metassay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
