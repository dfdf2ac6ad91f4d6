"""The texts in a folder of mt-metrics-eval, plain or as JSON lines, and what its metadata tell of outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from metassay.data import cells
from metassay.data.columns import is_reserved
from metassay.data.readers.files import read_text
from metassay.data.readers.json_tables import parse_json_lines
from metassay.errors import InputError, Place, join_names

KEY = ["system", "seg_id"]
SOURCES, REFERENCES, OUTPUTS = (
    ("sources", "source"),
    ("references", "target"),
    ("system-outputs", "hypothesis"),
)
"""The folders of texts, and the field of their JSON lines that holds the text."""


def with_texts(
    frame: pl.DataFrame, test_set: Path, lp: str, chosen: Sequence[str], segments: int
) -> pl.DataFrame:
    """The scores with source, references and outputs, as far as the folder holds them."""
    texts = {"src": _texts(test_set, segments, SOURCES, lp)}
    for number, name in enumerate(chosen, start=1):
        column = "ref" if len(chosen) == 1 else f"ref{number}"
        texts[column] = _texts(test_set, segments, REFERENCES, f"{lp}.{name}")
    for column, found in texts.items():
        if found is not None:
            frame = frame.join(found.rename({"text": column}), on="seg_id", how="left", maintain_order="left")
    folder = test_set / OUTPUTS[0] / lp
    names = sorted({path.stem for path in folder.glob("*") if path.suffix in {".txt", ".jsonl"}})
    outputs = [(name, _texts(test_set, segments, OUTPUTS, f"{lp}/{name}")) for name in names]
    written = [found.with_columns(system=pl.lit(name)) for name, found in outputs if found is not None]
    if not written:
        return frame
    hypotheses = pl.concat(written).rename({"text": "hyp"})
    return frame.join(hypotheses, on=KEY, how="left", maintain_order="left")


def _texts(test_set: Path, segments: int, kind: tuple[str, str], name: str) -> pl.DataFrame | None:
    """`seg_id, text` of a file with a line per segment, plain or JSON; None where there is neither."""
    folder, field = kind
    plain, objects = (test_set / folder / f"{name}{ending}" for ending in (".txt", ".jsonl"))
    if plain.exists():
        lines: Sequence[str | None] = lines_of(plain)
    elif objects.exists():
        lines = _field(objects, field)
    else:
        return None
    _check_count(len(lines), segments, plain if plain.exists() else objects)
    column = pl.Series("text", lines, dtype=pl.String)
    return pl.DataFrame([pl.int_range(1, segments + 1, eager=True).alias("seg_id"), column])


def _field(path: Path, field: str) -> list[str | None]:
    frame = parse_json_lines(read_text(str(path)), file=str(path))
    if field not in frame.columns:
        raise InputError(
            f"its objects have no field {field!r} (there are: {join_names(frame.columns)}).",
            place=Place(str(path)),
        )
    return cells.texts(frame[field], str(path)).to_list()


def with_metadata(
    frame: pl.DataFrame, test_set: Path, lp: str, segments: int
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The table with what `metadata` tells of each output, and the names of those columns.

    A name that means something else in a table, or is taken, gets `metadata_` before it.
    """
    parts = []
    for path in sorted((test_set / "metadata" / lp).glob("*.jsonl")):
        part = parse_json_lines(read_text(str(path)), file=str(path))
        _check_count(part.height, segments, path)
        flat = part.select([name for name, kind in part.schema.items() if not kind.is_nested()])
        named = flat.rename(_named(frame.columns))
        numbers = pl.int_range(1, segments + 1, eager=True).alias("seg_id")
        parts.append(named.with_columns(pl.lit(path.stem).alias("system"), numbers))
    if not parts:
        return frame, ()
    kinds: dict[str, set[pl.DataType]] = {}
    for part in parts:
        for name, kind in part.schema.items():
            kinds.setdefault(name, set()).add(kind)
    words = [name for name, seen in kinds.items() if pl.String() in seen]  # text in one file, else elsewhere
    texts = [
        part.with_columns(pl.col([name for name in words if name in part.columns]).cast(pl.String))
        for part in parts
    ]
    told = pl.concat(texts, how="diagonal_relaxed")
    described = tuple(name for name in told.columns if name not in KEY)
    return frame.join(told, on=KEY, how="left", maintain_order="left"), described


def _named(taken: Sequence[str]) -> Callable[[str], str]:
    return lambda name: f"metadata_{name}" if name in taken or is_reserved(name) else name


def _check_count(lines: int, segments: int, path: Path) -> None:
    if lines != segments:
        raise InputError(
            f"there are {lines} lines, but the test set has {segments} segments.", place=Place(str(path))
        )


def lines_of(path: Path) -> list[str]:
    """The lines of a text, which end at LF alone."""
    return read_text(str(path)).removesuffix("\n").split("\n")
