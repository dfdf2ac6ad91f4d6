"""`check` foretells what `perturb` does, and texts without spaces can be assayed like any other."""

import re
from pathlib import Path

import polars as pl
import pytest

import metassay
from metassay.perturbations.forecast import forecast_perturbations
from metassay.text.segmentation import has_segmenter
from metassay.workflows.assay import read_bundled_sample

CHINESE = [
    "今天的天气非常好，我们决定去公园散步。",
    "这家公司在2021年推出了新的手机产品。",
    "他没有收到我们上周寄出的邮件。",
    "北京是中国的首都，也是一座历史悠久的城市。",
    "请把这份文件发给张经理，谢谢。",
    "孩子们在学校学习英语和数学。",
]
JAPANESE = [
    "今日は天気がとても良いので、公園を散歩しました。",
    "この会社は2021年に新しいスマートフォンを発売した。",
    "彼は会議がいつ始まるか教えてくれなかった。",
    "東京は日本の首都で、歴史のある街です。",
    "この書類を田中さんに送ってください。",
    "子どもたちは学校で英語と数学を勉強しています。",
]


def table(folder: Path, language: str) -> Path:
    """Two systems that drop the last or the first characters of a reference, and one that keeps it."""
    texts = {"zh": CHINESE, "ja": JAPANESE}[language]
    shortened = {"whole": lambda t: t, "head": lambda t: t[:-4] + "。", "tail": lambda t: t[3:]}
    rows = [
        {
            "seg_id": i,
            "system": system,
            "lp": f"en-{language}",
            "hyp": f(text),
            "ref": text,
            "mqm": -len(text) + len(f(text)) - i % 2,
        }
        for i, text in enumerate(texts * 4)
        for system, f in shortened.items()
    ]
    path = folder / f"{language}.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


@pytest.fixture(params=["mt", "asr", "ranking", "text", "zh", "ja"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> metassay.Dataset:
    if request.param in {"zh", "ja"}:
        return metassay.read(table(tmp_path, request.param))
    return read_bundled_sample(request.param)


def test_the_forecast_is_what_happens(data: metassay.Dataset) -> None:
    foretold = metassay.check(data).to_dict()["perturbations"]
    done = metassay.perturb(data, per_output=None, keep_references=False).pairs
    assert [row["perturbation"] for row in foretold] == list(done.counts)
    for row in foretold:
        assert row["outputs"] == done.counts[row["perturbation"]].applied
        assert row["applies"] == (row["outputs"] > 0)
        assert row["applies"] or row["why"]
        noted = any(note.startswith(row["perturbation"] + " ") for note in done.notes)
        assert noted == bool(row["why"] and not re.search("finds nothing to change$", row["why"]))


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_texts_without_spaces_are_assayed_and_ranked_by_default(tmp_path: Path, language: str) -> None:
    """Words are edited only if a package that finds them is installed."""
    path = table(tmp_path, language)
    data = metassay.read(path)
    rows = {row["perturbation"]: row for row in metassay.check(data).to_dict()["perturbations"]}
    for name in ("removal", "insertion", "swapping"):
        assert rows[name]["applies"] == has_segmenter(language)
    assert rows["negation_removal"]["applies"] == (language == "zh")  # 教えてくれなかった bends too far
    assert f"does not know the language {language}" in rows["entity"]["why"]
    assay = metassay.assay(data, resamples=50, permutations=49).to_dict()
    assert assay
    assert metassay.rank(path, metrics="chrf,ter").to_dict()


def test_a_large_data_set_is_tried_in_part() -> None:
    data = read_bundled_sample("mt")
    some = forecast_perturbations(data, maximum_outputs=len(data) // 3)
    assert {row.tried for row in some} != {len(data)}
    assert all(0 < row.tried <= len(data) // 3 + len(data.systems) for row in some)
    assert [row.perturbation for row in some] == [row.perturbation for row in forecast_perturbations(data)]


def test_only_what_waits_for_a_tagger_is_tried_on_fewer_outputs() -> None:
    data = read_bundled_sample("mt")
    exact = {row.perturbation: row for row in forecast_perturbations(data)}
    for row in forecast_perturbations(data, maximum_tagged_outputs=len(data) // 4):
        assert (row.tried < len(data)) == (row.perturbation in {"entity", "negation"})
        assert row.tried < len(data) or row == exact[row.perturbation]
