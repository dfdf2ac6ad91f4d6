"""Speech by utterance: `trn` files, Kaldi's data folders, ESPnet's results and manifests as JSON lines.

A `trn` has one transcript a line with its utterance in parentheses at the end. A Kaldi data folder has `text`
(`utterance words …`), with `utt2spk` and `spk2gender` where they are there. ESPnet leaves
`…/SYSTEM/TESTSET/score_wer/{ref.trn,hyp.trn}`. A manifest names the recording, its transcript and the output.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

import polars as pl

from metassay.data.readers.files import file_stem, read_first_lines, read_text
from metassay.data.readers.json_tables import parse_json_lines
from metassay.errors import InputError, Place

SCHEMA = {"utt_id": pl.String, "text": pl.String, "line": pl.Int64}
SCORED = "score_wer"
"""The folder with transcripts in words; `score_cer` and `score_ter` hold the same split otherwise."""
RECORDING = ("audio_filepath", "audio_file", "audio", "wav", "path")
ID = ("utt_id", "utterance", "id", "key")
REFERENCE = ("text", "reference", "ref", "transcript", "sentence")
OUTPUT = ("pred_text", "prediction", "hypothesis", "hyp", "output")
SPEAKER = ("speaker_id", "speaker", "spk")


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
    names = [file_stem(path) for path in outputs]
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


_TRN_ID = re.compile(r"([^()\s]+)\)")
_ALTERNATIVES = re.compile(r"\{[^{}]*/[^{}]*\}")


def is_trn(path: str) -> bool:
    """Whether every line of the file's beginning ends with an utterance in parentheses."""
    lines = read_first_lines(path)[:20]
    return bool(lines) and all(_trn_parts(line) for line in lines)


def _trn_parts(line: str) -> tuple[str, str] | None:
    """Utterance and transcript of a line of a `trn`; None where it does not end in `(utterance)`."""
    text, _, rest = line.rstrip().rpartition("(")
    found = _TRN_ID.fullmatch(rest)
    return None if found is None or "(" not in line else (found[1], text.strip())


def read_trn(path: str) -> pl.DataFrame:
    """A table `utt_id, text, line`; lines that start with `;;` are comments.

    Alternative transcripts (`{ a / b }`) are refused: metrics compare with one text.
    """
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith(";;"):
            continue
        found = _trn_parts(line)
        if found is None:
            raise InputError(
                "the line does not end with its utterance in parentheses.",
                place=Place(file=path, line=number),
                remedy="A line of a trn file is: words of the transcript (utterance).",
            )
        if _ALTERNATIVES.search(found[1]):
            raise InputError(
                "alternative transcripts ({ a / b }) cannot be scored.",
                place=Place(file=path, line=number),
                remedy="Keep one of them.",
            )
        rows.append((*found, number))
    return utterances(rows, path)


def read_trn_pairs(reference: str, outputs: Sequence[str]) -> pl.DataFrame:
    """A table `utt_id, system, ref, hyp, speaker_id` from a reference and the outputs of systems.

    The speaker is what precedes the first `-` or `_` of the utterance, as sclite's `-i rm` reads it.
    """
    references = read_trn(reference)
    speakers = references["utt_id"].str.extract(r"^([^-_]+)[-_]")
    if not speakers.has_nulls():
        references = references.with_columns(speakers.alias("speaker_id"))
    return side_by_side(references, {path: read_trn(path) for path in outputs})


_GENDERS = {"m": "male", "f": "female", "male": "male", "female": "female"}


def is_kaldi(path: str) -> bool:
    """Whether this is a folder with `text` and `utt2spk`."""
    return (Path(path) / "text").is_file() and (Path(path) / "utt2spk").is_file()


def read_kaldi_text(path: str) -> pl.DataFrame:
    """A table `utt_id, text, line` from a file of `utterance words …`; no words is an empty transcript."""
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            utterance, *words = line.split(maxsplit=1)
            rows.append((utterance, words[0].strip() if words else "", number))
    return utterances(rows, path)


def read_kaldi(folder: str, outputs: Sequence[str]) -> pl.DataFrame:
    """A table `utt_id, system, ref, hyp, speaker_id, gender` from a data folder and files of outputs.

    An output is a file in the format of `text`, or a folder that holds one (its name is then the system).
    """
    references = read_kaldi_text(str(Path(folder) / "text"))
    references = references.with_columns(_speakers(folder, references["utt_id"]))
    genders = Path(folder) / "spk2gender"
    if genders.is_file():
        table = {name: _GENDERS.get(value.lower(), value) for name, value in _mapping(genders).items()}
        column = [table.get(speaker) for speaker in references["speaker_id"]]
        references = references.with_columns(pl.Series("gender", column, dtype=pl.String))
    tables = {}
    for path in outputs:
        file = str(Path(path) / "text") if Path(path).is_dir() else path
        tables[path] = read_kaldi_text(file)
    return side_by_side(references, tables)


