"""What is fuzzed: each target has valid files, and a function that reads them after one was damaged."""

from __future__ import annotations

import functools
import gzip
import io
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
from scripts.fuzz.mutations import SPECIAL_BYTES, SPECIAL_VALUES, damage_content

from metassay.data.context import group_outputs_by_context
from metassay.data.readers.base import ReaderOptions
from metassay.data.readers.error_spans import read_error_spans
from metassay.data.readers.registry import read_tables
from metassay.metrics.registry import parse_metrics
from metassay.options import get_cli_options
from metassay.perturbations.registry import parse_perturbations
from metassay.reporting.overview_page import render_overview
from metassay.specs import parse_name_and_parameters
from metassay.tasks import find_task
from metassay.workflows import options
from metassay.workflows.assay import assay
from metassay.workflows.compare import compare
from metassay.workflows.rank import rank
from metassay.workflows.read import read, read_parallel_files
from metassay.workflows.read_scores import read_human_and_metric_scores
from metassay.workflows.recommend import recommend
from metassay.workflows.report import report
from metassay.workflows.run_collection import RunCollection

SEEDS = Path(__file__).parent / "seeds"
Files = dict[str, bytes]


@dataclass(frozen=True)
class Target:
    """A reader and valid files for it."""

    name: str
    files: Callable[[], Files]
    read: Callable[[Path, Random], Any]
    weight: int = 10
    """Its share of the cases."""
    may_crash: bool = False
    """Whether it may crash the process, and must run in a child process."""

    def run_case(self, folder: Path, random: Random) -> None:
        """Write the files, one of them damaged, and read them."""
        files = self.files()
        if files:
            damaged = random.choice(sorted(files))
            files = files | {damaged: damage_content(files[damaged], list(files.values()), random)}
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.read(folder, random)


@functools.cache
def _load_seed_files(name: str) -> Files:
    root = SEEDS / name
    return {
        str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
    }


def _seed_files(name: str) -> Callable[[], Files]:
    return lambda: dict(_load_seed_files(name))


def _compressed_files(pack: Callable[[bytes], bytes], ending: str) -> Callable[[], Files]:
    return lambda: {f"data.csv{ending}": pack(_load_seed_files("table")["data.csv"])}


def _compress_zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return bytes(sink.getvalue())


@functools.cache
def _write_parquet(compression: Any) -> bytes:
    content = io.BytesIO()
    table = pl.read_csv(_load_seed_files("table")["data.csv"]).with_columns(
        references=pl.concat_list("ref", "hyp"), kind=pl.col("domain").cast(pl.Categorical)
    )
    table.write_parquet(content, compression=compression)
    return content.getvalue()


def _parquet_files() -> Files:
    return {"plain.parquet": _write_parquet("uncompressed"), "zstd.parquet": _write_parquet("zstd")}


def _read_parquet(folder: Path, random: Random) -> Any:
    """Read each file by itself; one of them is damaged."""
    del random
    for name in _parquet_files():
        read(folder / name, language="en", references="per-output")


def _read_excel(folder: Path, random: Random) -> Any:
    """Pack the parts of a workbook, one of them damaged, and read it."""
    del random
    book = folder / "data.xlsx"
    parts = sorted(path for path in folder.rglob("*") if path.is_file())
    with zipfile.ZipFile(book, "w") as file:
        for path in parts:
            file.write(path, path.relative_to(folder))
    return read(book, language="en")


def _separated_files() -> Files:
    """Return tables with semicolons, and with tabs in a file called CSV, as some spreadsheets write them."""
    text = _load_seed_files("table")["data.csv"]
    return {"semicolons.csv": text.replace(b",", b";"), "tabs.csv": text.replace(b",", b"\t")}


def _json_array_files() -> Files:
    lines = _load_seed_files("jsonl")["data.jsonl"].strip().splitlines()
    return {"data.json": b"[" + b",\n".join(lines) + b"]"}


def _read_scores(source: Path, human: str | None = None) -> Any:
    return read_human_and_metric_scores(str(source), options.RankOptions(human=human))


def _read_wmt25(folder: Path, random: Random) -> Any:
    """Read scores, outputs, or marked errors."""
    tree = folder / "wmt99"
    verbs: list[Callable[[], Any]] = [
        lambda: _read_scores(tree, "esa-human1"),
        lambda: read(tree),
        lambda: rank(tree, meta="spans", draws=5),
    ]
    random.choice(verbs)()


