"""Are the worse rankings worse? What each reordering did to the gain of its list, said and acted upon."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from metassay.errors import InputError
from metassay.metrics.ranking_validity import GainChange, gain_change
from metassay.perturbations.pairs import Pairs
from metassay.perturbations.ranking_pairs import RankedPairs


def checked(pairs: Pairs, *, valid_only: bool) -> Pairs:
    """The pairs with a note on how many copies lost gain, and `validity` by method; for texts, as they are.

    With `valid_only` the pairs whose copy did not lose gain are dropped: their label is wrong.
    """
    if not isinstance(pairs, RankedPairs):
        if valid_only:
            raise InputError("only of rankings can it be told which pairs are valid.")
        return pairs
    found = gain_change(pairs.lists.take(pairs.rows), pairs.copies)
    methods = pairs.frame["perturbation"].to_numpy()
    validity = {name: found.take(methods == name).counts() for name in pairs.counts}
    noted = replace(pairs, notes=(*pairs.notes, _note(found, valid_only=valid_only)), validity=validity)
    if valid_only and not found.worse.any():
        raise InputError("no reordered list lost gain, so no pair is valid.")
    return noted.where(found.worse) if valid_only else noted


def _note(found: GainChange, *, valid_only: bool) -> str:
    total = len(found.change)
    counts = Counter(np.sign(found.change).astype(int).tolist())
    shares = {sign: f"{100 * counts[sign] / max(total, 1):.1f} %" for sign in (-1, 0, 1)}
    clear = f"{100 * found.clear.mean():.1f} %" if total else "0 %"
    fate = (
        "The last two are dropped."
        if valid_only
        else "Their labels are wrong: --valid-pairs drops the last two."
    )
    return (
        f"Of {total} reordered lists {shares[-1]} lost discounted gain "
        f"({clear} hold more than before at no rank), {shares[0]} kept it and {shares[1]} won. {fate}"
    )
