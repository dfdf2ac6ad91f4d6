"""Logs of inspect and samples of lm-eval: files that the two programs wrote, and what they say themselves.

The files in `genuine` were made with inspect_ai 0.3.285 (a model that answers 1, 5, 3, then 1, 2, three to
three sums, two epochs) and lm_eval 0.4.13 (a task to generate with two filters, a task to choose).
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

import metassay
from metassay.cli import run_command_line as run
from metassay.data.readers.base import ReaderOptions
from metassay.data.readers.registry import load_all_readers, read_tables
from metassay.data.readers.sample_columns import build_columns_from_dicts
from metassay.errors import InputError

GENUINE = Path(__file__).parent / "genuine"


def only_table(path: Path) -> pl.DataFrame:
    (table,) = read_tables([path], ReaderOptions())
    return table.frame


def test_an_inspect_log_has_what_was_asked_answered_and_scored() -> None:
    (table,) = read_tables([GENUINE / "sums.eval"], ReaderOptions())
    frame = table.frame.sort("seg_id")
    assert frame["seg_id"].to_list() == ["1#1", "1#2", "2#1", "2#2", "s3#1", "s3#2"]
    assert frame["hyp"].to_list() == ["1", "1", "5", "2", "3", "three"]
    assert frame["references"].to_list()[4] == ["3", "three"]
    assert frame["match"].to_list() == [1, 1, 0, 1, 1, 1]  # C, and I where 5 was said
    assert frame["f1"].to_list() == [1, 1, 0, 1, 1, 1]
    assert frame["doc_id"].to_list() == ["1", "1", "2", "2", "s3", "s3"]
    assert set(frame["system"]) == {"mockllm/model"}
    assert (set(frame["testset"]), frame["src"][0]) == ({"sums"}, "What is 0+1?")
    assert table.metadata_columns == ("topic", "level")


def test_a_log_as_json_and_as_zip_say_the_same(tmp_path: Path) -> None:
    content = _unpacked(GENUINE / "sums.eval")
    log = content["header.json"] | {"samples": [own for name, own in content.items() if "samples/" in name]}
    (tmp_path / "sums.json").write_text(json.dumps(log, indent=2))
    plain = tmp_path / "sums.eval"
    with zipfile.ZipFile(plain, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, own in content.items():
            packed.writestr(name, json.dumps(own))
    expected = only_table(GENUINE / "sums.eval").sort("seg_id")
    for path in (tmp_path / "sums.json", plain):
        assert only_table(path).sort("seg_id").equals(expected)


def _unpacked(path: Path) -> dict[str, dict]:
    """Header and samples of a log; zstd by Arrow, each file's bytes between this local header and its end."""
    import pyarrow as pa

    raw, found = path.read_bytes(), {}
    with zipfile.ZipFile(path) as log:
        for about in log.infolist():
            if about.filename == "header.json" or about.filename.startswith("samples/"):
                start = raw.index(b"\x28\xb5\x2f\xfd", about.header_offset)
                packed = pa.BufferReader(raw[start : start + about.compress_size])
                found[about.filename] = json.loads(pa.CompressedInputStream(packed, "zstd").read())
    return found


def test_the_samples_table_agrees_with_its_log() -> None:
    table = only_table(GENUINE / "inspect_samples.csv").sort("seg_id")
    log = only_table(GENUINE / "sums.eval").sort("seg_id")
    shared = ["seg_id", "doc_id", "system", "match", "f1"]
    assert table.select(shared).equals(log.select(shared))
    assert table["metadata_topic"].to_list() == log["topic"].to_list()


def test_a_log_is_data_for_every_verb(tmp_path: Path) -> None:
    found = metassay.check([GENUINE / "sums.eval"]).to_dict()
    assert (found["task"], found["items"]) == ("text", 6)
    assert found["systems"] == [{"system": "mockllm/model", "outputs": 6}]
    assert {"topic", "level"} <= {*found["contexts"]}
    first = only_table(GENUINE / "sums.eval").drop("references")
    second = first.with_columns(system=pl.lit("other"), match=pl.lit(0.5), f1=pl.lit(0.5))
    people = pl.Series("human", [0.9, 0.8, 0.2, 0.7, 0.9, 0.6, 0.4, 0.5, 0.6, 0.3, 0.2, 0.1])
    pl.concat([first, second]).with_columns(people).write_parquet(tmp_path / "both.parquet")
    ranked = metassay.rank(tmp_path / "both.parquet", draws=20, metrics="match,f1").to_dict()["results"][0]
    assert [row["metric"] for row in ranked["metrics"]] == ["f1", "match", "constant", "random"]


