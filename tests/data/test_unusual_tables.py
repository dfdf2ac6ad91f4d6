"""Tables that were once read wrongly without a message."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import metassay
from metassay.data.readers.mqm_ratings import compute_mqm_scores_by_segment
from metassay.data.score_tables import build_score_cubes
from metassay.errors import InputError


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_a_tsv_cell_that_begins_with_a_quote_does_not_merge_rows(tmp_path: Path) -> None:
    table = write_lines(
        tmp_path / "outputs.tsv",
        "seg_id\tsystem\thyp\tref",
        "1\ta\tGo, he said\tGo, he said",
        '2\ta\t"Stop he said\tStop, he said',
        '3\ta\tCome"\tCome',
    )
    data = metassay.read(table)
    assert data.outputs["output"].to_list() == ["Go, he said", '"Stop he said', 'Come"']
    assert any("quotation marks were read as text" in note for note in data.notes)


@pytest.mark.parametrize("delimiter", [";", "|"])
def test_other_delimiters_merge_no_rows_either(tmp_path: Path, delimiter: str) -> None:
    lines = ["seg_id,system,hyp,ref", '1,a,"Hello,b', '2,a,c",d']
    path = write_lines(tmp_path / "x.csv", *(line.replace(",", delimiter) for line in lines))
    data = metassay.read(path)
    assert data.outputs["output"].to_list() == ['"Hello', 'c"']
    assert any("quotation marks were read as text" in note for note in data.notes)


def test_commas_between_quoted_lines_are_noted(tmp_path: Path) -> None:
    """The texts may hold commas and line ends, or quotation marks."""
    path = write_lines(tmp_path / "x.csv", "seg_id,system,hyp,ref", '1,a,"Hello,b', '2,a,c",d')
    data = metassay.read(path)
    assert data.outputs["output"].to_list() == ["Hello,b\n2,a,c"]
    assert any("--quoting none" in note for note in data.notes)


def test_a_tsv_cell_with_a_quoted_line_end_is_one_cell(tmp_path: Path) -> None:
    table = write_lines(
        tmp_path / "x.tsv", "seg_id\tsystem\thyp\tref", '1\ta\t"two', 'lines"\tb', "2\ta\tc\td"
    )
    assert metassay.read(table).outputs["output"].to_list() == ["two\nlines", "c"]


@pytest.mark.parametrize(
    "cell",
    ['["a b", "c d"]', "['a b', 'c d']", "['a b' 'c d']", "['a b'\n \"c d\"]", '["a b", null, "c d", null]'],
)
def test_references_that_are_written_as_lists_are_lists(tmp_path: Path, cell: str) -> None:
    quoted = '"' + cell.replace('"', '""') + '"'
    table = write_lines(
        tmp_path / "x.csv", "seg_id,system,hyp,references", f"1,a,a b,{quoted}", f"2,a,x,{quoted}"
    )
    assert metassay.read(table).outputs["references"].to_list() == [["a b", "c d"]] * 2


def test_a_reference_in_brackets_is_a_text() -> None:
    rows = [
        {"seg_id": 1, "system": "a", "hyp": "x", "ref": "['quoted']"},
        {"seg_id": 2, "system": "a", "hyp": "x", "ref": "plain"},
    ]
    data = metassay.read(rows)
    assert data.outputs["references"].to_list() == [["['quoted']"], ["plain"]]
    assert any("1 of the references look like lists" in note for note in data.notes)


def test_the_column_language_pair_keeps_test_sets_apart() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"language_pair": pair, "seg_id": n, "system": system, "mqm": rng.normal(), "M": rng.normal()}
        for pair in ("en-de", "en-ru")
        for n in range(12)
        for system in "abc"
    ]
    result = metassay.rank(rows, human="mqm", draws=10)
    assert [ranking.dataset for ranking in result.rankings] == ["en-de", "en-ru"]
    assert result.data is not None
    assert result.data.scores[0].languages == ["de", "ru"]


def make_scores_of_two_languages(**columns: tuple[str, str]) -> pl.DataFrame:
    """Return scores of the same systems on other items for each of two languages, with the values of the
    given columns.
    """
    rng = np.random.default_rng(0)
    rows = []
    for position in range(2):
        for item in range(12):
            for system in "abc":
                ids = {"seg_id": 100 * position + item, "system": system}
                labels = {name: values[position] for name, values in columns.items()}
                rows.append({**ids, **labels, "mqm": rng.normal(), "M": rng.normal()})
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    "columns",
    [
        {"langs": ("en-de", "en-ru")},
        {"direction": ("en→de", "en→ru")},
        {"Language Pair": ("English-German", "English-Russian")},
        {"pair": ("en-de", "en-pt-BR")},
        {"src_lang": ("en", "en"), "tgt_lang": ("de", "ru")},
        {"source_language": ("English", "English"), "target_language": ("German", "Russian")},
    ],
    ids="+".join,
)
def test_other_columns_of_language_pairs_keep_test_sets_apart(columns: dict[str, tuple[str, str]]) -> None:
    result = metassay.rank(make_scores_of_two_languages(**columns), human="mqm", draws=10)
    assert len(result.rankings) == 2


@pytest.mark.parametrize(
    "columns",
    [{"direction": ("up", "down")}, {"pair": ("1", "2")}, {"language": ("zh-CN", "zh-TW")}],
    ids="+".join,
)
def test_columns_that_hold_something_else_do_not_split_the_data(columns: dict[str, tuple[str, str]]) -> None:
    result = metassay.rank(make_scores_of_two_languages(**columns), human="mqm", draws=10)
    assert len(result.rankings) == 1


def test_target_languages_that_are_compared_together_are_named() -> None:
    scores = make_scores_of_two_languages(tgt_lang=("de", "ru"))
    notes = metassay.rank(scores, human="mqm", draws=10).notes
    assert [note for note in notes if note.startswith("Outputs in several languages (de, ru)")]
    one_language = make_scores_of_two_languages(tgt_lang=("de", "de"))
    assert "several languages" not in " ".join(metassay.rank(one_language, human="mqm", draws=10).notes)


def make_outputs(systems: str = "ab", count: int = 6) -> pl.DataFrame:
    """Return outputs of a few systems with one reference each."""
    rows = [
        {"seg_id": n, "system": system, "hyp": f"a red fox ran off {n}", "ref": f"the red fox ran off {n}"}
        for n in range(count)
        for system in systems
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize("verb", [metassay.score, metassay.aggregate])
def test_systems_scored_on_different_items_are_named(verb: Callable[..., Any]) -> None:
    outputs = make_outputs()
    note = "Systems were scored on different items, so their scores cannot be compared: "
    is_late_output_of_a = (pl.col("system") == "a") & (pl.col("seg_id") >= 4)
    assert f"{note}a 4 of 6." in verb(outputs.filter(~is_late_output_of_a), metrics="ter").notes
    missing = pl.when(~is_late_output_of_a).then("hyp").alias("hyp")
    assert f"{note}a 4 of 6." in verb(outputs.with_columns(missing), metrics="ter").notes
    is_early = pl.col("seg_id") < 3
    halves = outputs.filter((pl.col("system") == "a") == is_early)
    assert f"{note}a 3 of 6, b 3 of 6." in verb(halves, metrics="ter").notes
    assert not [text for text in verb(outputs, metrics="ter").notes if text.startswith(note)]


def test_systems_of_different_test_sets_are_complete() -> None:
    german = make_outputs("ab").with_columns(lp=pl.lit("en-de"))
    russian = make_outputs("bc", 9).with_columns(lp=pl.lit("en-ru"))
    notes = metassay.score(pl.concat([german, russian]), metrics="ter").notes
    assert not [note for note in notes if "different items" in note]


def test_a_blank_reference_is_no_reference() -> None:
    blank = make_outputs().with_columns(
        ref=pl.when(pl.col("seg_id") == 2).then(pl.lit(" ")).otherwise(pl.col("ref"))
    )
    without = metassay.score(make_outputs().filter(pl.col("seg_id") != 2), metrics="bleu")
    scored = metassay.score(blank, metrics="bleu")
    assert [row.corpus for row in scored.systems] == [row.corpus for row in without.systems]
    assert scored.data is not None
    assert scored.data.left_out == {"no reference": 2}
    lists = blank.with_columns(ref=pl.concat_list("ref"))
    assert metassay.read(lists).left_out == {"no reference": 2}


def test_words_for_missing_outputs_are_noted_unless_they_are_the_answer() -> None:
    is_missing = (pl.col("seg_id") == 2) & (pl.col("system") == "b")
    missing = make_outputs().with_columns(
        hyp=pl.when(is_missing).then(pl.lit("nan")).otherwise(pl.col("hyp"))
    )
    notes = metassay.score(missing, metrics="ter").notes
    assert [note for note in notes if "were scored as texts: b 1." in note]
    answers = missing.with_columns(ref=pl.when(is_missing).then(pl.lit("nan")).otherwise(pl.col("ref")))
    notes = metassay.score(metassay.read(answers, references="per-output"), metrics="ter").notes
    assert not [note for note in notes if "were scored as texts" in note]


def test_accents_that_are_encoded_differently_are_noted() -> None:
    composed = make_outputs().with_columns(hyp=pl.col("hyp") + " caf\u00e9", ref=pl.col("ref") + " caf\u00e9")
    decomposed = composed.with_columns(hyp=pl.col("hyp").str.replace("\u00e9", "e\u0301", literal=True))
    assert [note for note in metassay.score(decomposed, metrics="ter").notes if "NFC and NFD" in note]
    assert not [note for note in metassay.score(composed, metrics="ter").notes if "NFC and NFD" in note]


def test_answers_with_a_decimal_comma_stay_texts(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text("seg_id;system;output;ref;human\n1;a;3,5;3,50;4,5\n2;a;7;7,0;3,25\n")
    data = metassay.read(file, task="text")
    assert data.outputs["output"].to_list() == ["3,5", "7"]
    assert data.outputs["references"].to_list() == [["3,50"], ["7,0"]]
    assert data.outputs["human"].to_list() == [4.5, 3.25]


def test_systems_whose_names_differ_only_in_case_or_spaces_are_named() -> None:
    rows = [
        {"seg_id": n, "system": system, "hyp": f"a fox {n}", "ref": f"the fox {n}", "mqm": n % 7, "M": n % 5}
        for n in range(30)
        for system in ("A", "B", "b " if n < 15 else "B2")
    ]
    for notes in (
        metassay.rank(rows, human="mqm", missing="pairwise", draws=10).notes,
        metassay.read(rows).notes,
    ):
        assert [note for note in notes if "differ only in case or spaces: 'B', 'b '." in note]


def test_a_reference_with_a_trailing_space_is_still_the_reference() -> None:
    rows = [
        {"seg_id": n, "system": system, "hyp": output, "ref": f"the red fox {n}"}
        for n in range(5)
        for system, output in (("refA", f"the red fox {n} "), ("a", f"a fox {n}"), ("b", f"the fox {n}"))
    ]
    assert metassay.check(rows, metrics="chrf").reference_systems == ["refA"]
    scored = pl.DataFrame(rows).with_columns(M=pl.int_range(pl.len()))
    (cube,) = build_score_cubes(scored)
    assert cube.systems == ("a", "b")


def test_a_metric_named_like_a_key_column_is_refused() -> None:
    long = pl.DataFrame(
        {"seg_id": [1, 1], "system": ["a", "a"], "metric": ["system", "M"], "score": [1.0, 2.0]}
    )
    with pytest.raises(InputError, match="a metric has the same name as the column system"):
        build_score_cubes(long)


@pytest.mark.parametrize(
    ("ids", "noun"),
    [
        (pl.Series([b"\xff", b"\xfe"]), "bytes"),
        (pl.Series([dt.timedelta(1), dt.timedelta(2)]), "a duration"),
    ],
)
@pytest.mark.parametrize("role", ["seg_id", "system"])
def test_ids_of_other_types_are_refused(tmp_path: Path, ids: pl.Series, noun: str, role: str) -> None:
    columns = {
        "seg_id": ["1", "2"],
        "system": ["a", "a"],
        "hyp": ["x", "y"],
        "ref": ["x", "z"],
        "mqm": [1.0, 2.0],
    }
    path = tmp_path / "x.parquet"
    pl.DataFrame(columns | {role: ids, "M": [0.5, 0.25]}).write_parquet(path)
    for verb in (metassay.read, metassay.rank):
        with pytest.raises(InputError, match=f"an id must be text or a whole number, not {noun}"):
            verb(path)


def test_metadata_of_other_types_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    rows = {"seg_id": ["1", "2"], "system": ["a", "a"], "hyp": ["x", "y"], "ref": ["x", "z"]}
    pl.DataFrame(rows | {"audio": [b"\xff", b"\xfe"]}).write_parquet(path)
    data = metassay.read(path)
    assert data.metadata == ()
    assert data.ignored_columns == {"audio": "values of type Binary"}


def test_mqm_ratings_with_a_column_twice_are_refused() -> None:
    ratings = pl.DataFrame(
        {"system": ["a"], "System": ["a"], "seg_id": [1], "category": ["x"], "severity": ["Minor"]}
    )
    with pytest.raises(InputError, match="same name, apart from case: system, System"):
        compute_mqm_scores_by_segment(ratings)


def test_a_blank_worse_text_is_no_pair_in_any_format(tmp_path: Path) -> None:
    csv = write_lines(tmp_path / "x.csv", "item,output,worse,ref", "1,a b,a,a b", "2,a c,,a c", "3,a d,d,a d")
    parquet = tmp_path / "x.parquet"
    pl.read_csv(csv, schema_overrides={"item": pl.String}).write_parquet(parquet)
    for path in (csv, parquet):
        data = metassay.read(path, pairs=True)
        assert (len(data), dict(data.left_out)) == (2, {"no worse text": 1})


QRELS = ("1 0 d1 1", "1 0 d2 0", "2 0 d1 0", "2 0 d3 1")


def test_scores_that_increase_with_rank_are_noted(tmp_path: Path) -> None:
    qrels = write_lines(tmp_path / "qrels", *QRELS)
    distances = write_lines(tmp_path / "run", "1 Q0 d1 1 0.1 r", "1 Q0 d2 2 0.4 r", "1 Q0 d3 3 0.9 r")
    assert any(
        "Scores increase with rank in r." in note for note in metassay.read(distances, qrels=qrels).notes
    )
    usual = write_lines(tmp_path / "usual", "1 Q0 d1 1 0.9 r", "1 Q0 d2 2 0.4 r", "1 Q0 d3 3 0.1 r")
    assert not any("increase with rank" in note for note in metassay.read(usual, qrels=qrels).notes)


@pytest.mark.parametrize("score", ["1", "0", "0.5000000001"])
def test_lists_of_equal_scores_are_noted(tmp_path: Path, score: str) -> None:
    qrels = write_lines(tmp_path / "qrels", *QRELS)
    lines = [f"1 Q0 d{n} {n} {score if n < 4 else '0.5'} r" for n in (3, 1, 2, 4)]
    note = "Most documents of a list have equal scores in r. Such documents are sorted by their ids"
    data = metassay.read(write_lines(tmp_path / "run", *lines), qrels=qrels)
    assert any(text.startswith(note) for text in data.notes)
    usual = [f"1 Q0 d{n} {n} {score if n < 3 else 1 / n} r" for n in range(1, 6)]
    data = metassay.read(write_lines(tmp_path / "usual", *usual), qrels=qrels)
    assert not any(text.startswith(note) for text in data.notes)


def test_runs_whose_topics_all_lack_judgements_are_named(tmp_path: Path) -> None:
    qrels = write_lines(tmp_path / "qrels", *QRELS)
    runs = [
        write_lines(tmp_path / "a", "1 Q0 d1 1 0.9 a", "7 Q0 d1 1 0.9 a"),
        write_lines(tmp_path / "b", "01 Q0 d1 1 0.9 b"),
    ]
    (note,) = [text for text in metassay.read(runs, qrels=qrels).notes if "without judgements" in text]
    assert note.endswith("These runs have no other topic, so they are left out: b.")


def test_runs_without_a_judged_document_are_refused_or_noted(tmp_path: Path) -> None:
    qrels = write_lines(tmp_path / "qrels", *QRELS)
    run = write_lines(tmp_path / "run", "1 Q0 D-1 1 0.9 r", "2 Q0 D-2 1 0.4 r")
    with pytest.raises(
        InputError, match=r"no retrieved document has a relevance judgement\. The runs contain D-1"
    ):
        metassay.read(run, qrels=qrels)
    good_run = write_lines(tmp_path / "good", "1 Q0 d1 1 0.9 good")
    notes = metassay.read([run, good_run], qrels=qrels).notes
    assert any(
        "These runs get a score of 0 because none of their documents has a judgement: r." in note
        for note in notes
    )


@pytest.mark.parametrize(("judged", "noted"), [(1, True), (2, True), (3, False)])
def test_runs_with_few_judged_documents_are_named(judged: int, noted: bool, tmp_path: Path) -> None:
    """A document that is judged for another topic only counts as unjudged."""
    qrels = write_lines(tmp_path / "qrels", *[f"1 0 d{n} 1" for n in range(judged)], "2 0 d9 1")
    run = write_lines(tmp_path / "run", *[f"1 Q0 d{n} {n + 1} {1 - n / 100} r" for n in range(20)])
    good_run = write_lines(tmp_path / "good", "1 Q0 d0 1 0.9 good")
    notes = [note for note in metassay.read([run, good_run], qrels=qrels).notes if "no relevance" in note]
    assert len(notes) == noted
    if noted:
        share = f"{20 - judged} of 20 documents ({100 - 5 * judged} %) that r retrieved have no relevance"
        assert notes[0].startswith(share)


@pytest.mark.parametrize("verb", [metassay.rank, metassay.estimate])
def test_no_common_items_because_of_spaces_in_a_name_are_explained(verb: Callable[..., Any]) -> None:
    rows = []
    for item in range(20):
        for system in "AB":
            name = f"{system} " if item % 2 else system
            rows.append({"seg_id": item, "system": name, "mqm": item % 3, "M": item * ord(system) % 7})
    with pytest.raises(InputError, match="no item has") as error:
        verb(pl.DataFrame(rows), human="mqm")
    assert "differ only in case or spaces: 'A', 'A ', 'B', 'B '." in str(error.value)


def test_judges_whose_names_differ_only_in_case_or_spaces_are_named() -> None:
    rows = [
        {"item": item, "judge": judge, "winner": 1, "better": 1 + item % 2}
        for item in range(20)
        for judge in ("GPT-4", "gpt-4 ", "Falcon")
    ]
    (note,) = [note for note in metassay.judge(rows).notes if "only in case" in note]
    assert "The names of these judges differ only in case or spaces: 'GPT-4', 'gpt-4 '." in note
