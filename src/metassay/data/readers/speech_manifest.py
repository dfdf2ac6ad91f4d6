"""Reader of speech manifests: JSON lines that name a recording, its transcript and the output of a system.

Knows the keys that NeMo and others use, such as `audio_filepath`, `text` and `pred_text`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath

import polars as pl

from metassay.data.readers.base import Reader
from metassay.data.readers.files import get_file_stem, read_first_lines_without_comments, read_text
from metassay.data.readers.json_tables import parse_json_lines
from metassay.errors import InputError, InputLocation
from metassay.tasks import asr

RECORDING_KEYS = ("audio_filepath", "audio_file", "audio", "wav", "path")
ID_KEYS = ("utt_id", "utterance", "id", "key")
REFERENCE_KEYS = ("text", "reference", "ref", "transcript", "sentence")
OUTPUT_KEYS = ("pred_text", "prediction", "hypothesis", "hyp", "output")
SPEAKER_KEYS = ("speaker_id", "speaker", "spk")


class SpeechManifestReader(Reader):
    """Reader of speech manifests: JSON lines with a recording, its transcript and the output of a system, as
    NVIDIA NeMo writes them.
    """

    name = "speech manifest"
    files = ".json .jsonl"
    summary = "JSON lines with audio_filepath, text and pred_text"
    task = asr.TASK.name

    def sniff(self, path: str) -> bool:
        """Return whether the first line of a file is a JSON object with a recording, a transcript and an
        output.
        """
        first_line = next(iter(read_first_lines_without_comments(path)), "")
        if not first_line.lstrip().startswith("{"):
            return False
        try:
            keys = set(json.loads(first_line))
        except (ValueError, RecursionError):
            return False
        return all(keys & set(names) for names in (RECORDING_KEYS, REFERENCE_KEYS, OUTPUT_KEYS))

    def read(self, path: str) -> pl.DataFrame:
        """Read a table `utt_id, system, ref, hyp` with a further column for every other key of the manifest.

        Without an id, the name of the recording is the utterance. Without a system, the name of the manifest
        is the system.
        """
        manifest = parse_json_lines(read_text(path), file=path)
        reference = _require_manifest_key(manifest, REFERENCE_KEYS, "ref", path)
        output = _require_manifest_key(manifest, OUTPUT_KEYS, "hyp", path)
        id_key = _find_manifest_key(manifest, ID_KEYS)
        recording = _find_manifest_key(manifest, RECORDING_KEYS)
        if id_key is not None:
            ids = manifest[id_key]
        elif recording is not None:
            ids = pl.Series([PurePath(str(file)).stem for file in manifest[recording]])
        else:
            raise InputError(
                "the objects have neither an id nor a recording.", location=InputLocation(file=path)
            )
        if "system" in manifest.columns:
            systems = manifest["system"]
        else:
            systems = pl.Series([get_file_stem(path)]).new_from_index(0, manifest.height)
        columns = {
            "utt_id": ids.cast(pl.String),
            "system": systems,
            "ref": manifest[reference],
            "hyp": manifest[output],
        }
        speaker = _find_manifest_key(manifest, SPEAKER_KEYS)
        if speaker is not None:
            columns["speaker_id"] = manifest[speaker].cast(pl.String)
        used = {id_key, recording, speaker, "system", reference, output, *columns}
        metadata = manifest.select([name for name in manifest.columns if name not in used])
        return pl.DataFrame([column.alias(name) for name, column in columns.items()]).hstack(metadata)


def _find_manifest_key(manifest: pl.DataFrame, key_names: Sequence[str]) -> str | None:
    """Find the first of the given names that is a key of the manifest. Returns None if there is none."""
    for name in key_names:
        if name in manifest.columns:
            return name
    return None


def _require_manifest_key(manifest: pl.DataFrame, key_names: Sequence[str], role: str, path: str) -> str:
    """Find the first of the given names that is a key of the manifest. If there is none, raise an error that
    names the role of the key.
    """
    key = _find_manifest_key(manifest, key_names)
    if key is None:
        raise InputError(
            f"no key holds the {role} (looked for {', '.join(key_names)}).", location=InputLocation(file=path)
        )
    return key
