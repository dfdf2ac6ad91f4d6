"""The form people know from sacrebleu: one line a segment, a file per system, a file of references."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from metassay.data.readers.files import checked_text, plain_name, read_bytes
from metassay.errors import InputError, Place


def read_lines(path: str) -> list[str]:
    """The lines of a text file, split at LF alone; a line may be empty."""
    content = read_bytes(path)
    if not content:
        raise InputError("the file is empty.", place=Place(file=path, line=1))
    text = checked_text(content, path) if content.strip() else content.decode()
    return text.removesuffix("\n").split("\n")


def read_parallel(
    references: Sequence[str], hypotheses: Sequence[str], source: str | None = None
) -> pl.DataFrame:
    """A table `seg_id, system, output, ref1, ref2 …, source` from parallel files; lengths must agree."""
    if not references or not hypotheses:
        raise InputError("the plain-text form needs --reference FILE and --hypothesis FILE….")
    streams = [read_lines(path) for path in references]
    size, first = len(streams[0]), references[0]
    segments = {f"ref{number}": lines for number, lines in enumerate(streams, start=1)}
    if source is not None:
        segments["source"] = read_lines(source)
    for path, lines in zip([*references, source or ""], segments.values()):
        _check_length(path, lines, size, first)
    names = [plain_name(path) for path in hypotheses]
    tables = []
    for path, name in zip(hypotheses, names):
        if names.count(name) > 1:
            raise InputError(
                f"two hypothesis files are called {name}.",
                place=Place(file=path),
                remedy="Rename one of them.",
            )
        lines = read_lines(path)
        _check_length(path, lines, size, first)
        columns = {"seg_id": list(range(1, size + 1)), "system": [name] * size, "output": lines, **segments}
        tables.append(pl.DataFrame(columns))
    return pl.concat(tables)


def _check_length(path: str, lines: list[str], size: int, reference: str) -> None:
    if len(lines) != size:
        raise InputError(
            f"{len(lines)} lines, but {reference} has {size}.",
            place=Place(file=path),
            remedy="Line n of every file must belong to segment n.",
        )
