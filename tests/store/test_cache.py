"""Scores that runs share: served to whom they belong and to nobody else, and never a reason to stop."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from metassay.cli import run_command_line as run
from metassay.engine import batches
from metassay.engine.batches import OutputRows
from metassay.engine.scoring import score_rows
from metassay.errors import InputError
from metassay.metrics.base import Metric
from metassay.metrics.registry import parse_metric, parse_metrics
from metassay.sample import get_bundled_sample_path
from metassay.store import metric_cache
from metassay.store.cache_folder import verify_cache
from metassay.store.cached_scores import CachedScores
from metassay.store.cached_texts import CachedTexts
from metassay.store.metric_cache import MetricCache, can_share_scores_between_runs
from metassay.store.run_scores import RunScores
from metassay.store.run_texts import RunTexts
from metassay.store.versions import SCORING_PACKAGES
from metassay.workflows.assay import assay
from metassay.workflows.read import read

FAST = {"resamples": 20, "permutations": 19, "workers": 1}
UNPROMISED = {"timings.json", "call.json"}


def contents(folder):
    files = [file for file in folder.rglob("*") if file.is_file() and file.name not in UNPROMISED]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def rows(texts, language="en") -> OutputRows:
    items = [str(i) for i in range(len(texts))]
    frame = pl.DataFrame({"item": items, "system": ["s"] * len(texts), "output": texts})
    return OutputRows(frame.with_columns(language=pl.lit(language, pl.String)))


@dataclass(frozen=True)
class Length(Metric):
    """The length of the text, counted where it is asked."""

    name: ClassVar[str] = "len"
    task: ClassVar[str] = "any"
    needs: ClassVar[frozenset[str]] = frozenset({"output"})
    asked: ClassVar[list[str]] = []
    weights: ClassVar[str] = "aaaa"

    @property
    def signature(self) -> str:
        return f"{super().signature}|weights:{self.weights}"

    def score(self, batch):
        self.asked.extend(batch.output)
        if "loud" in batch.output:
            warnings.warn("it was loud", stacklevel=2)
        return np.array([np.nan if text == "none" else float(len(text)) for text in batch.output])


@pytest.fixture
def length(monkeypatch) -> Length:
    Length.asked.clear()
    monkeypatch.setattr(metric_cache, "hash_user_code", lambda _: "")  # as if it were one of ours
    return Length()


def scored(metric, texts, folder, own=None, language="en"):
    store = CachedScores(own, folder, [metric])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = score_rows([metric], rows(texts, language), workers=1, store=store)
    asked = list(Length.asked)
    Length.asked.clear()
    return found.scores[metric.spec].tolist(), asked, [str(one.message) for one in said]


def test_what_one_run_scored_no_other_scores_again(length, tmp_path) -> None:
    assert scored(length, ["a", "bb"], tmp_path)[:2] == ([1, 2], ["a", "bb"])
    assert scored(length, ["ccc", "bb", "a", "bb"], tmp_path)[:2] == ([3, 2, 1, 2], ["ccc"])
    assert scored(length, ["ccc", "a"], tmp_path)[:2] == ([3, 1], [])


def test_undefined_scores_are_asked_for_again(length, tmp_path) -> None:
    for _ in range(2):
        found, asked, _ = scored(length, ["a", "none"], tmp_path)
        assert np.isnan(found[1])
        assert "none" in asked


def test_a_score_of_another_kind_is_never_served(length, tmp_path, monkeypatch) -> None:
    scored(length, ["a", "bb"], tmp_path)
    again = ["a", "bb"]
    assert scored(length, again, tmp_path)[1] == []
    assert scored(length, again, tmp_path, language="de")[1] == again
    assert (
        scored(length.copy_metric_for_languages(["en"], preprocessing="lower-cased"), again, tmp_path)[1]
        == again
    )
    for changed, value in (("implementation", 2), ("weights", "bbbb"), ("oracle", "theirs 2.0")):
        with monkeypatch.context() as patch:
            patch.setattr(Length, changed, value)
            assert scored(length, again, tmp_path)[1] == again, changed
    with monkeypatch.context() as patch:
        known = metric_cache.collect_versions
        patch.setattr(metric_cache, "collect_versions", lambda names: known(names) | {"sacrebleu": "9.9"})
        assert scored(length, again, tmp_path)[1] == again
    assert scored(length, again, tmp_path)[1] == []


@pytest.mark.parametrize("spec", ["chrf", "bleu", "ter"])
def test_every_parameter_and_version_is_in_the_name_of_a_shelf(spec, tmp_path, monkeypatch) -> None:
    metric = parse_metric(spec)
    seen = {MetricCache(metric, tmp_path).folder}
    seen.add(MetricCache(metric.copy_metric_for_languages(["de"], preprocessing="english"), tmp_path).folder)
    for other in ("chrf(word_order=2)", "bleu(tokenizer=char)", "ter(normalized=true)"):
        seen.add(MetricCache(parse_metric(other), tmp_path).folder)
    for package in ("metassay", "numpy", "sacrebleu", "python"):
        known = metric_cache.collect_versions(SCORING_PACKAGES)
        with monkeypatch.context() as patch:
            patch.setattr(metric_cache, "collect_versions", lambda _, p=package, k=known: k | {p: "0.0.0"})
            seen.add(MetricCache(metric, tmp_path).folder)
    assert len(seen) == 9


def test_what_a_batch_warned_of_is_said_again_and_only_of_that_batch(length, tmp_path) -> None:
    assert scored(length, ["loud", "a"], tmp_path)[1:] == (["loud", "a"], ["it was loud"])
    assert scored(length, ["a", "loud"], tmp_path)[1:] == ([], ["it was loud"])
    assert scored(length, ["a"], tmp_path)[1:] == (["a"], [])
    assert scored(length, ["a", "loud", "b"], tmp_path)[1:] == (["loud", "b"], ["it was loud"])


def test_scores_that_depend_on_their_neighbours_are_served_by_batch(length, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Length, "cost_class", "neural CPU")
    scored(length, ["a", "bb"], tmp_path)
    assert scored(length, ["bb", "a"], tmp_path)[1] == []
    assert scored(length, ["a"], tmp_path)[1] == ["a"]


def test_code_programs_and_judges_keep_their_scores_to_the_run() -> None:
    from metassay.metrics.conversion import convert_to_metric
    from metassay.metrics.judge import Judge

    def mine(output: str) -> float:
        return float(len(output))

    assert not can_share_scores_between_runs(convert_to_metric(mine))
    assert not can_share_scores_between_runs(Length())
    assert not can_share_scores_between_runs(Judge())
    assert not can_share_scores_between_runs(parse_metric("random"))
    assert can_share_scores_between_runs(parse_metric("chrf"))


def test_a_broken_part_is_set_aside_named_and_computed_again(length, tmp_path, caplog) -> None:
    scored(length, ["a", "bb"], tmp_path)
    (part,) = tmp_path.glob("??/*/part-*.parquet")
    whole = part.read_bytes()
    for content in (whole[:-5], whole[:60] + bytes([whole[60] ^ 4]) + whole[61:]):
        part.write_bytes(content)
        assert scored(length, ["a", "bb"], tmp_path)[:2] == ([1, 2], ["a", "bb"])
        assert f"{part.name}.broken" in caplog.messages[-1]
        assert part.read_bytes() == whole


def test_a_cache_that_cannot_be_written_stops_nobody(length, tmp_path, caplog) -> None:
    cache = MetricCache(length, tmp_path)
    cache.folder.parent.mkdir()
    cache.folder.write_text("in the way")
    assert scored(length, ["a"], tmp_path)[0] == [1]
    assert len(caplog.messages) == 1
    assert "The scores of len are not stored in the cache." in caplog.messages[0]


def test_a_cache_that_cannot_be_written_says_so_once(length, tmp_path, caplog) -> None:
    cache = MetricCache(length, tmp_path)
    cache.folder.parent.mkdir()
    cache.folder.write_text("in the way")
    for number in range(3):
        cache.add_scores_to_cache(np.array([[0, number]], dtype=np.uint64), np.array([1.0]), ())
    assert len(caplog.messages) == 1


def test_a_cache_that_can_be_none_is_refused(tmp_path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="this cannot be used as a cache"):
        assay(read(get_bundled_sample_path("mt")), metrics="chrf", cache=tmp_path / "file" / "cache", **FAST)


ADD = """
import sys
import threading
import numpy as np
from pathlib import Path
from metassay.metrics.registry import parse_metric
from metassay.store.metric_cache import MetricCache
cache = MetricCache(parse_metric("chrf"), Path(sys.argv[1]))
rng = np.random.default_rng(5)
digests = rng.integers(0, 2**63, (4000, 2)).astype(np.uint64)
for start in range(int(sys.argv[2]), 4000, 250):
    cache.add_scores_to_cache(digests[start : start + 500], np.arange(start, start + 500.0)[: 4000 - start], ())
