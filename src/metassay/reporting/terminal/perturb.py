"""What `metassay perturb` prints: how many pairs each perturbation made."""

from __future__ import annotations

from msgspec.structs import asdict

from metassay.reporting.data_summary import describe_data_used
from metassay.reporting.terminal.blocks import (
    Block,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
)
from metassay.reporting.wording import format_plural
from metassay.results.perturb import PerturbContent
from metassay.results.verdict import Claim, convert_sentences_to_findings


def build_perturb_verdict(perturb_result: PerturbContent) -> list[Claim]:
    """Write the first line of a `perturb` result: how many worse versions were made of how many outputs."""
    versions = format_plural(perturb_result.pairs, "worse version")
    outputs = format_plural(perturb_result.outputs, "output")
    return convert_sentences_to_findings([f"{versions} of {outputs} were made."])


def describe_perturbed_pairs(perturb_result: PerturbContent) -> list[Block]:
    """Describe for the terminal how many worse versions of outputs were made by each perturbation."""
    rows = [asdict(perturbation) for perturbation in perturb_result.perturbations]
    return [
        *convert_sentences_to_lines(claim.sentence for claim in perturb_result.verdict),
        Table(rows, title="Pairs by perturbation"),
        *convert_sentences_to_notes([*describe_data_used(perturb_result.data), *perturb_result.notes]),
    ]