def _read_each(*names: str, marked: bool = False) -> Callable[[Path, Random], Any]:
    """Return a function that reads each file by itself, as a table or, with `marked`, its error spans."""

    def read_files(folder: Path, random: Random) -> None:
        spans = marked and random.random() < 0.5
        for name in names:
            if spans:
                read_error_spans(str(folder / name))
            else:
                read_tables(folder / name, ReaderOptions())

    return read_files


def _read_spans(folder: Path, random: Random) -> Any:
    people = random.choice(("people.tsv", "own.csv"))
    spans = {name: str(folder / name) for name in ("metric.tsv", "own.csv", "alone.jsonl")}
    rank(folder / people, meta="spans", spans=spans, draws=5)


def _read_plain_text(
    reference: str, *outputs: str, source: str | None = None
) -> Callable[[Path, Random], Any]:
    return lambda folder, _: read_parallel_files(
        [str(folder / reference)],
        [str(folder / output) for output in outputs],
        None if source is None else str(folder / source),
    )


@functools.cache
def _make_run_files() -> Files:
    """Run an assay of few items and return its files, twice."""
    with tempfile.TemporaryDirectory() as folder:
        data = read(SEEDS / "table" / "data.csv", task="mt", language="en")
        run = Path(folder) / "run"
        assay(
            data, metrics="chrf,bleu", contexts=["domain"], resamples=20, permutations=19, out=run, workers=1
        )
        names = (
            *("manifest.json", "timings.json", "outputs.parquet"),
            *("results/assay.json", "results/examples.json", "results/cluster_credits.parquet"),
        )
        return {f"{part}/{name}": (run / name).read_bytes() for name in names for part in ("one", "two")}


def _read_run_folder(folder: Path, random: Random) -> Any:
    """Read two run folders with every verb that reads runs; rendering a page is slow, so it is rare."""
    one, two = folder / "one", folder / "two"
    verbs: list[Callable[[], Any]] = [
        lambda: recommend(one).to_dict(),
        lambda: recommend(two, context="domain").to_dict(),
        lambda: compare(one, two).to_dict(),
        lambda: render_overview(RunCollection([folder]).summarize_runs_on_page(), {}),
    ]
    if random.random() < 0.05:
        verbs = [lambda: report(one), lambda: report(two)]
    for verb in verbs:
        verb()


_SPECS = (
    *("bleu", "chrf(word_order=2,beta=3)", "chrF++", "ndcg@10", "rouge_l", "wer", "ter(case_sensitive=true)"),
    *("removal(strength=2)", "shuffle", "negation,number", "copy(k=3)", "domain+system", "mqm:250", "mqm:<3"),
)


def _read_specs(folder: Path, random: Random) -> Any:
    del folder
    text = damage_content(random.choice(_SPECS).encode(), [s.encode() for s in _SPECS], random).decode(
        "utf-8", "replace"
    )
    readers: list[Callable[[str], Any]] = [
        parse_name_and_parameters,
        parse_metrics,
        lambda text: parse_perturbations(text, task=find_task("mt")),
        lambda text: group_outputs_by_context(_load_dataset(), text),
    ]
    random.choice(readers)(text)


@functools.cache
def _load_dataset() -> Any:
    return read(SEEDS / "table" / "data.csv", task="mt", language="en")


_SETTINGS = (options.AssaySettings, options.ScoreSettings, options.PerturbSettings, options.RankSettings)
_OTHER_SETTINGS = (options.AggregateSettings, options.DependSettings, options.CheckSettings)


def _read_settings(folder: Path, random: Random) -> Any:
    """Create settings with bad numbers, or read data with bad names of columns, systems and files."""
    del folder
    if random.random() < 0.5:
        kind: Any = random.choice((*_SETTINGS, *_OTHER_SETTINGS))
        bounded = [name for name, option in get_cli_options(kind).items() if option.minimum is not None]
        kind(
            **{
                name: random.choice((*SPECIAL_VALUES, float("nan"), 2**40))
                for name in bounded
                if random.random() < 0.5
            }
        )
        return
    value = random.choice(SPECIAL_BYTES).decode("utf-8", "replace")
    keywords: Mapping[str, Any] = random.choice(
        (
            *(
                {"columns": {"item": value}},
                {"columns": {value: "hyp"}},
                {"where": {value: "x"}},
                {"quoting": value},
            ),
            *({"systems": [value]}, {"exclude_systems": [value]}, {"join": value}, {"human": value}),
            *({"references": value}, {"task": value}, {"language": value}, {"where": {"system": value}}),
            *({"qrels": value}, {"columns": {"references": value}}, {"task": "ranking", "qrels": value}),
        )
    )
    read(SEEDS / "table" / "data.csv", **keywords)


