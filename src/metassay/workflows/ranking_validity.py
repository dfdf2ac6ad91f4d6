"""Check that perturbed rankings are worse, which means that they have a lower discounted gain."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from metassay.errors import InputError
from metassay.perturbations.pairs import Pairs
from metassay.perturbations.ranking_pairs import GainChange, RankedPairs, compare_gains_of_reordered_lists


def check_if_rankings_became_worse(ranked_pairs: Pairs, *, valid_only: bool) -> Pairs:
    """Check how many rankings have a lower discounted gain after they were perturbed, and add a note that
    says so. Pairs of texts are returned unchanged.

    With `valid_only`, pairs without a loss are dropped, because their label is wrong. A perturbation whose
    rankings win as often as they lose is refused: all its pairs are dropped.
    """
    if not isinstance(ranked_pairs, RankedPairs):
        if valid_only:
            raise InputError("pairs can be checked for validity only in rankings.")
        return ranked_pairs
    changes = compare_gains_of_reordered_lists(
        ranked_pairs.lists.select_lists(ranked_pairs.rows), ranked_pairs.copies
    )
    perturbations = ranked_pairs.frame["perturbation"].to_numpy()
    validity = {
        name: changes.select_pairs(perturbations == name).count_pairs() for name in ranked_pairs.counts
    }
    refused = []
    if valid_only:
        refused = [name for name, count in validity.items() if count["better"] >= max(count["worse"], 1)]
    for name in refused:
        validity[name]["refused"] = 1
    note = _describe_changes_in_discounted_gain(changes, valid_only=valid_only)
    checked = replace(ranked_pairs, notes=(*ranked_pairs.notes, note), validity=validity)
    if not valid_only:
        return checked
    is_valid = changes.is_reordered_list_worse & ~np.isin(perturbations.astype(str), refused)
    if not is_valid.any():
        reason = f" {', '.join(refused)}: perturbed lists gained as often as they lost." if refused else ""
        raise InputError(
            f"no reordered list lost gain, so no pair is valid.{reason}",
            remedy="To keep all pairs, including those with wrong labels, add --all-pairs.",
        )
    return checked.filter_pairs(is_valid)


def _describe_changes_in_discounted_gain(gain_changes: GainChange, *, valid_only: bool) -> str:
    """Say how many perturbed rankings have a lower, an equal and a higher discounted gain."""
    total = len(gain_changes.change)
    counts = Counter(np.sign(gain_changes.change).astype(int).tolist())
    shares = {sign: f"{100 * counts[sign] / max(total, 1):.1f} %" for sign in (-1, 0, 1)}
    clearly_worse = f"{100 * gain_changes.is_clearly_worse.mean():.1f} %" if total else "0 %"
    consequence = (
        "Lists with the same or higher gain have wrong labels. Without --all-pairs they are dropped."
    )
    if valid_only:
        consequence = "Lists with the same or higher gain are dropped."
    return (
        f"Of {total} reordered lists, {shares[-1]} have lower discounted gain ({clearly_worse} are not "
        f"better at any rank), {shares[0]} the same and {shares[1]} higher. {consequence}"
    )
