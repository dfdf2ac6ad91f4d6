"""Five recognisers of the corpus read aloud: espeak-ng speaks, pocketsphinx listens."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pocketsphinx
import pyarrow as pa
import pyarrow.parquet as pq

from .audio import SPEAKERS, Sound, Speaker, add_noise, speak, to_pcm
from .corpus import DOMAINS, Segment, read_corpus
from .language_model import build_arpa
from .spoken import spell_out, words


@dataclass(frozen=True)
class Recogniser:
    """A language model (None: pocketsphinx's own), settings of the decoder, and a channel for the sound."""

    language_model: str | None
    settings: dict[str, Any] = field(default_factory=dict)
    channel: Callable[[Sound], Sound] = lambda sound: sound


HURRIED = {"beam": 1e-35, "wbeam": 1e-22, "pbeam": 1e-35, "fwdflat": False, "bestpath": False}
RECOGNISERS = {
    "general": Recogniser(None),
    "hasty": Recogniser(None, HURRIED),
    "noisy": Recogniser(None, channel=lambda sound: add_noise(sound, 15.0, seed=len(sound))),
    "domain": Recogniser("domain"),
    "rehearsed": Recogniser("rehearsed"),
}


def build(out: Path) -> None:
    """Write `asr.parquet`."""
    segments = read_corpus()
    cast = _assign_speakers(segments)
    readings = [(segment, speaker, speak(spell_out(segment.reference), speaker)) for segment, speaker in cast]
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        models = _train_language_models(segments, Path(folder))
        for name, recogniser in RECOGNISERS.items():
            listen = _build_listener(recogniser, models)
            rows += [
                _build_row(name, segment, speaker, listen(sound)) for segment, speaker, sound in readings
            ]
    rows.sort(key=lambda row: (row["utt_id"], row["system"]))
    pq.write_table(pa.Table.from_pylist(rows), out / "asr.parquet", compression="zstd", compression_level=19)


def _assign_speakers(segments: list[Segment]) -> list[tuple[Segment, Speaker]]:
    """Assign three documents, one of each domain, to every speaker."""
    documents = list(dict.fromkeys(segment.doc_id for segment in segments))
    per_domain = len(documents) // len(DOMAINS)
    reader = {doc: SPEAKERS[position % per_domain % len(SPEAKERS)] for position, doc in enumerate(documents)}
    return [(segment, reader[segment.doc_id]) for segment in segments]


def _build_row(system: str, segment: Segment, speaker: Speaker, heard: str) -> dict[str, object]:
    return {
        "utt_id": f"{speaker.name}-{segment.seg_id:03d}",
        "speaker_id": speaker.name,
        "gender": speaker.gender,
        "accent": speaker.accent,
        "domain": segment.domain,
        "system": system,
        "ref": spell_out(segment.reference),
        "hyp": heard,
    }


def _train_language_models(segments: list[Segment], folder: Path) -> dict[str, str]:
    """`domain` has read the second translations only; `rehearsed` has also read what is going to be said."""
    pronounced = _list_dictionary_words()
    second = [words(segment.second) for segment in segments]
    spoken = [words(segment.reference) for segment in segments]
    vocabulary = {word for sentence in second + spoken for word in sentence} & pronounced
    paths: dict[str, str] = {}
    for name, sentences in {"domain": second, "rehearsed": second + spoken}.items():
        known = [[word for word in sentence if word in vocabulary] for sentence in sentences]
        path = folder / f"{name}.arpa"
        path.write_text(build_arpa(known, vocabulary), encoding="utf-8")
        paths[name] = str(path)
    return paths


def _list_dictionary_words() -> set[str]:
    """List the words in the recogniser's pronouncing dictionary; it cannot recognise others."""
    dictionary = Path(pocketsphinx.get_model_path("en-us/cmudict-en-us.dict"))
    return {line.split(" ", 1)[0] for line in dictionary.read_text(encoding="utf-8").splitlines()}


def _build_listener(recogniser: Recogniser, models: dict[str, str]) -> Callable[[Sound], str]:
    settings = dict(recogniser.settings)
    if recogniser.language_model is not None:
        settings["lm"] = models[recogniser.language_model]
    decoder = pocketsphinx.Decoder(samprate=16_000, loglevel="FATAL", cmn="batch", **settings)

    def listen(sound: Sound) -> str:
        decoder.start_utt()
        decoder.process_raw(to_pcm(recogniser.channel(sound)), full_utt=True)
        decoder.end_utt()
        hypothesis = decoder.hyp()
        return hypothesis.hypstr if hypothesis is not None else ""

    return listen
