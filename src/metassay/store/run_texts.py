"""Finished texts in a run folder, so that an interrupted run continues where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from metassay.store.parts import (
    EncodedTable,
    PartIndex,
    encode_table_as_parquet,
    hash_bytes,
    make_short_file_name,
    read_parquet_file,
)


class RunTexts:
    """Stores lists of texts, such as outputs that were made worse, by name in a run folder.

    `dependencies` is everything that the texts depend on beyond what their names say.
    """

    def __init__(self, folder: Path, dependencies: str) -> None:
        self.folder = folder
        self.dependencies = dependencies
        self._parts = PartIndex(folder, "texts-")

    def load_stored_texts(self, cache_key: str) -> list[str | None] | None:
        """Load the list of texts with this name; None if it is not stored."""
        table = self.load_text_table(cache_key)
        return None if table is None else table["text"].to_list()

    def load_text_table(self, name: str) -> pl.DataFrame | None:
        """Load the list of texts with this name as a table; None if it is not stored."""
        for path in self._parts.find_files_by_name(self._make_text_file_name(name)):
            part = read_parquet_file(path)
            if part is not None:
                return part[0]
        return None

    def save_texts(self, cache_key: str, texts: Sequence[str | None]) -> None:
        """Store a list of texts under a name."""
        self.save_encoded_texts(cache_key, encode_texts_as_parquet(texts))

    def save_encoded_texts(self, name: str, encoded_table: EncodedTable) -> None:
        """Store a list of texts that is encoded as a Parquet file already."""
        self._parts.replace_stored_file(self._make_text_file_name(name), encoded_table)

    def get_store_of_this_run(self) -> RunTexts:
        """Return the store for texts that other runs must not reuse. It is this object, because a run folder
        belongs to a single run.
        """
        return self

    def _make_text_file_name(self, name: str) -> str:
        """Return the file name of the list of texts with this name, without the checksum."""
        # The first word is the spec of the perturbation. It is only for people; the hash identifies the
        # texts.
        readable_name = make_short_file_name(name.partition(" ")[0])
        return f"texts-{readable_name}-{hash_bytes(f'{name} {self.dependencies}'.encode())}"


def encode_texts_as_parquet(texts: Sequence[str | None]) -> EncodedTable:
    """Encode a list of texts as the bytes of a Parquet file."""
    return encode_table_as_parquet(pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)}))
