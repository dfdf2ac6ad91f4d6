"""Arrays: their types, their values in JSON, and grouping them in linear time.

How loops over them are compiled: kernels, and parts of kernels. Blocks of work shared out over threads, with
BLAS on one thread each so that results never depend on it.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast, overload

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.imputils import impl_ret_new_ref
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import _empty_nd_impl
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

FloatArray = NDArray[np.float64]
SingleArray = NDArray[np.float32]
IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

Scalar = TypeVar("Scalar", bound=np.generic)
Function = TypeVar("Function", bound=Callable[..., Any])

ZERO = cast("int", np.int64(0))
"""0 in a kernel, where it is given to a part: for a literal Numba compiles the part anew."""
_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
"""Of kernels and their parts alike: what both call of numpy is then compiled once for both."""


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Neither optimised as a whole nor turned into machine code: the kernels that it is linked into are."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _PartCompiler(Compiler):  # type: ignore[misc]
    def define_pipelines(self) -> Any:
        self.state.flags.no_compile = self.state.flags.no_cpython_wrapper = True
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Under a name of its own that kernels find it by; to call it from Python is a TypeError."""
        compiled, name = super().compile_extra(func), object().__reduce__
        self.state.targetctx.insert_user_function(name, compiled.fndesc, [compiled.library])
        return compiled._replace(entry_point=name)


def kernel(function: Function) -> Function:
    """Compiled when first called, and kept on disk; releases the interpreter's lock."""
    return cast("Function", njit(cache=True, **_OPTIONS)(function))


def kernel_part(function: Function) -> Function:
    """Compiled into the kernels that call it, and nowhere else: half the time of a kernel of its own."""
    return cast("Function", njit(pipeline_class=_PartCompiler, **_OPTIONS)(function))


def empty(shape: int | tuple[int, ...], dtype: type[Scalar]) -> NDArray[Scalar]:
    """`np.empty` in a kernel: Numba compiles its own as functions by themselves, anew for each type."""
    return np.empty(shape, dtype)


def zeros(shape: int | tuple[int, ...], dtype: type[Scalar]) -> NDArray[Scalar]:
    """`np.zeros` in a kernel."""
    return np.zeros(shape, dtype)


