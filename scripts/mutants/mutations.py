"""A seeded sample of mutations: small changes to the source that a test should notice.

A mutation changes one operator, constant, condition, argument order or result somewhere in a package, drawn
by the seed. Files that only hold names, words or
declarations have little to mutate and are rarely drawn, since places are drawn, not files.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

from scripts.mutants.touched import functions_of

Span = Callable[[ast.expr], tuple[int, int]]
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}


SYMMETRIC = {"min", "max", "minimum", "maximum", "fmin", "fmax", "hypot", "isinstance"}


class MutationLost(Exception):
    """A mutation that does not change its file."""


@dataclass(frozen=True)
class Mutation:
    """A change to the source of a room; `equivalent` is the reason why no test can notice it."""

    room: str
    old: str
    new: str
    breaks: str
    equivalent: str = ""


@dataclass(frozen=True)
class Placed:
    """A mutation in the tree as it is: the file, the source folder, the text before and after, the line."""

    mutation: Mutation
    path: Path
    source: Path
    before: str
    text: str
    line: int

    @cached_property
    def function(self) -> str:
        """The function that it lies in, as `stats/multiplicity.py:holm`."""
        inside = [name for name, node in functions_of(_parsed(self.before)) if _covers(node, self.line)]
        return f"{self.path.relative_to(self.source).as_posix()}:{inside[0] if inside else '<module>'}"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Outside of functions, what it gives a value to."""
        return tuple(_assigned(_parsed(self.before), self.line)) if self.function.endswith("<module>") else ()


@functools.cache
def _texts(room: Path) -> dict[Path, str]:
    """The modules of a room, read once."""
    return {path: path.read_text(encoding="utf-8") for path in sorted(room.rglob("*.py"))}


_parsed = functools.lru_cache(maxsize=500)(ast.parse)


def _placed(mutation: Mutation, path: Path, source: Path, text: str, changed: str, start: int) -> Placed:
    if changed == text:
        raise MutationLost(f"{mutation.room}: {mutation.old!r} is replaced by itself.")
    ast.parse(changed)
    return Placed(mutation, path, source, text, changed, text.count("\n", 0, start) + 1)


def _covers(node: ast.AST, line: int) -> bool:
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])  # type: ignore[attr-defined]
    return bool(first <= line <= node.end_lineno)  # type: ignore[attr-defined]


def _assigned(tree: ast.AST, line: int) -> Iterator[str]:
    """The names that the statement at a line gives values to, and its class if it is in one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.ClassDef) and node.lineno <= line <= (
            node.end_lineno or 0
        ):
            if isinstance(node, ast.ClassDef):
                yield node.name
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))


def sampled(room: str, source: Path, count: int, seed: int) -> list[Placed]:
    """Generic mutations of a room, drawn without regard to what tests there are."""
    changes = [(path, change) for path, text in _texts(source / room).items() for change in _changes(text)]
    drawn = Random(f"{seed}/{room}").sample(changes, min(count, len(changes)))
    return [_generic(room, path, *change, source) for path, change in drawn]


def _generic(room: str, path: Path, start: int, end: int, new: str, source: Path) -> Placed:
    text = _texts(source / room)[path]
    line = text.count("\n", 0, start)
    changed = text[:start] + new + text[end:]
    before, after = text.splitlines()[line].strip(), changed.splitlines()[line].strip()
    return _placed(Mutation(room, before, after, "generic"), path, source, text, changed, start)


def _changes(text: str) -> Iterator[tuple[int, int, str]]:
    """Every generic change of a module: from, to (characters), and what to write there."""
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    encoded = [line.encode() for line in text.splitlines(keepends=True)]

    def at(line: int, column: int) -> int:
        return lines[line - 1] + len(encoded[line - 1][:column].decode())

    def span(node: ast.expr) -> tuple[int, int]:
        return at(node.lineno, node.col_offset), at(node.end_lineno or 0, node.end_col_offset or 0)

    for _, function in functions_of(_parsed(text)):
        silent = {id(inner) for node in ast.walk(function) if _says(node) for inner in ast.walk(node)}
        for node in ast.walk(function):
            if id(node) not in silent:
                yield from _operators(node, span, text)
                yield from _values(node, span, text)


def _says(node: ast.AST) -> bool:
    """Parts whose change changes words or types but no result."""
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.arg)


def _operators(node: ast.AST, span: Span, text: str) -> Iterator[tuple[int, int, str]]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield span(left)[1], span(right)[0], f" {COMPARISONS[type(operator)]} "
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in ARITHMETIC:
            if not set(text[span(left)[1] : span(right)[0]]) - set(" +-*/&|"):
                yield span(left)[1], span(right)[0], f" {ARITHMETIC[type(operator)]} "
        case ast.BoolOp(op=operator, values=[first, second]):
            yield span(first)[1], span(second)[0], " or " if isinstance(operator, ast.And) else " and "
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert() as operator):
            start = span(node)[0]  # what follows may stand in parentheses
            yield start, start + (len("not ") if isinstance(operator, ast.Not) else len("-")), ""


def _values(node: ast.AST, span: Span, text: str) -> Iterator[tuple[int, int, str]]:
    match node:
        case ast.Constant(value=bool(value)):
            yield *span(node), str(not value)
        case ast.Constant(value=int() | float() as value):
            yield *span(node), repr(value + 1)
        case ast.Call(func=called, args=[first, second], keywords=[]) if _ordered(called, second):
            one, two = (text[slice(*span(each))] for each in (first, second))
            if one != two:
                yield span(first)[0], span(second)[1], f"{two}, {one}"
        case ast.IfExp(test=test):
            yield *span(test), f"not ({text[slice(*span(test))]})"


def _ordered(called: ast.expr, second: ast.expr) -> bool:
    """Whether the order of two arguments can matter."""
    name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
    return name not in SYMMETRIC and not isinstance(second, ast.Starred)
