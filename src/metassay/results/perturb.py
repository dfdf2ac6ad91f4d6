"""Result of `perturb`: how many pairs each perturbation made."""

from __future__ import annotations

from typing import Any

import msgspec

from metassay.results.base import Count, ResultStruct
from metassay.results.data_summary import DataSummary
from metassay.results.verdict import Claim


class AppliedPerturbation(msgspec.Struct, frozen=True):
    """How many outputs a perturbation (a rule that makes outputs worse) changed, left unchanged or could not
    be applied to, and how many pairs it made.
    """

    perturbation: str
    pairs: Count
    applied: Count
    not_applicable: Count
    unchanged: Count


class PerturbContent(ResultStruct, frozen=True, kw_only=True):
    """How often each perturbation (a rule that makes outputs worse) could be applied.

    `usage` counts requests and tokens of a language model.
    """

    task: str
    outputs: Count
    pairs: Count
    left_out: dict[str, Count]
    perturbations: list[AppliedPerturbation]
    usage: dict[str, dict[str, Any]]
    notes: list[str]
    data: DataSummary
    verdict: list[Claim] = msgspec.field(default_factory=list)
