"""Names of the files and folders in a run folder.

call.json         the command and options that made the run, for `metassay run` and `resume`
manifest.json     configuration, seeds, metric signatures, versions, hash of the input, counts
outputs.parquet   the outputs that were read
pairs.parquet     outputs and perturbed outputs
scores/           finished parts of scores; never changed
texts/            finished parts of perturbed outputs and of what was computed to make them; never changed
shards/           temporary tables of a running assay
results/          tables and JSON
report.html
notes.txt         comments that users wrote about the run
timings.json      with call.json the only file that may differ between two runs of the same configuration
"""

from __future__ import annotations

CALL = "call.json"
MANIFEST = "manifest.json"
SCORES_FOLDER = "scores"
SHARDS_FOLDER = "shards"
TEXTS_FOLDER = "texts"
TIMINGS = "timings.json"
