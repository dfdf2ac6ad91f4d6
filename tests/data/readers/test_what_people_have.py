"""Files as people have them: semicolons from Excel, tabs under the name of CSV, arrays, sheets, languages."""

from __future__ import annotations

import importlib.util
import json
import zipfile

import polars as pl
import pytest

import metassay
from metassay.data.dataset import Dataset
from metassay.data.readers.json_tables import parse_json_array
from metassay.data.readers.tables import read_table
from metassay.errors import InputError

ROWS = [
    {"seg_id": 1, "system": "a", "hyp": "the cat; sat", "ref": "the cat, sat", "mqm": -1.5},
    {"seg_id": 2, "system": "a", "hyp": 'a "dog" ran', "ref": "a dog ran", "mqm": 0.0},
    {"seg_id": 1, "system": "b", "hyp": "cat", "ref": "the cat, sat", "mqm": -25.0},
    {"seg_id": 2, "system": "b", "hyp": "a\tdog", "ref": "a dog ran", "mqm": None},
]


@pytest.fixture
def expected() -> Dataset:
    return metassay.read(pl.DataFrame(ROWS).with_columns(pl.col("mqm")), task="mt")


@pytest.mark.parametrize(
    ("name", "separator"), [("x.csv", ";"), ("x.csv", "\t"), ("x.csv", "|"), ("x.tsv", ","), ("x.data", ";")]
)
def test_what_parts_the_fields_is_seen_in_the_header(tmp_path, expected, name, separator) -> None:
    pl.DataFrame(ROWS).write_csv(tmp_path / name, separator=separator)
    found = metassay.read(tmp_path / name, task="mt")
    assert found.outputs.equals(expected.outputs)


def test_excel_writes_semicolons_commas_in_numbers_and_a_line_to_itself(tmp_path, expected) -> None:
    """As it does in most of Europe: BOM, CR LF, `-1,5`; texts keep their commas."""
    text = pl.DataFrame(ROWS).with_columns(pl.col("mqm").cast(pl.String).str.replace(".", ",", literal=True))
    content = text.write_csv(separator=";", line_terminator="\r\n", quote_style="necessary")
    for start in ("", "sep=;\r\n"):
        (tmp_path / "x.csv").write_text(f"\ufeff{start}{content}", newline="")
        found = metassay.read(tmp_path / "x.csv", task="mt")
        assert found.outputs.equals(expected.outputs)


def test_a_comma_in_a_text_is_no_decimal_point(tmp_path) -> None:
    (tmp_path / "x.csv").write_text("seg_id;system;hyp;ref\n1;a;3,5;3,5 m\n2;a;4,5;4,5 m\n")
    found = metassay.read(tmp_path / "x.csv", task="mt")
    assert [own[0] for own in found.outputs["references"]] == ["3,5 m", "4,5 m"]


@pytest.mark.parametrize("name", ["x.json", "x.data"])
def test_json_arrays(tmp_path, expected, name) -> None:
    (tmp_path / name).write_text(json.dumps(ROWS, indent=2))
    assert metassay.read(tmp_path / name, task="mt").outputs.equals(expected.outputs)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('[{"a": 1}, 2]', "row 2: a JSON object was expected."),
        ('[{"a": 1}, {"a": 1, "a": 2}]', "the key 'a' comes twice"),
        ('[{"a": 1},', "this is not JSON"),
        ('[{"a": "\\u0000"}]', "row 1, column a: there is a NUL character in the text."),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "the table has no columns."),
    ],
)
def test_broken_arrays_have_their_place(tmp_path, text, error) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError) as raised:
        metassay.read(tmp_path / "x.json")
    assert error in str(raised.value)


def sheet(rows: list[dict]) -> str:
    """The rows as a worksheet: numbers as numbers, texts inline."""
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]

    def cell(value: object) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, int | float):
            return f"<c><v>{value}</v></c>"
        return f'<c t="inlineStr"><is><t xml:space="preserve">{value}</t></is></c>'

    body = "".join(f"<row>{''.join(map(cell, line))}</row>" for line in lines)
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<worksheet xmlns="{space}"><sheetData>{body}</sheetData></worksheet>'


def write_workbook(path, rows: list[dict]) -> None:
    """The smallest file that Excel opens."""
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    types = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{types}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{types}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="rId1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}">'
        '<sheets><sheet name="one" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="rId1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": sheet(rows),
    }
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}')


HAS_EXCEL = importlib.util.find_spec("fastexcel") is not None


@pytest.mark.skipif(not HAS_EXCEL, reason="fastexcel is not installed")
def test_excel_sheets(tmp_path, expected) -> None:
    rows = [row | {"hyp": row["hyp"].replace('"', "&quot;")} for row in ROWS]
    write_workbook(tmp_path / "x.xlsx", rows)
    assert metassay.read(tmp_path / "x.xlsx", task="mt").outputs.equals(expected.outputs)
    (tmp_path / "x.xlsx").write_bytes(b"PK\x03\x04 no more")
    with pytest.raises(InputError, match=r"x\.xlsx: this is not an Excel file"):
        metassay.read(tmp_path / "x.xlsx")


@pytest.mark.skipif(HAS_EXCEL, reason="fastexcel is installed")
def test_without_its_package_a_sheet_names_the_extra(tmp_path) -> None:
    write_workbook(tmp_path / "x.xlsx", ROWS)
    with pytest.raises(InputError, match=r"pip install 'metassay\[excel\]'"):
        metassay.read(tmp_path / "x.xlsx")


