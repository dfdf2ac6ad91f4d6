"""Tables and JSON of runs, and parts of scores and texts.

A part carries the checksum of its bytes in its name. One that is not what it was is set aside, named, and
made again.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from metassay.data.memory import release_memory
from metassay.engine.batches import Digests, in_order
from metassay.errors import InputError, display_path
from metassay.metrics.base import Scores
from metassay.recorded_warnings import RecordedWarnings
from metassay.store import arrive, listed, new_file, put, remove, write_bytes

_NOTES = "notes"
_GROUPS = 64


def write_json(path: Path, content: Any) -> None:
    """JSON, a line for each entry of the outer objects and lists; NaN and infinities are refused."""
    write_bytes(path, f"{_in_lines(content)}\n".encode())


def _in_lines(content: Any, depth: int = 2) -> str:
    """A line for every entry of the outer objects and lists; with a line for each number it takes longer."""
    if depth and content and isinstance(content, dict):
        inside = [f"{_compact(str(key))}: {_in_lines(own, depth - 1)}" for key, own in content.items()]
        return "{\n" + ",\n".join(inside) + "\n}"
    if content and isinstance(content, list | tuple):
        return "[\n" + ",\n".join(map(_compact, content)) + "\n]"
    return _compact(content)


_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def write_frame(path: Path, frame: pl.DataFrame | Sequence[pl.DataFrame], *, group: int = 2**18) -> None:
    """A Parquet file, in row groups of `group` rows; of tables under each other one group at a time."""
    if isinstance(frame, pl.DataFrame):
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd", statistics=False, row_group_size=group)
        write_bytes(path, buffer.getbuffer())
        return
    whole, oldest = (pl.concat(frame, rechunk=False), pl.CompatLevel.oldest())
    kinds = whole.head(0).to_arrow(compat_level=oldest).schema
    how: dict[str, Any] = {"compression": "zstd", "write_statistics": False}
    with new_file(path) as temporary, pq.ParquetWriter(temporary, kinds, **how) as writer:
        for number, some in enumerate(whole.iter_slices(group), start=1):
            writer.write_table(some.to_arrow(compat_level=oldest).cast(kinds))
            if number % _GROUPS == 0:
                release_memory()


class Scratch:
    """Tables that a process puts aside while it works, in a run folder or else among temporary files.

    What one that was killed leaves behind, `remove_leftovers` finds by its name.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder, self.files = folder, list[Path]()

    def put(self, name: str, frame: pl.DataFrame) -> Path:
        """Write a table, as it lies in memory."""
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="metassay-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        with new_file(self.folder / name, stays=True) as file:
            self.files.append(file)
            frame.write_ipc(file, record_batch_size=max(1, frame.height))
        return file

    def clear(self) -> None:
        """Remove them; what is mapped into memory stays there until nobody reads it."""
        with suppress(OSError):
            for file in self.files:
                file.unlink()
            if self.files and self.folder is not None:
                self.folder.rmdir()


Packed = tuple[bytes, str]
"""The bytes of a part and their checksum: made once, however many folders keep it."""


def packed(frame: pl.DataFrame, notes: RecordedWarnings = ()) -> Packed:
    """A table, and what was warned of as it was made."""
    buffer = io.BytesIO()
    about = {_NOTES: json.dumps(notes, ensure_ascii=False)}
    frame.write_parquet(buffer, compression="lz4", statistics=False, metadata=about)
    content = buffer.getvalue()
    return content, hashed(content)


def write_part(folder: Path, stem: str, part: Packed) -> Path:
    """A part as `STEM-CHECKSUM.parquet`."""
    content, checksum = part
    path = folder / f"{stem}-{checksum}.parquet"
    write_bytes(path, content, lasting=False)
    return path


