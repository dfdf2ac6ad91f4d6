"""Reading tables: what is recognised, what is kept to the letter, what is refused and with which words."""

from __future__ import annotations

import gzip
import json
import shutil
import time
import tracemalloc
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from metassay.data import memory
from metassay.data.assemble_texts import _build_reference_lists
from metassay.errors import InputError, UnknownName
from metassay.sample import get_bundled_sample_path
from metassay.workflows.read import read, read_parallel_files

HEADER = "seg_id,system,hyp,ref\n"
ROWS = "1,a,x y,x y z\n1,b,x,x y z\n2,a,p,p q\n2,b,p q,p q\n"


@pytest.fixture
def write(tmp_path):
    def put(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


def first_line(error: pytest.ExceptionInfo[InputError]) -> str:
    return str(error.value).splitlines()[0]


def outputs(path, **options) -> list[tuple[str, str, str]]:
    return read(path, **options).outputs.select("item", "system", "output").rows()


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


EXPECTED = [("1", "a", "x y"), ("1", "b", "x"), ("2", "a", "p"), ("2", "b", "p q")]


@pytest.mark.parametrize("compress", [lambda b: b, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format_gives_the_same_data(write, tmp_path, kind, compress) -> None:
    names = HEADER.strip().split(",")
    records = [dict(zip(names, line.split(","))) for line in ROWS.strip().split("\n")]
    if kind == "parquet":
        pl.DataFrame(records).write_parquet(tmp_path / "raw.parquet")
        content = (tmp_path / "raw.parquet").read_bytes()
    elif kind == "jsonl":
        content = "\n".join(json.dumps(record) for record in records).encode()
    else:
        content = (HEADER + ROWS).replace(",", "\t" if kind == "tsv" else ",").encode()
    ending = {b"\x1f\x8b": ".gz", b"\x28\xb5": ".zst"}.get(compress(content)[:2], "")
    assert outputs(write(f"data.{kind}{ending}", compress(content))) == EXPECTED


def test_standard_input_is_recognised_by_its_first_bytes(monkeypatch) -> None:
    import io
    import sys
    import types

    for content in (HEADER + ROWS, (HEADER + ROWS).replace(",", "\t")):
        stdin = types.SimpleNamespace(buffer=io.BytesIO(gzip.compress(content.encode())))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert outputs("-") == EXPECTED


def test_row_order_does_not_matter(write) -> None:
    turned = HEADER + "\n".join(reversed(ROWS.strip().split("\n"))) + "\n"
    one, two = read(write("a.csv", HEADER + ROWS)), read(write("b.csv", turned))
    assert one.outputs.equals(two.outputs)
    assert one.content_hash == two.content_hash


def test_a_changed_text_changes_the_hash(write) -> None:
    one = read(write("a.csv", HEADER + ROWS))
    assert one.content_hash != read(write("b.csv", HEADER + ROWS.replace("x y z", "x y Z"))).content_hash


def test_the_item_key_joins_year_pair_and_segment(write) -> None:
    path = write("a.csv", "lp,SEG_ID,year,system,MT,Reference\nen-de,17,2022,s,ja,ja nein\n")
    dataset = read(path)
    assert dataset.items == ("2022/en-de/17",)
    assert dataset.languages == ("de",)
    assert dataset.outputs["references"].to_list() == [["ja nein"]]


def test_without_system_column_the_file_name_is_the_system(write) -> None:
    assert read(write("Online-B.csv.gz", gzip.compress(b"id,hyp,ref\n1,a,b\n"))).systems == ("Online-B",)


def test_several_references_and_metadata(write) -> None:
    dataset = read(
        write(
            "a.csv",
            "id,system,hyp,ref2,ref1,domain,mqm\n1,s,a,second,first,news,-0.0\n2,s,b,,only,chat,None\n",
        )
    )
    assert dataset.outputs["references"].to_list() == [["first", "second"], ["only"]]
    assert dataset.metadata == ("domain",)
    assert dataset.outputs["mqm"].to_list() == [0.0, None]
    assert str(dataset.outputs["mqm"][0]) == "0.0"


def test_references_in_lists_and_columns_are_put_together_without_gaps(write) -> None:
    rows = [
        {"id": "1", "system": "s", "hyp": "x", "ref": ["a", "", None, "b"], "ref2": "c"},
        {"id": "2", "system": "s", "hyp": "x", "ref": None, "ref2": "d"},
        {"id": "3", "system": "s", "hyp": "x", "ref": [], "ref2": "e"},
        {"id": "4", "system": "s", "hyp": "x", "ref": ["f"], "ref2": ""},
        {"id": "5", "system": "s", "hyp": "x", "ref": [""], "ref2": None},
    ]
    dataset = read(write("a.jsonl", "\n".join(map(json.dumps, rows))))
    assert dataset.outputs["references"].to_list() == [["a", "b", "c"], ["d"], ["e"], ["f"]]
    assert dict(dataset.left_out) == {"no reference": 1}


def test_references_stay_in_columns_and_take_no_memory_per_row_in_python() -> None:
    frame = pl.DataFrame({"ref": [f"reference {row}" for row in range(50_000)]})
    _build_reference_lists(frame, ["ref"], "first")
    tracemalloc.start()
    found = _build_reference_lists(frame, ["ref"], "second")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.len() == 50_000
    assert peak < 1_000_000  # lists of them take eight times as much


@pytest.mark.parametrize(
    "text", ["a\u2028b", "a\rb", "\u200f\u05d0", " lead", "trail ", "None", "NA", "null", "x", "é", "\ufeffx"]
)
def test_texts_keep_every_character(write, text) -> None:
    for name, delimiter in (("a.csv", ","), ("a.tsv", "\t")):
        path = write(
            name,
            delimiter.join(["id", "system", "hyp", "ref"])
            + "\n"
            + delimiter.join(["1", "s", text, "r"])
            + "\n",
        )
        for quoting in ("minimal", "none"):
            assert read(path, quoting=quoting).outputs["output"].to_list() == [text]
    path = write("a.jsonl", json.dumps({"id": 1, "system": "s", "hyp": text, "ref": "r"}))
    assert read(path).outputs["output"].to_list() == [text]


def test_windows_line_ends_are_line_ends(write) -> None:
    assert outputs(write("a.csv", (HEADER + ROWS).replace("\n", "\r\n"))) == EXPECTED


def test_quoted_fields_hold_delimiters_quotes_and_newlines(write) -> None:
    path = write("a.csv", HEADER + '1,a,"x, ""y""\nz",r\n')
    assert read(path).outputs["output"].to_list() == ['x, "y"\nz']


def test_empty_hypotheses_stay_and_integer_ids_become_text(write) -> None:
    path = write("a.jsonl", '{"id": 7, "system": "s", "hyp": "", "ref": "r"}')
    assert read(path).outputs.select("item", "output").rows() == [("7", "")]


def test_rows_without_reference_are_left_out_and_counted(write) -> None:
    dataset = read(write("a.csv", HEADER + "1,a,x,\n2,a,x,r\n"))
    assert len(dataset) == 1
    assert dict(dataset.left_out) == {"no reference": 1}


BAD = {
    "missing column": (HEADER.replace("hyp", "text") + ROWS, "no column holds the output"),
    "ragged row": (HEADER + "1,a,x y,r,more\n", "row 1: 5 fields where the header has 4"),
    "duplicate": (HEADER + "1,a,x,r\n2,a,x,r\n1,a,z,r\n", "row 3: item 1 of system a was already given in row 1"),
    "unequal references": (HEADER + "1,a,x,r\n1,b,x,other\n", "row 2, column ref: the reference of item 1"),
    "empty file": ("", "the file is empty"),
    "header only": (HEADER, "a header and no rows"),
    "system missing": (HEADER + "1,,x,r\n", "row 1, column system: the system is missing"),
    "null id": (HEADER + "1,a,x,r\n,a,x,r\n", "row 2, column seg_id: the id is missing"),
    "float id": (HEADER + "1,a,x,r\n2.0,a,x,r\n", "row 2, column seg_id: an id must be text or a whole number"),
    "invalid utf-8": (HEADER.encode() + b"1,a,\xff,r\n", "line 2: byte 0xff is not valid UTF-8"),
    "nul": (HEADER + "1,a,x\0y,r\n", "line 2: there is a NUL character"),
    "unclosed quote": (HEADER + '1,a,"x,r\n', "row 1: a quote is opened and never closed"),
    "text after quote": (HEADER + '1,a,"x" y,r\n', "row 1, column 3: text follows a closing quote"),
    "two columns of a name": ("id,hyp,hyp\n1,a,b\n", "line 1, column hyp: this name heads two columns"),
    "text score": ("id,system,hyp,ref,mqm\n1,a,x,r,good\n", "row 1, column mqm: 'good' is not a number"),
    "inf score": ("id,system,hyp,ref,mqm\n1,a,x,r,-inf\n", "row 1, column mqm: a score is infinite"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_name_file_row_and_column(write, case) -> None:
    content, expected = BAD[case]
    path = write("bad.csv", content)
    with pytest.raises(InputError) as error:
        read(path)
    assert first_line(error).startswith(str(path))
    assert expected in first_line(error)


def test_where_the_file_stands_for_the_system_the_remedy_says_so(write) -> None:
    with pytest.raises(
        InputError, match=r"The system was named after the file.* columns=\{\"system\": \"COLUMN\"\}"
    ):
        read(write("bad.csv", "id,engine,hyp,ref\n1,a,x,r\n1,b,z,r\n"))


BAD_JSON = {
    "float id": ('{"id": 1.5, "system": "s", "hyp": "x", "ref": "r"}', "column id: an id must be text"),
    "null id": ('{"id": null, "system": "s", "hyp": "x", "ref": "r"}', "column id: the id is missing"),
    "boolean id": ('{"id": true, "system": "s", "hyp": "x", "ref": "r"}', "column id: an id must be text"),
    "nested id": ('{"id": [1], "system": "s", "hyp": "x", "ref": "r"}', "not a nested value."),
    "not json": ("{'id': 1}", "line 1: this is not JSON"),
    "nan": ('{"id": 1, "hyp": NaN}', "line 1: this is not JSON"),
    "not an object": ("[1]", "line 1: a JSON object was expected"),
    "mixed types": ('{"id": 1, "hyp": "x"}\n{"id": "b", "hyp": "x"}', "row 2, column id: text here, but a number"),
    "nul": ('{"id": 1, "system": "s", "hyp": "a\\u0000", "ref": "r"}', "line 1, column hyp: there is a NUL"),
    "number as text": ('{"id": 1, "system": "s", "hyp": 3, "ref": "r"}', "column hyp: text was expected"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_JSON)
def test_bad_json_lines(write, case) -> None:
    content, expected = BAD_JSON[case]
    with pytest.raises(InputError) as error:
        read(write("bad.jsonl", content))
    assert expected in first_line(error)


def test_infinite_scores_in_parquet_are_refused(tmp_path) -> None:
    frame = pl.DataFrame({"id": [1, 2], "system": "s", "hyp": "x", "ref": "r", "mqm": [0.0, float("inf")]})
    frame.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="row 2, column mqm: a score is infinite"):
        read(tmp_path / "a.parquet")


def test_differing_references_can_be_kept(write) -> None:
    dataset = read(write("a.csv", HEADER + "1,a,x,r\n1,b,x,other\n"), references="per-output")
    assert dataset.outputs["references"].to_list() == [["r"], ["other"]]
    assert "The references of 1 item differ" in dataset.notes[0]


def test_selecting_rows(write) -> None:
    path = write("a.csv", HEADER + ROWS)
    assert outputs(path, systems=["a"]) == [EXPECTED[0], EXPECTED[2]]
    assert outputs(path, exclude_systems=["a"]) == [EXPECTED[1], EXPECTED[3]]
    assert outputs(path, where={"system": "b"}) == [EXPECTED[1], EXPECTED[3]]
    with pytest.raises(UnknownName, match="unknown system 'c'"):
        read(path, systems=["c"])
    with pytest.raises(UnknownName, match="unknown column 'domian'"):
        read(path, where={"domian": "news"})
    with pytest.raises(InputError, match="no row is left"):
        read(path, where={"item": "99"})


def test_columns_can_be_named(write) -> None:
    path = write("a.csv", "nr,engine,text,truth\n1,a,x,r\n")
    dataset = read(path, columns={"item": "nr", "system": "engine", "output": "text", "references": "truth"})
    assert dataset.outputs.select("item", "system", "output").rows() == [("1", "a", "x")]
    with pytest.raises(InputError, match="there is no column 'txt' to be the output"):
        read(path, columns={"output": "txt"})


def test_joined_columns_are_matched_by_keys(write) -> None:
    path = write("a.csv", HEADER + ROWS)
    other = write("b.csv", "system,seg_id,COMET\na,1,.5\nb,2,.25\n")
    dataset = read(path, join=other)
    assert dataset.outputs["COMET"].to_list() == [".5", None, None, ".25"]
    assert "2 of 4 rows have a match" in dataset.notes[-1]
    with pytest.raises(InputError, match="occurs more than once"):
        read(path, join=write("c.csv", "system,COMET\na,1\na,2\n"))
    with pytest.raises(InputError, match="shares no key column"):
        read(path, join=write("d.csv", "engine,COMET\na,1\n"))


def test_plain_text_splits_at_line_feeds_alone(write) -> None:
    ref, one, two = (
        write("ref.txt", "r1\nr2\n"),
        write("sysA.txt", "a\u2028b\n\n"),
        write("sysB.txt", "x\r\ny"),
    )
    dataset = read_parallel_files([str(ref)], [str(one), str(two)])
    assert dataset.outputs.select("item", "system", "output").rows() == [
        ("1", "sysA", "a\u2028b"), ("1", "sysB", "x\r"), ("2", "sysA", ""), ("2", "sysB", "y"),
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"short.txt: 1 lines, but .*ref.txt has 2"):
        read_parallel_files([str(ref)], [str(write("short.txt", "a\n"))])


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match=r"nothing.csv: there is no such file"):
        read(tmp_path / "nothing.csv")


def test_a_folder_stands_for_its_tables(write, tmp_path) -> None:
    write("a.csv", HEADER + "1,a,x,r\n")
    write("b.csv", HEADER + "1,b,x,r\n")
    write("notes.txt", "not a table")
    assert read(tmp_path).systems == ("a", "b")


def test_real_common_voice_has_items_whose_references_differ(real_data) -> None:
    path = real_data("asr/asr_commonvoice_en_test.parquet")
    with pytest.raises(InputError, match="58 such items in all"):
        read(path)
    dataset = read(path, references="per-output")
    assert len(dataset) == 28056
    assert dict(dataset.left_out) == {"no reference": 4}


def test_a_large_table_is_mapped_and_reads_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups are written down one by one; the file behind the table is gone from the folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "aside"))
    (tmp_path / "aside").mkdir()
    sample = pl.read_parquet(get_bundled_sample_path("mt")).sample(fraction=1.0, shuffle=True, seed=1)
    sample.with_columns(pl.col("domain").cast(pl.Categorical)).write_parquet(
        tmp_path / "table.parquet", row_group_size=100
    )
    held = read(tmp_path / "table.parquet")
    monkeypatch.setattr(memory, "_memory_target", 2_000_000)
    mapped = read(tmp_path / "table.parquet")
    assert not list((tmp_path / "aside").iterdir())
    assert len(memory._open_maps) > 0
    memory.release_memory()
    assert_frame_equal(mapped.outputs, held.outputs)
    assert mapped.content_hash == held.content_hash


def test_what_was_looked_at_in_mapped_tables_leaves_memory(tmp_path: Path, monkeypatch) -> None:
    """As soon as it is more than its share, and nobody has to ask for it."""
    monkeypatch.setattr(memory, "_memory_target", 2**27)
    table = pl.DataFrame({"text": [f"{n:>100}" for n in range(600_000)]})
    table.write_ipc(tmp_path / "table", record_batch_size=table.height)
    mapped = memory.memory_map_table(tmp_path / "table")
    start, most = memory._measure_mapped_memory(), 0
    for part in mapped.iter_slices(20_000):
        assert int(part["text"].str.strip_chars().cast(pl.Int64).min() or 0) % 20_000 == 0
        time.sleep(0.03)
        most = max(most, memory._measure_mapped_memory() - start)
    assert most < 40_000_000, "of 60 MB"
    assert_frame_equal(mapped, table)


def test_a_large_parquet_file_is_read_part_by_part(tmp_path: Path, monkeypatch) -> None:
    shutil.copy(get_bundled_sample_path("mt"), tmp_path / "table.parquet")
    whole = read(tmp_path / "table.parquet")
    monkeypatch.setattr("metassay.data.readers.parquet_tables._LARGE_FILE_BYTES", 0)
    (tmp_path / "packed.parquet").write_bytes(gzip.compress((tmp_path / "table.parquet").read_bytes()))
    assert_frame_equal(read(tmp_path / "packed.parquet").outputs, whole.outputs)
    monkeypatch.setattr("metassay.data.readers.tables.read_bytes", None)
    assert_frame_equal(read(tmp_path / "table.parquet").outputs, whole.outputs)
    (tmp_path / "broken.parquet").write_bytes(Path(tmp_path / "table.parquet").read_bytes()[:5000])
    with pytest.raises(InputError, match="this is not a Parquet file"):
        read(tmp_path / "broken.parquet")
