"""A cache of results for texts that occur in several batches of a run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

# The number of the first batch that contains a text, and of the first field (output, references, source).
TextGroup = tuple[int, int]


@dataclass(frozen=True)
class SharedCache:
    """Results for single texts, such as the vectors of a neural encoder, that several batches of a run share.

    A text that several batches contain is encoded once for all of them. Texts are encoded in groups, so that
    the numbers do not depend on which batch comes first. `find_text_groups` returns the texts that several
    batches contain, each with its group.
    """

    find_text_groups: Callable[[], Mapping[str, TextGroup]] = dict
    run_cache: dict[Hashable, Any] = field(default_factory=dict)
    """Results for texts of several batches, kept until the run ends."""
    batch_cache: dict[Hashable, Any] = field(default_factory=dict)
    """Results for all other texts, kept while their batch is scored."""