"""


def test_several_processes_add_and_read_at_once(tmp_path) -> None:
    command = [sys.executable, "-c", ADD, str(tmp_path)]
    running = [subprocess.Popen([*command, str(start)]) for start in (0, 100, 0)]
    assert [process.wait() for process in running] == [0, 0, 0]
    cache = MetricCache(parse_metric("chrf"), tmp_path)
    digests = np.random.default_rng(5).integers(0, 2**63, (4000, 2)).astype(np.uint64)
    found = np.full(4000, np.nan)
    cache.fill_in_cached_scores(digests, found)
    np.testing.assert_array_equal(found, np.arange(4000.0))
    assert verify_cache(tmp_path)[1] == []


def test_one_more_metric_is_all_that_is_computed_and_all_files_are_the_same(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(batches, "BATCH_ROWS", 500)
    data = read(get_bundled_sample_path("mt"))
    shared = tmp_path / "cache"
    assay(data, metrics="bleu,chrf", cache=shared, out=tmp_path / "first", **FAST)
    computed: list[str] = []
    metrics = {type(metric) for metric in parse_metrics("bleu,chrf,ter")}
    for kind in metrics:
        score = kind.score

        def counted(self, batch, score=score):
            computed.append(self.spec)
            return score(self, batch)

        monkeypatch.setattr(kind, "score", counted)
    assay(data, metrics="bleu,chrf,ter", cache=shared, out=tmp_path / "more", **FAST | {"workers": 2})
    pieces = computed.count("ter") - 2  # two to learn what it costs
    assert pieces > 2
    assert computed.count("bleu") == computed.count("chrf") == 2
    assay(data, metrics="bleu,chrf,ter", cache="off", out=tmp_path / "without", **FAST)
    assert contents(tmp_path / "more") == contents(tmp_path / "without")


def test_the_command_line_shows_prunes_and_verifies(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--metrics", "chrf,bleu", "--perturbations", "removal", "--resamples", "9", "--quiet"]
    assert (
        run(["assay", str(get_bundled_sample_path("mt")), *options, "--cache", "shared", "--out", "run"]) == 0
    )
    assert run(["cache", "info"]) == 2
    assert "no cache was named" in capsys.readouterr().err
    monkeypatch.setenv("METASSAY_CACHE", "shared")
    assert run(["cache", "info", "--json"]) == 0
    state = json.loads(capsys.readouterr().out)
    assert {row["metric"] for row in state["metrics"]} == {"bleu", "chrf", "perturbed outputs"}
    files = list((tmp_path / "shared").glob("??/*/*.parquet"))
    assert (state["parts"], state["bytes"]) == (len(files), sum(file.stat().st_size for file in files))
    assert run(["cache", "verify"]) == 0
    assert "All are intact." in capsys.readouterr().out
    files[0].write_bytes(b"PAR1")
    assert run(["cache", "verify"]) == 2
    assert "Damaged and moved away: 1." in capsys.readouterr().out
    assert run(["cache", "prune", "--most", "1"]) == 0
    assert "Removed: 1." in capsys.readouterr().out
    assert run(["cache", "prune", "--most", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parts"] == 0
    assert not list((tmp_path / "shared").rglob("*.parquet*"))
    assert run(["cache", "burn"]) == 2


def test_without_a_folder_for_the_run_the_cache_serves_too(length, tmp_path) -> None:
    scored(length, ["a"], tmp_path / "cache", own=RunScores(tmp_path / "run"))
    assert len(list((tmp_path / "run").iterdir())) == 1
    scored(length, ["a"], tmp_path / "cache", own=RunScores(tmp_path / "other"))
    assert contents(tmp_path / "run") == contents(tmp_path / "other")
    assert scored(length, ["a"], tmp_path / "cache")[1] == []


def test_threads_that_start_a_shelf_together_all_keep_their_scores(tmp_path, capsys) -> None:
    """Each makes the file that says what the cache is; none may take the file in the making from another."""
    for turn in range(20):
        cache = MetricCache(parse_metric("bleu"), tmp_path / str(turn))
        together = threading.Barrier(8)

        def put(number, cache=cache, together=together) -> None:
            together.wait()
            cache.add_scores_to_cache(np.array([[number, 0]], dtype=np.uint64), np.array([float(number)]), ())

        threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert cache.is_writable
        assert len(list(cache.folder.glob("part-*.parquet"))) == 8
    assert capsys.readouterr().err == ""


def test_a_cache_that_cannot_be_written_is_told_of_once(tmp_path: Path, caplog: Any) -> None:
    """Worse copies are then kept in the run alone; what such a cache holds is still found."""
    about = {"code": "1"}
    CachedTexts(None, tmp_path / "cache", about).save_texts("known", ["a", None])
    (cache,) = (path.parent for path in (tmp_path / "cache").rglob("about.json"))
    for file in cache.iterdir():
        if file.name == "about.json":
            file.unlink()
            file.mkdir()  # nobody, not even root, can write this file now
    own = RunTexts(tmp_path / "run", "")
    texts = CachedTexts(own, tmp_path / "cache", about)
    texts.save_texts("new", ["b"])
    texts.save_texts("newer", ["c"])
    assert [
        record.getMessage() for record in caplog.records if "not stored in the cache" in record.getMessage()
    ] == [
        f"Note: {cache / 'about.json'}: cannot be written (Is a directory). Perturbed outputs are not stored in the cache."
    ]
    assert own.load_stored_texts("new") == ["b"]
    assert texts.load_stored_texts("newer") == ["c"]
    assert texts.load_stored_texts("known") == ["a", None]
    assert CachedTexts(None, tmp_path / "cache", about).load_stored_texts("new") is None
