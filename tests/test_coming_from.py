"""Every command in `docs/coming-from.md` runs, and gives the same scores as the tool that it replaces."""

from __future__ import annotations

import gzip
import re
import shlex
import subprocess
import sys
from pathlib import Path

import jiwer
import polars as pl
import pytest
import pytrec_eval
from sacrebleu import corpus_bleu

import metassay
from metassay.cli import run_command_line as run
from metassay.metrics.registry import parse_metric
from metassay.sample import get_bundled_sample_path

PAGE = Path(__file__).parents[1] / "docs" / "coming-from.md"
CODE = re.compile(r"`([^`]+)`")
TOOLS = (
    "sacrebleu",
    "jiwer",
    "ir_measures",
    "pytrec_eval and trec_eval",
    "compare-mt",
    "comet-score and comet-compare",
)
MODELS = re.compile(r"-m (comet\b(?!_)|comet_qe|\"xcomet\(model=[^)]*\)\")")
"""Metrics that need a download: chrF runs in their place."""


def lines() -> dict[str, list[str]]:
    """The commands in the right column of the table of each tool."""
    found: dict[str, list[str]] = {}
    for section in PAGE.read_text().split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        if title not in TOOLS:
            continue
        rows = [line.replace(r"\|", "\0") for line in body.splitlines() if line.startswith("| ")][1:]
        cells = [row.strip("| ").split(" | ") for row in rows]
        assert all(len(pair) == 2 for pair in cells), title
        found[title] = [CODE.search(right)[1].replace("\0", "|") for _, right in cells]
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with the files that the page names."""
    frame = pl.read_parquet(get_bundled_sample_path("mt")).sort("seg_id")
    few = frame.filter(pl.col("seg_id").is_in(frame["seg_id"].unique().sort().gather_every(6).implode()))
    few.write_csv(tmp_path / "outputs.csv")
    names = few["system"].unique().sort().to_list()
    columns = {"ref": (names[0], "ref"), "ref2": (names[2], "hyp"), "src": (names[0], "src")}
    columns |= {
        name: (system, "hyp") for name, system in (("hyp", names[0]), ("a", names[0]), ("b", names[1]))
    }
    for name, (system, column) in columns.items():
        texts = [" ".join(text.split()) for text in few.filter(system=system)[column]]
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n")
    ranked = get_bundled_sample_path("ranking")
    for name, source in zip(("run.txt", "run2.txt"), sorted((ranked / "runs").iterdir())):
        (tmp_path / name).write_bytes(gzip.decompress(source.read_bytes()))
    (tmp_path / "qrels.txt").write_bytes((ranked / "qrels.txt").read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_has_ten_lines_for_each_tool_and_says_what_cannot_be_done() -> None:
    assert tuple(lines()) == TOOLS
    assert min(map(len, lines().values())) >= 10
    limits = re.findall(r"metassay (?:has no|does not) ", PAGE.read_text())
    assert len(limits) == len(TOOLS)


@pytest.mark.posix
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("tool", TOOLS)
def test_every_line_runs(capfd, tool) -> None:
    data = metassay.read(
        [{"item": "1", "system": "s", "output": "a cat sat", "ref": "the cat sat down"}], task="asr"
    )
    for line in lines()[tool]:
        if named := MODELS.search(line):
            assert parse_metric(named[1].strip('"')).task == "mt"
        typed = MODELS.sub("-m chrf", line).removeprefix("METASSAY_DEVICE=cpu ")
        if typed.startswith("metassay."):
            assert eval(typed, {"metassay": metassay, "data": data}) is not None
        elif "|" in typed:
            command = typed.replace("metassay ", f"{shlex.quote(sys.executable)} -m metassay ")
            subprocess.run(["bash", "-c", command], check=True, capture_output=True)
        else:
            _, *arguments = shlex.split(typed)
            few = ["--resamples", "9", "--permutations", "9", "--perturbations", "removal"]
            assert run(arguments + (few if arguments[0] == "assay" else [])) == 0, line
            assert capfd.readouterr().out


def shown(capfd, line: str) -> str:
    assert run(shlex.split(line)[1:]) == 0
    return capfd.readouterr().out


def test_bare_numbers_are_those_of_the_other_tools(folder, capfd) -> None:
    texts = {name: (folder / f"{name}.txt").read_text().splitlines() for name in ("ref", "ref2", "hyp")}
    page = {line for tool in lines().values() for line in tool}
    speech = "metassay score --task asr --normalize none -r ref.txt hyp.txt"
    expected = {
        "metassay score -r ref.txt hyp.txt -b -w 4": corpus_bleu(texts["hyp"], [texts["ref"]]).score,
        f"{speech} -b": jiwer.wer(texts["ref"], texts["hyp"]),
        f"{speech} -m cer -b": jiwer.cer(texts["ref"], texts["hyp"]),
    }
    for line, number in expected.items():
        assert line in page
        assert shown(capfd, line).strip() == f"{number:.4f}"
    two = shown(capfd, "metassay score -r ref.txt -r ref2.txt hyp.txt -m bleu -b -w 4")
    assert two.strip() == f"{corpus_bleu(texts['hyp'], [texts['ref'], texts['ref2']]).score:.4f}"


def test_rankings_are_those_of_pytrec_eval(folder) -> None:
    line = next(line for line in lines()[TOOLS[3]] if line.endswith('"map,ndcg_cut_10").segments'))
    ours = eval(line, {"metassay": metassay})
    with (folder / "qrels.txt").open() as judged, (folder / "run.txt").open() as ranked:
        qrel, ranking = pytrec_eval.parse_qrel(judged), pytrec_eval.parse_run(ranked)
    official = pytrec_eval.RelevanceEvaluator(qrel, {"map", "ndcg_cut.10"}).evaluate(ranking)
    scores = {(row["item"], row["metric"]): row["score"] for row in ours.iter_rows(named=True)}
    assert {topic for topic, _ in scores} == set(qrel)
    for topic, values in official.items():
        for name, value in values.items():
            assert scores[topic, name] == pytest.approx(value, rel=1e-9)
