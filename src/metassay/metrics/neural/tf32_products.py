"""Matrix products of float32 on tensor cores, which multiply numbers of 11 significant bits (TF32).

A float32 of 24 significant bits is the sum of two numbers that TF32 represents, so that a product of two
matrices is the sum of three products in TF32. What is left out, the product of both lower parts, is under
2⁻²⁰ of the result. Tensor cores truncate sums instead of rounding them, a bias that grows with the number of
terms: so they add only a few hundred terms, and the partial sums are added outside (both after Ootomo and
Yokota, 2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

# A mask of the bits of a float32 that TF32 keeps: sign, exponent and the upper ten of the fraction.
TF32_BITS = -(2**13)
# Terms that tensor cores add up; benchmarks/measurements.md compares the error with that of plain products.
TERMS_PER_SUM = 256
# How far a trial product may be from float64, as a share of its largest entry.
MAX_RELATIVE_ERROR = 2e-6


def split_into_tf32_numbers(values: Tensor) -> tuple[Tensor, Tensor]:
    """Split each float32 number into two numbers that add up to it: one in the shorter format TF32, and the
    rest.
    """
    import torch

    upper = (values.view(torch.int32) & TF32_BITS).view(torch.float32)
    return upper, values - upper


def split_weights_into_tf32_parts(weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    """Split the weights of a linear layer into two matrices that add up to the weights. Returns both matrices
    and the bias.

    `apply_linear_layer_in_tf32` takes these three.
    """
    return (*split_into_tf32_numbers(weight.detach().contiguous()), bias.detach())


def apply_linear_layer_in_tf32(
    inputs: Tensor, weight_high_part: Tensor, weight_low_part: Tensor, bias: Tensor
) -> Tensor:
    """Apply a linear layer whose weights are split into two matrices, and compute the products on tensor
    cores.
    """
    import torch

    states_upper, states_lower = split_into_tf32_numbers(inputs.contiguous())
    with _use_tensor_cores():
        result = torch.addmm(bias, states_upper, weight_low_part.T)
        result.addmm_(states_lower, weight_high_part.T)
        for start in range(0, states_upper.shape[1], TERMS_PER_SUM):
            terms = slice(start, start + TERMS_PER_SUM)
            result.addmm_(states_upper[:, terms], weight_high_part[:, terms].T)
        return result


def supports_tf32_matrix_products(weight: Tensor) -> bool:
    """Return whether products of split matrices are accurate enough on this device. A random product is
    compared with float64.
    """
    import torch

    if not weight.is_cuda or torch.cuda.get_device_capability(weight.device) < (8, 0):
        return False
    generator = torch.Generator(device=weight.device).manual_seed(0)
    shape = (256, 1024)
    states = torch.randn(shape, generator=generator, device=weight.device, dtype=torch.float32)
    trial_weight = torch.randn(shape, generator=generator, device=weight.device, dtype=torch.float32)
    bias = torch.zeros(256, device=weight.device)
    exact = states.double() @ trial_weight.double().T
    computed = apply_linear_layer_in_tf32(states, *split_weights_into_tf32_parts(trial_weight, bias))
    relative_error = (computed - exact).abs().max() / exact.abs().max()
    return bool(relative_error < MAX_RELATIVE_ERROR)


@contextmanager
def _use_tensor_cores() -> Iterator[None]:
    """Context manager in which torch multiplies float32 matrices on tensor cores, in the shorter format
    TF32.
    """
    import torch

    matmul = torch.backends.cuda.matmul
    has_precision_setting = hasattr(matmul, "fp32_precision")
    setting = "fp32_precision" if has_precision_setting else "allow_tf32"
    previous = getattr(matmul, setting)
    setattr(matmul, setting, "tf32" if has_precision_setting else True)
    try:
        yield
    finally:
        setattr(matmul, setting, previous)
