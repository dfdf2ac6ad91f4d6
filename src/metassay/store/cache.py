"""Scores that runs share: a folder that any number of processes read and add to at once.

    AB/ABCD…/about.json              a metric: its signature, and the versions that its scores depend on
    AB/ABCD…/part-CHECKSUM.parquet   scores of single outputs, found by the digest of what was scored
    AB/ABCD…/batch-HASH-CHECKSUM.parquet   scores of one batch, for the very same batch alone
    AB/ABCD…/texts-HASH-CHECKSUM.parquet   worse copies and what was found to make them, for the same data

A name of 128 bits stands for signature and versions, so that no score of another metric, text, weight file
or library is served. Files are immutable. What was warned of in a batch, and numbers that depend on what is
scored beside them (those of neural models), hold for the same batch only, so those are kept by batch.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.engine.batches import Digests, in_order
from metassay.errors import InputError, Place, display_path
from metassay.metrics.base import COST_CLASSES, Metric, Scores
from metassay.plugins import hash_user_source
from metassay.recorded_warnings import RecordedWarnings
from metassay.store import at_hand, listed, remove_leftovers
from metassay.store.parts import (
    Packed,
    ScoreParts,
    TextParts,
    hashed,
    look_up,
    packed,
    packed_texts,
    read_part,
    say,
    score_table,
    write_json,
    write_part,
)
from metassay.store.run import LIBRARIES, versions
from metassay.text.resources import dictionaries

OFF = "off"
TEXTS = "worse copies"
"""In place of a metric, where its scores are not what is kept."""
_NO_NOTES: RecordedWarnings = ()
VARIABLE = "METASSAY_CACHE"


def cache_folder(named: str | Path | None) -> Path | None:
    """The folder that was named, else in the environment; None where there is none, or `off`."""
    chosen = named or os.environ.get(VARIABLE) or OFF
    if str(chosen) == OFF:
        return None
    folder = at_hand(chosen)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"this can be no cache ({reason}).", place=Place(file=str(chosen))) from None
    return folder


def is_shared(metric: Metric) -> bool:
    """Whether scores may leave the run: not those of code, programs and services that no hash knows whole."""
    return metric.is_cacheable and metric.can_share_cache and not hash_user_source(metric)


def about(metric: Metric) -> dict[str, Any]:
    """All that a metric's scores depend on, beside what is scored."""
    libraries = versions(LIBRARIES) | dictionaries(metric.dictionary_languages)
    torch = sys.modules.get("torch")
    if _by_batch(metric) and torch is not None and torch.cuda.is_available():
        libraries["device"] = torch.cuda.get_device_name()
    return {"metric": metric.spec, "signature": metric.signature, "versions": libraries}


def basis_of(known: Mapping[str, Any], metrics: Sequence[Metric], beside: Sequence[Any]) -> str:
    """A hash of all that decides a run beside its settings and data: on another basis it is made again."""
    return hashed(json.dumps([known, [about(metric) for metric in metrics], beside]).encode())


def _by_batch(metric: Metric) -> bool:
    return metric.cost_class != COST_CLASSES[0]


class SharedParts:
    """The parts of a run, if it has a folder, with a cache behind them."""

    def __init__(self, own: ScoreParts | None, folder: Path, metrics: Sequence[Metric]) -> None:
        self.own, self.folder = own, folder
        self._shelves = {m.spec: Shelf.of(m, folder) for m in metrics if is_shared(m)}

    def find(
        self, metric: str, signature: str, number: int, digests: Digests
    ) -> tuple[Scores, RecordedWarnings]:
        """The scores of these contents from the run, else from the cache; NaN where there are none."""
        scores, notes = np.full(len(digests), np.nan), _NO_NOTES
        if self.own is not None:
            scores, notes = self.own.find(metric, signature, number, digests)
        before = np.isnan(scores)
        if metric in self._shelves and before.any():
            notes = (*notes, *self._shelves[metric].find(digests, scores))
            if self.own is not None and (before != np.isnan(scores)).any():
                self.own.keep(metric, signature, number, digests, scores, notes)
        return scores, notes

    def keep(
        self,
        metric: str,
        signature: str,
        number: int,
        digests: Digests,
        scores: Scores,
        notes: RecordedWarnings,
    ) -> None:
        """Keep a finished part in the run and in the cache."""
        part = packed(score_table(digests, scores), notes)
        if self.own is not None:
            self.own.put(metric, signature, number, part)
        if metric in self._shelves:
            self._shelves[metric].put(digests, scores, notes, part)

    def has(self, metric: str, signature: str, number: int) -> bool:
        """Whether the run has a part of this name."""
        return self.own is not None and self.own.has(metric, signature, number)

    def look_again(self) -> None:
        """Find also what others have kept since the first look."""
        if self.own is not None:
            self.own.look_again()
        for shelf in self._shelves.values():
            vars(shelf).pop("_pool", None)

    def places(self) -> tuple[str | None, str | None]:
        """The folders of the run and of the cache."""
        run = None if self.own is None else self.own.places()[0]
        return run, display_path(self.folder.absolute())


def parts_at(run: str | None, cache: str | None, metrics: Sequence[Metric] = ()) -> ScoreParts | SharedParts:
    """Parts as they are found at their `places`."""
    own = None if run is None else ScoreParts(at_hand(run))
    if cache is not None:
        return SharedParts(own, at_hand(cache), metrics)
    if own is None:
        raise InputError("parts are kept in a folder.", remedy="Pass --out or --cache.")
    return own


