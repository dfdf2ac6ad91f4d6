"""`align`: show every output next to its reference, word by word."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import polars as pl

from metassay.data.cells import sort_ids
from metassay.data.dataset import Dataset
from metassay.data.preparation import prepare_dataset_for_scoring
from metassay.data.summary import summarize_dataset
from metassay.errors import InputError
from metassay.metrics.alignment import Alignment, align_with_fewest_edits
from metassay.reporting.result_display import ResultDisplay
from metassay.reporting.terminal.align import describe_alignments
from metassay.reporting.terminal.blocks import Block
from metassay.results.align import AlignContent, AlignedWord
from metassay.store.run_folder import RunFolder
from metassay.workflows.read import Source, read

COLUMNS = AlignedWord.__struct_fields__


class AlignResult(ResultDisplay, AlignContent, frozen=True, kw_only=True):
    """Result of `align`: the outputs of each system, aligned with their references.

    `systems` has the alignment of each item by system. It is not part of the JSON.
    """

    json_type = AlignContent

    systems: dict[str, dict[str, Alignment]]

    def to_frame(self) -> pl.DataFrame:
        """Return a table of the alignments, with one row per word."""
        rows = [msgspec.structs.astuple(word) for word in self.alignments]
        return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")

    def describe_result_for_terminal(self, *, by_characters: bool, include_correct: bool) -> list[Block]:
        """Describe the result in the lines, tables and notes that the command line prints."""
        return describe_alignments(self.systems, by_characters=by_characters, include_correct=include_correct)


def align(
    dataset: Dataset | Source,
    *,
    characters: bool = False,
    normalize: str | None = None,
    out: str | Path | None = None,
) -> AlignResult:
    """Align each output with its reference, word by word or character by character, with as few edits as
    possible.

    Of several references, the one that needs the fewest edits is used. `out` is a folder for the table and
    the JSON.

    >>> rows = [{"seg_id": 1, "system": "a", "hyp": "the fox ran off", "ref": "the red fox ran away"}]
    >>> align(rows).to_frame()["kind"].to_list()
    ['hit', 'deletion', 'hit', 'hit', 'substitution']
    """
    data = prepare_dataset_for_scoring(read(dataset), normalize=normalize, keep_references=True)
    if "references" not in data.outputs.columns or data.task_definition.is_ranking:
        raise InputError("outputs are aligned with references, but this data has none.")
    configuration = {"characters": characters, "normalize": normalize}
    identity = {"command": "align", "configuration": configuration, "input": data.content_hash}
    run = (
        None if out is None else RunFolder.open_for_writing(out, identity, data_fingerprint=data.fingerprint)
    )
    systems = _align_outputs_with_references(data, by_characters=characters)
    result = AlignResult(
        alignments=_list_aligned_words(systems), systems=systems, data=summarize_dataset(data)
    )
    if run is not None:
        run.write_result_files(
            {"results/align.json": result.to_dict(), "results/align.csv": result.to_frame()}
        )
    return result


def _align_outputs_with_references(
    dataset: Dataset, *, by_characters: bool
) -> dict[str, dict[str, Alignment]]:
    """Align all outputs with their references. The result is sorted by system, then by item."""
    positions = {item: position for position, item in enumerate(sort_ids(dataset.items))}
    rows = dataset.outputs.select("item", "system", "output", "references").rows()
    rows.sort(key=lambda row: positions[row[0]])
    systems: dict[str, dict[str, Alignment]] = {system: {} for system in dataset.systems}
    for item, system, output, references in rows:
        systems[system][item] = _align_output_with_nearest_reference(
            output, references, by_characters=by_characters
        )
    return systems


def _list_aligned_words(alignments_by_system: Mapping[str, Mapping[str, Alignment]]) -> list[AlignedWord]:
    """List the steps of all alignments, sorted by system and item. Each step is a word of the reference, of
    the output, or of both.
    """
    words: list[AlignedWord] = []
    for system, alignments in alignments_by_system.items():
        for item, alignment in alignments.items():
            words += [
                AlignedWord(system, item, step.kind, step.reference, step.output) for step in alignment.steps
            ]
    return words


def _align_output_with_nearest_reference(
    output: str, references: list[str], *, by_characters: bool
) -> Alignment:
    """Align an output with each of its references, and return the alignment that needs the fewest edits."""
    output_tokens = _split_into_words_or_characters(output, by_characters=by_characters)
    alignments = [
        align_with_fewest_edits(
            _split_into_words_or_characters(reference, by_characters=by_characters), output_tokens
        )
        for reference in references
    ]
    return min(alignments, key=lambda alignment: alignment.edit_count)


def _split_into_words_or_characters(text: str, *, by_characters: bool) -> list[str]:
    """Split a text at white space, or into its characters."""
    return list(text.strip()) if by_characters else text.split()
