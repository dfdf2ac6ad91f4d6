"""Finished texts in a run folder, so that an interrupted run continues where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from metassay.store.parts import (
    PackedPart,
    PartIndex,
    encode_part,
    hash_bytes,
    make_safe_file_name,
    read_part,
)


class RunTexts:
    """The texts in a run folder: perturbed outputs, and what perturbations computed from texts.

    `dependencies` is everything that the texts depend on beyond what their names say.
    """

    def __init__(self, folder: Path, dependencies: str) -> None:
        self.folder = folder
        self.dependencies = dependencies
        self._parts = PartIndex(folder, "texts-")

    def load(self, name: str) -> list[str | None] | None:
        """Load the texts that are stored under a name; None if there are none."""
        table = self.load_table(name)
        return None if table is None else table["text"].to_list()

    def load_table(self, name: str) -> pl.DataFrame | None:
        """Load the texts that are stored under a name as a table; None if there are none."""
        for path in self._parts.find(self._make_part_name(name)):
            part = read_part(path)
            if part is not None:
                return part[0]
        return None

    def save(self, name: str, texts: Sequence[str | None]) -> None:
        """Store texts under a name."""
        self.save_part(name, pack_texts(texts))

    def save_part(self, name: str, packed_part: PackedPart) -> None:
        """Store a part that is already encoded."""
        self._parts.write(self._make_part_name(name), packed_part)

    def private(self) -> RunTexts:
        """Return the store of texts that other runs do not share: this one."""
        return self

    def _make_part_name(self, name: str) -> str:
        """Return the name of the part that stores texts under a name."""
        # The first word is the spec of the perturbation. It is only for people; the hash identifies the
        # texts.
        readable_name = make_safe_file_name(name.partition(" ")[0])
        return f"texts-{readable_name}-{hash_bytes(f'{name} {self.dependencies}'.encode())}"


def pack_texts(texts: Sequence[str | None]) -> PackedPart:
    """Encode texts as a part."""
    return encode_part(pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)}))
