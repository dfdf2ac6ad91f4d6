"""Folders shaped like those that WMT24 and WMT25 published, written here: texts, exports and nested scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import metassay
from metassay.data.joins import join_tables_by_id
from metassay.data.readers.base import RawTable, ReaderOptions
from metassay.data.readers.registry import read_tables
from metassay.errors import InputError

CANARY = "CANARY: this line marks test data"
DOCUMENTS = [
    "test-cs-news_a.1",
    "test-cs-news_a.1",
    "test-cs-news_a.1",
    "test-cs-personal_b.2",
    "test-cs-personal_b.2",
]
SYSTEMS = ("Aya23", "GPT-4")
SPAN = '[{"start_i":0,"end_i":3,"severity":"minor","error_type":null}]'


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_objects(path: Path, *objects: dict[str, Any]) -> None:
    write(path, *(json.dumps(one, ensure_ascii=False) for one in objects))


def read_one(path: Path) -> RawTable:
    (table,) = read_tables(path, ReaderOptions())
    return table


def scores_of(table: RawTable, name: str = "esa") -> dict[tuple[Any, Any], Any]:
    return {
        (system, item): score for system, item, score in table.frame.select("system", "seg_id", name).rows()
    }


def export_row(
    annotator: str, system: str, line: int, score: float, document: str, end: float, kind: str = "TGT"
) -> str:
    """A row of WMT24's exports of Appraise: twelve fields, the last ones being errors and times."""
    span = SPAN.replace('"', '""')
    return f'{annotator},{system},{line},{kind},ces,ukr,{score},{document},False,"{span}",{end - 5},{end}'


@pytest.fixture
def wmt24(tmp_path: Path) -> Path:
    """`txt/` with a canary line first, and `humeval/` next to it; no human-scores, no metric-scores."""
    root = tmp_path / "wmt24-news-systems"
    text = root / "txt"
    domains = ["news", "news", "news", "personal", "personal"]
    write(
        text / "documents/cs-uk.docs",
        "canary\tcanary",
        *(f"{domain}\t{document}" for domain, document in zip(domains, DOCUMENTS)),
    )
    write(text / "sources/cs-uk.txt", CANARY, *(f"zdroj {n}" for n in range(5)))
    write(text / "references/cs-uk.refA.txt", CANARY, *(f"переклад {n}" for n in range(5)))
    for system in SYSTEMS:
        write(text / f"system-outputs/cs-uk/{system}.txt", CANARY, *(f"{system} {n}" for n in range(5)))
    write(root / "txt-ts/documents/cs-uk.docs", "suite\tx")
    write(root / "txt-ts/sources/cs-uk.txt", "zdroj")
    write(root / "txt-ts/system-outputs/cs-uk/Aya23.txt", "вихід")
    write(root / "humeval/esa_wave0.csv", *export_rows(first=1))
    write(root / "humeval/annotators.csv", "name,age", "x,3")
    return root


def export_rows(*, first: int) -> list[str]:
    """Ratings of both systems and of refA. `first` is the number of the first segment after the canary line."""
    rows = [
        export_row("a1", "cs-tutorial1", 1000000, 0, "cs-tutorial1", 1),
        export_row("a1", "Aya23", first + 3, 10, f"{DOCUMENTS[3]}#dup", 2),
        export_row("a1", "Aya23", first + 3, 15, f"{DOCUMENTS[3]}#incomplete", 3),
        export_row("a1", "Aya23", first, 20, f"{DOCUMENTS[0]}#bad", 4, kind="BAD"),
        # scored twice: the score that ended last counts, which is not the last row
        export_row("a1", "Aya23", first + 1, 90, DOCUMENTS[1], 30),
        export_row("a1", "Aya23", first + 1, 40, DOCUMENTS[1], 20),
    ]
    for n, document in enumerate(DOCUMENTS):
        if n != 1:
            rows.append(export_row("a1", "Aya23", first + n, 50 + n, document, 100 + n))
        rows.append(export_row("a2", "GPT-4", first + n, 80 + n, document, 200 + n))
    return [*rows, export_row("a2", "refA", first, 99, DOCUMENTS[0], 300)]


EXPECTED = {
    **{("Aya23", n + 2): 50.0 + n for n in (0, 2, 3, 4)},
    ("Aya23", 3): 90.0,
    **{("GPT-4", n + 2): 80.0 + n for n in range(5)},
    ("refA", 2): 99.0,
}
"""ESA by system and line of the texts, from 1; the first segment is on line 2."""


