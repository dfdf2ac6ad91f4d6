"""Compile numeric loops to machine code with Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Decorate a function so that Numba compiles it on its first call and caches the machine code on disk.

    Kernels release the interpreter lock, so that threads run them in parallel.
    """
    return cast("Function", njit(cache=True, nogil=True)(function))
