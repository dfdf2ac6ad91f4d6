"""A task that another package announces: one value, and every verb works on its data."""

from __future__ import annotations

import json
import types

import numpy as np
import polars as pl
import pytest

from metassay import plugins
from metassay import tasks as registry
from metassay.cli import run
from metassay.tasks.base import TEXT_COLUMNS, TableEvidence, Task


def explain_match(evidence: TableEvidence) -> str | None:
    if evidence.find_column("caption") and evidence.find_column("image_id"):
        return "there are captions of images"
    return None


CAPTIONS = Task(
    name="captions",
    title="image captioning",
    output_noun="caption",
    output_noun_plural="captions",
    column_names=TEXT_COLUMNS | {"item": ("image_id",), "output": ("caption",)},
    explain_match=explain_match,
    default_metrics=("bleu", "rougel"),
    corpus_metrics=("bleu",),
    perturbations=("removal", "insertion", "swapping"),
    human_criteria=("vividness",),
    default_language="en",
)


@pytest.fixture(autouse=True)
def installed_task(monkeypatch):
    points = [types.SimpleNamespace(name="captions", load=lambda: CAPTIONS)]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == "metassay.tasks" else [])
    registry.load_tasks.cache_clear()
    registry.list_human_criteria.cache_clear()
    yield
    registry.load_tasks.cache_clear()
    registry.list_human_criteria.cache_clear()


@pytest.fixture
def table(tmp_path) -> str:
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


def shown(capsys, *arguments: str) -> dict:
    assert run([*arguments, "--json", "--quiet"]) == 0
    captured = capsys.readouterr()
    return json.loads(captured.out) | {"_err": captured.err}


def test_every_verb_works_on_it(table, tmp_path, capsys) -> None:
    found = shown(capsys, "check", table)
    assert found["task"] == "captions"
    assert "since there are captions of images" in found["task_guess"]
    assert found["task_guess"] in found["_err"]
    assert found["human"] == {"vividness": 72}

    scores = str(tmp_path / "scores.parquet")
    found = shown(capsys, "score", table, "--per-segment", scores)
    assert {row["metric"] for row in found["systems"]} == {"bleu", "rougel"}

    found = shown(capsys, "perturb", table)
    assert {row["perturbation"] for row in found["perturbations"]} == {"removal", "insertion", "swapping"}

    folder = str(tmp_path / "run")
    options = ("--context", "place", "--resamples", "50", "--permutations", "19", "--min-items", "5")
    found = shown(capsys, "assay", table, "--out", folder, *options)
    assert found["task"] == "captions"
    page = (tmp_path / "run" / "report.html").read_text()
    assert "a better caption" in page
    assert "image captioning" in page

    found = shown(capsys, "aggregate", table, "--repeats", "20", "--resamples", "20")
    assert {row["human"] for row in found["human"]} == {"vividness"}

    joined = ("--join", scores, "--column", "item=image_id", "--human", "vividness")
    found = shown(capsys, "rank", table, *joined, "--draws", "50")
    assert [row["metric"] for row in found["results"][0]["metrics"] if not row["baseline"]]
    found = shown(capsys, "depend", table, *joined, "--bootstraps", "10", "--draws", "19")
    assert {row["metric"] for row in found["metrics"]} == {"bleu", "rougel"}

    assert run(["report", folder]) == 0
