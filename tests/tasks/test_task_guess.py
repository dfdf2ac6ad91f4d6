"""The task follows from evidence, never from one column of metadata, and the guess is said."""

from __future__ import annotations

import polars as pl
import pytest

from metassay.errors import UnknownName
from metassay.tasks import find_task, guess_task, load_tasks
from metassay.tasks.base import TableEvidence
from metassay.workflows.read import read, read_parallel_files
from metassay.workflows.score import score

TEXTS = {
    "seg_id": [1, 1, 2, 2],
    "system": ["a", "b", "a", "b"],
    "hyp": ["The Cat, sat.", "a cat sat", "It rains!", "it rained"],
    "ref": ["the cat sat", "the cat sat", "it rains", "it rains"],
}


@pytest.mark.parametrize("column", ["speaker", "speaker_id", "topic", "docid", "qid", "utterance_type"])
def test_a_column_of_metadata_decides_nothing(column) -> None:
    frame = pl.DataFrame(TEXTS | {column: ["x", "y", "x", "y"], "lp": ["xx-en"] * 4})
    dataset = read(frame)
    assert dataset.task == "mt"
    with_column = score(dataset, metrics="bleu").systems
    without = score(read(frame.drop(column)), metrics="bleu").systems
    assert with_column == without


@pytest.mark.parametrize(
    ("columns", "more", "expected"),
    [
        (("seg_id", "hyp", "ref"), {}, "text"),
        (("seg_id", "hyp", "ref", "lp"), {}, "mt"),
        (("seg_id", "hyp", "ref", "src"), {}, "text"),
        (("seg_id", "hyp", "ref", "src"), {"language": "de"}, "mt"),
        (("seg_id", "hyp", "ref"), {"format_task": "asr"}, "asr"),
        (("topic", "docid", "run", "score"), {}, "ranking"),
        (("topic", "seg_id", "hyp", "ref"), {}, "text"),
        (("query", "system", "score"), {"has_judgements": True}, "ranking"),
        (("utt_id", "speaker", "hyp", "ref"), {}, "text"),
        (("question", "answer", "reference", "model"), {}, "text"),
    ],
)
def test_evidence(columns, more, expected) -> None:
    task, why = guess_task(TableEvidence(frozenset(columns), **more))
    assert task.name == expected
    assert why


def test_the_guess_is_a_sentence_and_a_named_task_is_none() -> None:
    dataset = read(pl.DataFrame(TEXTS | {"speaker": ["s"] * 4}))
    assert dataset.task_guess == (
        "The data is read as text generation (--task text) because there is a column of outputs (hyp) and a "
        "column ref. If this is speech (speaker), add --task asr."
    )
    assert read(pl.DataFrame(TEXTS), task="asr").task_guess is None


def test_plain_files_are_text_and_with_source_and_language_a_translation(tmp_path) -> None:
    for name in ("ref", "hyp", "src"):
        (tmp_path / name).write_text("a b\nc d\n")
    files = [str(tmp_path / "ref")], [str(tmp_path / "hyp")]
    assert read_parallel_files(*files).task_guess == (
        "The data is read as text generation (--task text) because text files of outputs and references were "
        "given."
    )
    assert read_parallel_files(*files, str(tmp_path / "src"), language="de").task == "mt"


def test_every_task_can_be_found_and_answers_for_itself() -> None:
    for name, task in load_tasks().items():
        assert find_task(name) is task
        assert task.is_ranking != task.is_text
        assert task.default_metrics
        assert task.perturbations
    with pytest.raises(UnknownName, match="Known: asr, mt, ranking, text"):
        find_task("speech")


def test_a_data_set_keeps_a_task_that_is_announced_nowhere() -> None:
    import dataclasses

    own = dataclasses.replace(find_task("text"), name="limericks", default_language="ga")
    dataset = read(pl.DataFrame(TEXTS), task=own)
    assert dataset.task == "limericks"
    assert set(dataset.languages) == {"ga"}
    assert dataset.add_notes("kept").task_definition is own


def test_criteria_are_human_scores_where_they_are_numbers() -> None:
    rated = {
        "coherence": [1.0, 2, 3, 4],
        "relevance": [4, 3, 2, 1],
        "quality": ["good", "bad", "good", "bad"],
    }
    dataset = read(pl.DataFrame(TEXTS | rated))
    assert dataset.human == ("coherence", "relevance")
    assert dataset.metadata == ("quality",)


def test_any_column_of_numbers_can_be_declared_human() -> None:
    frame = pl.DataFrame(TEXTS | {"points": [4, 3, 2, 1], "more": [1, 2, 3, 4], "place": ["x"] * 4})
    assert read(frame).human == ()
    assert read(frame, human="points").human == ("points",)
    assert read(frame).declare_human_column("Points").declare_human_column("more").human == ("points", "more")
    with pytest.raises(UnknownName, match="Known: more, points"):
        read(frame).declare_human_column("place")


def test_row_numbers_of_other_programs_are_no_context() -> None:
    frame = pl.DataFrame(
        TEXTS | {"__index_level_0__": [0, 1, 2, 3], "Unnamed: 0": [0, 1, 2, 3], "domain": ["d"] * 4}
    )
    assert read(frame).metadata == ("domain",)


def test_exact_copies_of_rows_are_left_out() -> None:
    frame = pl.DataFrame(TEXTS)
    dataset = read(pl.concat([frame, frame[:1]]))
    assert len(dataset) == 4
    assert any(note.startswith("1 row is an exact copy of another") for note in dataset.notes)
    changed = frame[:1].with_columns(hyp=pl.lit("other"))
    with pytest.raises(ValueError, match="was already given in row 1"):
        read(pl.concat([frame, changed]))
