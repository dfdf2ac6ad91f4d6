"""Compile numeric loops to machine code with Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

# The first value of a counter that a kernel passes on to another kernel.
#
# A literal 0 has a type of its own in Numba: the other kernel would be compiled for it, and again for
# integers.
ZERO = cast("int", np.int64(0))


def kernel(function: Function) -> Function:
    """Compile a function of numbers and arrays to machine code with Numba, and cache the machine code on
    disk.

    Kernels release the interpreter lock, so that threads run them in parallel.
    """
    return cast("Function", njit(cache=True, nogil=True)(function))
