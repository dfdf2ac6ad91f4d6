"""Load plug-ins, which are code of other packages or Python files of the user, and tell them apart from the
code of metassay.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import os
import sys
import traceback
from dataclasses import dataclass
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from types import CodeType
from typing import Any, cast

from metassay.errors import InputError, InputLocation


@dataclass(frozen=True)
class _UserFile:
    """A Python file of the user that was executed to load a metric from it."""

    named_path: str
    """The path as the user wrote it."""
    content_hash: str


# Files of the user that were executed, by full path.
_user_files: dict[str, _UserFile] = {}
# Folders and files of packages with entry points of ours, with a description of the entry point.
_plugin_locations: dict[str, str] = {}


def find_entry_points(group: str) -> EntryPoints:
    """Return the entry points (plug-ins) that installed packages declare in a group, such as
    `metassay.metrics`.
    """
    return _find_entry_points_of_installed_packages(tuple(sys.path)).select(group=group)


@functools.lru_cache(maxsize=4)
def _find_entry_points_of_installed_packages(search_path: tuple[str, ...]) -> EntryPoints:  # noqa: ARG001 - the key of the cache
    return cast("EntryPoints", entry_points())


def list_entry_points(group: str) -> list[str]:
    """List the names of all plug-ins in the group `metassay.<group>`, without loading them."""
    return [point.name for point in find_entry_points(f"metassay.{group}")]


def load_entry_points(group: str) -> dict[str, Any]:
    """Load all plug-ins in the group `metassay.<group>`. Returns the loaded objects by name."""
    return {
        point.name: _load_entry_point_object(point, group) for point in find_entry_points(f"metassay.{group}")
    }


def load_entry_point(group: str, name: str) -> Any:
    """Load the plug-in of one name in the group `metassay.<group>`."""
    points = [point for point in find_entry_points(f"metassay.{group}") if point.name == name]
    return _load_entry_point_object(points[0], group)


def _load_entry_point_object(entry_point: Any, group: str) -> Any:
    """Load the object of a plug-in. Errors name the package that defines the plug-in."""
    description = f"{entry_point.name} (metassay.{group}: {getattr(entry_point, 'value', '')})"
    package = getattr(entry_point, "module", "").partition(".")[0]
    try:
        if package and not _is_module_of_metassay_or_python(package):
            _record_plugin_folder(package, description)
        return entry_point.load()
    except Exception as error:
        user_error = explain_error_in_user_code(error)
        if user_error is not None:
            raise user_error from error
        reason = " ".join(str(error).split())
        raise InputError(
            f"the plug-in {description} cannot be loaded ({type(error).__name__}: {reason}).",
            remedy="Repair or uninstall the package that provides it.",
        ) from error


def _record_plugin_folder(package_name: str, plugin_description: str) -> None:
    """Record the folder of a plug-in, so that error messages can name the plug-in."""
    spec = importlib.util.find_spec(package_name)
    if spec is not None:
        for location in spec.submodule_search_locations or [str(spec.origin)]:
            _plugin_locations[str(location)] = plugin_description


def load_object_from_python_file(file_and_object_name: str) -> Any:
    """Execute a Python file and return one of its objects, as named by `my_metric.py:MyMetric`."""
    path, _, name = file_and_object_name.rpartition(":")
    if not path:
        raise InputError(
            f"{file_and_object_name!r} does not say which object.", remedy="Write it as FILE.py:NAME."
        )
    file = Path(path)
    try:
        exists = file.is_file()
    except (OSError, ValueError):
        exists = False
    if not exists:
        raise InputError("there is no such file.", location=InputLocation(file=path))
    spec = importlib.util.spec_from_file_location(f"metassay_plugin_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise InputError("this is not a Python file.", location=InputLocation(file=path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    _user_files[str(spec.origin)] = _UserFile(path, _hash_source_text(file.read_bytes()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise explain_error_in_user_code(error) or error from error
    if not hasattr(module, name):
        raise InputError(f"it defines no {name}.", location=InputLocation(file=path))
    return getattr(module, name)


def explain_error_in_user_code(error: BaseException) -> InputError | None:
    """Return an error message for an exception that code of the user raised, or None if metassay itself
    raised the exception.
    """
    calls = [(call.filename, call.lineno) for call in traceback.extract_tb(error.__traceback__)]
    message = " ".join(str(error).split())
    if isinstance(error, SyntaxError):
        calls.append((str(error.filename), error.lineno))
        message = error.msg
    for file, line in reversed(calls):
        description = f"{type(error).__name__}: {message}"
        if file in _user_files:
            return InputError(
                description, location=InputLocation(file=_user_files[file].named_path, line=line)
            )
        plugin = _describe_plugin_that_contains_file(file)
        if plugin is not None:
            return InputError(
                description,
                location=InputLocation(file=file, line=line),
                remedy=f"This is a failure of the plug-in {plugin}, not of metassay.",
            )
    return None


def _describe_plugin_that_contains_file(file: str) -> str | None:
    """Return a description of the plug-in that a file belongs to, or None if the file belongs to none."""
    for location, plugin in _plugin_locations.items():
        if file == location or file.startswith(location.rstrip(os.sep) + os.sep):
            return plugin
    return None


def find_source_location(class_or_function: Any) -> InputLocation:
    """Return the file and line where a function or class is defined. The location is empty if they cannot be
    found.
    """
    try:
        file = str(inspect.getsourcefile(class_or_function))
        _, line = inspect.getsourcelines(class_or_function)
    except (OSError, TypeError):
        return InputLocation()
    if file in _user_files:
        file = _user_files[file].named_path
    return InputLocation(file=file, line=line)


def hash_user_code(user_object: Any) -> str:
    """Return a hash of the source code of a user's function, class or object. It is empty for objects of
    metassay.

    The whole file is hashed, since other functions in it may be called, and the files of base classes. An
    object without a file, such as one from a notebook, is hashed by its compiled code.
    """
    definition: Any = user_object
    if not inspect.isroutine(user_object) and not isinstance(user_object, type):
        definition = type(user_object)
    return _hash_source_code(definition)


@functools.lru_cache(maxsize=1024)
def _hash_source_code(class_or_function: Any) -> str:
    """Return a hash of the source code of a class (with its base classes) or function. It is empty for code
    of metassay.
    """
    definitions = class_or_function.__mro__ if isinstance(class_or_function, type) else [class_or_function]
    content: list[bytes] = []
    is_user_code = False
    for part in definitions:
        if not _is_module_of_metassay_or_python(getattr(part, "__module__", None) or ""):
            is_user_code = True
            content += _hash_file_or_compiled_code(part)
    return _hash_source_text(b"\0".join(dict.fromkeys(content))) if is_user_code else ""


@functools.cache
def hash_metassay_code() -> str:
    """Return a hash of all files of metassay. It tells apart states of the code that have the same version
    number.
    """
    root = Path(__file__).parent
    digest = hashlib.blake2b(digest_size=16)
    files = [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for file in sorted(files):
        digest.update(f"{file.relative_to(root)}\0{_hash_source_text(file.read_bytes())}\0".encode())
    return digest.hexdigest()


def _is_module_of_metassay_or_python(module_name: str) -> bool:
    """Return whether a module belongs to metassay or to Python itself."""
    package = module_name.partition(".")[0]
    return package == "metassay" or (package in sys.stdlib_module_names and package != "__main__")


def _hash_file_or_compiled_code(class_or_function: Any) -> list[bytes]:
    """Return a hash of the file that defines a class or function. If there is no file, the compiled code is
    returned.
    """
    file = getattr(sys.modules.get(class_or_function.__module__), "__file__", None)
    if file in _user_files:
        return [_user_files[file].content_hash.encode()]
    if file is not None:
        return [_hash_source_text(Path(file).read_bytes()).encode()]
    members = vars(class_or_function).values() if isinstance(class_or_function, type) else [class_or_function]
    content: list[bytes] = []
    for member in members:
        content += _get_bytecode_of_class_member(member)
    return content


def _get_bytecode_of_class_member(class_member: Any) -> list[bytes]:
    """Return the compiled code of a function, method or property. Constants are returned as text."""
    if isinstance(class_member, str | int | float | bytes | None):
        return [repr(class_member).encode()]
    content: list[bytes] = []
    wrapped = (getattr(class_member, name, None) for name in ("__func__", "fget", "func"))
    for function in (class_member, *wrapped):
        code = getattr(function, "__code__", None)
        if code is not None:
            content += _list_instructions_and_constants(code)
    return content


def _list_instructions_and_constants(compiled_code: CodeType) -> list[bytes]:
    """List the instructions, names and constants of compiled code, including those of nested functions."""
    content = [compiled_code.co_code, repr(compiled_code.co_names).encode()]
    for constant in compiled_code.co_consts:
        if isinstance(constant, CodeType):
            content += _list_instructions_and_constants(constant)
        else:
            content.append(repr(constant).encode())
    return content


def _hash_source_text(source_code: bytes) -> str:
    """Return a hash of source code."""
    return hashlib.blake2b(source_code, digest_size=8).hexdigest()