def test_lm_eval_generated_answers_and_metrics_by_filter() -> None:
    folder = GENUINE / "org__small-model"
    generated, chosen = (table.frame for table in read_tables([folder], ReaderOptions()))
    assert generated["hyp"].to_list() == ["It is 2", "4", "Paris"]
    assert generated["ref"].to_list() == ["2", "3", "Paris"]
    assert set(generated["system"]) == {"org/small-model"}
    assert set(generated["testset"]) == {"gen_demo"}
    # what lm-eval itself reports in results_*.json of the same run
    assert generated["exact_match:strict"].mean() == pytest.approx(1 / 3)
    assert generated["exact_match:flexible"].mean() == pytest.approx(2 / 3)
    assert chosen["acc"].mean() == pytest.approx(1 / 3)
    right = (chosen["hyp"] == chosen["ref"]).cast(pl.Float64)
    assert right.to_list() == chosen["acc"].to_list()  # the choice that we name is the one it counted
    assert chosen["ref"].to_list() == ["2", "3", "Paris"]
    data = metassay.read(folder)
    assert data.items[0] == "gen_demo/0"
    assert len(data) == 6


def test_broken_logs_are_refused_with_their_file(tmp_path: Path) -> None:
    empty = tmp_path / "a.json"
    empty.write_text('{"version": 2, "status": "error", "eval": {"task": "t", "model": "m"}}')
    with pytest.raises(InputError, match=r"a\.json.*no samples"):
        metassay.read(empty)
    cut = tmp_path / "b.json"
    cut.write_text('{"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": [')
    with pytest.raises(InputError, match=r"b\.json.*not a log of inspect"):
        metassay.read(cut)
    broken = tmp_path / "c.eval"
    with zipfile.ZipFile(broken, "w") as log:
        log.writestr("samples/1_epoch_1.json", "{}")
    with pytest.raises(InputError, match=r"c\.eval.*cannot be read"):
        metassay.read(broken)
    table = tmp_path / "d.csv"
    table.write_text("sample_id,eval_id,id,epoch,score_x\na,b,1,1,C\n")
    with pytest.raises(InputError, match=r"d\.csv.*which model"):
        metassay.read(table)
    infinite = tmp_path / "samples_t.jsonl"
    infinite.write_text('{"doc_id": 0, "doc": {}, "resps": [["x"]], "filtered_resps": ["x"], "metrics": ["m"], '
                        '"arguments": {"gen_args_0": {"arg_0": "q"}}, "target": "x", "m": 1e999}\n')  # fmt: skip
    with pytest.raises(InputError, match=r"samples_t\.jsonl"):
        metassay.read(infinite)


def test_the_readers_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    names = {"pearmut", "appraise", "inspect log", "inspect samples", "lm-eval samples"}
    assert names <= {one.name for one in load_all_readers()}
    assert run(["list", "readers"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in names)


def test_the_files_of_an_archive_are_limited_together(tmp_path, monkeypatch) -> None:
    """Each is small enough; all of them would fill the memory."""
    sample = {"id": 1, "input": "a", "output": {}, "target": "b", "note": "x" * 300_000}
    bomb = tmp_path / "bomb.eval"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "header.json", json.dumps({"eval": {"task": "t", "model": "m"}, "status": "success"})
        )
        for number in range(5):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    monkeypatch.setenv("METASSAY_UNPACK_LIMIT", "1")
    with pytest.raises(InputError, match="holds more than 1 MB"):
        only_table(bomb)
    monkeypatch.setenv("METASSAY_UNPACK_LIMIT", "2")
    assert len(only_table(bomb)) == 5


def test_an_excel_file_is_limited_like_other_archives(tmp_path, monkeypatch) -> None:
    pytest.importorskip("fastexcel")
    bomb = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(5):
            archive.writestr(f"xl/worksheets/sheet{number}.xml", "x" * 300_000)
    monkeypatch.setenv("METASSAY_UNPACK_LIMIT", "1")
    with pytest.raises(InputError, match="holds more than 1 MB"):
        only_table(bomb)


def test_a_sample_without_an_answer_has_no_output(tmp_path: Path) -> None:
    rows = [
        {"doc_id": number, "doc": {}, "resps": responses, "arguments": {"gen_args_0": {"arg_0": "q"}}}
        | {"filtered_resps": responses, "target": "x", "metrics": ["m"], "m": 0.0}
        for number, responses in enumerate(([["y"]], [], [[]]))
    ]
    file = tmp_path / "samples_t.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert only_table(file)["hyp"].to_list() == ["y", None, None]


def test_values_of_several_types_become_texts_and_missing_ones_stay_missing() -> None:
    rows = [{"level": 12, "score": 1}, {"level": "unknown"}, {"level": None, "score": 0.5}]
    table = build_columns_from_dicts(rows, ["score"], "metadata_")
    assert table.to_dict(as_series=False) == {
        "level": ["12", "unknown", None],
        "metadata_score": [1.0, None, 0.5],
    }
