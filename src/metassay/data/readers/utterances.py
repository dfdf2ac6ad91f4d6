"""What every reader of transcripts shares: one row per utterance, references beside outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from metassay.data.readers.files import plain_name
from metassay.errors import InputError, Place

SCHEMA = {"utt_id": pl.String, "text": pl.String, "line": pl.Int64}


def utterances(rows: Sequence[tuple[str, str, int]], path: str) -> pl.DataFrame:
    """A table `utt_id, text, line`; an utterance that comes twice is refused."""
    frame = pl.DataFrame(list(rows), schema=SCHEMA, orient="row")
    if frame.is_empty():
        raise InputError("there is no utterance in this file.", place=Place(file=path))
    first = frame["utt_id"].is_first_distinct()
    if not first.all():
        again = frame.filter(~first).row(0, named=True)
        before = frame.filter(pl.col("utt_id") == again["utt_id"])["line"][0]
        raise InputError(
            f"utterance {again['utt_id']} was already given in line {before}.",
            place=Place(file=path, line=again["line"]),
            remedy="Remove one of the two lines.",
        )
    return frame


def side_by_side(references: pl.DataFrame, outputs: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """A table `utt_id, system, ref, hyp` and what else the references say, from one table per file.

    `references` has `utt_id, text`; every other column but `line` is metadata. The system is the file's name.
    An utterance without output keeps a null there; one without reference is an error.
    """
    known = references.rename({"text": "ref"}).drop("line", strict=False)
    parts = []
    names = [plain_name(path) for path in outputs]
    for path, name in zip(outputs, names):
        if names.count(name) > 1:
            raise InputError(
                f"two files of outputs are called {name}.",
                place=Place(file=path),
                remedy="Rename one of them.",
            )
        hypotheses = outputs[path]
        strangers = hypotheses.filter(~pl.col("utt_id").is_in(known["utt_id"].implode()))
        if strangers.height:
            first = strangers.row(0, named=True)
            raise InputError(
                f"utterance {first['utt_id']} is not among the references "
                f"({strangers.height} such {'utterance' if strangers.height == 1 else 'utterances'} in all).",
                place=Place(file=path, line=first.get("line")),
            )
        texts = hypotheses.select("utt_id", hyp="text")
        parts.append(
            known.join(texts, on="utt_id", how="left", maintain_order="left").with_columns(
                system=pl.lit(name)
            )
        )
    front = ["utt_id", "system", "ref", "hyp"]
    table = pl.concat(parts)
    return table.select(*front, *(column for column in table.columns if column not in front))
