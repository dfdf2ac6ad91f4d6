"""A task in another package is one value and one entry point; every verb works on its data."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from metassay import tasks
from metassay.cli import run_command_line as run

SOURCE_CODE = """
from metassay import Task

COLUMN_NAMES = {
    "item": ("image_id",),
    "output": ("caption",),
    "source": ("src", "source"),
    "system": ("system",),
}


def explain_match(evidence):
    if evidence.find_column("caption") and evidence.find_column("image_id"):
        return "there are captions of images"
    return None


TASK = Task(
    name="captions",
    title="image captioning",
    output_noun="caption",
    output_noun_plural="captions",
    column_names=COLUMN_NAMES,
    explain_match=explain_match,
    default_metrics=("bleu", "rougel"),
    corpus_metrics=("bleu",),
    perturbations=("removal", "insertion", "swapping"),
    human_criteria=("vividness",),
    default_language="en",
)
"""


@pytest.fixture(autouse=True)
def installed_task(install_plugin):
    install_plugin("captions", SOURCE_CODE, "metassay.tasks", "TASK")
    tasks.load_tasks.cache_clear()
    tasks.list_human_criteria.cache_clear()
    yield
    tasks.load_tasks.cache_clear()
    tasks.list_human_criteria.cache_clear()


@pytest.fixture
def captions_file(tmp_path) -> str:
    rng = np.random.default_rng(0)
    words = ["dog", "cat", "house", "tree", "river", "child", "ball", "red", "small", "old", "runs", "sits"]
    rows = []
    for image in range(24):
        reference = list(rng.choice(words, 8))
        for k, system in enumerate(("a", "b", "c")):
            caption = [word if rng.random() > 0.2 * k else str(rng.choice(words)) for word in reference]
            right = sum(map(str.__eq__, caption, reference))
            rows.append(
                {
                    "image_id": image,
                    "system": system,
                    "caption": " ".join(caption),
                    "ref": " ".join(reference),
                    "place": "indoor" if image % 2 else "outdoor",
                    "vividness": right + float(rng.normal()),
                }
            )
    path = tmp_path / "captions.csv"
    pl.DataFrame(rows).write_csv(path)
    return str(path)


def run_verb(capsys, *arguments: str) -> dict:
    assert run([*arguments, "--json", "--quiet"]) == 0
    captured = capsys.readouterr()
    return json.loads(captured.out) | {"_err": captured.err}


def test_every_verb_works_on_data_of_the_task(captions_file, tmp_path, capsys) -> None:
    result = run_verb(capsys, "check", captions_file)
    assert result["task"] == "captions"
    assert "because there are captions of images" in result["task_guess"]
    assert result["task_guess"] in result["_err"]
    assert result["human"] == {"vividness": 72}

    scores = str(tmp_path / "scores.parquet")
    result = run_verb(capsys, "score", captions_file, "--per-segment", scores)
    assert {row["metric"] for row in result["systems"]} == {"bleu", "rougel"}

    result = run_verb(capsys, "perturb", captions_file)
    assert {row["perturbation"] for row in result["perturbations"]} == {"removal", "insertion", "swapping"}

    folder = str(tmp_path / "run")
    options = ("--context", "place", "--resamples", "50", "--permutations", "19", "--min-items", "5")
    result = run_verb(capsys, "assay", captions_file, "--out", folder, *options)
    assert result["task"] == "captions"
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Detect errors in single captions" in page
    assert "image captioning" in page

    result = run_verb(capsys, "aggregate", captions_file, "--repeats", "20", "--resamples", "20")
    assert {row["human"] for row in result["human"]} == {"vividness"}

    joined = ("--join", scores, "--column", "item=image_id", "--human", "vividness")
    result = run_verb(capsys, "rank", captions_file, *joined, "--draws", "50")
    assert [row["metric"] for row in result["results"][0]["metrics"] if not row["baseline"]]
    result = run_verb(capsys, "depend", captions_file, *joined, "--bootstraps", "10", "--draws", "19")
    assert {row["metric"] for row in result["metrics"]} == {"bleu", "rougel"}

    assert run(["report", folder]) == 0
