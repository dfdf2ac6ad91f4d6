"""Tables of utterances, which the readers of speech formats share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from metassay.data.readers.files import get_file_stem
from metassay.errors import InputError, InputLocation

UTTERANCE_SCHEMA = {"utt_id": pl.String, "text": pl.String, "line": pl.Int64}
# How speech formats write the gender of a speaker.
GENDERS = {"m": "male", "f": "female", "male": "male", "female": "female"}


def build_utterance_table(rows: Sequence[tuple[str, str, int]], path: str) -> pl.DataFrame:
    """Build a table `utt_id, text, line` from rows of a file. An utterance that occurs twice is an error."""
    utterances = pl.DataFrame(list(rows), schema=UTTERANCE_SCHEMA, orient="row")
    if utterances.is_empty():
        raise InputError("there is no utterance in this file.", location=InputLocation(file=path))
    is_first = utterances["utt_id"].is_first_distinct()
    if not is_first.all():
        repeated = utterances.filter(~is_first).row(0, named=True)
        first_line = utterances.filter(pl.col("utt_id") == repeated["utt_id"])["line"][0]
        raise InputError(
            f"utterance {repeated['utt_id']} was already given in line {first_line}.",
            location=InputLocation(file=path, line=repeated["line"]),
            remedy="Remove one of the two lines.",
        )
    return utterances


def join_system_outputs(references: pl.DataFrame, outputs: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Join the transcripts of references with the outputs of several systems to a table `utt_id, system, ref,
    hyp`.

    `references` has `utt_id` and `text`; its other columns except `line` are metadata. `outputs` has a table
    for each path; the name of the file is the system. An utterance without an output keeps a null, an output
    without a reference is an error.
    """
    expected = references.rename({"text": "ref"}).drop("line", strict=False)
    systems = [get_file_stem(path) for path in outputs]
    tables = []
    for path, system in zip(outputs, systems):
        if systems.count(system) > 1:
            raise InputError(
                f"two files of outputs are called {system}.",
                location=InputLocation(file=path),
                remedy="Rename one of them.",
            )
        _reject_unknown_utterances(outputs[path], expected["utt_id"], path)
        texts = outputs[path].select("utt_id", hyp="text")
        joined = expected.join(texts, on="utt_id", how="left", maintain_order="left")
        tables.append(joined.with_columns(system=pl.lit(system)))
    table = pl.concat(tables)
    first_columns = ["utt_id", "system", "ref", "hyp"]
    return table.select(*first_columns, *(name for name in table.columns if name not in first_columns))


def _reject_unknown_utterances(outputs: pl.DataFrame, reference_ids: pl.Series, path: str) -> None:
    """Raise an error if the outputs of a system contain an utterance that has no reference."""
    unknown = outputs.filter(~pl.col("utt_id").is_in(reference_ids.implode()))
    if unknown.is_empty():
        return
    first = unknown.row(0, named=True)
    noun = "utterance" if unknown.height == 1 else "utterances"
    raise InputError(
        f"utterance {first['utt_id']} is not among the references ({unknown.height} such {noun} in all).",
        location=InputLocation(file=path, line=first.get("line")),
    )
