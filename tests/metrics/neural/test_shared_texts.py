"""Each text is encoded once in a run: for all batches and all metrics of one model."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import polars as pl
import pytest
from tests.metrics.neural.conftest import TEXTS

from metassay.engine import batches
from metassay.engine.batches import OutputRows
from metassay.engine.scoring import score_rows
from metassay.metrics.base import Batch
from metassay.metrics.neural import text_vectors
from metassay.metrics.registry import parse_metric, parse_metrics
from metassay.recorded_warnings import CountedWarning

ITEMS = [text for text in TEXTS if "<" not in text]


@pytest.fixture
def rows(monkeypatch) -> OutputRows:
    """Six items of six systems, the last of which gives the reference itself; five rows a batch_rows."""
    monkeypatch.setattr(batches, "BATCH_ROWS", 5)
    frame = pl.DataFrame(
        {
            "item": [str(item) for item in range(6) for _ in range(6)],
            "system": list("abcdef") * 6,
            "output": [
                ITEMS[(3 * item + system) % 7] if system < 5 else f"ref {ITEMS[item]}"
                for item in range(6)
                for system in range(6)
            ],
            "source": [f"source {ITEMS[item]}" for item in range(6) for _ in range(6)],
            "references": [[f"ref {ITEMS[item]}", ITEMS[item]] for item in range(6) for _ in range(6)],
            "language": ["en"] * 36,
        }
    )
    return OutputRows(frame)


def score_in_batches(specs: str, rows: OutputRows, workers: int = 1) -> dict[str, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountedWarning)
        return score_rows(parse_metrics(specs), rows, workers=workers).scores


def score_alone(specs: str, rows: OutputRows) -> dict[str, np.ndarray]:
    """Each metric by itself, on all rows as one batch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountedWarning)
        return {m.spec: m.score(rows.build_metric_batch(m.needs)) for m in parse_metrics(specs)}


def collect_texts(rows: OutputRows, *names: str) -> set[str]:
    flat = [text for own in rows.frame["references"].to_list() for text in own]
    columns = {"references": flat, "output": rows.frame["output"], "source": rows.frame["source"]}
    return {text for name in names for text in columns[name]}


@pytest.fixture(params=["comet", "embedding", "bertscore"])
def family(request, comet_folder, bert, monkeypatch):
    """Metrics of one model, a list that gets every text it encodes, and the fields that they read."""
    from metassay.metrics.neural import bertscore, comet, sentence_encoders

    encoded_texts: list[str] = []
    owner, name = {
        "comet": (comet.SeparateNetwork, "compute_text_vectors"),
        "embedding": (sentence_encoders.TransformerSentenceEncoder, "compute_text_vectors"),
        "bertscore": (bertscore.TokenEncoder, "tokenize"),
    }[request.param]
    real = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda own, texts: encoded_texts.extend(texts) or real(own, texts))
    if request.param == "comet":
        return (
            f"comet(model={comet_folder('regression_metric')[0]})",
            encoded_texts,
            ("output", "references", "source"),
        )
    if request.param == "embedding":
        names = ("embedding_cosine", "embedding_cosine_src")
        return (
            ",".join(f"{name}(model={bert[0]})" for name in names),
            encoded_texts,
            ("output", "references", "source"),
        )
    parts = ",".join(f"bertscore(model={bert[0]},layer=2,part_of={part})" for part in ("f1", "recall"))
    return parts, encoded_texts, ("output", "references")


def test_a_text_is_encoded_once_for_all_batches_and_metrics(family, rows) -> None:
    specs, encoded_texts, fields = family
    assert len(list(rows.split_into_batches())) == 8
    scores = score_in_batches(specs, rows, workers=3)
    assert Counter(encoded_texts) == Counter(collect_texts(rows, *fields))
    for spec, expected in score_alone(specs, rows).items():
        assert expected.std() > 0.001
        assert scores[spec] == pytest.approx(expected, abs=1e-6)


def test_scores_do_not_depend_on_the_order_of_batches_or_on_other_metrics(family, rows) -> None:
    specs, _, _ = family
    expected = score_in_batches(specs, rows)
    for metric in parse_metrics(specs):
        batches_of_rows = list(rows.split_into_batches())[::-1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CountedWarning)
            backwards = [
                metric.score(batch_rows.build_metric_batch(metric.needs)) for batch_rows in batches_of_rows
            ]
        assert (np.concatenate(backwards[::-1]) == expected[metric.spec]).all()


