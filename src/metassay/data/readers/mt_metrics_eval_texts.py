"""Texts and metadata in folders of mt-metrics-eval, as plain text or as JSON lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from metassay.data import cells
from metassay.data.readers.files import read_text
from metassay.data.readers.json_tables import parse_json_lines
from metassay.data.readers.sample_columns import choose_unused_column_name
from metassay.errors import InputError, InputLocation, join_with_commas

# Columns that identify an output.
OUTPUT_KEY = ["system", "seg_id"]
# The field that holds the text in JSON lines, by folder.
_TEXT_FIELDS = {"sources": "source", "references": "target", "system-outputs": "hypothesis"}


def add_text_columns(
    table: pl.DataFrame,
    test_set_folder: Path,
    language_pair: str,
    references: Sequence[str],
    segment_count: int,
) -> pl.DataFrame:
    """Add columns with the texts of sources, references and outputs to a table of scores. Texts that the test
    set lacks are left out.
    """
    files = {"src": ("sources", language_pair)}
    for number, reference in enumerate(references, start=1):
        column = "ref" if len(references) == 1 else f"ref{number}"
        files[column] = ("references", f"{language_pair}.{reference}")
    for column, (folder, name) in files.items():
        texts = read_texts(test_set_folder / folder, name, segment_count)
        if texts is not None:
            named = texts.rename({"text": column})
            table = table.join(named, on="seg_id", how="left", maintain_order="left")
    outputs = _read_outputs(test_set_folder / "system-outputs", language_pair, segment_count)
    if outputs is None:
        return table
    return table.join(outputs, on=OUTPUT_KEY, how="left", maintain_order="left")


def _read_outputs(outputs_folder: Path, language_pair: str, segment_count: int) -> pl.DataFrame | None:
    """Read the outputs of all systems into a table `seg_id, hyp, system`. Returns None if the test set has no
    outputs.
    """
    files = [path for path in (outputs_folder / language_pair).glob("*") if path.suffix in {".txt", ".jsonl"}]
    tables = []
    for system in sorted({path.stem for path in files}):
        texts = read_texts(outputs_folder, f"{language_pair}/{system}", segment_count)
        if texts is not None:
            tables.append(texts.rename({"text": "hyp"}).with_columns(system=pl.lit(system)))
    return pl.concat(tables) if tables else None


def read_texts(folder: Path, file_name: str, segment_count: int) -> pl.DataFrame | None:
    """Read the texts of a file with a line per segment into a table `seg_id, text`. Returns None if there is
    no such file.
    """
    plain = folder / f"{file_name}.txt"
    json_lines = folder / f"{file_name}.jsonl"
    texts: Sequence[str | None]
    if plain.exists():
        file = plain
        texts = read_segment_lines(plain)
    elif json_lines.exists():
        file = json_lines
        texts = _read_text_field(json_lines, _TEXT_FIELDS[folder.name])
    else:
        return None
    _check_line_count(len(texts), segment_count, file)
    ids = pl.int_range(1, segment_count + 1, eager=True).alias("seg_id")
    return pl.DataFrame([ids, pl.Series("text", texts, dtype=pl.String)])


def _read_text_field(path: Path, json_field: str) -> list[str | None]:
    """Read the text in one field of each line of a JSON lines file."""
    table = parse_json_lines(read_text(str(path)), file=str(path))
    if json_field not in table.columns:
        raise InputError(
            f"its objects have no field {json_field!r} (there are: {join_with_commas(table.columns)}).",
            location=InputLocation(str(path)),
        )
    return cells.check_text_column(table[json_field], str(path)).to_list()


def add_metadata_columns(
    table: pl.DataFrame, test_set_folder: Path, language_pair: str, segment_count: int
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Add the columns that describe the outputs of each system, from the files `metadata/LP/SYSTEM.jsonl`.
    Also returns the names of these columns.

    A name that is taken or means something else in a table gets the prefix `metadata_`.
    """
    tables = []
    for path in sorted((test_set_folder / "metadata" / language_pair).glob("*.jsonl")):
        objects = parse_json_lines(read_text(str(path)), file=str(path))
        _check_line_count(objects.height, segment_count, path)
        flat = objects.select([name for name, dtype in objects.schema.items() if not dtype.is_nested()])
        names = {name: choose_unused_column_name(name, table.columns, "metadata_") for name in flat.columns}
        named = flat.rename(names)
        ids = pl.int_range(1, segment_count + 1, eager=True).alias("seg_id")
        tables.append(named.with_columns(pl.lit(path.stem).alias("system"), ids))
    if not tables:
        return table, ()
    # A column that is text for one system becomes text for all.
    metadata = pl.concat(tables, how="diagonal_relaxed")
    columns = tuple(name for name in metadata.columns if name not in OUTPUT_KEY)
    return table.join(metadata, on=OUTPUT_KEY, how="left", maintain_order="left"), columns


def _check_line_count(line_count: int, segment_count: int, path: Path) -> None:
    """Raise an error unless a file has a line per segment."""
    if line_count != segment_count:
        raise InputError(
            f"there are {line_count} lines, but the test set has {segment_count} segments.",
            location=InputLocation(str(path)),
        )


def read_segment_lines(path: Path) -> list[str]:
    """Read the lines of a file that has one line per segment. Only LF ends a line."""
    return read_text(str(path)).removesuffix("\n").split("\n")
