"""Finding what other packages and files add: metrics, perturbations and readers; and whose code it was."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import os
import sys
import traceback
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType
from typing import Any

from metassay.errors import InputError, Place

_OWN_FILES: dict[str, tuple[str, str]] = {}
"""Files of the user that were executed, by full path: as the user named them, and the hash of the content."""
_PLUGGED_IN: dict[str, str] = {}
"""Folders and files of installed packages that announce something: the entry point."""


def load_entry_points(group: str) -> dict[str, Any]:
    """Everything that installed packages announce under the entry point group `metassay.<group>`."""
    return {point.name: _loaded(point, group) for point in entry_points(group=f"metassay.{group}")}


def list_entry_points(group: str) -> list[str]:
    """List the names that installed packages announce under `metassay.<group>`, without loading anything."""
    return [point.name for point in entry_points(group=f"metassay.{group}")]


def load_entry_point(group: str, name: str) -> Any:
    """Load what installed packages announce under `metassay.<group>` by this name."""
    points = [point for point in entry_points(group=f"metassay.{group}") if point.name == name]
    return _loaded(points[0], group)


def _loaded(point: Any, group: str) -> Any:
    """What an entry point names; what its package raises is said to be the package's."""
    name = f"{point.name} (metassay.{group}: {getattr(point, 'value', '')})"
    package = getattr(point, "module", "").partition(".")[0]
    try:
        spec = importlib.util.find_spec(package) if package and not _is_ours(package) else None
        for place in [] if spec is None else (spec.submodule_search_locations or [str(spec.origin)]):
            _PLUGGED_IN[str(place)] = name
        return point.load()
    except Exception as error:
        said = " ".join(str(error).split())
        raise describe_user_error(error) or InputError(
            f"the plug-in {name} cannot be loaded ({type(error).__name__}: {said}).",
            remedy="Repair or uninstall the package that brings it.",
        ) from error


def load_from_file(location: str) -> Any:
    """The object that `my_metric.py:MyMetric` names. The file is the user's own code and is executed."""
    path, _, name = location.rpartition(":")
    if not path:
        raise InputError(f"{location!r} does not say which object.", remedy="Write it as FILE.py:NAME.")
    file = Path(path)
    try:
        there = file.is_file()
    except (OSError, ValueError):
        there = False
    if not there:
        raise InputError("there is no such file.", place=Place(file=path))
    spec = importlib.util.spec_from_file_location(f"metassay_plugin_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise InputError("this is not a Python file.", place=Place(file=path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    _OWN_FILES[str(spec.origin)] = path, _digest(file.read_bytes())
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise describe_user_error(error) or error from error
    if not hasattr(module, name):
        raise InputError(f"it defines no {name}.", place=Place(file=path))
    return getattr(module, name)


def describe_user_error(error: BaseException) -> InputError | None:
    """An error in the words of the user whose file raised it, with the line; None where it was not theirs."""
    calls = [(call.filename, call.lineno) for call in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        calls.append((str(error.filename), error.lineno))
        said = error.msg
    else:
        said = " ".join(str(error).split())
    own = [(*owner, line) for file, line in calls if (owner := _owner(file)) is not None]
    if not own:
        return None
    file, plugin, line = own[-1]
    remedy = None if plugin is None else f"This is a failure of the plug-in {plugin}, not of metassay."
    return InputError(f"{type(error).__name__}: {said}", place=Place(file=file, line=line), remedy=remedy)


def _owner(file: str) -> tuple[str, str | None] | None:
    """A file as its owner calls it, and the plug-in it belongs to; None for ours and everybody else's."""
    if file in _OWN_FILES:
        return _OWN_FILES[file][0], None
    plugin = next((name for place, name in _PLUGGED_IN.items() if _inside(file, place)), None)
    return None if plugin is None else (file, plugin)


def _inside(file: str, place: str) -> bool:
    return file == place or file.startswith(place.rstrip(os.sep) + os.sep)


def find_definition(thing: Any) -> Place:
    """The file and line where a function or class is defined, as far as that is known."""
    try:
        file, (_, line) = str(inspect.getsourcefile(thing)), inspect.getsourcelines(thing)
    except (OSError, TypeError):
        return Place()
    return Place(file=_OWN_FILES.get(file, (file,))[0], line=line)


def hash_user_source(thing: Any) -> str:
    """A hash of the code behind an object that is not ours; empty for our own.

    It is that of the whole file, since functions beside it may be called, and of the files of its base
    classes; without a file, of the code itself.
    """
    return _owner_hash(thing if inspect.isroutine(thing) or isinstance(thing, type) else type(thing))


@functools.cache
def _owner_hash(owner: Any) -> str:
    kinds = owner.__mro__ if isinstance(owner, type) else [owner]
    foreign = [kind for kind in kinds if not _is_ours(getattr(kind, "__module__", None) or "")]
    content = [part for kind in foreign for part in _content(kind)]
    return _digest(b"\0".join(dict.fromkeys(content))) if foreign else ""


@functools.cache
def hash_metassay_code() -> str:
    """A hash of every file of metassay itself, code and tables alike: a version says too little meanwhile."""
    root = Path(__file__).parent
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(
        path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ):
        digest.update(f"{file.relative_to(root)}\0{_digest(file.read_bytes())}\0".encode())
    return digest.hexdigest()


def _is_ours(module: str) -> bool:
    """Whether a module belongs to metassay or to Python itself, whose versions are recorded elsewhere."""
    package = module.partition(".")[0]
    return package == "metassay" or (package in sys.stdlib_module_names and package != "__main__")


def _content(kind: Any) -> list[bytes]:
    """The hash of the file that a class or function comes from, or all that is known of its code."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file in _OWN_FILES:
        return [_OWN_FILES[file][1].encode()]
    if file is not None:
        return [_digest(Path(file).read_bytes()).encode()]
    members = vars(kind).values() if isinstance(kind, type) else [kind]
    return [part for member in members for part in _of_member(member)]


def _of_member(member: Any) -> list[bytes]:
    """What a function, method or property does; of a plain value, what it is."""
    if isinstance(member, str | int | float | bytes | None):
        return [repr(member).encode()]
    wrapped = (getattr(member, name, None) for name in ("__func__", "fget", "func"))
    codes = (getattr(function, "__code__", None) for function in (member, *wrapped))
    return [part for code in codes if code is not None for part in _code(code)]


def _code(code: CodeType) -> list[bytes]:
    """What a compiled function does: its instructions, names and constants, also those of functions in it."""
    found = [code.co_code, repr(code.co_names).encode()]
    for constant in code.co_consts:
        found += _code(constant) if isinstance(constant, CodeType) else [repr(constant).encode()]
    return found


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
