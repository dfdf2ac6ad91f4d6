"""Transcripts of speech in the formats of sclite, NIST, Kaldi, ESPnet and manifests, with their errors."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

import metassay
from metassay.data.readers import nist_transcripts
from metassay.data.readers.espnet import EspnetReader
from metassay.data.readers.kaldi import is_kaldi_folder
from metassay.data.readers.speech_manifest import SpeechManifestReader
from metassay.data.readers.transcripts import read_transcripts
from metassay.data.readers.trn import read_trn_file
from metassay.errors import InputError
from metassay.metrics.alignment import align_words
from metassay.workflows.read import read_parallel_files

REF = ";; comment\nthe cat sat (anna-001)\na dog ran (ben-001)\n\nrain (ben-002)\n"
HYP = "the cat sat down (anna-001)\ndog ran\t(ben-001)\n(ben-002)\n"
STM = """;; CATEGORY "0" "" ""
rec1 A anna 0.00 2.50 <o,f0,female> the cat sat
rec1 A ben 2.50 4.00 <o,f0,male> a dog ran
rec1 A noise 4.00 5.00 ignore_time_segment_in_scoring
rec1 B ben 0 1 rain
"""
CTM = """;; words
rec1 A 0.10 0.20 the 0.9
rec1 A 2.40 0.30 ran
rec1 A 0.50 0.30 cat NA
rec1 A 2.20 0.40 sat 0.4
rec1 A 4.20 0.40 cough
rec1 B 0.50 0.30 rain
"""


@pytest.fixture
def write(tmp_path):
    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    return write


def test_trn(write):
    reference, output = write("ref.trn", REF), write("system.trn", HYP)
    frame, notes = read_transcripts(reference, [output])
    assert notes == []
    assert frame.rows() == [
        ("anna-001", "system", "the cat sat", "the cat sat down", "anna"),
        ("ben-001", "system", "a dog ran", "dog ran", "ben"),
        ("ben-002", "system", "rain", "", "ben"),
    ]


def test_trn_outputs_that_are_missing_are_null_and_strangers_are_refused(write):
    reference = write("ref.trn", REF)
    frame, _ = read_transcripts(reference, [write("a.trn", "rain (ben-002)\n")])
    assert frame["hyp"].to_list() == [None, None, "rain"]
    with pytest.raises(InputError, match=r"b\.trn, line 2: utterance carl-1 is not among the references"):
        read_transcripts(reference, [write("b.trn", "rain (ben-002)\nsnow (carl-1)\n")])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a (u-1)\nb (u-1)\n", r"line 2: utterance u-1 was already given in line 1"),
        ("a (u-1)\nb c d\n", r"line 2: the line does not end with its utterance"),
        ("{ a / b } (u-1)\n", r"line 1: alternative transcripts"),
        (";; nothing\n", "there is no utterance"),
    ],
)
def test_bad_trn(write, text, what):
    with pytest.raises(InputError, match=what):
        read_trn_file(write("bad.trn", text))


def test_stm_and_ctm(write):
    segments, words = write("ref.stm", STM), write("sys.ctm", CTM)
    assert nist_transcripts.is_stm_file(segments)
    assert not nist_transcripts.is_stm_file(words)
    frame, notes = read_transcripts(segments, [words])
    assert frame.select("ref", "hyp", "speaker_id", "gender").rows() == [
        ("the cat sat", "the cat sat", "anna", "female"),
        ("a dog ran", "ran", "ben", "male"),
        ("rain", "rain", "ben", None),
    ]
    assert frame["utt_id"][0] == "rec1-A-0.000-2.500"
    assert "1 words lie outside all segments" in notes[0]


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("x.stm", "rec1 A anna 2.0 1.0 words\n", "line 1: this is not a segment"),
        ("x.stm", "r A a 0 2 x\nr A b 1 3 y\n", "line 2: the segment begins before"),
        ("x.ctm", "rec1 A 0.1 word\n", "line 1: this is not a word in time"),
        ("x.ctm", "rec1 A 0.1 0.2 <ALT_BEGIN>\n", "line 1: alternatives cannot be scored"),
    ],
)
def test_bad_segments_and_words(write, name, text, what):
    reader = nist_transcripts.read_stm_references if name.endswith("stm") else nist_transcripts.read_ctm_words
    with pytest.raises(InputError, match=what):
        reader(write(name, text))


def test_kaldi(write, tmp_path):
    write("data/text", "u1 the cat sat\nu2 a dog ran\nu3\n")
    write("data/utt2spk", "u1 anna\nu2 ben\nu3 ben\n")
    write("data/spk2gender", "anna f\nben m\n")
    assert is_kaldi_folder(str(tmp_path / "data"))
    write("lstm/text", "u1 the cat\nu2 dog ran\nu3 oh\n")
    frame, _ = read_transcripts(
        str(tmp_path / "data"), [write("tdnn.txt", "u1 a cat\nu3\n"), str(tmp_path / "lstm")]
    )
    assert frame.filter(system="tdnn").rows() == [
        ("u1", "tdnn", "the cat sat", "a cat", "anna", "female"),
        ("u2", "tdnn", "a dog ran", None, "ben", "male"),
        ("u3", "tdnn", "", "", "ben", "male"),
    ]
    assert frame.filter(system="lstm")["hyp"].to_list() == ["the cat", "dog ran", "oh"]
    write("data/utt2spk", "u1 anna\n")
    with pytest.raises(InputError, match=r"utt2spk: utterance u2 has no speaker"):
        read_transcripts(str(tmp_path / "data"), [str(tmp_path / "tdnn.txt")])


def test_kaldi_text_files_without_a_folder(write):
    reference = write("ref.txt", "u-1 the cat sat\nu-2 a dog ran\nu-3 rain\n")
    frame, (note,) = read_transcripts(reference, [write("tdnn.txt", "u-2 a dog\nu-1 the cat sat\n")])
    assert frame.select("utt_id", "ref", "hyp").rows() == [
        ("u-1", "the cat sat", "the cat sat"),
        ("u-2", "a dog ran", "a dog"),
        ("u-3", "rain", None),
    ]
    assert note.endswith("ref.txt: the first word of each line was read as its utterance id.")
    assert read_parallel_files([reference], [reference]).task == "asr"


@pytest.mark.parametrize(
    ("reference", "output"),
    [
        ("The cat\nA dog\n", "The cats\nA dogs\n"),  # no ids
        ("1. The cat\n2. A dog\n", "1. The cats\n2. A dogs\n"),  # a list
        ("B-52 flies\nB-52 lands\n", "B-52 flies\nB-52 lands\n"),  # words that repeat
        ("F-16 flies\nB-52 lands\n", "The F-16 flies\nB-52 lands\n"),  # not in all outputs
    ],
)
def test_plain_text_is_not_taken_for_kaldi(write, reference, output):
    assert read_transcripts(write("ref.txt", reference), [write("sys.txt", output)]) is None


def test_espnet(write, tmp_path):
    for system, text in (("decode_beam1", HYP), ("decode_beam5", REF)):
        write(f"exp/{system}/test_clean/score_wer/ref.trn", REF)
        write(f"exp/{system}/test_clean/score_wer/hyp.trn", text)
    assert EspnetReader().sniff(str(tmp_path / "exp"))
    assert EspnetReader().sniff(str(tmp_path / "exp" / "decode_beam1" / "test_clean" / "score_wer"))
    assert not EspnetReader().sniff(
        str(tmp_path / "exp" / "decode_beam1" / "test_clean" / "score_wer" / "ref.trn")
    )
    data = metassay.read(tmp_path / "exp")
    assert data.task == "asr"
    assert data.systems == ("decode_beam1", "decode_beam5")
    assert data.items == ("test_clean/anna-001", "test_clean/ben-001", "test_clean/ben-002")
    scores = {
        row["system"]: row["corpus"] for row in metassay.score(data, metrics="wer").to_dict()["systems"]
    }
    assert scores == {"decode_beam1": pytest.approx(3 / 7), "decode_beam5": 0.0}


def test_manifest(write):
    rows = [
        {
            "audio_filepath": "wavs/a.wav",
            "duration": 1.5,
            "text": "the cat",
            "pred_text": "a cat",
            "speaker": 7,
        },
        {"audio_filepath": "wavs/b.wav", "duration": 2.5, "text": "rain", "pred_text": "", "speaker": 8},
    ]
    path = write("conformer.json", "".join(json.dumps(row) + "\n" for row in rows))
    assert SpeechManifestReader().sniff(path)
    data = metassay.read(path)
    assert data.task == "asr"
    assert data.systems == ("conformer",)
    assert data.outputs.select("item", "output", "speaker_id", "duration").rows() == [
        ("a", "a cat", "7", 1.5),
        ("b", "", "8", 2.5),
    ]
    assert not SpeechManifestReader().sniff(write("mt.jsonl", '{"id": 1, "hyp": "a", "ref": "b"}\n'))


def test_transcripts_through_the_plain_text_options(write):
    data = read_parallel_files([write("ref.trn", REF)], [write("one.trn", HYP), write("two.trn", REF)])
    assert data.task == "asr"
    assert data.systems == ("one", "two")
    assert data.metadata == ("speaker_id",)


def test_plain_text_is_not_taken_for_transcripts(write):
    assert read_transcripts(write("ref.txt", "a (b)\nc d\n"), [write("hyp.txt", "a\nb\n")]) is None


def test_segments_and_words_count_as_sclite_counts_them(write, tmp_path):
    sclite = shutil.which("sclite") or shutil.which("sclite", path="/usr/lib/sctk/bin")
    if sclite is None:
        pytest.skip("no sclite here: `make system-packages` installs it on Debian")
    in_time = sorted(CTM.splitlines()[1:], key=lambda line: (line.split()[1], float(line.split()[2])))
    segments, words = write("ref.stm", STM), write("sys.ctm", "\n".join(in_time) + "\n")
    report = subprocess.run(
        [sclite, "-r", segments, "stm", "-h", words, "ctm", "-o", "pralign", "stdout"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    counts = re.findall(r"Scores: \(#C #S #D #I\) (\d+) (\d+) (\d+) (\d+)", report)
    frame, _ = read_transcripts(segments, [words])
    ours = [
        list(align_words(ref, hyp).step_counts_by_kind.values())
        for ref, hyp in frame.select("ref", "hyp").iter_rows()
    ]
    assert sorted([int(number) for number in count] for count in counts) == sorted(ours)
