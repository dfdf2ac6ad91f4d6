"""TREC runs, judgements and rating logs: what is read, and the error line for each kind of bad file."""

from __future__ import annotations

import gzip

import polars as pl
import pytest

import metassay
from metassay.data.assemble_rankings import (
    MISSING_LIST_REASON,
    UNJUDGED_TOPIC_REASON,
    combine_ranking_tables,
)
from metassay.data.readers.base import RawTable
from metassay.data.readers.judgements import read_qrels, read_relevance_judgements
from metassay.data.readers.rating_logs import is_rating_log, read_rating_log
from metassay.data.readers.trec_runs import TrecRunReader, read_trec_run
from metassay.errors import InputError

RUN = """# made by hand
q1 Q0 d#1 1 2.5 my run
q1\tQ0\td2  2 -1e-3   my run
\x20
  q2 Q0 d1 1 3 my run
"""
QRELS = "# judgements\nq1 0 d#1 2\nq1 0 d2 0\nq2 0 d1 -1\nq3 0 d9 1\n"


@pytest.fixture
def write(tmp_path):
    def write(text: str, name: str = "run.txt") -> str:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def test_comments_gaps_and_spaces_in_tags(write):
    frame = read_trec_run(write(RUN))
    assert frame.to_dict(as_series=False) == {
        "run": ["my run"] * 3,
        "topic": ["q1", "q1", "q2"],
        "docid": ["d#1", "d2", "d1"],
        "rank": [1, 2, 1],
        "score": [2.5, -0.001, 3.0],
        "line": [2, 3, 5],
    }


def test_words_after_the_tag_that_vary_are_ignored(write):
    text = "q1 Q0 a 1 3 STANDARD more junk\nq1 Q0 b 2 2 STANDARD at the end\n"
    assert read_trec_run(write(text))["run"].unique().to_list() == ["STANDARD"]


@pytest.mark.parametrize("line", ["1 d2 1 64.8 tag", "1 Q0 d2 1 6e-1"])
def test_a_run_that_lacks_a_column_is_not_called_plain_text(write, line):
    with pytest.raises(
        InputError, match=r"5 words, but those of a TREC run have 6.\nA line of a run is: topic"
    ):
        metassay.read(write(f"{line}\n" * 3), qrels=write(QRELS, "qrels.txt"))


