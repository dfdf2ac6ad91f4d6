"""Precomputed scores: `perturb`, score the texts elsewhere, `assay`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from metassay.cli import run_command_line as run
from metassay.errors import InputError, UnknownName
from metassay.sample import get_bundled_sample_path_and_options
from metassay.workflows.assay import assay
from metassay.workflows.perturb import perturb
from metassay.workflows.read import read

FAST = {"resamples": 60, "permutations": 39}
ELSEWHERE = """
import json, sys
from sacrebleu.metrics import BLEU
bleu = BLEU(effective_order=True)
with open(sys.argv[1]) as texts, open(sys.argv[2], "w") as scores:
    for line in texts:
        text = json.loads(line)
        score = bleu.sentence_score(text["hypothesis"], [text["reference"]]).score
        scores.write(json.dumps({"id": text["id"], "bleu": score}) + "\\n")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a table, the texts to score, and their official BLEU scores from another process."""
    path = tmp_path_factory.mktemp("elsewhere")
    source, _ = get_bundled_sample_path_and_options("mt")
    frame = pl.read_parquet(source)
    items = frame["seg_id"].unique().sort()[:40]
    frame.filter(pl.col("seg_id").is_in(items.implode())).write_parquet(path / "outputs.parquet")
    assert run(["perturb", f"{path}/outputs.parquet", "--out", f"{path}/pairs", "--quiet"]) == 0
    files = [f"{path}/pairs/texts.jsonl", f"{path}/scores.jsonl"]
    subprocess.run([sys.executable, "-c", ELSEWHERE, *files], check=True)
    return path


def texts_of(folder: Path) -> pl.DataFrame:
    scores = pl.read_ndjson(folder / "scores.jsonl")
    return pl.read_ndjson(folder / "pairs/texts.jsonl").join(scores, on="id", maintain_order="left")


def assayed(folder: Path, **options):
    return assay(read(folder / "outputs.parquet"), **options, **FAST)


def test_official_scores_from_another_process_give_the_same_bytes(folder) -> None:
    for name, how in {
        "theirs": ["--scores", f"{folder}/scores.jsonl"],
        "ours": ["--metrics", "bleu"],
    }.items():
        out = ["--out", f"{folder}/{name}", "--quiet"]
        assert run(["assay", f"{folder}/outputs.parquet", *how, *out]) == 0
    theirs, ours = folder / "theirs/results", folder / "ours/results"
    names = sorted(file.name for file in ours.iterdir())
    assert names == sorted(file.name for file in theirs.iterdir())
    for name in set(names) - {"assay.json"}:
        assert (theirs / name).read_bytes() == (ours / name).read_bytes(), name
    found, expected = (json.loads((side / "assay.json").read_text()) for side in (theirs, ours))
    signature = found["metrics"][0].pop("signature")
    assert signature != expected["metrics"][0].pop("signature")
    assert json.dumps(found) == json.dumps(expected)


def test_texts_to_score_are_distinct_and_complete(folder) -> None:
    texts = pl.read_ndjson(folder / "pairs/texts.jsonl")
    assert texts.columns[:5] == ["id", "item", "source", "hypothesis", "reference"]
    assert texts["id"].is_unique().all()
    assert texts.select("item", "hypothesis").is_unique().all()
    pairs = pl.read_parquet(folder / "pairs/pairs.parquet")
    for side in ("output", "worse"):
        assert (
            pairs.select("item", hypothesis=side)
            .join(texts, on=["item", "hypothesis"], how="anti")
            .is_empty()
        )


def as_table(texts: pl.DataFrame, path: Path) -> str:
    texts.select("item", "bleu", output="hypothesis").write_csv(path / "by_text.csv")
    return "by_text.csv"


def as_long(texts: pl.DataFrame, path: Path) -> str:
    texts.select("id", metric=pl.lit("bleu"), score="bleu").write_parquet(path / "long.parquet")
    return "long.parquet"


def as_comet(texts: pl.DataFrame, path: Path) -> str:
    rows = texts.select(
        pl.col("source").str.strip_chars().alias("src"),
        pl.col("hypothesis").str.strip_chars().alias("mt"),
        pl.col("reference").str.strip_chars().alias("ref"),
        pl.col("bleu"),
    ).to_dicts()
    content = {"mt.txt": [row | {"errors": [{"start": 0}]} for row in rows]}
    (path / "comet.json").write_text(json.dumps(content, indent=4))
    return "comet.json"


def as_segments(texts: pl.DataFrame, path: Path) -> str:
    (path / "bleu.seg.score").write_text("".join(f"sys\t{score!r}\n" for score in texts["bleu"]))
    return "bleu.seg.score"


@pytest.mark.parametrize("form", [as_table, as_long, as_comet, as_segments])
def test_every_file_format_gives_the_same_result(folder, tmp_path, form) -> None:
    file = form(texts_of(folder), tmp_path)
    found = assayed(folder, scores=tmp_path / file).to_dict()
    expected = assayed(folder, metrics="bleu").to_dict()
    for content in (found, expected):
        content["metrics"] = None
    assert found == expected


def test_metricx_predictions_are_errors_under_the_name_of_the_file(folder, tmp_path) -> None:
    lines = texts_of(folder).select("source", "hypothesis", "reference", prediction=-pl.col("bleu"))
    lines.write_ndjson(tmp_path / "metricx-24.jsonl")
    found = assayed(folder, scores=tmp_path / "metricx-24.jsonl").to_dict()
    bleu = assayed(folder, metrics="bleu").to_dict()["global"][0]
    assert found["metrics"][0]["higher_is_better"] is False
    assert found["global"][0] == bleu | {"metric": "metricx-24"}
    assert any("lower scores are treated as better" in note for note in found["notes"])
    turned = assayed(folder, scores=tmp_path / "metricx-24.jsonl", higher_is_better="metricx-24").to_dict()
    assert turned["global"][0]["micro"] < 0.5 < bleu["micro"]


def test_missing_scores_are_counted(folder) -> None:
    texts = texts_of(folder).select("id", mine=pl.when(pl.int_range(pl.len()) % 10 > 0).then("bleu"))
    result = assayed(folder, scores=texts)
    found, gaps = result.to_dict(), texts["mine"].null_count()
    assert f"mine: {gaps:,} of {len(texts):,} texts have no score." in found["notes"]
    assert found["global"][0]["pairs"] < found["pairs"]
    halves = [texts[: len(texts) // 2], texts[len(texts) // 2 :]]
    assert assayed(folder, scores=halves).to_dict()["global"] == found["global"]


def test_user_can_name_the_direction_of_scores(folder) -> None:
    errors = texts_of(folder).select("id", errors=-pl.col("bleu"))
    lower = assayed(folder, scores=errors, lower_is_better="errors").to_dict()
    assert lower["global"][0]["micro"] == assayed(folder, metrics="bleu").to_dict()["global"][0]["micro"]
    with pytest.raises(UnknownName, match="external metric 'eror'"):
        assayed(folder, scores=errors, lower_is_better="eror")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.with_columns(id=pl.lit("0123456789abcdef")),
            r"row 1: the id 0123456789abcdef belongs to no text",
        ),
        (
            lambda t: pl.concat([t, t[:1].with_columns(bleu=-1.0)]),
            r"row \d+: the text has the score -1 here and",
        ),
        (lambda t: t.drop("id"), "no column says which output"),
        (lambda t: t.drop("bleu"), "no column holds scores"),
        (
            lambda t: t.with_columns(pl.lit(float("inf")).alias("bleu")),
            "row 1, column bleu: a score is infinite",
        ),
    ],
)
def test_errors_in_score_files_name_their_location(folder, change, message) -> None:
    with pytest.raises(InputError, match=message):
        assayed(folder, scores=change(texts_of(folder).select("id", "bleu")))


def test_a_file_of_lines_needs_one_for_each_text(folder, tmp_path) -> None:
    (tmp_path / "mine.seg.score").write_text("0.5\nNone\n")
    with pytest.raises(InputError, match="the file has 2 lines, but"):
        assayed(folder, scores=tmp_path / "mine.seg.score")


def test_precomputed_scores_of_pairs_from_the_user() -> None:
    pairs = [{"item": i, "output": f"good {i}", "worse": f"bad {i}", "ref": "x"} for i in range(4)]
    sides = [(pair[side], pair["item"], side == "output") for pair in pairs for side in ("output", "worse")]
    scores = [
        {"item": item, "output": text, "mine": float(better and item > 0)} for text, item, better in sides
    ]
    found = assay(None, pairs=pairs, scores=[{**row} for row in scores], **FAST).to_dict()
    assert (found["global"][0]["metric"], found["global"][0]["micro"], found["global"][0]["ties"]) == (
        "mine",
        0.75,
        0.25,
    )


def test_a_system_that_is_the_reference_leaves_no_text(tmp_path) -> None:
    rows = [
        {
            "seg_id": i,
            "system": system,
            "hyp": text,
            "mqm": mqm,
            "ref": f"the cat number {i} sat on the old mat",
        }
        for i in range(6)
        for system, mqm, text in (
            ("a", 0.0, f"a cat number {i} sat on an old mat"),
            ("human", -9.0, f"the cat number {i} sat on the old mat"),
            ("b", -5.0, f"the cats number {i} sit on old mats here"),
        )
    ]
    perturb(rows, out=tmp_path / "run", perturbations="removal,borrowed_span")
    texts = pl.read_ndjson(tmp_path / "run/texts.jsonl").with_columns(
        mine=pl.col("hypothesis").str.len_chars()
    )
    found = assay(
        rows, scores=texts.select("id", "mine"), perturbations="removal,borrowed_span", **FAST
    ).to_dict()
    assert not any("no score" in note for note in found["notes"])
