"""Read a table or a TREC run from standard input."""

from __future__ import annotations

from metassay.data.readers.base import RawTable, ReaderOptions
from metassay.data.readers.files import decode_text, list_first_lines_without_comments, read_bytes
from metassay.data.readers.tables import parse_table
from metassay.data.readers.trec_runs import looks_like_trec_run, parse_trec_run
from metassay.tasks import ranking

# The name of standard input in errors and notes.
STANDARD_INPUT = "standard input"


def read_standard_input(options: ReaderOptions) -> RawTable:
    """Read a table or a run of TREC from standard input. The content shows which format it has."""
    content = read_bytes("-")
    if looks_like_trec_run(list_first_lines_without_comments(content)):
        text = decode_text(content, STANDARD_INPUT)
        return RawTable(STANDARD_INPUT, parse_trec_run(text, STANDARD_INPUT), ranking.TASK.name)
    notes: list[str] = []
    table = parse_table(content, "-", quoting=options.quoting, notes=notes)
    return RawTable(STANDARD_INPUT, table, notes=tuple(notes))