def test_gzip_and_windows_line_ends(write):
    packed = gzip.compress(RUN.replace("\n", "\r\n").encode())
    assert read_trec_run(write(packed, "run.gz")).equals(read_trec_run(write(RUN)))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 nan t\n", 2, "'nan' is not a finite number"),
        ("q1 Q0 d1 1 inf t\n", 1, "'inf' is not a finite number"),
        ("q1 Q0 d1 1 high t\n", 1, "'high' is not a finite number"),
        (
            "# x\nq1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\nq1 Q0 d1 3 0 t\n",
            4,
            "already retrieved for topic q1 in line 2",
        ),
        ("q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1\n", 2, "5 words, but a run has six columns"),
        ("q1\n", 1, "1 word, but a run has six columns"),
        ("# nothing\n\n", 1, "no lines but comments"),
    ],
)
def test_bad_runs_name_file_and_line(write, text, line, what):
    path = write(text)
    with pytest.raises(InputError, match=what) as caught:
        read_trec_run(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")


def test_an_empty_run_is_refused(write):
    with pytest.raises(InputError, match=r"run\.txt.*: the file is empty"):
        read_trec_run(write(""))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("q1 0 d1 1\nq1 0 d2 0.5\n", 2, r"grade '0\.5' is not a whole number"),
        ("q1 0 d1 1.0\n", 1, r"grade '1\.0' is not a whole number"),
        ("q1 0 d1 1\nq1 0 d1 1\n", 2, "already judged for topic q1 in line 1"),
        ("q1 0 d1\n", 1, "3 words, but judgements have four columns"),
    ],
)
def test_bad_judgements_name_file_and_line(write, text, line, what):
    path = write(text, "qrels.txt")
    with pytest.raises(InputError, match=what) as caught:
        read_qrels(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")


def test_graded_and_negative_grades(write):
    frame = read_qrels(write(QRELS))
    assert frame["grade"].to_list() == [2, 0, -1, 1]


def test_judgements_without_relevant_documents_are_refused(write):
    with pytest.raises(InputError, match="no document is relevant"):
        read_relevance_judgements(write("q1 0 d1 0\n", "qrels"))


def test_topics_missing_on_either_side_are_reported(write):
    run = read_trec_run(write(RUN + "q7 Q0 d1 1 3 my run\n"))
    data = combine_ranking_tables(
        [RawTable("run.txt", run)], read_relevance_judgements(write(QRELS, "qrels"))
    )
    assert data.left_out == {UNJUDGED_TOPIC_REASON: 1}
    assert any(
        note.startswith("run.txt, line 6: topic q7 has no relevance judgements") for note in data.notes
    )
    assert any(
        "judged topics: 1, in 1 of the runs (such as topic q3 of my run). They get a score of 0." in note
        for note in data.notes
    )
    assert data.outputs.filter(item="q3")["output"].to_list() == [[]]
    assert data.outputs.filter(item="q1")["output"].to_list() == [["d#1", "d2"]]


def test_unanswered_topics_can_be_left_out(write):
    judged = read_relevance_judgements(write(QRELS, "qrels"))
    data = combine_ranking_tables([RawTable("r", read_trec_run(write(RUN)))], judged, add_empty_lists=False)
    assert data.items == ("q1", "q2")
    assert data.left_out == {MISSING_LIST_REASON: 1}


def test_a_run_of_which_no_topic_is_judged_is_an_error_with_its_line(write):
    run = read_trec_run(write("# x\nq8 Q0 d1 1 3 t\nq9 Q0 d1 1 3 t\n"))
    with pytest.raises(
        InputError, match=r"run\.txt, line 2: topic q8 .* neither has any other of the 2 topics"
    ):
        combine_ranking_tables([RawTable("run.txt", run)], read_relevance_judgements(write(QRELS, "qrels")))


def test_the_same_run_in_two_files_is_refused(write):
    run = read_trec_run(write(RUN))
    with pytest.raises(
        InputError, match=r"b\.txt, line 2: document d#1 was already retrieved .*a\.txt, line 2"
    ):
        combine_ranking_tables(
            [RawTable("a.txt", run), RawTable("b.txt", run)], read_relevance_judgements(write(QRELS, "q"))
        )


def test_long_tables_with_other_names_ints_and_metadata(write):
    table = pl.DataFrame(
        {
            "Query": [1, 1, 2],
            "document": ["a", "b", "a"],
            "score": [1.0, 2.0, 0.5],
            "rank": [1, 2, 1],
            "kind": ["easy", "easy", "hard"],
        }
    )
    judged = read_relevance_judgements(write("1 0 a 1\n2 0 a 1\n3 0 a 1\n", "qrels"))
    data = combine_ranking_tables([RawTable("folder/bm25.csv", table)], judged)
    assert data.systems == ("bm25",)
    assert data.metadata == ("kind",)
    assert data.outputs["output"].to_list() == [["b", "a"], ["a"], []]
    assert data.outputs["kind"].to_list() == ["easy", "hard", None]


def test_a_missing_score_in_a_table_names_its_row(write):
    table = pl.DataFrame({"topic": ["1", "1"], "docid": ["a", "b"], "score": [1.0, float("nan")]})
    with pytest.raises(InputError, match=r"t\.csv, row 2, column score: the retrieval score is missing"):
        combine_ranking_tables(
            [RawTable("t.csv", table)], read_relevance_judgements(write("1 0 a 1\n", "qrels"))
        )


@pytest.mark.parametrize(
    "text",
    [
        "1::10::5::978300760\n1::20::3::978302109\n2::10::4::978301968\n",
        "1\t10\t5\t978300760\n1\t20\t3\t978302109\n2\t10\t4\t978301968\n",
        "userId,movieId,rating,timestamp\n1,10,5.0,978300760\n1,20,3.0,978302109\n2,10,4.0,978301968\n",
        "item;user;rating\n10;1;5\n20;1;3\n10;2;4\n",
    ],
)
def test_movielens_layouts(write, text):
    path = write(text, "ratings.dat")
    assert is_rating_log(path)
    frame = read_relevance_judgements(path)
    assert frame.rows() == [("1", "10", 1), ("1", "20", 0), ("2", "10", 1)]
    assert read_rating_log(path, rating_threshold=5)["grade"].to_list() == [1, 0, 0]


def test_a_bad_rating_names_its_line(write):
    path = write("u,i\n", "x.dat")
    with pytest.raises(InputError, match=r"x\.dat, line 1: a rating needs user, item and rating"):
        read_rating_log(path)
    path = write("user,item,rating\n1,2,good\n", "x.dat")
    with pytest.raises(InputError, match=r"x\.dat, line 2: the rating 'good' is not a number"):
        read_rating_log(path)


def test_judgements_in_a_table(write):
    path = write("topic,docid,grade\n1,a,2\n1,b,0\n", "qrels.csv")
    assert read_relevance_judgements(path).rows() == [("1", "a", 2), ("1", "b", 0)]
    with pytest.raises(InputError, match=r"row 1, column grade: the grade 0\.5 is not a whole number"):
        read_relevance_judgements(write("topic,docid,grade\n1,a,0.5\n", "qrels.csv"))


def test_runs_judgements_and_ratings_are_distinguished(write):
    run, judged = write(RUN), write(QRELS, "qrels")
    ratings = write("1\t10\t5\t978300760\n", "u.data")
    assert [TrecRunReader().sniff(path) for path in (run, judged, ratings)] == [True, False, False]
    assert [is_rating_log(path) for path in (run, judged, ratings)] == [False, False, True]


def test_trec_eval_files_are_recognised(real_data):
    folder = real_data("trec_eval/results.test").parent
    reader = TrecRunReader()
    assert all(reader.sniff(str(path)) for path in folder.glob("results*"))
    assert not any(reader.sniff(str(path)) for path in folder.glob("qrels*"))
