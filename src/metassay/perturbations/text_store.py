"""Where finished perturbed outputs are stored, so that an interrupted run continues where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from metassay.perturbations.base import AnyPerturbation
from metassay.plugins import hash_user_source


class TextStore(Protocol):
    """Stores lists of texts by name. The package `store` has the implementations."""

    def load(self, name: str) -> list[str | None] | None:
        """Return the texts with this name; None if there are none."""
        ...

    def save(self, name: str, texts: Sequence[str | None]) -> None:
        """Store texts under a name, which says everything that they depend on."""
        ...

    def private(self) -> TextStore | None:
        """Return a store that is not shared with other runs; None if there is none."""
        ...


def choose_store(perturbation: AnyPerturbation, store: TextStore | None) -> TextStore | None:
    """Return where the results of a perturbation are stored.

    Those of user code are not shared between runs, because no hash covers everything that they depend on.
    """
    if store is not None and hash_user_source(perturbation):
        return store.private()
    return store


def identify(perturbation: AnyPerturbation) -> str:
    """Return a text that identifies a perturbation: its spec and, for user code, a hash of the source."""
    return f"{perturbation.spec} {hash_user_source(perturbation)}".strip()
