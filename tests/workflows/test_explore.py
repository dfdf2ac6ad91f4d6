"""Questions to the pairs of a run, against the run's other files, read by hand."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from metassay.errors import InputError, UnknownName
from metassay.sample import sample_path
from metassay.store.run_folder import RunFolder
from metassay.workflows import explore as exploring
from metassay.workflows import pair_table
from metassay.workflows.assay import assay, demo
from metassay.workflows.explore import PER_PAGE, Explorer, Question
from metassay.workflows.pair_table import SAID, PairTable
from metassay.workflows.perturb import perturb
from metassay.workflows.read import read

FAST = {"resamples": 20, "permutations": 19}
KEY = ["item", "system", "perturbation"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explored")
    data = read(sample_path("mt"))
    contexts = ["system", "domain", "mqm:3", "domain+rater"]
    assay(data, metrics="bleu,chrf,ter", contexts=contexts, seed=1, out=folder / "one", **FAST)
    assay(data, metrics="chrf,bleu", contexts=["domain"], seed=2, out=folder / "two", **FAST)
    assay(data, pairs="human", metrics="bleu,chrf", out=folder / "people", **FAST)
    demo(task="ranking", out=folder / "rankings")
    perturb(data, perturbations="removal", out=folder / "perturbed")
    return folder


def opened(folder: Path) -> Explorer:
    return Explorer(PairTable(RunFolder.load(folder)))


def by_hand(folder: Path) -> pl.DataFrame:
    """Judgements, texts and metadata of the pairs that count, joined from the other files of the run."""
    judged = pl.read_parquet(folder / "results/judgements.parquet").filter("sampled").drop("sampled")
    texts = pl.read_parquet(folder / "pairs.parquet")
    assert judged.select(KEY).equals(texts.select(KEY))
    outputs = pl.read_parquet(folder / "outputs.parquet").drop("output")
    return judged.with_columns(texts["output"], texts["worse"]).join(
        outputs, on=["item", "system"], how="left", maintain_order="left"
    )


def every_row(explorer: Explorer, question: Question) -> list[int]:
    """The rows of all pages of a question."""
    rows: list[int] = []
    for page in range(1, explorer.explore(question).pages + 1):
        rows += [pair["row"] for pair in explorer.explore(replace(question, page=page)).pairs]
    return rows


QUESTIONS = {
    "nothing": (Question(), pl.lit(value=True)),
    "wrong": (Question(metric="bleu", said="wrong"), pl.col("bleu") == -1),
    "tie": (Question(metric="ter", said="tie"), pl.col("ter") == 0),
    "undefined": (Question(metric="ter", said="undefined"), pl.col("ter").is_null()),
    "one right and one wrong": (
        Question(metric="bleu", said="wrong", metric2="chrf", said2="right"),
        (pl.col("bleu") == -1) & (pl.col("chrf") == 1),
    ),
    "context": (Question(column="domain", context="news"), pl.col("domain") == "news"),
    "crossing": (
        Question(column="domain+rater", context="news+strict"),
        (pl.col("domain") == "news") & (pl.col("rater") == "strict"),
    ),
    "system and method": (
        Question(system="apertium", method="removal"),
        (pl.col("system") == "apertium") & (pl.col("perturbation") == "removal"),
    ),
    "item": (Question(item="es-en/7"), pl.col("item") == "es-en/7"),
    "text": (
        Question(text="The."),
        pl.any_horizontal(pl.col("output", "worse").str.to_lowercase().str.contains("the.", literal=True)),
    ),
    "everything": (
        Question(metric="chrf", said="wrong", column="domain", context="howto", method="swapping", text="a"),
        (pl.col("chrf") == -1)
        & (pl.col("domain") == "howto")
        & (pl.col("perturbation") == "swapping")
        & pl.any_horizontal(pl.col("output", "worse").str.to_lowercase().str.contains("a", literal=True)),
    ),
    "nobody": (Question(system="nobody"), pl.lit(value=False)),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_fits_is_what_fits_by_hand(runs: Path, name: str) -> None:
    question, test = QUESTIONS[name]
    table = by_hand(runs / "one").with_row_index()
    wanted = table.filter(test)
    found = opened(runs / "one").explore(question)
    assert found.fitting.count == wanted.height
    assert every_row(opened(runs / "one"), question) == wanted["index"].to_list()
    for metric in ("bleu", "chrf", "ter"):
        counts = {said: wanted.filter(_said(metric, said)).height for said in SAID}
        assert found.fitting.tallies[metric] == counts


def test_columns_that_do_not_fit_into_memory_are_read_again(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = replace(QUESTIONS["everything"][0], metric2="bleu", order="worst")
    roomy, narrow = opened(runs / "one"), opened(runs / "one")
    expected = roomy.explore(question)
    monkeypatch.setattr(pair_table, "HELD", 1)
    for _ in range(2):
        found = narrow.explore(question)
        assert (found.pairs, found.cross) == (expected.pairs, expected.cross)
        assert found.fitting.tallies == expected.fitting.tallies
    assert len(roomy.table._held) > len(narrow.table._held) == 1


def _said(metric: str, said: str) -> pl.Expr:
    code = SAID[said]
    return pl.col(metric).is_null() if code is None else pl.col(metric).eq_missing(code)


def test_a_pair_is_the_same_pair_in_every_file(runs: Path) -> None:
    table, explorer = by_hand(runs / "one"), opened(runs / "one")
    for page in (1, 7, 100):
        for pair in explorer.explore(Question(page=page)).pairs:
            row = table.row(pair["row"], named=True)
            for name in ("item", "system", "perturbation", "output", "worse", "source", "references"):
                assert pair[name] == row[name]
            assert (pair["in/domain"], pair["human/mqm"]) == (row["domain"], row["mqm"])
            assert all(pair[f"said/{metric}"] == row[metric] for metric in ("bleu", "chrf", "ter"))


def test_scores_are_those_of_the_examples(runs: Path) -> None:
    """Which the assay reads from the scores themselves; TER is lower where it is better."""
    explorer = opened(runs / "one")
    examples = json.loads((runs / "one/results/examples.json").read_text())["pairs"]
    seen = 0
    for example in examples[:12]:
        question = Question(item=example["item"], system=example["system"], method=example["perturbation"])
        for pair in explorer.explore(question).pairs:
            for metric, (score, worse, said) in example["judgements"].items():
                assert pair[f"score/{metric}"] == pytest.approx(score, rel=1e-6)
                assert pair[f"worse/{metric}"] == pytest.approx(worse, rel=1e-6)
                assert pair[f"said/{metric}"] == said
                seen += metric == "ter"
    assert seen


@pytest.mark.parametrize("order", ["worst", "best"])
def test_pairs_in_order_of_their_margins(runs: Path, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = pl.read_parquet(runs / "one/results/explorer.parquet")
    margins = (scores["worse/ter"].cast(pl.Float64) - scores["score/ter"]).to_numpy()  # an error rate
    question = Question(metric="ter", said="wrong", order=order)
    rows = every_row(opened(runs / "one"), question)
    wrong = np.flatnonzero(scores["said/ter"].to_numpy() == -1)
    assert sorted(rows) == wrong.tolist()
    sign = 1 if order == "worst" else -1
    assert (np.diff(sign * margins[rows]) >= -1e-4).all()
    monkeypatch.setattr(exploring, "LISTED", 30)
    found = opened(runs / "one").explore(question)
    assert (found.listed, found.fitting.count) == (30, len(wrong))
    assert every_row(opened(runs / "one"), question) == rows[:30]


def test_a_search_says_how_far_it_looked(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = opened(runs / "one").explore(Question(text="the"))
    total = opened(runs / "one").table.total
    assert whole.fitting.searched == (0, total - 1)
    monkeypatch.setattr(exploring, "WINDOW", 1000)
    explorer = opened(runs / "one")
    parts = [explorer.explore(Question(text="the", part=n)) for n in range(1, -(-total // 1000) + 1)]
    assert [part.fitting.searched[0] for part in parts] == list(range(0, total, 1000))
    assert parts[-1].fitting.searched[1] == total - 1
    assert sum(part.fitting.count for part in parts) == whole.fitting.count
    beyond = explorer.explore(Question(text="the", part=999))
    assert (beyond.question.part, beyond.pairs) == (len(parts), parts[-1].pairs)


def test_texts_are_searched_as_they_are_written(runs: Path) -> None:
    explorer = opened(runs / "one")
    for text in (".*", "[a-z]", "(", "\\", "a|b", "  ", "(?i)x"):
        table = by_hand(runs / "one")
        holds = pl.any_horizontal(
            pl.col("output", "worse").str.to_lowercase().str.contains(text.lower(), literal=True)
        )
        assert explorer.explore(Question(text=text)).fitting.count == table.filter(holds).height, text


def test_two_runs_are_compared_pair_by_pair(runs: Path) -> None:
    one, two = (by_hand(runs / name).select(*KEY, "bleu") for name in ("one", "two"))
    both = one.with_row_index().join(two, on=KEY, suffix="_2", maintain_order="left")
    question = Question(run="two", metric="bleu", said="wrong", metric2="bleu", said2="right")
    explorer, other = opened(runs / "one"), opened(runs / "two").table
    found = explorer.explore(question, other)
    assert found.matched == both.height
    fits = both.filter((pl.col("bleu") == -1) & (pl.col("bleu_2") == 1))
    assert found.fitting.rows is not None
    assert found.fitting.rows.tolist() == fits["index"].to_list()
    for (here, there), count in found.cross.items():
        assert count == both.filter(_said("bleu", here) & _said("bleu_2", there)).height
    for pair in found.pairs:
        assert all(pair[name] == pair["there"][name] for name in KEY)
        assert (pair["said/bleu"], pair["there"]["said/bleu"]) == (-1, 1)


def test_a_run_against_itself_is_the_same_throughout(runs: Path) -> None:
    for name, metric in (("one", "bleu"), ("people", "bleu"), ("rankings", "map")):
        explorer = opened(runs / name)
        found = explorer.explore(Question(run=name, metric=metric, metric2=metric), opened(runs / name).table)
        assert found.matched == explorer.table.total
        assert all(count == 0 for (here, there), count in found.cross.items() if here != there)


def test_runs_that_are_too_large_are_not_compared(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_table, "COMPARED", 1000)
    with pytest.raises(InputError, match="more than 1,000 pairs are not compared"):
        opened(runs / "one").explore(Question(run="two"), opened(runs / "two").table)


def test_pages_beyond_the_last_are_the_last(runs: Path) -> None:
    explorer = opened(runs / "one")
    last = explorer.explore(Question(page=10**8))
    assert last.question.page == last.pages
    assert len(last.pairs) == (explorer.table.total - 1) % PER_PAGE + 1


def test_names_that_do_not_exist(runs: Path) -> None:
    for question in (Question(metric="x"), Question(said="x"), Question(column="x"), Question(show=("x",))):
        with pytest.raises(UnknownName):
            opened(runs / "one").explore(question)


def test_a_question_and_its_address_are_the_same() -> None:
    question = Question(metric="bleu", said="wrong", text="a&b=c", page=3, show=("bleu", "chrf"))
    query: dict[str, list[str]] = {}
    for name, value in question.to_query():
        query.setdefault(name, []).append(value)
    assert Question.of(query) == question
    assert Question.of({"page": ["0"], "part": ["x"], "unknown": ["y"]}) == Question()


def test_pairs_without_judgements_can_be_read(runs: Path, tmp_path: Path) -> None:
    """Of `perturb`, and of assays that earlier versions left."""
    shutil.copytree(runs / "one", tmp_path / "old")
    (tmp_path / "old/results/explorer.parquet").unlink()
    for folder in (tmp_path / "old", runs / "perturbed"):
        explorer = opened(folder)
        pairs = pl.read_parquet(folder / "pairs.parquet").with_row_index()
        assert not explorer.table.judged
        assert explorer.table.values("system") == sorted(pairs["system"].unique())
        wanted = pairs.filter(pl.col("system") == "jumble", pl.col("worse").str.contains("the"))
        assert set(wanted["index"]) <= set(every_row(explorer, Question(system="jumble", text="the")))


def test_rankings_are_searched_by_document(runs: Path) -> None:
    pairs = pl.read_parquet(runs / "rankings/pairs.parquet")
    document = "howto-09-a1"
    holds = pairs.filter(pl.col("output").cast(pl.List(pl.String)).list.contains(document)).height
    assert opened(runs / "rankings").explore(Question(text=document.upper())).fitting.count == holds > 0


def test_tables_that_do_not_fit_the_run_are_refused(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "one", tmp_path / "run")
    file = tmp_path / "run/results/explorer.parquet"
    frame = pl.read_parquet(file)
    for broken in (
        frame.head(10),
        frame.drop("item"),
        frame.with_columns(pl.col("said/bleu").cast(pl.String)),
        frame.with_columns(pl.lit([1]).alias("in/domain")),
        frame.with_columns(pl.lit("x").alias("score/bleu")),
        frame.with_columns(pl.lit("x").alias("output")),
    ):
        broken.write_parquet(file)
        with pytest.raises(InputError, match=r"explorer\.parquet"):
            opened(tmp_path / "run")
    frame.with_columns(pl.lit(2**31, pl.UInt32).alias("output")).write_parquet(file)
    assert "source" not in opened(tmp_path / "run").explore(Question()).pairs[0]
