"""How often the perturbed output of a perturbation is not worse than the original.

Pairs of each perturbation and language were read twice, blind: the readers saw neither the perturbation nor
each other's verdicts, and the texts were not used to write the rules. `label_errors.tsv` has the counts; the
readings themselves are in `benchmarks/readings`, and `scripts/validity` makes both.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from statistics import NormalDist

from metassay.specs import parse_name_and_parameters
from metassay.stats.levels import CONFIDENCE_LEVEL
from metassay.text.languages import get_base_language

COUNTS_FILE = "label_errors.tsv"


@dataclass(frozen=True)
class LabelError:
    """How often an output that a rule was meant to make worse is in fact not worse, as estimated by readers
    who did not know which output was changed.
    """

    perturbation: str
    language: str
    pairs_read: int
    not_worse: int
    """Pairs that at least one of the two readers did not call worse."""
    better: int
    """Those of them that are better: one reader says so, and none says worse. The others are equal."""
    rate: float
    """`not_worse / pairs_read`."""
    low: float
    high: float
    """Wilson's score interval of the rate, at 95 %."""


# These were read before words of Chinese and Japanese were found by jieba or fugashi, which make other pairs.
_SEGMENTED_LANGUAGES = frozenset({"ja", "zh"})
_WORD_EDITS = frozenset({"removal", "insertion", "swapping", "untranslated"})


def look_up_perturbation_error_rate(perturbation: str, language: str | None) -> LabelError | None:
    """Return how often a perturbation fails to make outputs in a language worse, or None if nobody has
    estimated this.

    Only perturbations with default parameters were read, so that any other spec has no label error.
    """
    name, parameters = parse_name_and_parameters(perturbation)
    base_language = get_base_language(language)
    counts = _load_label_error_counts().get((base_language, name))
    if counts is None or parameters or (base_language in _SEGMENTED_LANGUAGES and name in _WORD_EDITS):
        return None
    pairs_read, not_worse, better = counts
    low, high = wilson_interval(not_worse, pairs_read)
    return LabelError(name, base_language, pairs_read, not_worse, better, not_worse / pairs_read, low, high)


def look_up_perturbation_error_rates(
    perturbations: Iterable[str], languages: Iterable[str | None]
) -> dict[tuple[str, str | None], LabelError | None]:
    """Return for each perturbation and language how often the perturbation fails to make outputs worse. None
    stands for an unknown rate.
    """
    distinct_languages = sorted(set(languages), key=str)
    errors: dict[tuple[str, str | None], LabelError | None] = {}
    for perturbation in perturbations:
        for language in distinct_languages:
            errors[perturbation, language] = look_up_perturbation_error_rate(perturbation, language)
    return errors


@functools.cache
def _load_label_error_counts() -> dict[tuple[str, str], tuple[int, int, int]]:
    """Load three counts for each language and perturbation: pairs that were read, pairs whose changed output
    is not worse, and pairs whose changed output is better.
    """
    text = files("metassay.perturbations").joinpath(COUNTS_FILE).read_text(encoding="utf-8")
    counts: dict[tuple[str, str], tuple[int, int, int]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            language, perturbation, pairs_read, not_worse, better = line.split("\t")
            counts[language, perturbation] = int(pairs_read), int(not_worse), int(better)
    return counts


def wilson_interval(count: int, total: int) -> tuple[float, float]:
    """Return Wilson's (1927) 95 % score interval for the proportion `count / total`.

    >>> [round(end, 3) for end in wilson_interval(5, 100)]
    [0.022, 0.112]
    """
    z = NormalDist().inv_cdf((1 + CONFIDENCE_LEVEL) / 2)
    share = count / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    spread = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, middle - spread), min(1.0, middle + spread)