def test_vectors_that_do_not_fit_into_memory_are_stored_in_files(family, rows, monkeypatch) -> None:
    specs, encoded_texts, fields = family
    expected = score_in_batches(specs, rows)
    encoded_texts.clear()
    spilled = []
    real = np.memmap
    monkeypatch.setattr(np, "memmap", lambda *a, **named: spilled.append(1) or real(*a, **named))
    monkeypatch.setattr(text_vectors, "MAX_BYTES_IN_MEMORY", 0)
    again = score_in_batches(specs, rows)
    assert spilled
    assert Counter(encoded_texts) == Counter(collect_texts(rows, *fields))
    for spec, scores in expected.items():
        assert (again[spec] == scores).all()


def test_chunks_of_bertscore_share_their_common_texts(bert, rows, monkeypatch) -> None:
    from metassay.metrics.neural import bertscore

    spec = f"bertscore(model={bert[0]},layer=2)"
    expected = score_alone(spec, rows)[spec]
    encoded_texts: list[str] = []
    real = bertscore.TokenEncoder.tokenize
    monkeypatch.setattr(
        bertscore.TokenEncoder, "tokenize", lambda own, texts: encoded_texts.extend(texts) or real(own, texts)
    )
    monkeypatch.setattr(bertscore, "MAX_VECTOR_BYTES", {"cpu": 4 * 16 * 200})
    assert score_alone(spec, rows)[spec] == pytest.approx(expected, abs=1e-6)
    assert Counter(encoded_texts) == Counter(collect_texts(rows, "output", "references"))


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("unified_metric", ("unite_src", "unite", "unite_ref", "comet_qe")),
        ("xcomet_metric", ("xcomet", "xcomet_qe")),
    ],
)
def test_metrics_of_a_unified_model_read_each_input_once(
    comet_folder, rows, kind, names, monkeypatch
) -> None:
    from metassay.metrics.neural.unified_network import UnifiedNetwork

    folder, _ = comet_folder(kind, layer_transformation="sparsemax_patch")
    specs = ",".join(f"{name}(model={folder})" for name in names)
    expected = score_alone(specs, rows)
    monkeypatch.setattr(batches, "BATCH_ROWS", 36)
    read: list[tuple[str, ...]] = []
    real = UnifiedNetwork.tokenize_and_join_texts
    monkeypatch.setattr(
        UnifiedNetwork,
        "tokenize_and_join_texts",
        lambda own, inputs, shared: read.extend(inputs) or real(own, inputs, shared),
    )
    scores = score_in_batches(specs, rows)
    wanted = set()
    for output, source, references in rows.frame.select("output", "source", "references").iter_rows():
        wanted.add((output, source))
        wanted |= {(output, own) for own in references} | {(output, source, own) for own in references}
    assert Counter(read) == Counter(wanted)
    for spec, expected_scores in expected.items():
        assert scores[spec] == pytest.approx(expected_scores, abs=1e-6)


def test_directions_of_bartscore_share_their_likelihoods(
    tiny, torch, transformers, rows, monkeypatch
) -> None:
    from metassay.metrics.neural.bartscore import BartNetwork

    torch.manual_seed(8)
    sizes = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 16))
    }
    config = transformers.BartConfig(vocab_size=64, d_model=16, max_position_embeddings=64, **sizes)
    folder = tiny(transformers.BartForConditionalGeneration(config))
    read: list[tuple[str, str]] = []
    real = BartNetwork.compute_conditional_likelihoods
    monkeypatch.setattr(
        BartNetwork,
        "compute_conditional_likelihoods",
        lambda own, pairs: read.extend(pairs) or real(own, pairs),
    )
    batch = rows.select_rows([0, 1, 2]).build_metric_batch(frozenset({"output", "references"}))
    scores_by_direction = {
        direction: parse_metric(f"bartscore(model={folder},direction={direction})").score(batch)
        for direction in ("f", "precision", "recall")
    }
    assert max(Counter(read).values()) == 1
    assert scores_by_direction["f"] == pytest.approx(
        (scores_by_direction["precision"] + scores_by_direction["recall"]) / 2
    )


def test_each_metric_warns_of_truncation_also_where_another_did_the_work(comet_folder, bert) -> None:
    folder, _ = comet_folder("unified_metric", layer_transformation="sparsemax_patch")
    long = "the cat " * 30
    batch = Batch.from_texts([long, "birds"], [["a"], ["a"]], source=["a", "a"])
    families = [
        [f"unite_src(model={folder})", f"comet_qe(model={folder})"],
        [f"bertscore(model={bert[0]},layer=2,part_of={part})" for part in ("f1", "recall")],
        [f"{name}(model={bert[0]})" for name in ("embedding_cosine", "embedding_cosine_src")],
    ]
    for specs in families:
        for spec in specs:
            with pytest.warns(CountedWarning, match="1 inputs were longer"):
                parse_metric(spec).score(batch)