@dataclass
class Shelf:
    """The scores of one metric in a cache."""

    folder: Path
    about: dict[str, Any]
    by_batch: bool
    writable: bool = True

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    @classmethod
    def of(cls, metric: Metric, folder: Path) -> Shelf:
        """The shelf of a metric, as it is with the libraries installed."""
        known = about(metric)
        name = hashed(json.dumps(known, sort_keys=True).encode())
        return cls(folder / name[:2] / name, known, _by_batch(metric))

    @cached_property
    def _pool(self) -> pl.DataFrame:
        """All scores of single outputs that were there when the first was looked for, sorted."""
        tables = [score_table(np.empty((0, 2), np.uint64), np.empty(0))]
        for path in listed(self.folder, "part-*.parquet"):
            if (part := read_part(path)) is not None:
                tables.append(part[0])
                _used(path)
        return pl.concat(tables).unique(["high", "low"], keep="first").sort("high", "low")

    def find(self, digests: Digests, scores: Scores) -> RecordedWarnings:
        """Fill in the scores that are missing and known here; what was warned of where they come by batch."""
        missing = np.flatnonzero(np.isnan(scores))
        if not self.by_batch:
            with self._lock:
                pool = self._pool
            found = scores[missing]
            look_up(pool, digests[missing], found)
            scores[missing] = found
        if len(missing) < len(scores) or not np.isnan(scores).any():
            return ()
        for path in listed(self.folder, f"batch-{_batch(digests)}-*.parquet"):
            if (part := read_part(path)) is not None:
                look_up(part[0], digests, scores)
                _used(path)
                return part[1]
        return ()

    def put(
        self, digests: Digests, scores: Scores, notes: RecordedWarnings, part: Packed | None = None
    ) -> None:
        """Add what is not here yet; a cache that cannot be written is said once, and the run goes on.

        `part` is all of it, where that is ready to be written.
        """
        if not self.writable:
            return
        stem = f"batch-{_batch(digests)}" if self.by_batch or notes else "part"
        new = np.ones(len(digests), dtype=np.bool_)
        if stem == "part":
            with self._lock:
                known = np.full(len(digests), np.nan)
                look_up(self._pool, digests, known)
            new = np.isnan(known)
        if np.isnan(scores[new]).all():
            return
        if part is None or not new.all():
            part = packed(score_table(digests[new], scores[new]), notes)
        try:
            with self._lock:  # threads share the name of the file in the making
                _describe(self.folder, self.about)
            write_part(self.folder, stem, part)
        except InputError as error:
            self.writable = False
            say(f"{error.place}: {error.message} The scores of {self.about['metric']} are not shared.")


class SharedTexts:
    """The worse copies of a run, if it has a folder, with a cache behind them, and what it took to make them.

    `about` is all that they depend on beside what their names say.
    """

    def __init__(self, own: TextParts | None, folder: Path, about: Mapping[str, Any]) -> None:
        known = json.dumps(about)
        name = hashed(known.encode())
        self.own, self.about = own, about
        self._shelf = TextParts(folder / name[:2] / name, known)
        self._writable = True

    def load(self, name: str) -> list[str | None] | None:
        """What the run keeps under a name, else the cache; None where neither does."""
        if self.own is not None and (kept := self.own.load(name)) is not None:
            return kept
        found = self._shelf.find(name)
        if found is not None and self.own is not None:
            self.own.put(name, packed(found))
        return None if found is None else found["text"].to_list()

    def save(self, name: str, texts: Sequence[str | None]) -> None:
        """Keep a finished part in the run and in the cache."""
        part = packed_texts(texts)
        if self.own is not None:
            self.own.put(name, part)
        if not self._writable:
            return
        try:
            _describe(self._shelf.folder, {"metric": TEXTS, "signature": "", "versions": self.about})
            self._shelf.put(name, part)
        except InputError as error:
            self._writable = False
            say(f"{error.place}: {error.message} Worse copies are not shared.")

    def private(self) -> TextParts | None:
        """The run alone."""
        return self.own


def _describe(folder: Path, about: Mapping[str, Any]) -> None:
    if not (folder / "about.json").is_file():
        write_json(folder / "about.json", about)


def _batch(digests: Digests) -> str:
    """What stands for a batch, whatever the order of its rows."""
    return hashed(digests[in_order(digests)].tobytes())


def _used(path: Path) -> None:
    """Note that a part was of use: those that were not for long are pruned first."""
    with suppress(OSError):
        os.utime(path)


def shelves(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every metric in a cache: its folder, and what is said about it."""
    for file in sorted(folder.glob("??/*/about.json")):
        try:
            known = json.loads(file.read_text(encoding="utf-8"))
            yield file.parent, {name: known[name] for name in ("metric", "signature", "versions")}
        except (OSError, ValueError, KeyError, TypeError):
            yield file.parent, {"metric": "?", "signature": "?", "versions": {}}


def stored(folder: Path) -> list[Path]:
    """Every part in a cache, the one that was of use longest ago first."""
    found = [path for path in folder.glob("??/*/*.parquet*") if path.is_file()]
    return sorted(found, key=lambda path: (path.stat().st_mtime, str(path)))


def prune(folder: Path, *, most: int) -> list[Path]:
    """Remove broken parts, then those of no use for longest, until at most so many bytes are left."""
    remove_leftovers(folder)
    parts = stored(folder)
    left = sum(path.stat().st_size for path in parts if path.suffix == ".parquet")
    removed = []
    for path in sorted(parts, key=lambda path: path.suffix == ".parquet"):
        whole = path.suffix == ".parquet"
        if whole and left <= most:
            break
        left -= path.stat().st_size if whole else 0
        path.unlink(missing_ok=True)
        removed.append(path)
    return removed


def verify(folder: Path) -> tuple[int, list[Path]]:
    """How many parts are whole, and which are not: those are set aside, and named."""
    parts = [path for path in stored(folder) if path.suffix == ".parquet"]
    broken = [path for path in parts if read_part(path) is None]
    return len(parts) - len(broken), broken
