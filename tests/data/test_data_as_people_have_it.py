"""Data in the forms that people have it: read, or refused with what to type."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import metassay
from metassay.cli import run_command_line as run
from metassay.errors import InputError


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.parametrize("item", ["article_id", "doc", "question_id"])
@pytest.mark.parametrize("output", ["response", "answer"])
def test_usual_column_names_are_recognised(item: str, output: str) -> None:
    rows = [
        {item: n, "model": model, output: f"a {n}", "reference": f"b {n}"} for n in (1, 2) for model in "xy"
    ]
    data = metassay.read(rows)
    assert (data.task, data.systems, data.items) == ("text", ("x", "y"), ("1", "2"))
    assert data.metadata == ()


def test_the_prompt_identifies_the_item_if_there_is_no_id() -> None:
    rows = [{"prompt": f"say {n}", "model": model, "response": f"{n}"} for n in (1, 2) for model in "xy"]
    data = metassay.read(rows)
    assert len(data.items) == 2
    assert data.outputs.group_by("item").agg(pl.col("source").n_unique())["source"].to_list() == [1, 1]
    assert metassay.read(rows[::-1]).items == data.items


def test_roles_have_their_usual_short_names() -> None:
    rows = [{"n": 1, "who": "a", "de": "Haus", "en": "house", "gold": "home"}]
    columns = {"id": "n", "sys": "who", "src": "de", "hyp": "en", "ref": "gold"}
    (row,) = metassay.read(rows, columns=columns).outputs.select("source", "output", "references").rows()
    assert row == ("Haus", "house", ["home"])


def test_errors_in_python_name_keywords(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table = write_lines(tmp_path / "x.csv", "n,hyp,ref", "1,a,b")
    for verb in (metassay.read, metassay.rank):
        with pytest.raises(InputError, match=r'columns=\{"item": "COLUMN"\}') as caught:
            verb(table)
        assert "--" not in str(caught.value)
    assert run(["check", str(table)]) == 2
    assert "--column item=COLUMN" in capfd.readouterr().err


ROWS = [{"seg_id": 1, "system": "a", "hyp": "a red fox", "ref": "the red fox"}]


def test_a_table_in_memory_without_rows_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    for table in (pl.DataFrame(ROWS), pl.DataFrame(ROWS).lazy(), pandas.DataFrame(ROWS)):
        with pytest.raises(InputError, match="the table has no rows"):
            metassay.read(table.head(0))


def test_a_single_column_is_not_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    for column in (pl.Series(["a red fox"]), pandas.Series(["a red fox"])):
        with pytest.raises(InputError, match="a table was expected, not a single column"):
            metassay.read(column)


def test_ids_in_the_index_of_a_pandas_frame_are_not_lost() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    for index in ("seg_id", ["seg_id", "system"]):
        with pytest.raises(InputError, match=r"the index of the data frame \(seg_id.*\n.*reset_index\(\)"):
            metassay.read(frame.set_index(index))
        assert metassay.read(frame.set_index(index, drop=False)).items == ("1",)
        assert metassay.read(frame.set_index(index).reset_index()).systems == ("a",)


def test_a_pandas_column_of_lists_holds_references() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"id": [1, 2], "system": "a", "hyp": ["x", "y"], "references": [["x", "z"], ["y"]]}
    )
    assert metassay.read(frame).outputs["references"].to_list() == [["x", "z"], ["y"]]
    arrays = frame.assign(references=[pandas.array(texts).to_numpy() for texts in frame["references"]])
    assert metassay.read(arrays).outputs["references"].to_list() == [["x", "z"], ["y"]]


@pytest.mark.parametrize("lines", [("Hello, world", "Good day"), ("one", "two"), ("a, b, c", "d")])
def test_plain_text_alone_is_refused_with_what_to_type(
    tmp_path: Path, lines: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(tmp_path / "system.txt", *lines)
    assert run(["check", str(path)]) == 2
    error = capfd.readouterr().err
    assert "this is plain text" in error
    assert "-r REFERENCE OUTPUT" in error
    assert "quoting" not in error


def test_transcripts_alone_are_refused_with_what_to_type(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "system.trn", "hello there (spk1-utt1)", "good day (spk1-utt2)")
    with pytest.raises(InputError, match=r"-r REFERENCE\.trn OUTPUT\.trn"):
        metassay.read(path)


def test_a_file_of_sources_makes_the_task_translation(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    reference = write_lines(tmp_path / "ref.txt", "the house", "a tree")
    output = write_lines(tmp_path / "a.txt", "the home", "one tree")
    source = write_lines(tmp_path / "src.txt", "das Haus", "ein Baum")
    command = ["score", "-r", str(reference), str(output), "--source", str(source), "-m", "bleu", "--quiet"]
    assert run(command) == 0
    assert "machine translation (--task mt) because a file of sources was given" in capfd.readouterr().err


def test_human_scores_may_stand_in_lines(tmp_path: Path) -> None:
    from metassay.workflows.read import read_parallel_files

    reference = write_lines(tmp_path / "ref.txt", "the house", "a tree")
    outputs = [write_lines(tmp_path / f"{name}.txt", "the home", f"{name} tree") for name in "ab"]
    scores = write_lines(tmp_path / "adequacy.txt", "80", "60", "n.a.", "20")
    data = read_parallel_files([str(reference)], [str(path) for path in outputs], join=str(scores))
    assert data.human == ("adequacy",)
    assert data.outputs.sort("system", "item")["adequacy"].to_list() == [80, 60, None, 20]
    short = write_lines(tmp_path / "short.txt", "80", "60")
    with pytest.raises(InputError, match="2 lines of scores, but there are 4 outputs"):
        read_parallel_files([str(reference)], [str(path) for path in outputs], join=str(short))


@pytest.mark.parametrize("key", ["audio", "utt_id"])
def test_chosen_columns_also_apply_to_joined_files(tmp_path: Path, key: str) -> None:
    whisper = tmp_path / "whisper.jsonl"
    pl.DataFrame({"audio": ["u1", "u2"], "text": ["hello", "good day"]}).write_ndjson(whisper)
    references = tmp_path / "references.csv"
    pl.DataFrame({key: ["u2", "u1"], "transcript": ["good bye", "hello"]}).write_csv(references)
    columns = {"item": "audio", "output": "text", "references": "transcript"}
    data = metassay.read(whisper, join=references, columns=columns, task="asr")
    assert data.outputs.select("item", "references").rows() == [("u1", ["hello"]), ("u2", ["good bye"])]


def test_deepeval_test_runs_are_read(tmp_path: Path) -> None:
    cases = [
        {
            "name": f"test_case_{n}",
            "order": n,
            "input": f"question {n}",
            "actualOutput": f"answer {n}",
            "expectedOutput": f"gold {n}",
            "success": True,
            "metricsData": [
                {"name": "Correctness [GEval]", "threshold": 0.5, "success": True, "score": 0.5 + n / 4}
            ],
            "additionalMetadata": {"topic": "law"},
        }
        for n in range(2)
    ]
    run_content = {"testFile": None, "testCases": cases, "hyperparameters": {"model": "gpt-x"}}
    path = tmp_path / "latest_test_run.json"
    path.write_text(json.dumps({"testRunData": run_content, "testRunLink": None}))
    data = metassay.read(path)
    assert data.systems == ("gpt-x",)
    columns = ("source", "output", "references", "Correctness [GEval]", "topic")
    assert data.outputs.select(columns).row(1) == ("question 1", "answer 1", ["gold 1"], 0.75, "law")


def test_promptfoo_results_are_read(tmp_path: Path) -> None:
    results = [
        {
            "promptIdx": p,
            "testIdx": n,
            "testCase": {"assert": [{"type": "similar", "value": f"gold {n}"}]},
            "provider": {"id": provider, "label": ""},
            "prompt": {"raw": f"Say {n}", "label": "Say {{n}}"},
            "vars": {"n": str(n)},
            "response": {"output": f"{provider} says {n}"},
            "score": 0.5,
            "success": True,
            "namedScores": {"tone": n / 2},
        }
        for n in range(2)
        for p, provider in enumerate(("openai:x", "anthropic:y"))
    ]
    path = tmp_path / "results.json"
    path.write_text(
        json.dumps({"evalId": "eval-1", "results": {"version": 3, "results": results}, "config": {}})
    )
    data = metassay.read(path)
    assert (data.systems, data.items) == (("anthropic:y", "openai:x"), ("0", "1"))
    columns = ("system", "source", "output", "references", "promptfoo", "tone")
    assert data.outputs.select(columns).row(3) == (
        *("openai:x", "Say 1", "openai:x says 1", ["gold 1"]),
        *(0.5, 0.5),
    )
