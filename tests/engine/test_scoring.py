"""Scoring over batches: order, distinct rows, kept parts, and metrics that misbehave."""

from __future__ import annotations

import hashlib
import time
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from metassay.engine import batches
from metassay.engine.batches import OutputRows
from metassay.engine.scoring import measure_metric_run_times, score_rows
from metassay.errors import InputError, MetricFailure
from metassay.metrics.base import Metric
from metassay.metrics.registry import parse_metrics
from metassay.recorded_warnings import CountedWarning
from metassay.store.run_scores import RunScores
from metassay.workflows.run_files import collect_warnings


def rows(texts, references=None, language=None) -> OutputRows:
    columns = {"item": [str(i) for i in range(len(texts))], "system": ["s"] * len(texts), "output": texts}
    if references is not None:
        columns["references"] = [[reference] for reference in references]
    languages = pl.Series("language", language or [None] * len(texts), dtype=pl.String)
    return OutputRows(pl.DataFrame(columns).with_columns(languages))


@dataclass(frozen=True)
class Counting(Metric):
    """The length of the text; remembers what it was asked."""

    name: ClassVar[str] = "counting"
    task: ClassVar[str] = "any"
    needs: ClassVar[frozenset[str]] = frozenset({"output"})
    asked: ClassVar[list[list[str]]] = []

    def score(self, batch):
        self.asked.append(list(batch.output))
        return np.array([np.nan if text == "undefined" else float(len(text)) for text in batch.output])


@pytest.fixture
def counting() -> Counting:
    Counting.asked.clear()
    return Counting()


def test_each_distinct_text_is_scored_once_and_comes_back_in_order(counting) -> None:
    scored = score_rows([counting], rows(["aa", "b", "aa", "", "b"]), workers=1)
    assert scored.scores["counting"].tolist() == [2, 1, 2, 0, 1]
    assert counting.asked == [["aa", "b", ""]]


def test_batches_do_not_mix_languages_nor_change_results(counting, monkeypatch) -> None:
    monkeypatch.setattr(batches, "BATCH_ROWS", 2)
    data = rows(["a", "bb", "ccc", "dddd", "e"], language=["de", "de", "de", "ru", "ru"])
    scored = score_rows([counting], data, workers=2)
    assert scored.scores["counting"].tolist() == [1, 2, 3, 4, 1]
    assert sorted(counting.asked) == [["a", "bb"], ["ccc"], ["dddd", "e"]]


def test_texts_that_several_pieces_hold_have_a_home(monkeypatch) -> None:
    monkeypatch.setattr(batches, "BATCH_ROWS", 2)
    pieces = list(rows(["a", "a", "b", None, "c", "r"], ["r", "s", "s", "t", "a", "a"]).split_into_batches())
    shared = [piece.shared for piece in pieces]
    # a is an output in the first piece; r and s are references there, r an output later; b, c, t come once
    assert shared[1].find_text_groups() == {"a": (0, 0), "r": (0, 0), "s": (0, 1)}
    assert shared[0].run_cache is shared[2].run_cache
    assert shared[0].batch_cache is not shared[2].batch_cache


def test_kept_parts_are_not_scored_again_and_undefined_scores_are_not_kept(counting, tmp_path) -> None:
    data, store = rows(["a", "undefined", "bb"]), RunScores(tmp_path)
    first = score_rows([counting], data, workers=1, store=store)
    again = score_rows([counting], data, workers=1, store=store)
    np.testing.assert_array_equal(first.scores["counting"], again.scores["counting"])
    assert counting.asked == [["a", "undefined", "bb"], ["undefined"]]


def test_a_digest_depends_on_every_field_that_is_needed_and_on_no_position() -> None:
    one = rows(["x", "y"], ["r", "s"])
    turned = rows(["y", "x"], ["s", "r"])
    needs = frozenset({"output", "references"})
    assert one.hash_row_contents(needs).tolist() == turned.hash_row_contents(needs)[::-1].tolist()
    assert len({tuple(d) for d in one.hash_row_contents(needs).tolist()}) == 2
    assert rows([]).hash_row_contents(needs).shape == (0, 2)


CELLS = {
    "another reference": (["x"], [["R"]], None),
    "letters moved": (["xr"], [[""]], None),
    "letters moved back": ([""], [["xr"]], None),
    "two references": (["x"], [["r", ""]], None),
    "cut elsewhere": (["x"], [["", "r"]], None),
    "none": (["x"], [[]], None),
    "missing": (["x"], [None], None),
    "what missing is written as": (["x"], [["-"]], None),
    "lengths in the text": (["x1[1:r"], [[]], None),
    "a missing output": ([None], [["r"]], None),
    "another language": (["x"], [["r"]], ["de"]),
    "normalised otherwise": (["x\u0301"], [["r"]], None),
    "as it is": (["x"], [["r"]], None),
}


def test_no_two_contents_share_a_digest() -> None:
    needs = frozenset({"output", "references"})
    found = {}
    for name, (texts, references, language) in CELLS.items():
        frame = rows(texts, language=language).frame
        column = pl.Series("references", references, dtype=pl.List(pl.String))
        found[name] = tuple(OutputRows(frame.with_columns(column)).hash_row_contents(needs)[0].tolist())
    assert len(set(found.values())) == len(CELLS), found
    alone = rows(["x"]).hash_row_contents(needs)[0]
    assert tuple(alone.tolist()) not in found.values()  # no column of references is another matter again


