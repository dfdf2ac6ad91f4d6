"""The texts of a run with a cache behind them.

AB/ABCD…/about.json                    the versions that the texts depend on
AB/ABCD…/texts-HASH-CHECKSUM.parquet   perturbed outputs, or what was computed to make them
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metassay.errors import InputError
from metassay.store.metric_cache import find_cache_subfolder, write_dependency_description
from metassay.store.parts import encode_table_as_parquet, log_note_for_user
from metassay.store.run_texts import RunTexts, encode_texts_as_parquet

# What `cache info` lists in place of a metric.
TEXTS_ENTRY = "perturbed outputs"


class CachedTexts:
    """Stores lists of texts, such as outputs that were made worse, in a run folder (if there is one) and in a
    cache that several runs share.

    `environment` is everything that the texts depend on beyond what their names say.
    """

    def __init__(self, run_texts: RunTexts | None, cache: Path, environment: Mapping[str, Any]) -> None:
        dependencies = json.dumps(environment)
        self.run_texts = run_texts
        self.environment = environment
        self._cached = RunTexts(find_cache_subfolder(cache, dependencies), dependencies)
        self._is_writable = True

    def load_stored_texts(self, cache_key: str) -> list[str | None] | None:
        """Load the list of texts with this name from the run folder or the cache; None if neither has it."""
        if self.run_texts is not None:
            texts = self.run_texts.load_stored_texts(cache_key)
            if texts is not None:
                return texts
        table = self._cached.load_text_table(cache_key)
        if table is None:
            return None
        if self.run_texts is not None:
            self.run_texts.save_encoded_texts(cache_key, encode_table_as_parquet(table))
        return table["text"].to_list()

    def save_texts(self, cache_key: str, texts: Sequence[str | None]) -> None:
        """Store a list of texts under a name in the run folder and in the cache.

        If the cache cannot be written, this is reported once and the run continues without it.
        """
        part = encode_texts_as_parquet(texts)
        if self.run_texts is not None:
            self.run_texts.save_encoded_texts(cache_key, part)
        if not self._is_writable:
            return
        description = {"metric": TEXTS_ENTRY, "signature": "", "versions": self.environment}
        try:
            write_dependency_description(self._cached.folder, description)
            self._cached.save_encoded_texts(cache_key, part)
        except InputError as error:
            self._is_writable = False
            log_note_for_user(
                f"{error.location}: {error.message} Perturbed outputs are not stored in the cache."
            )

    def get_store_of_this_run(self) -> RunTexts | None:
        """Return the store of the run folder, for texts that other runs must not reuse. None if there is no
        run folder.

        Texts made by user code belong there: no hash covers everything they depend on.
        """
        return self.run_texts
