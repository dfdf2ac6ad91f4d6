"""What `metassay perturb` prints: how many pairs each perturbation made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.data_summary import describe_stored_data
from metassay.reporting.terminal.blocks import Block, Table, make_notes


def describe_perturbed_pairs(result: Mapping[str, Any]) -> list[Block]:
    """Describe the pairs that were made."""
    title = f"{result['pairs']} pairs from {result['outputs']} outputs"
    return [
        Table(result["perturbations"], title=title),
        *make_notes([*describe_stored_data(result["data"]), *result["notes"]]),
    ]
