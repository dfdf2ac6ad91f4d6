"""Methods at work on all outputs of a data set, share by share: what is finished is kept.

Where that is worth it, several processes work together; what comes out is the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from metassay.perturbations.base import KeptTexts, Perturbation, obstacle
from metassay.perturbations.views import Views, identity
from metassay.perturbations.words import applied, goes_alone, goes_word_by_word, seen_by
from metassay.stats.arrays import LongArray
from metassay.stats.streams import Keys, derive_keys
from metassay.text import can_copy, helpers_for, shared_out

Progress = Callable[[int, int], None]
PERTURBED_AT_ONCE = 8192
"""So many outputs are perturbed by one method before they are put away."""


class Plan(NamedTuple):
    """How pairs are made, whatever the methods; `named`: somebody asked for them."""

    named: bool
    seed: int = 0
    preprocess: str = "none"
    workers: int = 1
    strict: bool = False
    progress: Progress | None = None
    kept: KeptTexts | None = None


Idle = dict[tuple[str, str | None], tuple[str, int]]
"""By method and language, why it did nothing, and to how many distinct outputs."""


@dataclass(frozen=True)
class Perturb:
    """One method at work on all views; what is finished is kept."""

    method: Perturbation[Any]
    views: Views
    about: str
    kept: KeptTexts | None
    ready: dict[str, list[Any]] = field(default_factory=dict)
    """What was kept, or other processes made, by name."""

    def all(self, idle: Idle, *, named: bool, strict: bool) -> list[Any]:
        """One worse output, or None, per view."""
        worse: list[Any] = [None] * len(self.views.views)
        for language, positions in self.views.by_language.items():
            reason = obstacle(self.method, language, named=named, strict=strict)
            if reason is not None:
                before = idle.get((self.method.spec, language), (reason, 0))[1]
                idle[self.method.spec, language] = reason, before + len(positions)
                continue
            for share in _shares(positions):
                for position, text in zip(share.tolist(), self.share(share)):
                    worse[position] = text
        return worse

    def share(self, positions: LongArray) -> list[Any]:
        """The worse outputs of some views."""
        name, keys = self.named(positions)
        made = self.ready.pop(name, None) or self.load(name)
        if made is None:
            made = self.method.apply_all(self.views.some(positions), keys)
            self.save(name, made)
        return made

    def named(self, positions: LongArray) -> tuple[str, Keys]:
        """What the worse outputs of some views are kept as, and the keys of their streams."""
        keys = derive_keys(self.views.keys[positions], self.method.name)
        digest = hashlib.blake2b(keys.tobytes(), digest_size=16).hexdigest()
        return f"{identity(self.method)} {digest} {self.about}", keys

    def load(self, name: str) -> list[Any] | None:
        """What is kept under a name."""
        return None if self.kept is None else self.kept.load(name)

    def save(self, name: str, made: list[Any]) -> None:
        """Keep what is finished."""
        if self.kept is not None:
            self.kept.save(name, made)


def _shares(positions: LongArray) -> list[LongArray]:
    return [positions[at : at + PERTURBED_AT_ONCE] for at in range(0, len(positions), PERTURBED_AT_ONCE)]


def work_together(at_work: Sequence[Perturb], plan: Plan) -> None:
    """Have several processes perturb, where that is worth it."""
    tasks = [
        (perturb, language, share)
        for perturb in at_work
        if (goes_alone(perturb.method) if can_copy() else goes_word_by_word(perturb.method))
        for language, positions in perturb.views.by_language.items()
        if not obstacle(perturb.method, language, named=plan.named, strict=plan.strict)
        for share in _shares(positions)
    ]
    helpers = helpers_for(sum(len(share) for *_, share in tasks), plan.workers)
    if not helpers:
        return
    missing = []
    for perturb, language, share in tasks:
        name, keys = perturb.named(share)
        if (found := perturb.load(name)) is None:
            missing.append((perturb, language, share, name, keys))
        else:
            perturb.ready[name] = found

    def task(number: int) -> Sequence[Any]:
        perturb, language, share, _, keys = missing[number]
        return perturb.method.spec, language, *seen_by(perturb.views.some(share), keys)

    def here(number: int) -> list[Any]:
        perturb, _, share, _, keys = missing[number]
        return perturb.method.apply_all(perturb.views.some(share), keys)

    for number, made in shared_out(f"{applied.__module__}:applied", len(missing), task, helpers, here):
        perturb, _, _, name, _ = missing[number]
        perturb.ready[name] = made
        perturb.save(name, made)