@pytest.mark.parametrize("first", [1, 0, 2], ids=["from 0", "from 0 without canary", "from 1"])
def test_exports_are_matched_to_the_lines_of_their_documents(wmt24: Path, first: int) -> None:
    write(wmt24 / "humeval/esa_wave0.csv", *export_rows(first=first))
    table = read_one(wmt24)
    assert {key: score for key, score in scores_of(table).items() if score is not None} == EXPECTED
    texts = dict(table.frame.select("seg_id", "src").unique().rows())
    assert texts == {n + 2: f"zdroj {n}" for n in range(5)}
    outputs = {(system, n): text for system, n, text in table.frame.select("system", "seg_id", "hyp").rows()}
    assert outputs["GPT-4", 4] == "GPT-4 2"
    assert outputs["refA", 2] == "переклад 0"
    assert set(table.human_columns) == {"esa", "esa:a1", "esa:a2"}
    notes = " ".join(table.notes)
    assert "canary line was left out" in notes
    for reason in ("tutorial", "#dup", "#incomplete", "BAD", "scored again"):
        assert reason in notes


def test_the_same_ratings_in_two_files_count_once(wmt24: Path) -> None:
    write(wmt24 / "humeval/wave0.csv", *export_rows(first=0))
    table = read_one(wmt24)
    assert {key: score for key, score in scores_of(table).items() if score is not None} == EXPECTED


def test_an_export_of_other_texts_is_refused(wmt24: Path) -> None:
    rows = [row.replace("a.1", "c.1") for row in export_rows(first=1)]
    write(wmt24 / "humeval/esa_wave0.csv", *rows)
    with pytest.raises(InputError, match="another document"):
        read_one(wmt24)


def test_texts_alone_are_read(wmt24: Path) -> None:
    for path in (wmt24 / "humeval").iterdir():
        path.unlink()
    frame = read_one(wmt24 / "txt").frame
    assert frame.height == 10
    assert set(frame.columns) == {"lp", "seg_id", "domain", "doc_id", "system", "src", "ref", "hyp"}
    assert CANARY not in frame["hyp"].to_list()


def test_a_tree_without_metric_scores_is_scored_and_ranked(wmt24: Path) -> None:
    result = metassay.rank(wmt24, human="esa", metrics="chrf,bleu", significance="none").to_dict()
    assert [row["dataset"] for row in result["results"]] == ["cs-uk"]
    ranked = {row["metric"] for row in result["results"][0]["metrics"]}
    assert {"chrf", "bleu"} <= ranked


def test_human_scores_without_metric_scores_are_read(wmt24: Path) -> None:
    """As mt-metrics-eval has them; the canary line has a score of 100 there."""
    lines = [f"{system}\t{score}" for system in SYSTEMS for score in (100.0, 1, 2, "None", 4, 5)]
    write(wmt24 / "txt/human-scores/cs-uk.esa.seg.score", *lines)
    table = read_one(wmt24)
    scores = scores_of(table)
    assert scores["Aya23", 2] == 1
    assert scores["Aya23", 4] is None
    assert ("Aya23", 1) not in scores
    assert table.human_columns == ("esa",)


@pytest.mark.parametrize(("first", "shift"), [(0, 1), (1, 0)])
def test_a_joined_export_is_matched_by_its_documents(tmp_path: Path, first: int, shift: int) -> None:
    """Numbers of an export may begin at 0 where those of the table begin at 1: the documents show it."""
    rows = [
        {"lp": "cs-uk", "system": system, "seg_id": n + 1, "doc_id": document}
        for system in SYSTEMS
        for n, document in enumerate(DOCUMENTS)
    ]
    export = tmp_path / "people.csv"
    write(export, *export_rows(first=first))
    joined, note = join_tables_by_id(pl.DataFrame(rows), read_one(export).frame, file=str(export))
    scores = dict(joined.filter(system="GPT-4").select("seg_id", "esa").rows())
    assert scores == {n + 1: 80.0 + n for n in range(5)}
    assert ("increased by 1" in note) == (shift == 1)


