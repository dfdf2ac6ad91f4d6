"""What a perturbation sees of an output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class View(Generic[T_co]):
    """One output and what surrounds it: a text, or for rankings a tuple of document ids, best first.

    Only what is equal for equal outputs of an item is here, never the system: that is what makes equal
    outputs get equal copies.
    """

    output: T_co
    item: str = ""
    language: str | None = None
    source: str | None = None
    references: tuple[str, ...] = ()
    rivals: tuple[T_co, ...] = ()
    """Other outputs for the same item that are known to be worse than this one, worst first."""
    siblings: tuple[T_co, ...] = ()
    """All outputs for the same item, this one among them."""
    grades: Mapping[str, int] = field(default_factory=dict)
    """Rankings: relevance of the documents judged for this item."""
    collected: Mapping[str, Any] = field(default_factory=dict)
    """What perturbations gathered from all texts in this language, by name of the perturbation."""
