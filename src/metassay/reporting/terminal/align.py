"""What `metassay align` prints: outputs under their references, in the form of `jiwer -a`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metassay.metrics.alignment import KINDS, Alignment, Step
from metassay.reporting.terminal.blocks import Block, Line

ERROR_LETTERS = {"hit": " ", "substitution": "S", "deletion": "D", "insertion": "I"}


def describe_alignments(
    systems: Mapping[str, Mapping[str, Alignment]], *, by_characters: bool, include_correct: bool
) -> list[Block]:
    """Describe for the terminal how each output is aligned with its reference word by word. Outputs without
    errors are shown only if requested.
    """
    blocks: list[Block] = []
    for system, alignments in systems.items():
        if len(systems) > 1:
            blocks.append(Line(f"=== SYSTEM {system} ===\n", wrap=False))
        for item, alignment in alignments.items():
            if include_correct or alignment.edit_count:
                aligned = _format_aligned_words(alignment.steps, "" if by_characters else " ")
                blocks.append(Line(f"=== SENTENCE {item} ===\n\n{aligned}\n", wrap=False))
        summary = _summarize_errors(list(alignments.values()), by_characters=by_characters)
        blocks.append(Line(summary, wrap=False))
    return blocks


def _format_aligned_words(steps: Sequence[Step], separator: str) -> str:
    """Write an aligned output in three lines: the reference, the output, and a letter for each error."""
    references: list[str] = []
    outputs: list[str] = []
    letters: list[str] = []
    for step in steps:
        width = max(len(step.reference or ""), len(step.output or ""), 1)
        references.append(("*" * width if step.reference is None else step.reference).rjust(width))
        outputs.append(("*" * width if step.output is None else step.output).rjust(width))
        letters.append(ERROR_LETTERS[step.kind].rjust(width))
    return "\n".join(
        [
            "REF: " + separator.join(references),
            "HYP: " + separator.join(outputs),
            "     " + separator.join(letters),
        ]
    )


def _summarize_errors(alignments: Sequence[Alignment], *, by_characters: bool) -> str:
    """Count the errors of all outputs together, and compute the same error rates as jiwer."""
    counts = dict.fromkeys(KINDS, 0)
    for alignment in alignments:
        for kind, count in alignment.step_counts_by_kind.items():
            counts[kind] += count
    hits = counts["hit"]
    substitutions = counts["substitution"]
    deletions = counts["deletion"]
    insertions = counts["insertion"]
    edits = substitutions + deletions + insertions
    reference_length = hits + substitutions + deletions
    output_length = hits + substitutions + insertions
    if reference_length and output_length:
        preserved = hits / reference_length * hits / output_length
    else:
        preserved = float(not edits)
    lines = [
        "=== SUMMARY ===",
        f"number of sentences: {len(alignments)}",
        f"substitutions={substitutions} deletions={deletions} insertions={insertions} hits={hits}",
        "",
    ]
    if not by_characters:
        match_error_rate = edits / max(hits + edits, 1)
        lines += [f"mer={match_error_rate:.2%}", f"wil={1 - preserved:.2%}", f"wip={preserved:.2%}"]
    rate = f"{edits / reference_length:.2%}" if reference_length else "–"
    lines.append(f"{'cer' if by_characters else 'wer'}={rate}")
    return "\n".join(lines)
