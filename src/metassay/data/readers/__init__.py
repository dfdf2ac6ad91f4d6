"""One file per input format."""

READERS = (
    ("csv", ".csv", "comma-separated table with a header; also .gz and .zst, like every table"),
    ("tsv", ".tsv .tab", "tab-separated table with a header; --quoting none for files such as WMT's"),
    ("json lines", ".jsonl .ndjson", "one JSON object a line"),
    ("parquet", ".parquet .pq", "a Parquet table"),
    ("plain text", "--reference --hypothesis", "one line a segment, a file per system"),
)
"""Name, how it is recognised, and what it is."""