def test_a_digest_is_what_the_standard_library_makes_of_the_row() -> None:
    content = b"de|output,references|3:\xc3\xa4b1[1:r"
    expected = np.frombuffer(hashlib.blake2b(content, digest_size=16).digest(), np.uint64)
    found = rows(["äb"], ["r"], ["de"]).hash_row_contents(frozenset({"output", "references"}))
    np.testing.assert_array_equal(found[0], expected)


@dataclass(frozen=True)
class Warns(Counting):
    """Warns of long texts, one by one and in all."""

    name: ClassVar[str] = "warning"

    def score(self, batch):
        long = sum(len(text) > 1 for text in batch.output)
        if long:
            warnings.warn("some are long", stacklevel=2)
            warnings.warn(CountedWarning(long, "texts are long"), stacklevel=2)
        return super().score(batch)


def test_what_was_warned_of_is_warned_of_again_when_the_scores_are_found(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(batches, "BATCH_ROWS", 2)
    data = rows(["aa", "b", "cc", "dd", "e", "f"])
    said = []
    for folder in ("one", "one", "two"):
        with collect_warnings() as notes:
            score_rows([Warns()], data, workers=3, store=RunScores(tmp_path / folder))
        said.append(notes)
    assert said == [["3 texts are long", "some are long"]] * 3


def test_real_metrics_agree_with_sacrebleu_through_the_engine() -> None:
    import sacrebleu

    texts, references = ["the cat sat", "a dog", ""], ["the cat sat down", "the dog ran", "x"]
    scored = score_rows(parse_metrics("bleu,chrf"), rows(texts, references), workers=2).scores
    assert scored["bleu"] == pytest.approx(
        [sacrebleu.sentence_bleu(t, [r]).score for t, r in zip(texts, references)]
    )
    assert scored["chrf"] == pytest.approx(
        [sacrebleu.sentence_chrf(t, [r]).score for t, r in zip(texts, references)]
    )


def test_a_metric_without_its_field_is_refused() -> None:
    with pytest.raises(InputError, match="bleu needs references, but the data has none"):
        score_rows(parse_metrics("bleu"), rows(["a"]))


@dataclass(frozen=True)
class Infinite(Counting):
    name: ClassVar[str] = "infinite"

    def score(self, batch):
        return np.array([np.inf if text == "bad" else 0.0 for text in batch.output])


def test_an_infinite_score_is_an_error_that_names_the_item() -> None:
    with pytest.raises(MetricFailure, match="infinite is infinite on item 1"):
        score_rows([Infinite()], rows(["a", "bad"]))


def test_zero_workers_cannot_work(counting) -> None:
    with pytest.raises(InputError, match="the number of workers is 0"):
        score_rows([counting], rows(["a"]), workers=0)


def test_a_text_in_another_language_is_another_matter(counting, tmp_path) -> None:
    """The same text in German and in Russian has two digests: what is kept of one is not taken for the other."""
    needs, store = frozenset({"output"}), RunScores(tmp_path)
    german, russian = (rows(["a"], language=[language]) for language in ("de", "ru"))
    assert german.hash_row_contents(needs).tolist() != russian.hash_row_contents(needs).tolist()
    for data in (german, russian):
        score_rows([counting], data, workers=1, store=store)
    assert counting.asked == [["a"], ["a"]]


def test_texts_do_not_run_together_in_a_digest() -> None:
    """Two references `ab` and `c` are not `a` and `bc`, and none is not an empty one."""
    lists = [["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], []]
    frame = pl.DataFrame(
        {"item": ["1"] * 5, "output": ["x"] * 5, "references": pl.Series(lists, dtype=pl.List(pl.String))}
    )
    data = OutputRows(frame.with_columns(language=pl.lit(None, pl.String)))
    assert len(np.unique(data.hash_row_contents(frozenset({"output", "references"})), axis=0)) == 5


@dataclass(frozen=True)
class Unkept(Counting):
    name: ClassVar[str] = "unkept"
    is_cacheable: ClassVar[bool] = False


def test_what_is_not_worth_keeping_is_not_kept(counting, tmp_path) -> None:
    del counting
    for _ in range(2):
        score_rows([Unkept()], rows(["a"]), workers=1, store=RunScores(tmp_path))
    assert Counting.asked == [["a"], ["a"]]
    assert not any(tmp_path.iterdir())


def test_pieces_come_back_in_their_order_whichever_ends_first(monkeypatch) -> None:
    """Four pieces, the first of which takes longest."""
    monkeypatch.setattr(batches, "BATCH_ROWS", 1)

    @dataclass(frozen=True)
    class Waiting(Counting):
        name: ClassVar[str] = "waiting"

        def score(self, batch):
            time.sleep(float(batch.output[0]) / 5)
            return np.array([float(text) for text in batch.output])

    scored = score_rows([Waiting()], rows(["4", "3", "2", "1"]), workers=4)
    assert scored.scores["waiting"].tolist() == [4, 3, 2, 1]


def test_costs_are_for_a_thousand_outputs() -> None:
    """Two milliseconds an output are two seconds for a thousand, or more on a busy machine."""

    @dataclass(frozen=True)
    class Slow(Counting):
        name: ClassVar[str] = "slow"

        def score(self, batch):
            time.sleep(0.002 * len(batch))
            return np.zeros(len(batch))

    cost = measure_metric_run_times([Slow()], rows([str(n) for n in range(40)]))["slow"]
    assert cost >= 2
