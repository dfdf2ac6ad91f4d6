"""The same errors in every form that they are written in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from metassay.data.readers.error_spans import read_error_spans
from metassay.errors import InputError

TEXTS = {("A", 1): "der Hund lief weg", ("A", 2): "gut so", ("B", 1): "die Katze saß"}
SPANS = {("A", 1): [(4, 8), (14, 17)], ("A", 2): [], ("B", 1): [(0, 3)]}
"""In A 1 also a neutral remark and an omission, which mark nothing."""


def rating_file(path: Path) -> Path:
    lines = []
    for (system, segment), spans in SPANS.items():
        errors: list[dict[str, Any]] = [{"start": a, "end": b, "severity": "minor"} for a, b in spans]
        if (system, segment) == ("A", 1):
            errors.append({"start": 0, "end": 2, "severity": "neutral"})
            errors.append({"start": 0, "end": 5, "severity": "major", "is_source_error": True})
        lines.append(f"{system}\t{json.dumps({'errors': errors})}\trater7")
    lines.append("B\tNone")  # B 1 is rated, B 2 is not
    path.write_text("\n".join(lines) + "\n")
    return path


def wmt25(path: Path) -> Path:
    rows = ["doc_id\tsegment_id\tsource_lang\ttarget_lang\tset_id\tsystem_id\thypothesis_segment\tstart_indices\tend_indices\terror_types"]  # fmt: skip
    for (system, segment), spans in SPANS.items():
        cells = [" ".join(str(own[side]) for own in spans) or "-1" for side in (0, 1)]
        kinds = " ".join(["minor"] * len(spans)) or "no-error"
        if (system, segment) == ("A", 1):
            cells, kinds = [f"{cell} missing" for cell in cells], f"{kinds} major"
        text = TEXTS[system, segment]
        rows.append("\t".join(("d", str(segment), "en", "de", "official", system, text, *cells, kinds)))
    path.write_text("\n".join(rows) + "\n")
    return path


def mqm_table(path: Path) -> Path:
    rows = ["system\tdoc\tseg_id\trater\ttarget\tcategory\tseverity"]
    for (system, segment), spans in SPANS.items():
        text = TEXTS[system, segment]
        marked = [f"{text[:a]}<v>{text[a:b]}</v>{text[b:]}" for a, b in spans]
        kinds = [*((own, "Minor") for own in marked), *([] if spans else [(text, "no-error")])]
        if (system, segment) == ("A", 1):
            kinds += [(f"<v>{text[:2]}</v>{text[2:]}", "Neutral"), (text, "Major")]
        rows += [f"{system}\td\t{segment}\trater7\t{own}\tFluency\t{kind}" for own, kind in kinds]
    path.write_text("\n".join(rows) + "\n")
    return path


def own_table(path: Path) -> Path:
    rows = ["item,system,start,end,severity"]
    for (system, segment), spans in SPANS.items():
        rows += [f"{segment},{system},{a},{b},minor" for a, b in spans] or [f"{segment},{system},,,"]
    path.write_text("\n".join(rows) + "\n")
    return path


def standalone(path: Path) -> Path:
    lines = [
        {
            "source": "x",
            "hypothesis": TEXTS[key],
            "errors": [{"start": a, "end": b, "severity": "major"} for a, b in spans],
            "segment_id": key[1] - 1,
            "system_id": key[0],
            "rater_id": "r",
            "src_lang": "en",
            "tgt_lang": "de",
        }
        for key, spans in SPANS.items()
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def pearmut(path: Path) -> Path:
    """The last character is part of a span there; what a user says again replaces what was said before."""
    log = []
    for spans_are in ({key: [(0, 1)] for key in SPANS}, SPANS):
        for segment in (1, 2):
            shown = [key for key in SPANS if key[1] == segment]
            errors = {
                system: [{"start_i": a, "end_i": b - 1, "severity": "minor", "category": None} for a, b in spans_are[system, segment]]
                for system, _ in shown
            }  # fmt: skip
            if segment == 1:
                errors["A"].append({"start_i": "missing", "end_i": "missing", "severity": "major"})
            item = {"item_id": str(segment), "src": "x", "tgt": {own[0]: TEXTS[own] for own in shown}}
            said = {system: {"score": 50, "error_spans": own} for system, own in errors.items()}
            log.append({"item": [item], "annotation": [said], "user_id": "u", "item_i": segment})
    path.write_text(json.dumps({"campaign": log}))
    return path


def spans_of(frame: pl.DataFrame) -> dict[tuple[str, int], list[tuple[int, int]]]:
    rows = frame.select("system", "seg_id", "spans").iter_rows()
    return {
        (system, int(item)): [(own["start"], own["end"]) for own in spans] for system, item, spans in rows
    }


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (rating_file, "x.seg.rating"),
        (wmt25, "x.tsv"),
        (mqm_table, "x.tsv"),
        (own_table, "x.csv"),
        (standalone, "x.jsonl"),
        (pearmut, "x.json"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_form_says_the_same(write: Any, name: str, tmp_path: Path) -> None:
    frame = read_error_spans(str(write(tmp_path / name)))
    assert spans_of(frame) == SPANS


def test_texts_are_those_without_tags_and_keys_are_ours(tmp_path: Path) -> None:
    marked = read_error_spans(str(mqm_table(tmp_path / "a.tsv")))
    assert {*marked["hyp"]} == {*TEXTS.values()}
    assert {*marked["rater"]} == {"rater7"}
    task = read_error_spans(str(wmt25(tmp_path / "b.tsv")))
    assert {*task["lp"]} == {"en-de"}
    assert {*task["doc_id"]} == {"d"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("system,item,start,end\nA,1,9,4\n", r"row 1.*cannot go from 9 to 4"),
        ("system,item,start,end\nA,1,x,4\n", r"row 1.*is not a span"),
        ("system,item,x\nA,1,9\n", r"there are no error spans"),
        ("item,start,end\n1,9,4\n", r"no column holds system"),
        ("system,item,start_indices,end_indices,error_types\nA,1,1 5,3,minor\n", r"row 1.*2 starts, 1 ends"),
        ("system,seg_id,target,severity\nA,1,a <v>b,minor\n", r"row 1.*never closed"),
    ],
)
def test_what_cannot_be_a_span_is_refused_with_its_row(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_error_spans(str(tmp_path / "x.csv"))


def test_a_file_without_ratings_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "en-de.mqm.seg.rating"
    file.write_text("A\tNone\nB\tNone\n")
    with pytest.raises(InputError, match="no ratings of outputs"):
        read_error_spans(str(file))


def test_the_real_ratings(real_data: Any) -> None:
    """Rated outputs and marked characters, counted from the JSON by themselves."""
    path = real_data("mt-metrics-eval-v2/wmt23/human-scores/en-de.mqm.merged.seg.rating")
    rated = characters = 0
    for line in path.read_text().splitlines():
        rating = line.split("\t")[1]
        if rating != "None":
            rated += 1
            errors = [e for e in json.loads(rating)["errors"] if not e["is_source_error"]]
            characters += sum(e["end"] - e["start"] for e in errors if e["severity"] in {"major", "minor"})
    frame = read_error_spans(str(path))
    assert frame.height == rated
    found = frame.select(pl.col("spans").explode().struct.unnest()).drop_nulls()
    assert (found["end"] - found["start"]).sum() == characters
