"""`ComparisonSettings`: how metrics are tested against each other."""

from __future__ import annotations

from dataclasses import dataclass

from metassay.errors import InputError, UnknownName
from metassay.stats.score_exchanges import EXCHANGE_KINDS

NORMAL = "normal"
PERMUTATION = "permutation"
BOOTSTRAP = "bootstrap"
WILLIAMS = "williams"
NO_TEST = "none"
TESTS = (*EXCHANGE_KINDS, BOOTSTRAP, WILLIAMS, NO_TEST)


@dataclass(frozen=True)
class ComparisonSettings:
    """Settings for comparing two metrics: the statistical test and the number of random draws."""

    test: str = "perm-inputs"
    method: str = NORMAL
    """How the p-values inside SPA are computed: `normal`, `permutation` or `mtme`."""
    draws: int = 1000
    """Draws of the test and of bootstrap intervals."""
    permutations: int = 1000
    """Permutations for each p-value inside SPA, where `method` is not `normal`."""
    seed: int = 0
    workers: int | None = None
    stream: int = 0
    """Number of the random stream. Data sets that are averaged must differ in it, so that their draws do."""

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise UnknownName("test", self.test, TESTS)
        if self.draws < 1:
            raise InputError(f"{self.draws} draws are too few.", remedy="Use at least 1; 1000 is usual.")
