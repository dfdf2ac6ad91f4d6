"""Statistics on plain arrays: rank agreement, contingency tables, resampling, clustering.

And how loops over arrays are compiled, here and in the layers above: kernels, and parts of kernels.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import njit, types
from numba.extending import lower_builtin, overload, type_callable
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)
Function = TypeVar("Function", bound=Callable[..., Any])

ZERO = cast("int", np.int64(0))
"""0 in a kernel, where it is given to a part: for a literal Numba compiles the part anew."""
_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
"""Of kernels and their parts alike: what both call of numpy is then compiled once for both."""
_NEWEST = (0, 68)
"""The newest Numba whose insides are known here (the oldest is 0.61). With another, everything is compiled as
Numba does by itself, to the same numbers in twice the time."""
PLAIN = "METASSAY_PLAIN_KERNELS"
"""A variable of the environment: set, and Numba's insides are left alone in any case."""


def empty(shape: int | tuple[int, ...], dtype: type[Scalar]) -> NDArray[Scalar]:
    """`np.empty` in a kernel: Numba compiles its own as functions by themselves, anew for each type."""
    return np.empty(shape, dtype)


def zeros(shape: int | tuple[int, ...], dtype: type[Scalar]) -> NDArray[Scalar]:
    """`np.zeros` in a kernel."""
    return np.zeros(shape, dtype)


def _as_numba_does() -> dict[str, Any]:
    """How parts are compiled by public means."""
    overload(empty)(lambda shape, dtype: lambda shape, dtype: np.empty(shape, dtype))  # noqa: ARG005, PLW0108
    overload(zeros)(lambda shape, dtype: lambda shape, dtype: np.zeros(shape, dtype))  # noqa: ARG005, PLW0108
    return {"cache": True}


def _by_insides() -> dict[str, Any]:
    """How parts are compiled into kernels alone, and arrays allocated in place."""
    _allocate_in_place()
    return {"pipeline_class": _part_compiler()}


def _part_compiler() -> Any:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler

    class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
        """Neither optimised as a whole nor made machine code: the kernels that it is linked into are."""

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

    class PartCompiler(Compiler):  # type: ignore[misc]
        def define_pipelines(self) -> Any:
            self.state.flags.no_compile = self.state.flags.no_cpython_wrapper = True
            named = self.state.func_id.func_qualname
            self.state.library = PartLibrary(self.state.targetctx.codegen(), named)
            return super().define_pipelines()

        def compile_extra(self, func: Callable[..., Any]) -> Any:
            """The entry is what kernels find the part by; Numba takes nothing but a built-in method."""
            compiled = super().compile_extra(func)
            refusal = f"{{{func.__name__} is a part of kernels and not called from Python}}"
            entry = refusal.format  # called, it raises a KeyError of these words
            self.state.targetctx.insert_user_function(entry, compiled.fndesc, [compiled.library])
            return compiled._replace(entry_point=entry)

    return PartCompiler


def _allocate_in_place() -> None:
    from numba.core import cgutils
    from numba.core.imputils import impl_ret_new_ref
    from numba.np.arrayobj import _empty_nd_impl

    def allocating(*, filled: bool) -> Callable[..., Any]:
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

    def typed(_: Any) -> Callable[..., Any]:
        def typer(shape: Any, dtype: Any) -> Any:
            return types.Array(dtype.dtype, len(shape) if isinstance(shape, types.BaseTuple) else 1, "C")

        return typer

    for make in (empty, zeros):
        type_callable(make)(typed)
        lower_builtin(make, types.Any, types.Any)(allocating(filled=make is zeros))


def _is_known() -> bool:
    return tuple(map(int, numba.__version__.split(".")[:2])) <= _NEWEST and not os.environ.get(PLAIN)


_PARTS = _by_insides() if _is_known() else _as_numba_does()


def kernel(function: Function) -> Function:
    """Compiled when first called, and kept on disk; releases the interpreter's lock."""
    return cast("Function", njit(cache=True, **_OPTIONS)(function))


def kernel_part(function: Function) -> Function:
    """Compiled into the kernels that call it, and nowhere else: half the time of a kernel of its own."""
    return cast("Function", njit(**_PARTS, **_OPTIONS)(function))


@kernel_part
def copy_up_to(size: int, source: NDArray[Any], target: NDArray[Any]) -> None:
    """`target[:size] = source[:size]`, which takes Numba ten times as long to compile."""
    for i in range(size):
        target[i] = source[i]
