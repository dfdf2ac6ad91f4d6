"""What is fuzzed: each target is a folder of valid files (or a text), and what reads it."""

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
from scripts.fuzz.mutations import SPECIAL, VALUES, mutated

from metassay.data.context import build_context
from metassay.data.readers.base import ReaderOptions
from metassay.data.readers.error_spans import read_spans
from metassay.data.readers.registry import read_tables
from metassay.metrics.registry import parse_metrics
from metassay.options import get_options
from metassay.perturbations.registry import parse_perturbations
from metassay.reporting.overview_page import render_overview
from metassay.specs import parse_spec
from metassay.tasks import find_task
from metassay.workflows import options
from metassay.workflows.assay import assay
from metassay.workflows.compare import compare
from metassay.workflows.rank import rank
from metassay.workflows.read import read, read_parallel_files, read_scores
from metassay.workflows.recommend import recommend
from metassay.workflows.report import report
from metassay.workflows.run_collection import summarize_runs

SEEDS = Path(__file__).parent / "seeds"
Files = dict[str, bytes]


@dataclass(frozen=True)
class Target:
    """Something that reads: its valid files, and the call; `weight` is its share of the cases."""

    name: str
    files: Callable[[], Files]
    read: Callable[[Path, Random], Any]
    weight: int = 10
    in_child: bool = False
    """Whether it may take the process down with it."""

    def case(self, folder: Path, random: Random) -> None:
        """Write the files, one of them broken, and read them."""
        files = self.files()
        if files:
            broken = random.choice(sorted(files))
            files = files | {broken: mutated(files[broken], list(files.values()), random)}
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.read(folder, random)


@functools.cache
def _stored(name: str) -> Files:
    root = SEEDS / name
    return {
        str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
    }


def _seeds(name: str) -> Callable[[], Files]:
    return lambda: dict(_stored(name))


def _packed(pack: Callable[[bytes], bytes], ending: str) -> Callable[[], Files]:
    return lambda: {f"data.csv{ending}": pack(_stored("table")["data.csv"])}


def _zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return bytes(sink.getvalue())


@functools.cache
def _as_parquet(compression: Any) -> bytes:
    content = io.BytesIO()
    table = pl.read_csv(_stored("table")["data.csv"]).with_columns(
        references=pl.concat_list("ref", "hyp"), kind=pl.col("domain").cast(pl.Categorical)
    )
    table.write_parquet(content, compression=compression)
    return content.getvalue()


def _parquet() -> Files:
    return {"plain.parquet": _as_parquet("uncompressed"), "zstd.parquet": _as_parquet("zstd")}


def _read_parquet(folder: Path, random: Random) -> Any:
    """Each file of its own: the broken one is one of the two."""
    del random
    for name in _parquet():
        read(folder / name, language="en", references="per-output")


def _read_excel(folder: Path, random: Random) -> Any:
    """The parts of a workbook, one of them broken, packed as Excel packs them."""
    del random
    book = folder / "data.xlsx"
    parts = sorted(path for path in folder.rglob("*") if path.is_file())
    with zipfile.ZipFile(book, "w") as file:
        for path in parts:
            file.write(path, path.relative_to(folder))
    return read(book, language="en")


def _separated() -> Files:
    """As spreadsheets of some countries write tables: semicolons, and tabs in a file that is called CSV."""
    text = _stored("table")["data.csv"]
    return {"semicolons.csv": text.replace(b",", b";"), "tabs.csv": text.replace(b",", b"\t")}


def _json_array() -> Files:
    lines = _stored("jsonl")["data.jsonl"].strip().splitlines()
    return {"data.json": b"[" + b",\n".join(lines) + b"]"}


def _scores(source: Path, human: str | None = None) -> Any:
    return read_scores(str(source), options.RankOptions(human=human))


def _read_wmt25(folder: Path, random: Random) -> Any:
    """As scores, as outputs, or as marked errors."""
    tree = folder / "wmt99"
    verbs: list[Callable[[], Any]] = [
        lambda: _scores(tree, "esa-human1"),
        lambda: read(tree),
        lambda: rank(tree, meta="spans", draws=5),
    ]
    random.choice(verbs)()


def _read_each(*names: str, marked: bool = False) -> Callable[[Path, Random], Any]:
    """Each file of its own: the broken one is one of them; as tables, or the errors marked in them."""

    def each(folder: Path, random: Random) -> None:
        spans = marked and random.random() < 0.5
        for name in names:
            if spans:
                read_spans(str(folder / name))
            else:
                read_tables(folder / name, ReaderOptions())

    return each


def _read_spans(folder: Path, random: Random) -> Any:
    people = random.choice(("people.tsv", "own.csv"))
    spans = {name: str(folder / name) for name in ("metric.tsv", "own.csv", "alone.jsonl")}
    rank(folder / people, meta="spans", spans=spans, draws=5)


def _plain(reference: str, *outputs: str, source: str | None = None) -> Callable[[Path, Random], Any]:
    return lambda folder, _: read_parallel_files(
        [str(folder / reference)],
        [str(folder / output) for output in outputs],
        None if source is None else str(folder / source),
    )


@functools.cache
def _run_files() -> Files:
    """A finished assay of few items, as files."""
    with tempfile.TemporaryDirectory() as folder:
        data = read(SEEDS / "table" / "data.csv", task="mt", language="en")
        run = Path(folder) / "run"
        assay(
            data, metrics="chrf,bleu", contexts=["domain"], resamples=20, permutations=19, out=run, workers=1
        )
        names = ("manifest.json", "timings.json", "results/assay.json", "results/examples.json")
        return {f"{part}/{name}": (run / name).read_bytes() for name in names for part in ("one", "two")}


