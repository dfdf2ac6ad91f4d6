"""What `metassay perturb` prints: how many pairs each perturbation made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.data_summary import describe_data_of_stored_result
from metassay.reporting.terminal.blocks import Block, Table, convert_sentences_to_notes


def describe_perturbed_pairs(result: Mapping[str, Any]) -> list[Block]:
    """Describe for the terminal how many pairs were made by each perturbation."""
    title = f"{result['pairs']} pairs from {result['outputs']} outputs"
    return [
        Table(result["perturbations"], title=title),
        *convert_sentences_to_notes([*describe_data_of_stored_result(result["data"]), *result["notes"]]),
    ]
