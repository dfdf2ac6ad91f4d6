"""A store for finished perturbed outputs, so that an interrupted run continues where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from metassay.perturbations.base import AnyPerturbation
from metassay.plugins import hash_user_code


class TextStore(Protocol):
    """A place where outputs that were made worse are stored by name. The package `store` implements this
    interface with files.
    """

    def load_stored_texts(self, cache_key: str) -> list[str | None] | None:
        """Load the texts that are stored under a name, or return None if there are none."""
        ...

    def save_texts(self, cache_key: str, texts: Sequence[str | None]) -> None:
        """Store texts under a name, which must identify everything that they depend on."""
        ...

    def get_store_of_this_run(self) -> TextStore | None:
        """Return a store that other runs do not share, or None if there is none."""
        ...


def choose_store_for_perturbed_texts(
    perturbation: AnyPerturbation, default_store: TextStore | None
) -> TextStore | None:
    """Return the store for the texts of a perturbation. Perturbations written by the user get a store that
    other runs do not share.

    Results of user code are not shared, because no hash covers everything that they depend on.
    """
    if default_store is not None and hash_user_code(perturbation):
        return default_store.get_store_of_this_run()
    return default_store


def build_cache_key_of_perturbation(perturbation: AnyPerturbation) -> str:
    """Return a text that changes if a perturbation does: its name and parameters, and a hash of the source if
    the user wrote it.
    """
    return f"{perturbation.spec} {hash_user_code(perturbation)}".strip()
