"""How far a method can be relied on: how often its worse copy is not worse, and what it will do with data.

`readings/LANGUAGE.tsv` holds pairs of each method and language that were read twice, blind, with both
verdicts. The pairs are drawn from texts that no rule was tuned on (`scripts/validity`), and the readers saw
neither the method nor each other's verdicts. A forecast is found by doing what `make_pairs` will do.
"""

from __future__ import annotations

import csv
import functools
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from statistics import NormalDist
from typing import Any

from metassay.data.dataset import Dataset
from metassay.perturbations.at_work import Plan
from metassay.perturbations.base import Perturbation, default_perturbations, obstacle
from metassay.perturbations.pairs import PerturbationCount, made_by
from metassay.perturbations.views import base_languages
from metassay.specs import parse_spec
from metassay.text.tokenizers import primary

VERDICTS = ("worse", "equal", "better")
COLUMNS = ("method", "original", "changed", "first", "second", "first_grammatical", "second_grammatical")
"""One row a pair: verdicts are `worse`, `equal` or `better`, grammaticality `yes` or `no`."""


@dataclass(frozen=True)
class Reading:
    """One pair and what two readers say of it."""

    method: str
    original: str
    changed: str
    verdicts: tuple[str, str]
    grammatical: tuple[bool, bool]

    @property
    def worse(self) -> bool:
        """Whether both readers call the copy worse; where they differ, the label does not count as true."""
        return self.verdicts == ("worse", "worse")


@dataclass(frozen=True)
class LabelError:
    """How often the label "worse" of a method is wrong in a language."""

    method: str
    language: str
    read: int
    """Pairs read."""
    not_worse: int
    """Those that at least one of two readers did not call worse."""
    rate: float
    """`not_worse / read`."""
    interval: tuple[float, float]
    """Wilson's score interval of the rate, at 95 %."""


def label_error(method: str, language: str | None) -> LabelError | None:
    """What readings say of a method (a name or spec) in a language; None where none were made.

    A method with parameters other than the defaults makes other pairs than those that were read.
    """
    name, parameters = parse_spec(method)
    spoken = primary(language)
    own = _counts(spoken).get(name)
    if own is None or parameters:
        return None
    read, not_worse = own
    interval = wilson_interval(not_worse, read)
    return LabelError(name, spoken, read, not_worse, not_worse / read, interval)


def label_errors(
    methods: Iterable[str], languages: Iterable[str | None]
) -> dict[tuple[str, str | None], LabelError | None]:
    """`label_error` of each method in each language."""
    spoken = sorted(set(languages), key=str)
    return {(method, language): label_error(method, language) for method in methods for language in spoken}


@functools.cache
def readings(language: str) -> tuple[Reading, ...]:
    """Every pair that was read in a language, in the order of the table; none where there is no table."""
    path = files("metassay.perturbations").joinpath("readings", f"{language}.tsv")
    if not language.isalpha() or not path.is_file():
        return ()
    rows = csv.DictReader(
        io.StringIO(path.read_text(encoding="utf-8")), delimiter="\t", quoting=csv.QUOTE_NONE
    )
    return tuple(
        Reading(
            row["method"],
            row["original"],
            row["changed"],
            (row["first"], row["second"]),
            (row["first_grammatical"] == "yes", row["second_grammatical"] == "yes"),
        )
        for row in rows
    )


@functools.cache
def _counts(language: str) -> dict[str, tuple[int, int]]:
    """By method, pairs read and those not worse."""
    own = readings(language)
    read = Counter(reading.method for reading in own)
    good = Counter(reading.method for reading in own if not reading.worse)
    return {method: (count, good[method]) for method, count in read.items()}


def wilson_interval(found: int, total: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's (1927) score interval for a share.

    >>> [round(end, 3) for end in wilson_interval(5, 100)]
    [0.022, 0.112]
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = found / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    spread = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, middle - spread), min(1.0, middle + spread)


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
    methods = default_perturbations(dataset.task_definition)
    languages = {} if dataset.task_definition.is_ranking else Counter(base_languages(dataset))
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
    return (
        dataset if step == 1 else dataset.filter_rows(dataset.outputs["item"].is_in(kept), reason="not tried")
    )


def _forecast(
    method: Perturbation[Any], count: PerturbationCount, tried: int, languages: Mapping[str | None, int]
) -> Forecast:
    known = sorted(languages, key=lambda name: name or "")
    reasons = [why for name in known if (why := obstacle(method, name, named=False, strict=False))]
    if not reasons and not count.applied:
        reasons = [f"{method.spec} finds nothing to change"]
    return Forecast(method.spec, count.applied, tried, "; ".join(reasons) or None)