@pytest.mark.parametrize(
    ("columns", "language"),
    [
        ({"lp": "en-de"}, "de"),
        ({"LP": "english-german"}, "de"),
        ({"lp": "en-ja_JP"}, "ja-jp"),
        ({"lp": "en-zh-Hans"}, "zh-hans"),
        ({"lp": "en-th"}, "th"),
        ({"lp": "de-en-US"}, "en-us"),
        ({"tgt": "German"}, "de"),
        ({"target_language": "deu"}, "de"),
        ({"lang": "zh_TW"}, "zh-tw"),
        ({"src": "ein Satz", "language": "german"}, None),
        ({"src": "ein Satz", "language": "german", "tgt_lang": "en"}, "en"),
        ({"tgt": "the text itself"}, None),
        ({}, None),
    ],
)
def test_the_language_is_seen_in_columns(columns, language) -> None:
    """Beside a source, `language` may be that of the source, as in DEMETR."""
    rows = [{**row, **columns} for row in ROWS]
    assert set(metassay.read(rows, task="mt").languages) == {language}


def test_languages_have_names() -> None:
    assert set(metassay.read(ROWS, task="mt", language="English").languages) == {"en"}
    result = metassay.perturb(metassay.read(ROWS, task="mt"))
    said = [note for note in result.to_dict()["notes"] if "language" in note]
    assert len(said) == 1
    assert "--language en, in Python language='en'" in said[0]


def test_a_language_pair_named_as_the_language_is_noted() -> None:
    data = metassay.read(ROWS, task="mt", language="en-th")
    assert set(data.languages) == {"th"}
    assert any("--language en-th is read as a language pair" in note for note in data.notes)
    assert metassay.read(ROWS, task="mt", language="en-TH").notes == ()


def test_tables_of_any_kind_one_context_and_a_function_as_metric() -> None:
    """A list of dicts, a context by its bare name, a metric that is a function."""
    words = ["the", "cat", "sat", "on", "the", "mat", "with", "two", "red", "birds"]
    rows = [
        {
            "item": f"{number}",
            "system": system,
            "domain": "news" if number % 2 else "chat",
            "output": " ".join(words[number % 4 : 6 + number % 4 - cut]),
            "ref": " ".join(words[number % 4 : 7 + number % 4]),
        }
        for number in range(8)
        for system, cut in (("a", 0), ("b", 1))
    ]

    def length(outputs: list[str]) -> list[float]:
        return [float(len(text)) for text in outputs]

    result = metassay.assay(
        metassay.read(rows, language="en"),
        metrics=["chrf", length],
        contexts="domain",
        perturbations="removal",
        resamples=10,
        permutations=9,
    )
    assert list(result.to_dict()["contexts"]) == ["domain"]
    assert {row["metric"] for row in result.to_dict()["global"]} == {"chrf", "length"}
    assert next(row for row in result.to_dict()["global"] if row["metric"] == "length")["accuracy"] == 1


def test_judgements_in_an_array(tmp_path) -> None:
    (tmp_path / "run.txt").write_text("1 Q0 a 1 3.0 t\n1 Q0 b 2 2.0 t\n")
    (tmp_path / "qrels.json").write_text(json.dumps([{"topic": "1", "docid": "b", "grade": 1}]))
    found = metassay.read(tmp_path / "run.txt", qrels=tmp_path / "qrels.json")
    assert metassay.score(found, metrics="recip_rank").systems[0].corpus == 0.5


@pytest.mark.parametrize("text", ["7", "null", "{}", '"rows"', "[7]"])
def test_json_that_is_no_array_of_objects_is_refused(tmp_path, text) -> None:
    (tmp_path / "x.json").write_text(f" {text}")
    with pytest.raises(InputError):
        metassay.read(tmp_path / "x.json")


def test_a_number_is_no_array() -> None:
    with pytest.raises(InputError, match="a JSON array of objects was expected"):
        parse_json_array("7", file="x.json")


def test_a_tab_parts_a_tsv_whatever_its_names_hold(tmp_path) -> None:
    (tmp_path / "x.tsv").write_text("seg_id\ta, b, c, d\n1\t2\n")
    assert read_table(str(tmp_path / "x.tsv")).columns == ["seg_id", "a, b, c, d"]


@pytest.mark.parametrize(
    ("cells", "read_as"), [(("1,5", "-2"), ["1.5", "-2"]), (("0,512", "1,234"), ["0.512", "1.234"])]
)
def test_decimal_commas_become_points(tmp_path, cells, read_as) -> None:
    (tmp_path / "x.csv").write_text("seg_id;mqm\n" + "".join(f"{n};{c}\n" for n, c in enumerate(cells)))
    notes: list[str] = []
    assert read_table(str(tmp_path / "x.csv"), notes=notes)["mqm"].to_list() == read_as
    (note,) = notes
    assert note.endswith("x.csv: commas in these columns were read as decimal points: mqm.")


def test_numbers_that_were_read_with_a_point_are_told_of(tmp_path) -> None:
    (tmp_path / "texts.csv").write_text("seg_id;system;hyp;ref;mqm\n1;a;x;y;-1,5\n2;a;x;y;0,0\n")
    (tmp_path / "more.csv").write_text("seg_id;system;len\n1;a;2,5\n2;a;3,5\n")
    said = "commas in these columns were read as decimal points: "
    found = metassay.read(tmp_path / "texts.csv", task="mt", join=tmp_path / "more.csv")
    assert [note.split(": ", 1)[1] for note in found.notes if said in note] == [f"{said}mqm.", f"{said}len."]
    told = metassay.read(ROWS, task="mt").notes
    assert not any(said in note for note in told)


def test_commas_that_may_part_thousands_are_left_to_be_refused(tmp_path) -> None:
    (tmp_path / "x.csv").write_text("seg_id;mqm\n1;1,234\n2;12,500\n")
    assert read_table(str(tmp_path / "x.csv"))["mqm"].to_list() == ["1,234", "12,500"]