def _speakers(folder: str, ids: pl.Series) -> pl.Series:
    """The speaker of each utterance; one without is an error, since Kaldi's own tools refuse it too."""
    path = Path(folder) / "utt2spk"
    table = _mapping(path)
    for utterance in ids:
        if utterance not in table:
            raise InputError(f"utterance {utterance} has no speaker.", place=Place(file=str(path)))
    return pl.Series("speaker_id", [table[utterance] for utterance in ids], dtype=pl.String)


def _mapping(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(read_text(str(path)).split("\n"), start=1):
        words = line.split()
        if not words:
            continue
        if len(words) != 2 or words[0] in found:
            what = f"{words[0]} is there twice" if words[0] in found else "two words were expected"
            raise InputError(f"{what}.", place=Place(file=str(path), line=number))
        found[words[0]] = words[1]
    return found


def is_espnet(path: str) -> bool:
    """Whether a result of ESPnet lies in this folder, at most four levels down."""
    return Path(path).is_dir() and bool(_results(Path(path)))


def read_espnet(folder: str) -> pl.DataFrame:
    """A table `utt_id, system, ref, hyp, testset, speaker_id` of every result under a folder.

    The test set is the folder that holds `score_wer`, the system the one above it. ESPnet writes
    `(speaker-utterance)`: the speaker is split off the utterance.
    """
    results = _results(Path(folder))
    if not results:
        raise InputError(f"there is no {SCORED}/hyp.trn in this folder.", place=Place(file=folder))
    parts = []
    for result in results:
        testset = result.parent.name
        system = result.parent.parent.name or testset
        table = read_trn_pairs(str(result / "ref.trn"), [str(result / "hyp.trn")])
        parts.append(table.with_columns(system=pl.lit(system), testset=pl.lit(testset)))
    return pl.concat(parts, how="diagonal_relaxed")


def _results(folder: Path) -> list[Path]:
    """The scored folders, sorted."""
    patterns = [f"{'*/' * depth}{SCORED}" for depth in range(4)]
    found = {path for pattern in patterns for path in folder.glob(pattern)}
    if folder.name == SCORED:
        found.add(folder)
    return sorted(path for path in found if (path / "ref.trn").is_file() and (path / "hyp.trn").is_file())


def is_manifest(path: str) -> bool:
    """Whether the file is JSON lines whose objects name a recording, a transcript and an output."""
    lines = read_first_lines(path)[:1]
    if not lines or not lines[0].lstrip().startswith("{"):
        return False
    try:
        keys = set(json.loads(lines[0]))
    except (ValueError, RecursionError):
        return False
    return all(keys & set(names) for names in (RECORDING, REFERENCE, OUTPUT))


def read_manifest(path: str) -> pl.DataFrame:
    """A table `utt_id, system, ref, hyp` and whatever else the manifest says.

    Knows the names that NeMo and others use (`audio_filepath`, `text`, `pred_text` …). Without an id the
    recording's file name is the utterance; without a system the manifest's own name.
    """
    table = parse_json_lines(read_text(path), file=path)
    names = {role: _first_key(table, choices) for role, choices in (("ref", REFERENCE), ("hyp", OUTPUT))}
    for role, name in names.items():
        if name is None:
            choices = ", ".join(REFERENCE if role == "ref" else OUTPUT)
            raise InputError(f"no key holds the {role} (looked for {choices}).", place=Place(file=path))
    own_id, recording = _first_key(table, ID), _first_key(table, RECORDING)
    if own_id is None and recording is None:
        raise InputError("the objects have neither an id nor a recording.", place=Place(file=path))
    ids = (
        table[own_id] if own_id else pl.Series([PurePath(str(file)).stem for file in table[recording or ""]])
    )
    made = {
        "utt_id": ids.cast(pl.String),
        "system": table["system"] if "system" in table.columns else _constant(file_stem(path), table.height),
        "ref": table[str(names["ref"])],
        "hyp": table[str(names["hyp"])],
    }
    speaker = _first_key(table, SPEAKER)
    if speaker is not None:
        made["speaker_id"] = table[speaker].cast(pl.String)
    taken = {own_id, recording, speaker, "system", *names.values()}
    rest = [name for name in table.columns if name not in taken and name not in made]
    return pl.DataFrame([series.alias(name) for name, series in made.items()]).hstack(table.select(rest))


def _first_key(table: pl.DataFrame, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in table.columns), None)


def _constant(value: str, size: int) -> pl.Series:
    return pl.Series([value]).new_from_index(0, size)