def _read_run(folder: Path, random: Random) -> Any:
    """Most readers are quick; a page takes its time."""
    one, two = folder / "one", folder / "two"
    verbs: list[Callable[[], Any]] = [
        lambda: recommend(one).to_dict(),
        lambda: recommend(two, context="domain").to_dict(),
        lambda: compare(one, two).to_dict(),
        lambda: render_overview(summarize_runs(folder), {}),
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
    text = mutated(random.choice(_SPECS).encode(), [s.encode() for s in _SPECS], random).decode(
        "utf-8", "replace"
    )
    readers: list[Callable[[str], Any]] = [
        parse_spec,
        parse_metrics,
        lambda text: parse_perturbations(text, task=find_task("mt")),
        lambda text: build_context(_dataset(), text),
    ]
    random.choice(readers)(text)


@functools.cache
def _dataset() -> Any:
    return read(SEEDS / "table" / "data.csv", task="mt", language="en")


_VERBS = (options.AssaySettings, options.ScoreSettings, options.PerturbSettings, options.RankSettings)
_VERBS_MORE = (options.AggregateSettings, options.DependSettings, options.CheckSettings)


def _read_settings(folder: Path, random: Random) -> Any:
    """Hostile values where numbers are bounded, and hostile names of columns, roles, systems and files."""
    del folder
    if random.random() < 0.5:
        kind: Any = random.choice((*_VERBS, *_VERBS_MORE))
        bounded = [name for name, option in get_options(kind).items() if option.minimum is not None]
        kind(
            **{
                name: random.choice((*VALUES, float("nan"), 2**40))
                for name in bounded
                if random.random() < 0.5
            }
        )
        return
    value = random.choice(SPECIAL).decode("utf-8", "replace")
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


def _nothing() -> Files:
    return {}


TARGETS: tuple[Target, ...] = (
    Target("csv", _seeds("table"), lambda folder, _: read(folder / "data.csv", language="en"), 14),
    Target("tsv", _seeds("table_none"), lambda folder, _: read(folder / "data.tsv", quoting="none")),
    Target(
        "json lines",
        _seeds("jsonl"),
        lambda folder, _: read(folder / "data.jsonl", references="per-output"),
        14,
    ),
    Target("separated", _separated, _read_each("semicolons.csv", "tabs.csv"), 6),
    Target(
        "json array", _json_array, lambda folder, _: read(folder / "data.json", references="per-output"), 8
    ),
    Target("folder", _seeds("table"), lambda folder, _: read(folder, language="en"), 2),
    Target("gzip", _packed(gzip.compress, ".gz"), lambda folder, _: read(folder / "data.csv.gz"), 3),
    Target("zstd", _packed(_zstd, ".zst"), lambda folder, _: read(folder / "data.csv.zst"), 3),
    Target("join", _seeds("join"), lambda folder, _: read(folder / "data.csv", join=folder / "more.csv"), 6),
    Target("manifest", _seeds("manifest"), lambda folder, _: read(folder / "data.json"), 8),
    Target(
        "runs", _seeds("run"), lambda f, _: read([f / "bm25.run", f / "other.run"], qrels=f / "qrels.txt"), 14
    ),
    Target("ratings", _seeds("ratings"), lambda f, _: read(f / "run.txt", qrels=f / "ratings.dat"), 5),
    Target(
        "ratings.csv", _seeds("ratings_csv"), lambda f, _: read(f / "run.txt", qrels=f / "ratings.csv"), 5
    ),
    Target("trn", _seeds("trn"), _plain("ref.trn", "hyp.trn")),
    Target("stm, ctm", _seeds("stm"), _plain("ref.stm", "hyp.ctm")),
    Target("kaldi", _seeds("kaldi"), _plain("data", "hyp"), 8),
    Target("espnet", _seeds("espnet"), lambda folder, _: read(folder), 5),
    Target("plain text", _seeds("plain"), _plain("ref.txt", "one.txt", "two.txt", source="src.txt"), 8),
    Target(
        "mqm table", _seeds("mqm"), lambda folder, _: read_tables(folder / "ratings.tsv", ReaderOptions()), 6
    ),
    Target("scores", _seeds("scores"), lambda folder, _: _scores(folder / "scores.csv"), 12),
    Target("mt-metrics-eval", _seeds("tree"), lambda folder, _: _scores(folder / "wmt99", "mqm"), 6),
    Target("wmt25 tree", _seeds("tree25"), _read_wmt25, 8),
    Target("pearmut", _seeds("pearmut"), _read_each("annotations.json", "demo.jsonl", marked=True), 6),
    Target(
        "appraise",
        _seeds("appraise"),
        lambda folder, _: read_tables(folder / "scores.csv", ReaderOptions()),
        4,
    ),
    Target("inspect", _seeds("inspect"), _read_each("log.json", "samples.csv"), 6),
    Target("lm-eval", _seeds("lm_eval"), lambda folder, _: read(folder / "model"), 4),
    Target("spans", _seeds("spans"), _read_spans, 6),
    Target("specs", _nothing, _read_specs, 40),
    Target("settings", _nothing, _read_settings, 20),
    Target("run folder", _run_files, _read_run, 3),
    Target("parquet", _parquet, _read_parquet, 8, in_child=True),
    Target("excel", _seeds("excel"), _read_excel, 4, in_child=True),
)
