"""Compare lexical metrics with the official implementations, on the same outputs and one thread.

    python benchmarks/bench_lexical.py [--outputs 6000] [--quick]

WMT22 zh-en and en-de and LibriSpeech where the data is found in METASSAY_DATA or ../shared/data, else the
bundled sample. CPU time of one thread, compiled code warm: one run of the official (a second one would find
sacrebleu's tokens in its cache), the best of five of ours, which keeps nothing from run to run. METEOR is
timed with empty caches (stems and synonyms looked up anew) and with full ones.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jiwer
import numpy as np
import polars as pl
from rouge_score.rouge_scorer import RougeScorer

from metassay.metrics.base import Batch
from metassay.metrics.meteor import find_wordnet_synonyms
from metassay.metrics.registry import parse_metric
from metassay.sample import get_bundled_sample_path
from metassay.text.porter_stemmer import stem_word

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "metrics"))
from oracles import SACREBLEU, get_oracle, open_nltk_wordnet

ROOT = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
FAMILIES = {
    "bleu": ("bleu",),
    "chrf": ("chrf",),
    "chrf++": ("chrf(word_order=2)",),
    "ter": ("ter",),
    "rouge 1/2/L": ("rouge1", "rouge2", "rougel"),
    "meteor": ("meteor",),
}
SPEECH = ("wer", "mer", "wil", "wip", "cer")
TARGETS = {"bleu": 20, "chrf": 50, "chrf++": 40, "ter": 60, "rouge 1/2/L": 50, "meteor": 10, "wer family": 12}
Texts = tuple[list[str], list[str]]


def load_texts(name: str, outputs: int) -> Texts:
    """Load whole items with all their systems; the sample where the data is absent."""
    path = ROOT / f"{name}.parquet"
    frame = pl.read_parquet(path if path.exists() else get_bundled_sample_path("mt"))
    item = next(column for column in ("seg_id", "utt_id", "item") if column in frame.columns)
    frame = frame.with_columns(pl.col("hyp").fill_null("")).sort(item, "system")
    items = frame[item].unique().sort().sample(fraction=1, shuffle=True, seed=0)
    wanted = items.head(max(1, outputs * len(items) // len(frame)))
    frame = frame.filter(pl.col(item).is_in(wanted.to_list()), pl.col("ref").str.strip_chars() != "")
    return frame["hyp"].to_list(), frame["ref"].to_list()


def time_best(function: Callable[[], object], repeats: int, clock: Callable[[], float]) -> float:
    """Return the seconds of the fastest of several runs."""
    best = np.inf
    for _ in range(repeats):
        start = clock()
        function()
        best = min(best, clock() - start)
    return best


def build_official_runner(family: str, texts: Texts) -> Callable[[], object]:
    """Return a function that scores all texts with the official implementation, as its users call it."""
    pairs = list(zip(*texts))
    if family == "rouge 1/2/L":
        scorer = RougeScorer(["rouge1", "rouge2", "rougeL"])
        return lambda: [scorer.score(reference, output) for output, reference in pairs]
    if family == "wer family":
        return lambda: [
            (jiwer.process_words(reference, output), jiwer.process_characters(reference, output))
            for output, reference in pairs
        ]
    if family == "meteor":
        score = get_oracle("meteor")
        open_nltk_wordnet().synsets("dog")
        return lambda: [score(output, [reference]) for output, reference in pairs]
    scorer = SACREBLEU[FAMILIES[family][0]]
    return lambda: [scorer.sentence_score(output, [reference]) for output, reference in pairs]


def build_our_runner(specs: Sequence[str], texts: Texts, *, cold: bool = False) -> Callable[[], object]:
    """Return a function that scores all texts with our metrics; `cold` first clears stems and synonyms."""
    metrics = [parse_metric(spec) for spec in specs]
    references = [[reference] for reference in texts[1]]

    def run() -> None:
        if cold:
            stem_word.cache_clear()
            find_wordnet_synonyms.cache_clear()
        batch = Batch.from_texts(texts[0], references, language="en")
        for metric in metrics:
            metric.score(batch)

    return run


def time_two_threads(specs: Sequence[str], texts: Texts) -> Callable[[], object]:
    """Return a function that scores half of the outputs on each of two threads."""
    middle = len(texts[0]) // 2
    parts = [
        build_our_runner(specs, (texts[0][s], texts[1][s])) for s in (slice(middle), slice(middle, None))
    ]
    pool = ThreadPoolExecutor(2)
    return lambda: list(pool.map(lambda part: part(), parts))


def measure_family(family: str, specs: Sequence[str], data: str, texts: Texts) -> str:
    """Measure one family of metrics and return its line of the table."""
    size = len(texts[0])
    build_our_runner(specs, texts)()  # compiles
    theirs = time_best(build_official_runner(family, texts), 1, time.process_time) / size
    ours = time_best(build_our_runner(specs, texts, cold=family == "meteor"), 5, time.process_time) / size
    one, two = (
        time_best(f(specs, texts), 5, time.perf_counter) for f in (build_our_runner, time_two_threads)
    )
    more = ""
    if family == "meteor":
        warm = time_best(build_our_runner(specs, texts), 5, time.process_time) / size
        more = f"  (caches full: {theirs / warm:.0f}×)"
    target = TARGETS[family]
    verdict = "reached" if theirs / ours >= target else "MISSED"
    return (
        f"{family:12} {data:11} {size:6}  {theirs * 1e6:9.1f} µs {ours * 1e6:8.2f} µs {theirs / ours:6.1f}×"
        f"  ≥ {target}× {verdict}   two threads: {one / two:.2f}× of one{more}"
    )


START = """
import time
start = time.perf_counter()
from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric
loaded = time.perf_counter()
batch = Batch.from_texts(["the cat sat"], [["the cat sat on it"]], language="en")
parse_metric("{spec}").score(batch)
print(loaded - start, time.perf_counter() - loaded)
"""


def measure_start_up(spec: str, cache: str | None = None) -> tuple[float, float]:
    """Measure the seconds that imports and the first score take in a new process."""
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    code = START.format(spec=spec)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    loading, first = map(float, done.stdout.split())
    return loading, first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outputs", type=int, default=6000)
    parser.add_argument("--quick", action="store_true", help="few outputs, no start-up times")
    options = parser.parse_args()
    size = 600 if options.quick else options.outputs
    print(f"{'metric':12} {'data':11} {'n':>6}  {'official':>12} {'ours':>11} {'ratio':>7}   per output")
    for data in ("wmt22_zh-en", "wmt22_en-de"):
        texts = load_texts(f"wmt22/{data}", size)
        few = load_texts(f"wmt22/{data}", max(size // 10, 100))
        for family, specs in FAMILIES.items():
            print(measure_family(family, specs, data, few if family == "ter" else texts), flush=True)
    speech = load_texts("asr/asr_librispeech_test_clean", size)
    speech = ([text.lower() for text in speech[0]], [text.lower() for text in speech[1]])
    print(measure_family("wer family", SPEECH, "librispeech", speech), flush=True)
    if options.quick:
        return
    print("\nfirst score in a new process: imports + first call (compiled code in the cache), compiling anew")
    for spec in ("bleu", "chrf", "ter", "rougel", "meteor", "wil"):
        measure_start_up(spec)
        loading, first = min(measure_start_up(spec) for _ in range(3))
        with tempfile.TemporaryDirectory() as cache:
            _, compiling = measure_start_up(spec, cache)
        print(f"{spec:12} {loading:5.2f} s + {first:5.2f} s   {compiling:5.1f} s", flush=True)


if __name__ == "__main__":
    main()
