"""What `metassay perturb` prints: how many pairs each perturbation made."""

from __future__ import annotations

from msgspec.structs import asdict

from metassay.reporting.data_summary import describe_data_used
from metassay.reporting.terminal.blocks import Block, Table, convert_sentences_to_notes
from metassay.results.perturb import PerturbContent


def describe_perturbed_pairs(perturb_result: PerturbContent) -> list[Block]:
    """Describe for the terminal how many pairs were made by each perturbation."""
    rows = [asdict(perturbation) for perturbation in perturb_result.perturbations]
    return [
        Table(rows, title=f"{perturb_result.pairs} pairs from {perturb_result.outputs} outputs"),
        *convert_sentences_to_notes([*describe_data_used(perturb_result.data), *perturb_result.notes]),
    ]