@pytest.fixture
def wmt25(tmp_path: Path) -> Path:
    """`data/` with outputs and nested metric scores by system, sources and human scores."""
    data = tmp_path / "wmt25-general-mt" / "data"
    first = "en-is_IS_#_news_#_guardian.1"
    second = "en-is_IS_#_social_#_113"
    write_objects(
        data / "wmt25-genmt.jsonl",
        {
            "doc_id": first,
            "domain": "news",
            "src_lang": "en",
            "tgt_lang": "is_IS",
            "src_text": "One.\n\nTwo.",
            "refs": {"refA": {"ref": "Einn.\n\nTveir."}},
        },
        {
            "doc_id": second,
            "domain": "social",
            "src_lang": "en",
            "tgt_lang": "is_IS",
            "src_text": "Three.",
            "refs": {},
        },
    )
    write_objects(
        data / "systems/AMI.jsonl",
        {"doc_id": first, "hypothesis": "AMI einn.\n\nAMI tveir."},
        {"doc_id": second, "hypothesis": "AMI þrír."},
    )
    write_objects(
        data / "systems/Yolu.jsonl",
        {"doc_id": first, "hypothesis": "Yolu, one paragraph only."},
        {"doc_id": second, "hypothesis": "Yolu þrír."},
    )
    for system, shift in (("AMI", 0.0), ("Yolu", 0.5)):
        write_objects(
            data / f"automatic_scores/{system}.jsonl",
            {
                "language_pair": "en-is_IS",
                "domain": "news",
                "document_id": "guardian.1",
                "metric_scores": {"XCOMET-XL": [0.1 + shift, 0.2 + shift], "GEMBA": [60, 70]},
            },
            {
                "language_pair": "en-is_IS",
                "domain": "social",
                "document_id": "113",
                "metric_scores": {"XCOMET-XL": [0.3 + shift], "GEMBA": [80]},
            },
        )
    human = [
        {
            "doc_id": f"{first}_#_{n}",
            "src_text": source,
            "tgt_text": {"AMI": f"AMI {word}.", "refA": reference},
            "scores": {
                "AMI": [{"score": 70 + n, "annotator": "x"}, {"score": 80 + n, "annotator": "y"}],
                "refA": [{"score": 95.0, "annotator": "x"}, {"score": float("nan"), "annotator": "y"}],
            },
        }
        for n, (source, word, reference) in enumerate(
            [("One.", "einn", "Einn."), ("Two.", "tveir", "Tveir.")]
        )
    ]
    write_objects(data / "wmt25-genmt-humeval.jsonl", *human)
    return data.parent


def test_nested_metric_scores_texts_and_ratings_are_matched(wmt25: Path) -> None:
    table = read_one(wmt25)
    rows = {(row["system"], row["seg_id"]): row for row in table.frame.iter_rows(named=True)}
    second = rows["AMI", "en-is_IS_#_news_#_guardian.1_#_1"]
    assert second["hyp"] == "AMI tveir."
    assert (second["src"], second["ref"]) == ("Two.", "Tveir.")
    assert (second["XCOMET-XL"], second["GEMBA"]) == (0.2, 70)
    assert second["esa"] == 76
    assert (second["esa:x"], second["esa:y"]) == (71, 81)
    assert (second["lp"], second["domain"], second["doc_id"]) == (
        "en-is_IS",
        "news",
        "en-is_IS_#_news_#_guardian.1",
    )
    assert rows["AMI", "en-is_IS_#_social_#_113_#_0"]["GEMBA"] == 80
    assert rows["AMI", "en-is_IS_#_social_#_113_#_0"]["esa"] is None
    assert rows["refA", "en-is_IS_#_news_#_guardian.1_#_0"]["esa"] == 95
    # a document with another number of paragraphs cannot be aligned; its metric scores stay
    unaligned = rows["Yolu", "en-is_IS_#_news_#_guardian.1_#_0"]
    assert (unaligned["hyp"], unaligned["XCOMET-XL"]) == (None, 0.6)
    assert table.left_out == {"other number of paragraphs than the source": 1}
    assert table.task == "mt"


def test_the_file_of_human_scores_alone(wmt25: Path) -> None:
    table = read_one(wmt25 / "data/wmt25-genmt-humeval.jsonl")
    assert table.frame.height == 4
    assert scores_of(table)["AMI", "en-is_IS_#_news_#_guardian.1_#_0"] == 75
    assert table.frame["ref"].unique().sort().to_list() == ["Einn.", "Tveir."]


def test_the_file_of_human_scores_of_wmt24_has_scores_as_texts(tmp_path: Path) -> None:
    path = tmp_path / "wmt24-genmt-humeval.jsonl"
    write_objects(
        path,
        {
            "scores": {"GPT-4": [{"score": "85", "annotator": "a", "errors": [], "times": ["1", "2"]}]},
            "src_text": "zdroj",
            "tgt_text": {"GPT-4": "вихід"},
            "doc_id": "test-cs-news_a.1_#_7",
        },
    )
    frame = read_one(path).frame
    assert frame.select("doc_id", "seg_id", "esa").rows() == [
        ("test-cs-news_a.1", "test-cs-news_a.1_#_7", 85.0)
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"doc_id": 3, "src_text": "", "tgt_text": {}, "scores": {}}', "doc_id is not text"),
        ('{"doc_id": "a", "src_text": "", "tgt_text": {}, "scores": {"s": 3}}', "not a list"),
        (
            '{"doc_id": "a", "src_text": "", "tgt_text": {}, "scores": {"s": [{"score": true}]}}',
            "not a number",
        ),
        ('{"doc_id": "a", "src_text": "", "tgt_text": [], "scores": {}}', "expected"),
        ('{"doc_id": "a", "src_text": "", "tgt_text": {}, "scores": {}', "not JSON"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "x-humeval.jsonl"
    path.write_text(content + "\n")
    with pytest.raises(InputError, match=message):
        read_one(path)
