"""A folder shaped like WMT25's: two human scores, texts as JSON lines, metadata, a reference as a system."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import metassay
from metassay.errors import InputError

LP = "en-de_DE"
SEGMENTS = 24
SYSTEMS = ("Alpha", "Beta", "Gamma", "refA")
WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "the",
    "lazy",
    "dog",
    "while",
    "seven",
    "wizards",
    "box",
    "five",
    "jugs",
    "today",
]


def reference(segment: int) -> str:
    """A sentence that differs from segment to segment, with a line break in some, as in WMT25."""
    words = [*WORDS[segment % 5 :], f"number {segment}"]
    return "\n".join([" ".join(words), "A second paragraph."]) if segment % 3 == 0 else " ".join(words)


def output(system: str, segment: int) -> str:
    if system == "refA":
        return reference(segment)
    worse = {"Alpha": 1, "Beta": 3, "Gamma": 5}[system]
    return " ".join(reference(segment).split()[worse:]) + f" ({system})"


def write_lines(path: Path, objects: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in objects))


def write_scores(path: Path, scores: dict[str, list[float | None]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{system}\t{value}\n" for system, own in scores.items() for value in own))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root, numbers = tmp_path / "wmt25", range(SEGMENTS)
    rng = np.random.default_rng(0)
    truth = {"Alpha": 90.0, "Beta": 80.0, "Gamma": 60.0, "refA": 95.0}

    def noisy(size: float, among: tuple[str, ...]) -> dict[str, list[float | None]]:
        return {name: [round(truth[name] + size * x, 3) for x in rng.normal(size=SEGMENTS)] for name in among}

    (root / "documents").mkdir(parents=True)
    domains = ["news" if n < SEGMENTS // 2 else "speech" for n in numbers]
    (root / f"documents/{LP}.docs").write_text(
        "".join(f"{domain}\tdoc{n // 4}\n" for n, domain in zip(numbers, domains))
    )
    write_lines(root / f"sources/{LP}.jsonl", [{"source": f"Quelle {n}", "note": n} for n in numbers])
    write_lines(root / f"references/{LP}.refA.jsonl", [{"target": reference(n)} for n in numbers])
    for name in SYSTEMS:
        write_lines(
            root / f"system-outputs/{LP}/{name}.jsonl", [{"hypothesis": output(name, n)} for n in numbers]
        )
        facts = [
            {"register": "formal" if n % 2 else "informal", "tokens": 10 + n, "domain": "x", "tags": ["a"]}
            for n in numbers
        ]
        write_lines(root / f"metadata/{LP}/{name}.jsonl", [f | {"family": name[0]} for f in facts])
    first, second = noisy(5, SYSTEMS), noisy(8, SYSTEMS)
    first["Beta"][3] = None
    write_scores(root / f"human-scores/{LP}.esa-human1.seg.score", first)
    write_scores(root / f"human-scores/{LP}.esa-human2.seg.score", second)
    write_scores(root / f"human-scores/{LP}.esa-merged.seg.score", noisy(4, SYSTEMS))
    write_scores(
        root / f"human-scores/{LP}.esa-human1.doc.score",
        {name: [float(np.mean([x for x in own if x])) for _ in range(6)] for name, own in first.items()},
    )
    write_scores(root / f"metric-scores/{LP}/Good-refA.seg.score", noisy(3, SYSTEMS[:3]))
    write_scores(root / f"metric-scores/{LP}/Weak-src.seg.score", noisy(60, SYSTEMS))
    return root


def test_human_scores_are_never_metrics(tree: Path) -> None:
    result = metassay.rank(tree, human="esa-human1", draws=50).to_dict()
    (one,) = result["results"]
    assert result["human"] == "esa-human1"
    ranked = [row["metric"] for row in one["metrics"] if not row["baseline"]]
    assert ranked == ["Good-refA", "Weak-src"]
    assert (one["dataset"], one["systems"], one["segments"], one["dropped_segments"]) == (LP, 3, 23, 1)
    assert any("refA" in note and "outputs are the reference" in note for note in result["notes"])


def test_several_human_scores_need_a_choice(tree: Path) -> None:
    with pytest.raises(InputError, match="esa-human1, esa-human2, esa-merged"):
        metassay.rank(tree)


def test_systems_texts_and_contexts_of_check_and_read(tree: Path) -> None:
    data = metassay.read(tree)
    assert data.systems == SYSTEMS
    assert data.human == ("esa-human1", "esa-human2", "esa-merged")
    row = data.outputs.filter((pl.col("system") == "Beta") & (pl.col("item") == f"{LP}/4")).row(0, named=True)
    assert row["output"] == output("Beta", 3)
    assert row["references"] == [reference(3)]
    assert row["source"] == "Quelle 3"
    assert (row["register"], row["tokens"], row["family"], row["domain"]) == ("formal", 13, "B", "news")
    assert row["esa-human1"] is None
    assert set(data.languages) == {"de-de"}
    found = metassay.check(tree).to_dict()
    assert found["own_references"] == ["refA"]
    assert {"register", "tokens", "family", "domain", "doc_id", "metadata_domain"} <= {*found["contexts"]}
    assert not {*found["contexts"]} & {"tags", "esa-human1", "esa-human2"}


def test_contexts_from_metadata_in_rank_and_depend(tree: Path) -> None:
    ranked = metassay.rank(tree, human="esa-human2", context=["register"], minimum_segments=5, draws=50)
    assert {one["context"] for one in ranked.to_dict()["results"]} == {"global", "formal", "informal"}
    found = metassay.depend(tree, human="esa-human2", context=["register"], bootstraps=20, draws=50).to_dict()
    good = next(entry for entry in found["metrics"] if entry["metric"] == "Good-refA")
    assert {row["context"] for row in good["local"]} == {"formal", "informal"}
    assert {*good["deviations"]} == {"Alpha", "Beta", "Gamma"}
    assert [entry["metric"] for entry in found["metrics"]] == ["Good-refA", "Weak-src"]


def test_an_assay_by_metadata_without_the_reference(tree: Path) -> None:
    found = metassay.assay(
        tree, metrics="chrf,bleu", contexts=["register", "family"], resamples=50, permutations=49
    ).to_dict()
    rows = found["contexts"]["register"]["local_accuracy"]
    assert {row["context"] for row in rows} >= {"formal", "informal"}
    assert {row["context"] for row in found["contexts"]["family"]["local_accuracy"]} >= {"A", "B", "G"}
    assert not any(row["context"] == "r" for row in found["contexts"]["family"]["local_accuracy"])
    assert found["outputs"] == 3 * SEGMENTS


def test_rows_are_documents_if_people_scored_only_documents(tree: Path) -> None:
    for path in (tree / "human-scores").glob("*.seg.score"):
        path.unlink()
    result = metassay.rank(tree, draws=50, minimum_segments=2).to_dict()
    (one,) = result["results"]
    assert (result["human"], one["segments"], one["systems"]) == ("esa-human1", 6, 3)
    assert any("mean of their segments' scores in Good-refA, Weak-src" in note for note in result["notes"])
    data = metassay.read(tree)
    first = data.outputs.filter((pl.col("system") == "Alpha") & (pl.col("item") == f"{LP}/1")).row(
        0, named=True
    )
    assert first["output"] == "\n".join(output("Alpha", n) for n in range(4))
    scores = (tree / f"metric-scores/{LP}/Good-refA.seg.score").read_text().split("\n")
    own = [float(line.split("\t")[1]) for line in scores if line.startswith("Alpha")]
    assert first["Good-refA"] == pytest.approx(np.mean(own[:4]))


def test_error_for_a_missing_field_names_the_file(tree: Path) -> None:
    write_lines(tree / f"system-outputs/{LP}/Alpha.jsonl", [{"text": "x"}] * SEGMENTS)
    with pytest.raises(InputError, match=r"Alpha\.jsonl.*no field 'hypothesis'"):
        metassay.read(tree)


def test_metadata_of_too_few_segments_are_refused(tree: Path) -> None:
    write_lines(tree / f"metadata/{LP}/Alpha.jsonl", [{"register": "formal"}] * 3)
    with pytest.raises(InputError, match=r"Alpha\.jsonl.*3 lines.*24 segments"):
        metassay.read(tree)
