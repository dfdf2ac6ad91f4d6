"""Mutations tried in forks of one process: imports and collection are paid once, then each costs its tests.

A plug-in for pytest. With `MUTANTS_JOBS=jobs.json` it runs, instead of the tests collected, every job in a
fork: the functions and constants that the mutation changes are exchanged, and its tests run until one fails.
What came of each job is appended to `MUTANTS_VERDICTS`. A mutation that cannot be exchanged in place
(compiled code, class bodies, what is computed on import) is answered with `not in place`, for the caller to
try in a process of its own.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

KILLED, SURVIVED, NOT_IN_PLACE = "killed", "survived", "not in place"
Place = tuple[str, str]


class NotInPlace(Exception):
    """A mutation that takes a fresh process."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the jobs, one fork after the other."""
    if "MUTANTS_JOBS" not in os.environ:
        return None
    items = {item.nodeid: item for item in session.items}
    live, caller = live_functions(), os.getppid()
    with Path(os.environ["MUTANTS_VERDICTS"]).open("a", encoding="utf-8") as verdicts:
        for job in json.loads(Path(os.environ["MUTANTS_JOBS"]).read_text(encoding="utf-8")):
            if os.getppid() != caller:
                break  # nobody is left to read on
            started = time.monotonic()
            outcome, by = _forked(session, job, items, live)
            line = {"number": job["number"], "outcome": outcome, "by": by}
            print(json.dumps(line | {"seconds": time.monotonic() - started}), file=verdicts, flush=True)
    return True


def _forked(
    session: pytest.Session,
    job: dict[str, Any],
    items: dict[str, pytest.Item],
    live: dict[Place, list[FunctionType]],
) -> tuple[str, str]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setsid()
        outcome = _tried(session, job, items, live)
        os.write(writer, json.dumps(outcome).encode())
        os._exit(0)
    os.close(writer)
    ended = _wait(child, job["seconds"])
    with os.fdopen(reader) as pipe:
        said = pipe.read() if ended else ""
    if not ended:
        return NOT_IN_PLACE, "it does not end"  # perhaps for want of a thread that forks do not have
    return tuple(json.loads(said)) if said else (KILLED, "the process ends")


def _wait(child: int, seconds: float) -> bool:
    """Whether a child ended in time; one that did not is ended, with all that it started."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _tried(
    session: pytest.Session,
    job: dict[str, Any],
    items: dict[str, pytest.Item],
    live: dict[Place, list[FunctionType]],
) -> tuple[str, str]:
    try:
        exchange(Path(job["path"]), job["text"], live)
    except NotInPlace as reason:
        return NOT_IN_PLACE, str(reason)
    chosen = [items[name] for name in job["tests"] if name in items]
    for item, following in zip(chosen, [*chosen[1:], None]):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return KILLED, item.nodeid
    return SURVIVED, ""


def live_functions() -> dict[Place, list[FunctionType]]:
    """Every function there is, by file and qualified name."""
    found: dict[Place, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if (
            type(thing) is FunctionType
        ):  # not isinstance: it would ask objects that warn when they are touched
            code = thing.__code__
            found.setdefault((code.co_filename, code.co_qualname), []).append(thing)
    return found


def exchange(path: Path, text: str, live: dict[Place, list[FunctionType]]) -> None:
    """Make the functions and constants of a module what they are in `text`, wherever they are used."""
    before = path.read_text(encoding="utf-8")
    module = next((m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == str(path)), None)
    if module is None:
        raise NotInPlace("no test imports it")
    old, new = ast.parse(before), ast.parse(text)
    if len(old.body) != len(new.body):
        raise NotInPlace("statements come or go")
    codes = (
        dict(_functions(compile(before, str(path), "exec"))),
        dict(_functions(compile(text, str(path), "exec"))),
    )
    for one, two in zip(old.body, new.body):
        if ast.dump(one) == ast.dump(two):
            continue
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            if one.name in _run_on_import(old):
                raise NotInPlace("what runs on import")
            _exchange_functions(path, one, two, codes, live)
        elif isinstance(one, ast.Assign) and all(isinstance(target, ast.Name) for target in one.targets):
            _exchange_constants(module, two, [t.id for t in one.targets if isinstance(t, ast.Name)], old)
        else:
            raise NotInPlace("a statement of the module")


def _run_on_import(tree: ast.Module) -> set[str]:
    """The names that statements of the module itself use."""
    own = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr)]
    return {each.id for node in own for each in ast.walk(node) if isinstance(each, ast.Name)}


def _functions(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    """The functions of a module, and those of its classes, by qualified name."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & 0x02:  # CO_NEWLOCALS: a function, not the body of a class
                yield inner.co_qualname, inner
            else:
                yield from _functions(inner)


def _exchange_functions(
    path: Path,
    one: ast.stmt,
    two: ast.stmt,
    codes: tuple[dict[str, CodeType], dict[str, CodeType]],
    live: dict[Place, list[FunctionType]],
) -> None:
    for here, there in zip(_definitions(one), _definitions(two)):
        if ast.dump(here) == ast.dump(there):
            continue
        if any("njit" in ast.dump(each) for each in here.decorator_list):
            raise NotInPlace("compiled")
        if ast.dump(here.args) != ast.dump(there.args):
            raise NotInPlace("a default value")
    if _without_functions(one) != _without_functions(two):
        raise NotInPlace("the body of a class")
    for name, code in codes[1].items():
        if not _same(code, codes[0][name]):
            functions = live.get((str(path), name), [])
            if not functions:
                raise NotInPlace("a function that is not there")
            for function in functions:
                function.__code__ = code


def _definitions(node: ast.AST) -> list[ast.FunctionDef]:
    if isinstance(node, ast.FunctionDef):
        return [node]
    return [each for each in ast.walk(node) if isinstance(each, ast.FunctionDef)]


def _without_functions(node: ast.stmt) -> str:
    """What a class says beside its functions."""
    if isinstance(node, ast.ClassDef):
        return "".join(ast.dump(each) for each in node.body if not isinstance(each, ast.FunctionDef))
    return ""


def _same(one: CodeType, two: CodeType) -> bool:
    """Whether two codes do the same, wherever their lines stand."""
    if one.co_code != two.co_code or one.co_names != two.co_names or len(one.co_consts) != len(two.co_consts):
        return False
    return all(
        _same(a, b)
        if isinstance(a, CodeType) and isinstance(b, CodeType)
        else (type(a), repr(a)) == (type(b), repr(b))
        for a, b in zip(one.co_consts, two.co_consts)
    )


def _exchange_constants(module: ModuleType, statement: ast.stmt, names: list[str], tree: ast.Module) -> None:
    """Give constants their new values in the module and wherever they were imported to."""
    for node in tree.body:
        used = {
            each.id
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
        }
        compiled = isinstance(node, ast.FunctionDef) and any(
            "njit" in ast.dump(d) for d in node.decorator_list
        )
        beyond = not isinstance(node, ast.FunctionDef | ast.ClassDef)
        if used & set(names) and (compiled or beyond):
            raise NotInPlace("a constant of compiled code, or of others")
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments) and any(
            isinstance(each, ast.Name) and each.id in names
            for default in [*node.defaults, *node.kw_defaults]
            if default is not None
            for each in ast.walk(default)
        ):
            raise NotInPlace("a default value")
    space = dict(vars(module))
    exec(compile(ast.Module([statement], []), str(module.__file__), "exec"), space)
    for name in names:
        old = getattr(module, name)
        for other in list(sys.modules.values()):
            if isinstance(other, ModuleType) and vars(other).get(name) is old:
                setattr(other, name, space[name])
