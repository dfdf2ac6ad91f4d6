"""Statistics on plain arrays: rank agreement, contingency tables, resampling, clustering.

And how loops over arrays are compiled, here and in the layers above: kernels, and parts of kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.imputils import impl_ret_new_ref
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import _empty_nd_impl
from numpy.typing import NDArray

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
        """The entry is what kernels find the part by; numba takes nothing but a built-in method for one."""
        compiled = super().compile_extra(func)
        refusal = f"{{{func.__name__} is a part of kernels and not called from Python}}"
        entry = refusal.format  # called, it raises a KeyError of these words
        self.state.targetctx.insert_user_function(entry, compiled.fndesc, [compiled.library])
        return compiled._replace(entry_point=entry)


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


@kernel_part
def copy_up_to(size: int, source: NDArray[Any], target: NDArray[Any]) -> None:
    """`target[:size] = source[:size]`, which takes Numba ten times as long to compile."""
    for i in range(size):
        target[i] = source[i]