def _no_files() -> Files:
    return {}


TARGETS: tuple[Target, ...] = (
    Target("csv", _seed_files("table"), lambda folder, _: read(folder / "data.csv", language="en"), 14),
    Target("tsv", _seed_files("table_none"), lambda folder, _: read(folder / "data.tsv", quoting="none")),
    Target(
        "json lines",
        _seed_files("jsonl"),
        lambda folder, _: read(folder / "data.jsonl", references="per-output"),
        14,
    ),
    Target("separated", _separated_files, _read_each("semicolons.csv", "tabs.csv"), 6),
    Target(
        "json array",
        _json_array_files,
        lambda folder, _: read(folder / "data.json", references="per-output"),
        8,
    ),
    Target("folder", _seed_files("table"), lambda folder, _: read(folder, language="en"), 2),
    Target(
        "gzip", _compressed_files(gzip.compress, ".gz"), lambda folder, _: read(folder / "data.csv.gz"), 3
    ),
    Target(
        "zstd", _compressed_files(_compress_zstd, ".zst"), lambda folder, _: read(folder / "data.csv.zst"), 3
    ),
    Target(
        "join", _seed_files("join"), lambda folder, _: read(folder / "data.csv", join=folder / "more.csv"), 6
    ),
    Target("manifest", _seed_files("manifest"), lambda folder, _: read(folder / "data.json"), 8),
    Target(
        "runs",
        _seed_files("run"),
        lambda f, _: read([f / "bm25.run", f / "other.run"], qrels=f / "qrels.txt"),
        14,
    ),
    Target("ratings", _seed_files("ratings"), lambda f, _: read(f / "run.txt", qrels=f / "ratings.dat"), 5),
    Target(
        "ratings.csv",
        _seed_files("ratings_csv"),
        lambda f, _: read(f / "run.txt", qrels=f / "ratings.csv"),
        5,
    ),
    Target("trn", _seed_files("trn"), _read_plain_text("ref.trn", "hyp.trn")),
    Target("stm, ctm", _seed_files("stm"), _read_plain_text("ref.stm", "hyp.ctm")),
    Target("kaldi", _seed_files("kaldi"), _read_plain_text("data", "hyp"), 8),
    Target("espnet", _seed_files("espnet"), lambda folder, _: read(folder), 5),
    Target(
        "plain text",
        _seed_files("plain"),
        _read_plain_text("ref.txt", "one.txt", "two.txt", source="src.txt"),
        8,
    ),
    Target(
        "mqm table",
        _seed_files("mqm"),
        lambda folder, _: read_tables(folder / "ratings.tsv", ReaderOptions()),
        6,
    ),
    Target("scores", _seed_files("scores"), lambda folder, _: _read_scores(folder / "scores.csv"), 12),
    Target(
        "mt-metrics-eval", _seed_files("tree"), lambda folder, _: _read_scores(folder / "wmt99", "mqm"), 6
    ),
    Target("wmt25 tree", _seed_files("tree25"), _read_wmt25, 8),
    Target("pearmut", _seed_files("pearmut"), _read_each("annotations.json", "demo.jsonl", marked=True), 6),
    Target(
        "appraise",
        _seed_files("appraise"),
        lambda folder, _: read_tables(folder / "scores.csv", ReaderOptions()),
        4,
    ),
    Target("inspect", _seed_files("inspect"), _read_each("log.json", "samples.csv"), 6),
    Target("lm-eval", _seed_files("lm_eval"), lambda folder, _: read(folder / "model"), 4),
    Target("spans", _seed_files("spans"), _read_spans, 6),
    Target("specs", _no_files, _read_specs, 40),
    Target("settings", _no_files, _read_settings, 20),
    Target("run folder", _make_run_files, _read_run_folder, 3),
    Target("parquet", _parquet_files, _read_parquet, 8, may_crash=True),
    Target("excel", _seed_files("excel"), _read_excel, 4, may_crash=True),
)
