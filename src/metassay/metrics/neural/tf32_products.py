"""Matrix products of float32 on tensor cores, which multiply numbers of 11 significant bits (TF32).

A number of 24 bits is the sum of two that TF32 holds, so that a product is three of theirs: what the third
leaves out, the product of both lower parts, is under 2⁻²⁰ of the whole. Tensor cores cut sums off instead of
rounding them, a bias that grows with the number of terms: so a few hundred terms are summed there, and the
sums of those outside (both after Ootomo and Yokota, 2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

UPPER = -(2**13)
"""A mask of the bits of a float32 that TF32 keeps: sign, exponent and the upper ten of the fraction."""
TERMS = 256
"""Terms of a sum that tensor cores add up; docs/speed.md compares the error with that of plain products."""
CLOSE = 2e-6
"""How far a trial product may be from float64, as a share of its largest entry."""


def halves(values: Tensor) -> tuple[Tensor, Tensor]:
    """Two tensors that add up to this one exactly: what TF32 keeps of each number, and the rest."""
    import torch

    upper = (values.view(torch.int32) & UPPER).view(torch.float32)
    return upper, values - upper


def split_weights(weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    """The weights of a linear layer as `split_linear` takes them."""
    return (*halves(weight.detach().contiguous()), bias.detach())


def split_linear(states: Tensor, upper: Tensor, lower: Tensor, bias: Tensor) -> Tensor:
    """A linear layer, states · (upper + lower)ᵀ + bias, by three products, the smallest terms first."""
    import torch

    above, below = halves(states.contiguous())
    with _tensor_cores():
        found = torch.addmm(bias, above, lower.T)
        found.addmm_(below, upper.T)
        for terms in range(0, above.shape[1], TERMS):
            found.addmm_(above[:, terms : terms + TERMS], upper[:, terms : terms + TERMS].T)
        return found


def splits(weight: Tensor) -> bool:
    """Whether the device of these float32 weights has such cores, and computes what it should with them."""
    import torch

    if not weight.is_cuda or torch.cuda.get_device_capability(weight.device) < (8, 0):
        return False
    generator = torch.Generator(device=weight.device).manual_seed(0)
    states, trial = (
        torch.randn((256, 1024), generator=generator, device=weight.device, dtype=torch.float32)
        for _ in range(2)
    )
    bias = torch.zeros(256, device=weight.device)
    exact = states.double() @ trial.double().T
    off = (split_linear(states, *split_weights(trial, bias)) - exact).abs().max() / exact.abs().max()
    return bool(off < CLOSE)


@contextmanager
def _tensor_cores() -> Iterator[None]:
    """Products inside take float32 as TF32: of our operands that keeps all but the last bits of the lower."""
    import torch

    setting = torch.backends.cuda.matmul
    name, wanted = ("fp32_precision", "tf32") if hasattr(setting, "fp32_precision") else ("allow_tf32", True)
    before = getattr(setting, name)
    setattr(setting, name, wanted)
    try:
        yield
    finally:
        setattr(setting, name, before)
