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
from metassay.store.metric_cache import cache_subfolder, write_description
from metassay.store.parts import log_note, pack_part
from metassay.store.run_texts import RunTexts, pack_texts

TEXTS_ENTRY = "perturbed outputs"
"""What `cache info` lists in place of a metric."""


class CachedTexts:
    """Reads texts from the run, then from the cache; writes to both. The run may have no folder.

    `environment` is everything that the texts depend on beyond what their names say.
    """

    def __init__(self, run_texts: RunTexts | None, cache: Path, environment: Mapping[str, Any]) -> None:
        dependencies = json.dumps(environment)
        self.run_texts = run_texts
        self.environment = environment
        self._cached = RunTexts(cache_subfolder(cache, dependencies), dependencies)
        self._is_writable = True

    def load(self, name: str) -> list[str | None] | None:
        """Return the texts with this name; None if neither run nor cache has them."""
        if self.run_texts is not None:
            texts = self.run_texts.load(name)
            if texts is not None:
                return texts
        table = self._cached.load_table(name)
        if table is None:
            return None
        if self.run_texts is not None:
            self.run_texts.save_part(name, pack_part(table))
        return table["text"].to_list()

    def save(self, name: str, texts: Sequence[str | None]) -> None:
        """Store texts in the run and in the cache.

        If the cache cannot be written, this is reported once and the run continues without it.
        """
        part = pack_texts(texts)
        if self.run_texts is not None:
            self.run_texts.save_part(name, part)
        if not self._is_writable:
            return
        description = {"metric": TEXTS_ENTRY, "signature": "", "versions": self.environment}
        try:
            write_description(self._cached.folder, description)
            self._cached.save_part(name, part)
        except InputError as error:
            self._is_writable = False
            log_note(f"{error.location}: {error.message} Perturbed outputs are not shared.")

    def private(self) -> RunTexts | None:
        """Return the texts that are not shared with other runs.

        Texts made by user code belong there: no hash covers everything they depend on.
        """
        return self.run_texts