def read_part(path: Path) -> tuple[pl.DataFrame, RecordedWarnings] | None:
    """What a part holds; None where it is gone or broken, which is then said, and it is set aside."""
    arrive(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        say(f"{display_path(path)}: cannot be read ({error.strerror}); what it holds is computed again.")
        return None
    if hashed(content) != path.stem.rpartition("-")[2]:
        _set_aside(path)
        return None
    about = pl.read_parquet_metadata(io.BytesIO(content))
    return pl.read_parquet(io.BytesIO(content)), tuple((n, text) for n, text in json.loads(about[_NOTES]))


def is_whole(path: Path) -> bool:
    """Whether a part is what it was when it was written."""
    arrive(path)
    try:
        return hashed(path.read_bytes()) == path.stem.rpartition("-")[2]
    except OSError:
        return False


def hashed(content: bytes) -> str:
    """128 bits that stand for a content."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _set_aside(path: Path) -> None:
    aside = path.with_name(f"{path.name}.broken")
    try:
        path.replace(aside)
        put(aside)
        remove(path)
    except (OSError, InputError):
        say(f"{display_path(path)}: broken (its checksum differs); what it held is computed again.")
    else:
        broken = "broken (its checksum differs)"
        say(f"{display_path(path)}: {broken}, now {aside.name}; what it held is computed again.")


def say(what: str) -> None:
    """On standard error, unless the program around us logs elsewhere: never part of a result."""
    logging.getLogger("metassay").warning("Note: %s", what)


class _Folder:
    """The parts in a folder, by name without checksum; looked for once, then as this process writes them."""

    def __init__(self, folder: Path, prefix: str) -> None:
        self.folder, self.prefix = folder, prefix
        self._lock = threading.Lock()
        self._listed: dict[str, list[Path]] | None = None

    def paths(self, stem: str) -> list[Path]:
        """The parts of this name: one, or two where a writer was stopped at the wrong moment."""
        with self._lock:
            return self._index().get(stem, [])

    def put(self, stem: str, path: Path) -> None:
        """A part that was written, in place of what there was."""
        for before in self.paths(stem):
            if before != path:
                remove(before)
        with self._lock:
            self._index()[stem] = [path]

    def _index(self) -> dict[str, list[Path]]:
        if self._listed is None:
            self._listed = {}
            for path in listed(self.folder, f"{self.prefix}*.parquet"):
                self._listed.setdefault(path.stem.rpartition("-")[0], []).append(path)
        return self._listed


class ScoreParts:
    """Finished scores of a run: a part per metric and batch, each row found by the digest of its content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts = _Folder(folder, "part-")

    def find(
        self, metric: str, signature: str, number: int, digests: Digests
    ) -> tuple[Scores, RecordedWarnings]:
        """The scores of these contents, NaN where none is kept, and what was warned of as they were made."""
        scores = np.full(len(digests), np.nan)
        notes: RecordedWarnings = ()
        for path in self._parts.paths(stem_of(metric, signature, number)):
            if (part := read_part(path)) is not None:
                look_up(part[0], digests, scores)
                notes = (*notes, *part[1])
        return scores, tuple(dict.fromkeys(notes))

    def keep(
        self,
        metric: str,
        signature: str,
        number: int,
        digests: Digests,
        scores: Scores,
        notes: RecordedWarnings,
    ) -> None:
        """Keep a finished part in place of what there was of it; undefined scores are left out."""
        self.put(metric, signature, number, packed(score_table(digests, scores), notes))

    def put(self, metric: str, signature: str, number: int, part: Packed) -> None:
        """Keep a part that is ready."""
        stem = stem_of(metric, signature, number)
        self._parts.put(stem, write_part(self.folder, stem, part))

    def has(self, metric: str, signature: str, number: int) -> bool:
        """Whether there is a part of this name."""
        return bool(self._parts.paths(stem_of(metric, signature, number)))

    def look_again(self) -> None:
        """Find also what others have kept since the first look."""
        self._parts = _Folder(self.folder, "part-")

    def places(self) -> tuple[str | None, str | None]:
        """The folder behind it, and no cache."""
        return display_path(self.folder.absolute()), None


class TextParts:
    """Finished texts of a run, under names that say all that they depend on; `about` belongs to each name."""

    def __init__(self, folder: Path, about: str) -> None:
        self.folder, self.about = folder, about
        self._parts = _Folder(folder, "texts-")

    def load(self, name: str) -> list[str | None] | None:
        """What is kept under a name; None where nothing is."""
        return None if (found := self.find(name)) is None else found["text"].to_list()

    def find(self, name: str) -> pl.DataFrame | None:
        """The same as a table."""
        parts = map(read_part, self._parts.paths(self._stem(name)))
        return next((part[0] for part in parts if part is not None), None)

    def save(self, name: str, texts: Sequence[str | None]) -> None:
        """Keep a finished part."""
        self.put(name, packed_texts(texts))

    def put(self, name: str, part: Packed) -> None:
        """Keep a part that is ready."""
        self._parts.put(self._stem(name), write_part(self.folder, self._stem(name), part))

    def private(self) -> TextParts:
        """Itself: what is kept here is the run's alone."""
        return self

    def _stem(self, name: str) -> str:
        return f"texts-{_slug(name.partition(' ')[0])}-{hashed(f'{name} {self.about}'.encode())}"


def packed_texts(texts: Sequence[str | None]) -> Packed:
    """Texts as a part."""
    return packed(pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)}))


def stem_of(metric: str, signature: str, number: int) -> str:
    """The name of a part: readable, and different for every signature."""
    return f"part-{_slug(metric)}-{hashed(signature.encode())}-{number:05d}"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9_.-]+", "-", name.lower())[:60].strip("-")


def score_table(digests: Digests, scores: Scores) -> pl.DataFrame:
    """The defined scores, sorted by the digest of what was scored."""
    defined = ~np.isnan(scores)
    digests, scores = digests[defined], scores[defined]
    order = in_order(digests)
    return pl.DataFrame({"high": digests[order, 0], "low": digests[order, 1], "score": scores[order]})


def look_up(table: pl.DataFrame, digests: Digests, scores: Scores) -> None:
    """Put the scores that a table has of these contents where they belong."""
    high, low, known = (table[name].to_numpy() for name in ("high", "low", "score"))
    if not len(high):
        return
    place = np.searchsorted(high, digests[:, 0])
    while True:
        place = place.clip(max=len(high) - 1)
        same = high[place] == digests[:, 0]
        found = same & (low[place] == digests[:, 1])
        further = same & ~found & (place + 1 < len(high))
        if not further.any():
            break
        place += further
    scores[found] = known[place[found]]
