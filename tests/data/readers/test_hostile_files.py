"""Files that are broken, endless, huge or no files at all: refused in two lines at most, never misread."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from metassay.data.cells import sort_ids
from metassay.data.readers import compression
from metassay.data.readers.delimited import parse_delimited_table
from metassay.data.readers.mt_metrics_eval import read_language_pairs
from metassay.data.readers.nist_transcripts import is_stm_file, read_stm_references
from metassay.data.readers.tables import read_table
from metassay.data.readers.trn import is_trn_file, read_trn_file
from metassay.errors import InputError, InputLocation, UnknownName
from metassay.workflows.read import read, read_parallel_files

HEADER = "seg_id,system,hyp,ref\n"
ROWS = "1,a,x y,x y z\n1,b,x,x y z\n2,a,p,p q\n2,b,p q,p q\n"
RATING = '{"errors": [{"category": "Accuracy/Omission", "severity": "major"}]}'


def refused(action, *arguments, **keywords) -> str:
    """What the error says, which must be short."""
    with pytest.raises(InputError) as error:
        action(*arguments, **keywords)
    said = str(error.value)
    assert len(said) <= 500
    assert said.count("\n") <= 1
    return said


def tree(folder: Path, ratings: str) -> Path:
    for name, text in {
        "documents/en-de.docs": "news\td1\nnews\td1\nchat\td2\n",
        "human-scores/en-de.mqm.merged.seg.rating": ratings,
        "metric-scores/en-de/M-refA.seg.score": "b\t.1\nb\t.2\nb\t.3\na\t.4\na\t.5\na\t.6\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_rating_file_that_lost_a_line_is_refused_with_both_counts(tmp_path) -> None:
    lines = [f"{system}\t{RATING}" for system in "ab" for _ in range(3)]
    (whole,) = read_language_pairs(tree(tmp_path / "whole", "\n".join(lines)))
    assert whole.frame["mqm"].to_list() == [-5.0] * 6
    said = refused(read_language_pairs, tree(tmp_path / "cut", "\n".join(lines[:4] + lines[5:])))
    assert "en-de.mqm.merged.seg.rating: system b has 2 ratings, but the test set has 3 segments" in said


@pytest.mark.parametrize(
    "rating", ['{"errors": [{"category": 5, "severity": "major"}]}', '{"errors": 5}', "[" * 90_000, "{"]
)
def test_what_is_no_rating_is_refused_with_its_line(tmp_path, rating) -> None:
    said = refused(read_language_pairs, tree(tmp_path, f"a\t{RATING}\na\t{rating}\na\t{RATING}\n"))
    assert "line 2: this is not a rating" in said


@pytest.mark.posix
@pytest.mark.parametrize("kind", ["csv", "run", "gzip"])
def test_a_fifo_gives_what_the_file_gives(tmp_path, kind) -> None:
    options = {}
    content = (HEADER + ROWS).encode()
    if kind == "run":
        content = b"".join(b"%d Q0 d%d 1 %d.5 tag\n" % (topic, topic, topic) for topic in range(200))
        (tmp_path / "qrels").write_text("".join(f"{topic} 0 d{topic} 1\n" for topic in range(200)))
        options = {"qrels": tmp_path / "qrels"}
    content = gzip.compress(content) if kind == "gzip" else content
    plain, fifo = tmp_path / "plain", tmp_path / "fifo"
    plain.write_bytes(content)
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(content,))
    writer.start()
    found = read(fifo, **options)
    writer.join()
    assert found.outputs.equals(read(plain, **options).outputs)


@pytest.mark.posix
def test_references_and_judgements_come_through_fifos_too(tmp_path) -> None:
    (tmp_path / "hyp").write_text("x\ny\n")
    os.mkfifo(tmp_path / "ref")
    writer = threading.Thread(target=(tmp_path / "ref").write_bytes, args=(b"r\ns\n",))
    writer.start()
    found = read_parallel_files([str(tmp_path / "ref")], [str(tmp_path / "hyp")])
    writer.join()
    assert found.outputs["references"].to_list() == [["r"], ["s"]]


def test_an_endless_device_is_refused(monkeypatch) -> None:
    monkeypatch.setenv(compression.LIMIT_VARIABLE, "1")
    assert "it holds more than 1 MB" in refused(read, "/dev/zero")


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 300, "x" * 300 + ".csv", "\udcff.csv"])
def test_names_that_are_none(name, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused(read, name)
    refused(read_parallel_files, [name], [name])


def test_a_file_whose_name_is_not_utf8(tmp_path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.csv")
    path.write_text(HEADER + ROWS)
    assert "the name is not valid UTF-8" in refused(read, path)
    assert "the name is not valid UTF-8" in refused(read, tmp_path)


BAD_JSON = {
    "duplicate key": ('{"id": 1, "hyp": "x", "hyp": "y"}', "the key 'hyp' comes twice"),
    "nul in an id": ('{"id": "a\\u0000", "hyp": "x"}', "column id: there is a NUL character"),
    "half a character": ('{"id": "a", "hyp": "\\ud800"}', "column hyp: there is half a character"),
    "half a key": ('{"id": "a", "\\udfff": "x"}', "there is half a character"),
    "deep": ('{"id": ' + "[" * 100_000, "nested too deeply"),
    "deep enough": ('{"id": 1, "x": ' + "[" * 60 + "]" * 60 + "}", "nested too deeply"),
    "a large whole number": ('{"id": 1, "x": 1' + "0" * 400 + "}", "column x: its values do not fit"),
    "whole and broken": ('{"x": 1.5}\n{"x": 1' + "0" * 400 + "}", "column x: its values do not fit"),
    "a large fraction": ('{"id": 1, "x": 1e400}', "1e400 is too large for a number"),
    "too many digits": ('{"id": ' + "1" * 5000 + "}", "this is not JSON"),
}


@pytest.mark.parametrize("case", BAD_JSON)
def test_json_lines_that_no_table_can_hold(tmp_path, case) -> None:
    content, expected = BAD_JSON[case]
    (tmp_path / "bad.jsonl").write_text(content)
    assert expected in refused(read, tmp_path / "bad.jsonl")


def test_nested_values_of_any_shape_disturb_nobody(tmp_path, capfd) -> None:
    """A library below panicked at these, on standard error."""
    odd = ["[1, [2]]", '[1, "a"]', "[[1], [null]]", '{"a": [1, {"b": 2}]}', '{"a": 5}', "[]", "[true, 1.5]"]
    lines = [
        f'{{"id": {i}, "system": "s", "hyp": "x", "refs": ["r"], "odd": {o}}}' for i, o in enumerate(odd)
    ]
    for one, other in itertools.product(lines, lines):
        if ('"odd": {' in one) == ('"odd": {' in other):
            (tmp_path / "a.jsonl").write_text(one + "\n" + other.replace('"id": ', '"id": 1') + "\n")
            assert read(tmp_path / "a.jsonl").metadata == ()
    assert capfd.readouterr().err == ""


def test_lists_in_json_lines_keep_their_type(tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "a": ["x", null], "b": [1], "c": [1.5, null], "d": null}\n')
    found = read_table(str(tmp_path / "a.jsonl"))
    assert found.drop("id").rows() == [(["x", None], [1], [1.5, None], None)]


def test_ids_of_thousands_of_digits_are_sorted_by_size() -> None:
    longer, shorter = "1" + "0" * 5000, "9" * 5000
    assert sort_ids([longer, "10", shorter, "9", "01", "1", "0"]) == [
        *("0", "01", "1", "9", "10"),
        shorter,
        longer,
    ]


def parquet(**columns) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


def test_a_broken_parquet_file_is_refused_wherever_it_broke(tmp_path) -> None:
    whole = parquet(seg_id=[1, 2], system=["s", "s"], hyp=["x", "y"], ref=["r", "s"])
    path = tmp_path / "broken.parquet"
    refusals = 0
    for place in range(4, len(whole), 7):
        for value in (0x00, 0x7F, 0xFF):
            path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            try:
                read(path)
            except InputError:
                refusals += 1
    assert refusals > 20


def test_a_parquet_file_that_asks_for_more_memory_than_there_is(tmp_path) -> None:
    whole = parquet(seg_id=list(range(300)), system=["s"] * 300, hyp=["x"] * 300, ref=["r"] * 300)
    script = (
        "import sys\nfrom metassay.cli import run_command_line as run\nsys.exit(run(['check', sys.argv[1]]))"
    )
    size = struct.unpack("<i", whole[-8:-4])[0]
    footer = whole[-8 - size : -8]
    broken = whole[: -8 - size] + footer.replace(b"\xd8\x04", b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f")
    grown = len(broken) + 8 - len(whole) + size
    path = tmp_path / "huge.parquet"
    path.write_bytes(broken + struct.pack("<i", grown) + b"PAR1")
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "this is not a Parquet file" in done.stderr


def test_types_that_only_parquet_has_come_through(tmp_path) -> None:
    frame = pl.DataFrame(
        {
            "seg_id": pl.Series([1, 2], dtype=pl.UInt16),
            "system": pl.Series(["s", "s"], dtype=pl.Categorical),
            "hyp": ["x", "y"],
            "references": [["r", "q"], ["s"]],
            "when": pl.Series([0, 1]).cast(pl.Date),
            "mqm": pl.Series([1.5, None], dtype=pl.Float32),
        }
    )
    frame.write_parquet(tmp_path / "a.parquet")
    found = read(tmp_path / "a.parquet").outputs
    assert found["references"].to_list() == [["r", "q"], ["s"]]
    assert found["system"].to_list() == ["s", "s"]
    assert found["mqm"].to_list() == [1.5, None]
    assert found["when"].dtype == pl.Date


@pytest.mark.parametrize("pack", [gzip.compress, lambda b: pa.compress(b, "zstd", asbytes=True)])
def test_what_grows_a_hundredfold_is_refused_unless_allowed(monkeypatch, pack) -> None:
    monkeypatch.setattr(compression, "_SIZE_WITHOUT_LIMIT", 1_000_000)
    packed = pack(b"0" * 3_000_000)
    said = refused(compression.decompress, packed, "a.gz")
    assert "it holds more than 1 MB" in said
    assert compression.LIMIT_VARIABLE in said
    monkeypatch.setenv(compression.LIMIT_VARIABLE, "3")
    assert compression.decompress(packed) == b"0" * 3_000_000
    monkeypatch.setenv(compression.LIMIT_VARIABLE, "plenty")
    assert "not a number of megabytes" in refused(compression.decompress, packed)


def test_an_unclosed_quote_in_a_long_file_is_refused() -> None:
    """Before, each further line was read from the quote on: a test that hangs is one that fails."""
    text = 'a,b\n1,"x\n' + "2,y\n" * 500_000
    said = refused(parse_delimited_table, text, delimiter=",", quoting="minimal", file="F")
    assert "F, row 1: a quote is opened and never closed" in said


GAP = "the" + " " * 60_000 + "cat"


@pytest.mark.parametrize(
    "line", [GAP, f"{GAP} (a-1)", f"{GAP} (a b)", f"f 1 s 0 1 {GAP}", f"{GAP}{' ' * 60_000}"]
)
def test_sixty_thousand_spaces_are_read_like_one(tmp_path, line) -> None:
    """Before, this took minutes: a test that hangs is one that fails."""
    (tmp_path / "gap").write_text(line + "\n")
    (tmp_path / "one").write_text(" ".join(line.split()) + "\n")
    gap, one = str(tmp_path / "gap"), str(tmp_path / "one")
    assert (is_trn_file(gap), is_stm_file(gap)) == (is_trn_file(one), is_stm_file(one))
    for reader in (read_trn_file, read_stm_references):
        try:
            expected = reader(one).drop("text").rows()
        except InputError:
            refused(reader, gap)
        else:
            assert reader(gap).drop("text").rows() == expected
            assert reader(gap)["text"].str.replace_all(" +", " ").to_list() == reader(one)["text"].to_list()


def test_messages_quote_eighty_characters() -> None:
    long = "y" * 1_000_000
    for error in (
        InputError(
            f"{long!r} is not a number.", location=InputLocation(long[:70], 1, long, 1), remedy=f"Not {long}."
        ),
        InputError("word " * 100_000),
        InputError(f"a\n\x1b[31m{long}\ud800"),
        UnknownName("metric", long, [long, *(f"metric{n}" for n in range(1000))]),
    ):
        assert len(str(error)) <= 500
        assert str(error).count("\n") <= 1
        assert "y" * 81 not in str(error)
        assert str(error).replace("\n", "").isprintable()
    assert (
        str(InputError("'a' is  wrong.", location=InputLocation("f", 2), remedy="No."))
        == "f, row 2: 'a' is wrong.\nNo."
    )
