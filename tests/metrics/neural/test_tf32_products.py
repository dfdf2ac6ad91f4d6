"""Products of float32 in three parts are as exact as float32, where one product in TF32 is not."""

from __future__ import annotations


def test_split_products_equal_those_of_float64(torch) -> None:
    """A CPU has no TF32, so it is imitated: all bits after the upper ten of the fraction are dropped."""
    from metassay.metrics.neural.tf32_products import (
        TF32_BITS,
        apply_linear_layer_in_tf32,
        split_into_tf32_numbers,
        split_weights_into_tf32_parts,
    )

    generator = torch.Generator().manual_seed(0)
    states = torch.randn((40, 1024), generator=generator)
    weight = torch.randn((40, 1024), generator=generator)
    states_upper, states_lower = split_into_tf32_numbers(states)
    assert torch.equal(states_upper.double() + states_lower.double(), states.double())
    assert not (states_upper.view(torch.int32) & ~TF32_BITS).any()
    assert (states_lower.abs() < states.abs() * 2.0**-10).all()
    exact = states.double() @ weight.double().T + 3

    def relative_error(computed) -> float:
        return float((computed - exact).abs().max() / exact.abs().max())

    def round_to_tf32(tensor):
        return split_into_tf32_numbers(tensor)[0]

    upper, lower, bias = split_weights_into_tf32_parts(weight, torch.full((40,), 3.0))
    assert relative_error(apply_linear_layer_in_tf32(states, upper, lower, bias)) < 2e-6
    small_terms = round_to_tf32(states_lower) @ upper.T + states_upper @ round_to_tf32(lower).T
    assert relative_error(small_terms + states_upper @ upper.T + bias) < 2e-6
    assert relative_error(states_upper @ upper.T + bias) > 1e-4
