"""Finding what other packages add: metrics, perturbations and readers, by entry point or by file."""

from __future__ import annotations

import importlib.util
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from metassay.errors import InputError, Place


def installed(group: str) -> dict[str, Any]:
    """Everything that installed packages announce under the entry point group `metassay.<group>`."""
    return {point.name: point.load() for point in entry_points(group=f"metassay.{group}")}


def from_file(location: str) -> Any:
    """The object that `my_metric.py:MyMetric` names. The file is the user's own code and is executed."""
    path, _, name = location.rpartition(":")
    if not path:
        raise InputError(f"{location!r} does not say which object.", remedy="Write it as FILE.py:NAME.")
    file = Path(path)
    if not file.is_file():
        raise InputError("there is no such file.", place=Place(file=path))
    spec = importlib.util.spec_from_file_location(f"metassay_plugin_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise InputError("this is not a Python file.", place=Place(file=path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise InputError(f"it defines no {name}.", place=Place(file=path))
    return getattr(module, name)
