"""One file per input format."""

READERS = (
    ("csv", ".csv", "comma-separated table with a header; also .gz and .zst, like every table"),
    ("tsv", ".tsv .tab", "tab-separated table with a header; --quoting none for files such as WMT's"),
    ("json lines", ".jsonl .ndjson", "one JSON object a line"),
    ("parquet", ".parquet .pq", "a Parquet table"),
    ("trec run", "any name, second word Q0", "a ranking: topic Q0 document rank score tag; needs --qrels"),
    ("qrels", "--qrels", "judgements: topic iteration document grade; or a table, or a log of ratings"),
    ("sclite trn", "--reference --hypothesis", "words of the transcript (utterance), one a line"),
    ("nist stm, ctm", "--reference --hypothesis", "segments with transcripts, and recognised words in time"),
    ("kaldi", "--reference FOLDER --hypothesis", "a data folder with text, utt2spk, spk2gender"),
    ("espnet", "a folder", "results: SYSTEM/TESTSET/score_wer/{ref,hyp}.trn"),
    ("speech manifest", ".json .jsonl", "JSON lines with audio_filepath, text and pred_text"),
    ("plain text", "--reference --hypothesis", "one line a segment, a file per system"),
)
"""Name, how it is recognised, and what it is."""
