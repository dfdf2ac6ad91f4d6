"""Queries about the pairs of a run, compared with the other files of the run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from metassay.errors import InputError, UnknownName
from metassay.results.pair_explorer import PAIRS_PER_PAGE, PairQuery
from metassay.sample import get_bundled_sample_path
from metassay.store.run_folder import RunFolder
from metassay.workflows import pair_explorer, pair_table
from metassay.workflows.assay import assay, demo
from metassay.workflows.pair_explorer import PairExplorer
from metassay.workflows.pair_table import OUTCOME_CODES, UNDEFINED, PairTable
from metassay.workflows.perturb import perturb
from metassay.workflows.read import read
from run_copies import copy_without_checksums

FAST = {"resamples": 20, "permutations": 19}
KEY = ["item", "system", "perturbation"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explored")
    data = read(get_bundled_sample_path("mt"))
    contexts = ["system", "domain", "mqm:3", "domain+rater"]
    assay(data, metrics="bleu,chrf,ter", contexts=contexts, seed=1, out=folder / "one", **FAST)
    assay(data, metrics="chrf,bleu", contexts=["domain"], seed=2, out=folder / "two", **FAST)
    assay(data, pairs="human", metrics="bleu,chrf", out=folder / "people", **FAST)
    demo(task="ranking", out=folder / "rankings")
    perturb(data, perturbations="removal", out=folder / "perturbed")
    return folder


def open_explorer(folder: Path) -> PairExplorer:
    return PairExplorer(PairTable(RunFolder.open_for_reading(folder)))


def join_run_files(folder: Path) -> pl.DataFrame:
    """Join outcomes, texts and metadata of the sampled pairs from the other files of the run."""
    judged = pl.read_parquet(folder / "results/judgements.parquet").filter("sampled").drop("sampled")
    texts = pl.read_parquet(folder / "pairs.parquet")
    assert judged.select(KEY).equals(texts.select(KEY))
    outputs = pl.read_parquet(folder / "outputs.parquet").drop("output")
    return judged.with_columns(texts["output"], texts["worse"]).join(
        outputs, on=["item", "system"], how="left", maintain_order="left"
    )


def list_rows(explorer: PairExplorer, query: PairQuery) -> list[int]:
    """List the rows of all pages of a query."""
    rows: list[int] = []
    for page in range(1, explorer.read_search_result_page(query).page_count + 1):
        rows += [pair.row for pair in explorer.read_search_result_page(replace(query, page=page)).pairs]
    return rows


def test_scores_are_stored_with_full_precision(runs) -> None:
    """In 32 bits, scores that differ in the eighth digit were equal and their pair was right."""
    schema = pl.read_parquet_schema(runs / "one" / "results" / "explorer.parquet")
    numbers = {
        name: dtype
        for name, dtype in schema.items()
        if name.startswith(("score/", "worse_score/", "margin/"))
    }
    assert set(numbers.values()) == {pl.Float64}


QUERIES = {
    "nothing": (PairQuery(), pl.lit(value=True)),
    "wrong": (PairQuery(metric="bleu", outcome="wrong"), pl.col("bleu") == -1),
    "tie": (PairQuery(metric="ter", outcome="tie"), pl.col("ter") == 0),
    "undefined": (PairQuery(metric="ter", outcome="undefined"), pl.col("ter").is_null()),
    "one right and one wrong": (
        PairQuery(metric="bleu", outcome="wrong", other_metric="chrf", other_outcome="right"),
        (pl.col("bleu") == -1) & (pl.col("chrf") == 1),
    ),
    "context": (PairQuery(column="domain", context="news"), pl.col("domain") == "news"),
    "crossing": (
        PairQuery(column="domain+rater", context="news+strict"),
        (pl.col("domain") == "news") & (pl.col("rater") == "strict"),
    ),
    "system and method": (
        PairQuery(system="apertium", perturbation="removal"),
        (pl.col("system") == "apertium") & (pl.col("perturbation") == "removal"),
    ),
    "item": (PairQuery(item="es-en/7"), pl.col("item") == "es-en/7"),
    "text": (
        PairQuery(text="The."),
        pl.any_horizontal(pl.col("output", "worse").str.to_lowercase().str.contains("the.", literal=True)),
    ),
    "everything": (
        PairQuery(
            metric="chrf",
            outcome="wrong",
            column="domain",
            context="howto",
            perturbation="swapping",
            text="a",
        ),
        (pl.col("chrf") == -1)
        & (pl.col("domain") == "howto")
        & (pl.col("perturbation") == "swapping")
        & pl.any_horizontal(pl.col("output", "worse").str.to_lowercase().str.contains("a", literal=True)),
    ),
    "nobody": (PairQuery(system="nobody"), pl.lit(value=False)),
}


@pytest.mark.parametrize("name", QUERIES)
def test_matching_pairs_are_those_that_polars_filters(runs: Path, name: str) -> None:
    query, test = QUERIES[name]
    table = join_run_files(runs / "one").with_row_index()
    matching = table.filter(test)
    page = open_explorer(runs / "one").read_search_result_page(query)
    assert page.matching.count == matching.height
    assert list_rows(open_explorer(runs / "one"), query) == matching["index"].to_list()
    for metric in ("bleu", "chrf", "ter"):
        counts = {name: matching.filter(has_outcome(metric, name)).height for name in OUTCOME_CODES}
        assert page.matching.outcome_counts[metric] == counts


def test_columns_that_do_not_fit_into_memory_are_read_again(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = replace(QUERIES["everything"][0], other_metric="bleu", order="worst")
    unlimited, limited = open_explorer(runs / "one"), open_explorer(runs / "one")
    expected = unlimited.read_search_result_page(query)
    monkeypatch.setattr(pair_table, "OUTCOME_MEMORY", 1)
    for _ in range(2):
        page = limited.read_search_result_page(query)
        assert (page.pairs, page.joint_outcomes) == (expected.pairs, expected.joint_outcomes)
        assert page.matching.outcome_counts == expected.matching.outcome_counts
    assert len(unlimited.table._packed_outcomes) > len(limited.table._packed_outcomes) == 1


def has_outcome(metric: str, outcome: str) -> pl.Expr:
    return pl.col(metric).fill_null(UNDEFINED) == OUTCOME_CODES[outcome]


def test_rows_of_all_files_belong_to_the_same_pair(runs: Path) -> None:
    table, explorer = join_run_files(runs / "one"), open_explorer(runs / "one")
    for page in (1, 7, 100):
        for pair in explorer.read_search_result_page(PairQuery(page=page)).pairs:
            row = table.row(pair.row, named=True)
            for name in ("item", "system", "perturbation", "output", "source"):
                assert getattr(pair, name) == row[name]
            assert pair.worse_output == row["worse"]
            assert list(pair.references) == row["references"]
            assert pair.contexts["domain"] == row["domain"]
            assert pair.human_scores["mqm"] == (row["mqm"], None)
            for metric in ("bleu", "chrf", "ter"):
                assert pair.metric_scores[metric].outcome == row[metric]


def test_scores_equal_those_of_the_stored_examples(runs: Path) -> None:
    """Which the assay reads from the scores themselves; TER is lower where it is better."""
    explorer = open_explorer(runs / "one")
    examples = json.loads((runs / "one/results/examples.json").read_text())["pairs"]
    seen = 0
    for example in examples[:12]:
        query = PairQuery(
            item=example["item"], system=example["system"], perturbation=example["perturbation"]
        )
        for pair in explorer.read_search_result_page(query).pairs:
            for metric, (score, worse_score, outcome) in example["outcomes"].items():
                scores = pair.metric_scores[metric]
                assert scores.output == pytest.approx(score, rel=1e-6)
                assert scores.worse_output == pytest.approx(worse_score, rel=1e-6)
                assert scores.outcome == outcome
                seen += metric == "ter"
    assert seen


@pytest.mark.parametrize("order", ["worst", "best"])
def test_pairs_are_sorted_by_margin(runs: Path, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = pl.read_parquet(runs / "one/results/explorer.parquet")
    margins = (scores["worse_score/ter"].cast(pl.Float64) - scores["score/ter"]).to_numpy()  # an error rate
    query = PairQuery(metric="ter", outcome="wrong", order=order)
    rows = list_rows(open_explorer(runs / "one"), query)
    wrong = np.flatnonzero(scores["outcome/ter"].to_numpy() == -1)
    assert sorted(rows) == wrong.tolist()
    sign = 1 if order == "worst" else -1
    assert (np.diff(sign * margins[rows]) >= -1e-4).all()
    monkeypatch.setattr(pair_explorer, "LISTED_BY_MARGIN", 30)
    page = open_explorer(runs / "one").read_search_result_page(query)
    assert (page.listed, page.matching.count) == (30, len(wrong))
    assert list_rows(open_explorer(runs / "one"), query) == rows[:30]


def test_a_search_reports_the_rows_that_it_searched(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = open_explorer(runs / "one").read_search_result_page(PairQuery(text="the"))
    total = open_explorer(runs / "one").table.total
    assert whole.matching.searched_rows == (0, total - 1)
    monkeypatch.setattr(pair_explorer, "SEARCH_PART", 1000)
    explorer = open_explorer(runs / "one")
    parts = [
        explorer.read_search_result_page(PairQuery(text="the", part=n))
        for n in range(1, -(-total // 1000) + 1)
    ]
    assert [part.matching.searched_rows[0] for part in parts] == list(range(0, total, 1000))
    assert parts[-1].matching.searched_rows[1] == total - 1
    assert sum(part.matching.count for part in parts) == whole.matching.count
    beyond = explorer.read_search_result_page(PairQuery(text="the", part=999))
    assert (beyond.query.part, beyond.pairs) == (len(parts), parts[-1].pairs)


def test_search_text_is_not_a_regular_expression(runs: Path) -> None:
    explorer = open_explorer(runs / "one")
    for text in (".*", "[a-z]", "(", "\\", "a|b", "  ", "(?i)x"):
        table = join_run_files(runs / "one")
        holds = pl.any_horizontal(
            pl.col("output", "worse").str.to_lowercase().str.contains(text.lower(), literal=True)
        )
        assert (
            explorer.read_search_result_page(PairQuery(text=text)).matching.count
            == table.filter(holds).height
        ), text


def test_two_runs_are_compared_pair_by_pair(runs: Path) -> None:
    one, two = (join_run_files(runs / name).select(*KEY, "bleu") for name in ("one", "two"))
    both = one.with_row_index().join(two, on=KEY, suffix="_2", maintain_order="left")
    query = PairQuery(
        other_run="two", metric="bleu", outcome="wrong", other_metric="bleu", other_outcome="right"
    )
    explorer, other = open_explorer(runs / "one"), open_explorer(runs / "two").table
    page = explorer.read_search_result_page(query, other)
    assert page.common_pairs == both.height
    fits = both.filter((pl.col("bleu") == -1) & (pl.col("bleu_2") == 1))
    assert page.matching.rows is not None
    assert page.matching.rows.tolist() == fits["index"].to_list()
    for (here, there), count in page.joint_outcomes.items():
        assert count == both.filter(has_outcome("bleu", here) & has_outcome("bleu_2", there)).height
    assert len(page.pairs) == len(page.pairs_in_other_run) > 0
    for pair, other_pair in zip(page.pairs, page.pairs_in_other_run):
        assert all(getattr(pair, name) == getattr(other_pair, name) for name in KEY)
        assert pair.metric_scores["bleu"].outcome == -1
        assert other_pair.metric_scores["bleu"].outcome == 1


def test_run_compared_with_itself_has_no_differences(runs: Path) -> None:
    for name, metric in (("one", "bleu"), ("people", "bleu"), ("rankings", "map")):
        explorer = open_explorer(runs / name)
        page = explorer.read_search_result_page(
            PairQuery(other_run=name, metric=metric, other_metric=metric), open_explorer(runs / name).table
        )
        assert page.common_pairs == explorer.table.total
        assert all(count == 0 for (here, there), count in page.joint_outcomes.items() if here != there)


def test_runs_that_are_too_large_are_not_compared(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_table, "LARGEST_COMPARED_RUN", 1000)
    with pytest.raises(InputError, match="more than 1,000 pairs are not compared"):
        open_explorer(runs / "one").read_search_result_page(
            PairQuery(other_run="two"), open_explorer(runs / "two").table
        )


def test_page_number_beyond_the_last_shows_the_last_page(runs: Path) -> None:
    explorer = open_explorer(runs / "one")
    last = explorer.read_search_result_page(PairQuery(page=10**8))
    assert last.query.page == last.page_count
    assert len(last.pairs) == (explorer.table.total - 1) % PAIRS_PER_PAGE + 1


def test_unknown_names_in_a_query_are_errors(runs: Path) -> None:
    for query in (
        PairQuery(metric="x"),
        PairQuery(outcome="x"),
        PairQuery(column="x"),
        PairQuery(shown=("x",)),
    ):
        with pytest.raises(UnknownName):
            open_explorer(runs / "one").read_search_result_page(query)


def test_query_is_read_back_from_its_web_address() -> None:
    query = PairQuery(metric="bleu", outcome="wrong", text="a&b=c", page=3, shown=("bleu", "chrf"))
    values: dict[str, list[str]] = {}
    for name, value in query.to_query_values():
        values.setdefault(name, []).append(value)
    assert PairQuery.from_query_values(values) == query
    assert PairQuery.from_query_values({"page": ["0"], "part": ["x"], "unknown": ["y"]}) == PairQuery()


def test_pairs_of_perturb_have_no_outcomes(runs: Path) -> None:
    explorer = open_explorer(runs / "perturbed")
    pairs = pl.read_parquet(runs / "perturbed/pairs.parquet").with_row_index()
    assert not explorer.table.has_outcomes
    assert explorer.table.list_distinct_values("system") == sorted(pairs["system"].unique())
    wanted = pairs.filter(pl.col("system") == "jumble", pl.col("worse").str.contains("the"))
    assert set(wanted["index"]) <= set(list_rows(explorer, PairQuery(system="jumble", text="the")))


def test_rankings_are_searched_by_document(runs: Path) -> None:
    pairs = pl.read_parquet(runs / "rankings/pairs.parquet")
    document = "howto-09-a1"
    holds = pairs.filter(pl.col("output").cast(pl.List(pl.String)).list.contains(document)).height
    assert (
        open_explorer(runs / "rankings")
        .read_search_result_page(PairQuery(text=document.upper()))
        .matching.count
        == holds
        > 0
    )


def test_tables_that_do_not_fit_the_run_are_refused(runs: Path, tmp_path: Path) -> None:
    copy_without_checksums(runs / "one", tmp_path / "run")
    file = tmp_path / "run/results/explorer.parquet"
    frame = pl.read_parquet(file)
    for broken in (
        frame.head(10),
        frame.drop("item"),
        frame.with_columns(pl.col("outcome/bleu").cast(pl.String)),
        frame.with_columns(pl.lit([1]).alias("context/domain")),
        frame.with_columns(pl.lit("x").alias("score/bleu")),
        frame.with_columns(pl.lit("x").alias("output")),
    ):
        broken.write_parquet(file)
        with pytest.raises(InputError, match=r"explorer\.parquet"):
            open_explorer(tmp_path / "run")
    frame.with_columns(pl.lit(2**31, pl.UInt32).alias("output")).write_parquet(file)
    assert open_explorer(tmp_path / "run").read_search_result_page(PairQuery()).pairs[0].source is None
