"""Small changes to the source: operators, constants, conditions, the order of arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

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
ARBITRARY_PARAMETERS = {"seed", "workers", "threads"}
SYMMETRIC_FUNCTIONS = {"min", "max", "minimum", "maximum", "fmin", "fmax", "hypot", "isinstance"}


@dataclass(frozen=True)
class Mutation:
    """A change of one expression in a file."""

    path: Path
    """The file, relative to the source folder."""
    line: int
    function: str
    """The qualified name of the function that it is in."""
    start: int
    end: int
    replacement: str

    def apply(self, text: str) -> str:
        """Return the text of the file with the change."""
        return text[: self.start] + self.replacement + text[self.end :]

    def describe(self, text: str) -> str:
        """Return the changed line before and after."""
        before = text.splitlines()[self.line - 1].strip()
        after = self.apply(text).splitlines()[self.line - 1].strip()
        return f"{self.path}:{self.line} {self.function}\n  - {before}\n  + {after}"


def draw_mutations(source: Path, package: str, count: int, seed: int) -> list[Mutation]:
    """Draw mutations of a package at random; every possible change has the same chance."""
    mutations: list[Mutation] = []
    for path in sorted((source / package).rglob("*.py")):
        mutations += list_mutations(path.relative_to(source), path.read_text(encoding="utf-8"))
    return Random(f"{seed}/{package}").sample(mutations, min(count, len(mutations)))


def list_mutations(path: Path, text: str) -> Iterator[Mutation]:
    """List every change that can be made to a file."""
    locate = SourceLocator(text)
    for function, node in list_functions(ast.parse(text)):
        ignored = _find_ignored_nodes(node)
        for inner in ast.walk(node):
            if id(inner) in ignored:
                continue
            for start, end, replacement in [*_change_operator(inner, locate), *_change_value(inner, locate)]:
                if text[start:end] != replacement:
                    line = text.count("\n", 0, start) + 1
                    yield Mutation(path, line, function, start, end, replacement)


def list_functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """List functions and methods with their qualified names; nested functions belong to the outer one."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from list_functions(node, f"{prefix}{node.name}.")
        else:
            yield from list_functions(node, prefix)


class SourceLocator:
    """Converts positions of syntax nodes (lines and bytes) to positions in the text (characters)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.splitlines(keepends=True)
        self._line_starts = [0]
        for line in self._lines:
            self._line_starts.append(self._line_starts[-1] + len(line))

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Return where an expression starts and ends."""
        start = self._find_position(node.lineno, node.col_offset)
        return start, self._find_position(node.end_lineno or 0, node.end_col_offset or 0)

    def source(self, node: ast.expr) -> str:
        """Return the text of an expression."""
        start, end = self.span(node)
        return self.text[start:end]

    def _find_position(self, line: int, byte_offset: int) -> int:
        prefix = self._lines[line - 1].encode()[:byte_offset].decode()
        return self._line_starts[line - 1] + len(prefix)


def _find_ignored_nodes(function: ast.AST) -> set[int]:
    """Return the nodes whose change alters no result: messages, annotations, decorators such as caches, and
    defaults of parameters such as the seed.
    """
    ignored: set[int] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                ignored |= {id(inner) for inner in ast.walk(decorator)}
            ignored |= {id(default) for default in _list_arbitrary_defaults(node.args)}
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.arg):
            ignored |= {id(inner) for inner in ast.walk(node)}
        annotation = getattr(node, "returns", None) or getattr(node, "annotation", None)
        if annotation is not None:
            ignored |= {id(inner) for inner in ast.walk(annotation)}
    return ignored


def _list_arbitrary_defaults(arguments: ast.arguments) -> Iterator[ast.expr]:
    """List the defaults of parameters for which any value gives equally good results."""
    positional = arguments.posonlyargs + arguments.args
    pairs = [
        *zip(reversed(positional), reversed(arguments.defaults)),
        *zip(arguments.kwonlyargs, arguments.kw_defaults),
    ]
    for argument, default in pairs:
        if argument.arg in ARBITRARY_PARAMETERS and default is not None:
            yield default


def _change_operator(node: ast.AST, locate: SourceLocator) -> Iterator[tuple[int, int, str]]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield locate.span(left)[1], locate.span(right)[0], f" {COMPARISONS[type(operator)]} "
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in ARITHMETIC:
            start, end = locate.span(left)[1], locate.span(right)[0]
            has_only_operator = not set(locate.text[start:end]) - set(" +-*/&|")
            if has_only_operator:
                yield start, end, f" {ARITHMETIC[type(operator)]} "
        case ast.BoolOp(op=operator, values=[first, second]):
            replacement = " or " if isinstance(operator, ast.And) else " and "
            yield locate.span(first)[1], locate.span(second)[0], replacement
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert() as operator):
            start = locate.span(node)[0]
            length = len("not ") if isinstance(operator, ast.Not) else len("-")
            yield start, start + length, ""


def _change_value(node: ast.AST, locate: SourceLocator) -> Iterator[tuple[int, int, str]]:
    match node:
        case ast.Constant(value=bool(value)):
            yield *locate.span(node), str(not value)
        case ast.Constant(value=int() | float() as value):
            yield *locate.span(node), repr(value + 1)
        case ast.Call(func=function, args=[first, second], keywords=[]) if _order_matters(function, second):
            swapped = f"{locate.source(second)}, {locate.source(first)}"
            yield locate.span(first)[0], locate.span(second)[1], swapped
        case ast.IfExp(test=test):
            yield *locate.span(test), f"not ({locate.source(test)})"


def _order_matters(function: ast.expr, second_argument: ast.expr) -> bool:
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return name not in SYMMETRIC_FUNCTIONS and not isinstance(second_argument, ast.Starred)