def _allocating(*, filled: bool) -> Callable[..., Any]:
    def lowered(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        shape, kind = arguments[0], signature.args[0]
        several = isinstance(kind, types.BaseTuple)
        given = zip(cgutils.unpack_tuple(builder, shape), kind) if several else [(shape, kind)]
        sizes = [context.cast(builder, size, own, types.intp) for size, own in given]
        made = _empty_nd_impl(context, builder, signature.return_type, sizes)
        if filled:
            cgutils.memset(builder, made.data, builder.mul(made.itemsize, made.nitems), 0)
        return impl_ret_new_ref(context, builder, signature.return_type, made._getvalue())  # noqa: SLF001

    return lowered


def _typed(_: Any) -> Callable[..., Any]:
    def typer(shape: Any, dtype: Any) -> Any:
        return types.Array(dtype.dtype, len(shape) if isinstance(shape, types.BaseTuple) else 1, "C")

    return typer


for _make in (empty, zeros):
    type_callable(_make)(_typed)
    lower_builtin(_make, types.Any, types.Any)(_allocating(filled=_make is zeros))


@overload
def plain(value: float) -> float | None: ...
@overload
def plain(value: Any) -> Any: ...
def plain(value: Any) -> Any:
    """The same value as JSON has it: without numpy types, and None for what is undefined (NaN), at any depth.

    >>> plain({"tau": np.array([0.5, np.nan]), "n": np.int64(2)})
    {'tau': [0.5, None], 'n': 2}
    """
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def known_mean(parts: Sequence[FloatArray]) -> FloatArray:
    """The mean of arrays of one shape, each value over the arrays that have it; NaN where none has.

    >>> known_mean([np.array([1.0, np.nan]), np.array([3.0, 5.0])]).tolist()
    [2.0, 5.0]
    """
    stacked = np.stack(parts)
    known = ~np.isnan(stacked)
    count = known.sum(axis=0)
    total = np.where(known, stacked, 0).sum(axis=0)
    mean: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean


def code_counts(codes: IntArray, groups: int) -> LongArray:
    """How often each code from 0 on occurs; negative ones are left out.

    >>> code_counts(np.array([2, 0, -1, 0], dtype=np.int32), 3).tolist()
    [2, 0, 1]
    """
    return _code_counts(np.ascontiguousarray(codes, dtype=np.int32), groups)


@kernel
def _code_counts(codes: IntArray, groups: int) -> LongArray:
    counts = zeros(groups, np.int64)
    for place in range(len(codes)):
        if codes[place] >= 0:
            counts[codes[place]] += 1
    return counts


def counting_order(keys: IntArray, groups: int) -> IntArray:
    """Positions sorted by key, equal keys in their given order; negative keys are left out.

    >>> counting_order(np.array([2, 0, -1, 0], dtype=np.int32), 3).tolist()
    [1, 3, 0]
    """
    return _counting_order(np.ascontiguousarray(keys, dtype=np.int32), groups)


def run_starts(*columns: IntArray) -> LongArray:
    """Where a new combination of values begins in columns sorted together, and the length at the end.

    >>> run_starts(np.array([0, 0, 1, 1], dtype=np.int32), np.array([5, 5, 5, 6], dtype=np.int32)).tolist()
    [0, 2, 3, 4]
    """
    length = len(columns[0])
    new = np.zeros(length, dtype=np.bool_)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return np.append(np.flatnonzero(new), length).astype(np.int64)


@kernel
def _counting_order(keys: IntArray, groups: int) -> IntArray:
    next_place = zeros(groups + 1, np.int64)
    for position in range(len(keys)):
        if keys[position] >= 0:
            next_place[keys[position] + 1] += 1
    for group in range(groups):
        next_place[group + 1] += next_place[group]
    order = empty(next_place[groups], np.int32)
    for position in range(len(keys)):
        key = keys[position]
        if key >= 0:
            order[next_place[key]] = position
            next_place[key] += 1
    return order


Block = TypeVar("Block")
Done = TypeVar("Done")


def map_blocks(
    function: Callable[[Block], Done], blocks: Iterable[Block], workers: int | None = None
) -> list[Done]:
    """`function` of every block, in order; `workers` threads, by default one per core.

    >>> map_blocks(abs, [-1, 2], workers=2)
    [1, 2]
    """
    with _libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(workers or _cores()) as pool:
        return list(pool.map(function, blocks))


@functools.cache
def _libraries() -> ThreadpoolController:
    """The linear algebra libraries in this process; finding them takes longer than a small block of work."""
    return ThreadpoolController()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


_BLOCK = 2**20
"""Values looked at together where there may be many millions: bounds memory."""


def packed(codes: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Codes 0 to 3, four to a byte: the first quarter of them in the lowest bits."""
    size = -(-len(codes) // 4)
    found = np.zeros(size, dtype=np.uint8)
    for number in range(4):
        part = codes[number * size : (number + 1) * size]
        found[: len(part)] |= part.astype(np.uint8) << np.uint8(2 * number)
    return found


def unpacked(bytes_: NDArray[np.uint8], count: int) -> NDArray[np.int8]:
    """The codes that were packed.

    >>> unpacked(packed(np.array([3, 0, 1, 2, 2], dtype=np.int8)), 5).tolist()
    [3, 0, 1, 2, 2]
    """
    parts = [(bytes_ >> np.uint8(2 * number)) & np.uint8(3) for number in range(4)]
    return np.concatenate(parts)[:count].view(np.int8)


def distinct(numbers: LongArray) -> tuple[LongArray, LongArray]:
    """The distinct ones of small numbers, in order, and which of them each is: without sorting.

    >>> [own.tolist() for own in distinct(np.array([7, 2, 7]))]
    [[2, 7], [1, 0, 1]]
    """
    places = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
    places[numbers] = 1
    found = np.flatnonzero(places)
    places[found] = np.arange(len(found))
    return found, places[numbers]


def places_of(mask: BoolArray) -> NDArray[np.uint32]:
    """Where a mask holds, ascending."""
    parts = [
        (start + np.flatnonzero(mask[start : start + _BLOCK])).astype(np.uint32)
        for start in range(0, len(mask), _BLOCK)
    ]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint32)


def lowest(values: NDArray[np.floating[Any]], most: int) -> LongArray:
    """The places of the `most` lowest values, in order; of equal ones the first, NaN last.

    >>> lowest(np.array([3.0, np.nan, 1.0, 2.0, 1.0]), 3).tolist()
    [2, 4, 3]
    """
    if len(values) <= most:
        return np.argsort(values, kind="stable")
    last = np.partition(values, most - 1)[most - 1]
    gaps = np.isnan(values)
    clear, equal = (~gaps, gaps) if np.isnan(last) else (values < last, values == last)
    few = most - np.count_nonzero(clear)
    chosen = np.sort(np.concatenate([np.flatnonzero(clear), np.flatnonzero(equal)[:few]]))
    return chosen[np.argsort(values[chosen], kind="stable")]


def counted_together(
    first: NDArray[np.int8],
    second: NDArray[np.int8],
    mask: BoolArray | None = None,
    there: LongArray | None = None,
) -> LongArray:
    """How often codes 0 to 3 stand together, `[4, 4]`; where the `mask` holds, where there is one.

    `there` are the places in the second array of those in the first, below 0 for none.

    >>> counted_together(np.array([0, 1, 1], np.int8), np.array([2, 3, 3], np.int8))[:2].tolist()
    [[0, 0, 1, 0], [0, 0, 0, 2]]
    """
    counts = np.zeros(16, dtype=np.int64)
    for start in range(0, len(first), _BLOCK):
        own = np.arange(start, min(start + _BLOCK, len(first)))
        own = own if mask is None else own[mask[own]]
        places = own if there is None else there[own]
        known = places >= 0
        counts += np.bincount(4 * first[own[known]] + second[places[known]], minlength=16)
    return counts.reshape(4, 4)
