"""What the perturbations will do with a data set, found by doing it: what `check` says before an assay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metassay.data.dataset import Dataset
from metassay.perturbations.base import Perturbation, default_perturbations
from metassay.perturbations.pairs import PerturbationCount, Plan, made_by, obstacle
from metassay.perturbations.views import base_languages

TRIED = 50_000
"""On about so many outputs of a larger data set a forecast tries a method."""
TAGGED = 5000
"""On so many those that wait for a tagger."""


@dataclass(frozen=True)
class Forecast:
    """What a perturbation of the defaults will do with a data set."""

    perturbation: str
    outputs: int
    """To how many of the outputs tried it applies."""
    tried: int
    """All outputs, or of a large data set those of items evenly spread over it."""
    why: str | None
    """Why it leaves outputs of a language, or all outputs, as they are; None where neither is the case."""

    def to_dict(self) -> dict[str, Any]:
        """One row of `check`."""
        applies = self.outputs > 0
        return {"perturbation": self.perturbation, "applies": applies, "outputs": self.outputs} | {
            "tried": self.tried,
            "why": self.why,
        }


def foretell(
    dataset: Dataset, *, most: int = TRIED, most_tagged: int = TAGGED, seed: int = 0, workers: int = 1
) -> list[Forecast]:
    """What `make_pairs` will do by default, found by doing it: on all outputs, or about as many as said."""
    methods = default_perturbations(dataset.kind)
    languages = {} if dataset.kind.ranked else Counter(base_languages(dataset))
    slow = tuple(method for method in methods if not method.tagged.isdisjoint(languages))
    fast = tuple(method for method in methods if method not in slow)
    counts: dict[str, tuple[PerturbationCount, int]] = {}
    for own, limit in ((slow, min(most, most_tagged)), (fast, most)):
        if not own or not len(dataset):
            continue
        tried = _spread(dataset, limit)
        done = made_by(tried, own, Plan(named=False, seed=seed, workers=workers))
        counts |= {spec: (count, len(tried)) for spec, count in done.counts.items()}
    return [_forecast(method, *counts[method.spec], languages) for method in methods if counts]


def _spread(dataset: Dataset, most: int) -> Dataset:
    """The outputs of items evenly spread over a data set, about so many of them; all where they are few."""
    step = -(-len(dataset) // most)
    kept = dataset.items[::step]
    return dataset if step == 1 else dataset.where(dataset.outputs["item"].is_in(kept), reason="not tried")


def _forecast(
    method: Perturbation[Any], count: PerturbationCount, tried: int, languages: Mapping[str | None, int]
) -> Forecast:
    known = sorted(languages, key=lambda name: name or "")
    reasons = [why for name in known if (why := obstacle(method, name, named=False, strict=False))]
    if not reasons and not count.applied:
        reasons = [f"{method.spec} finds nothing to change"]
    return Forecast(method.spec, count.applied, tried, "; ".join(reasons) or None)
