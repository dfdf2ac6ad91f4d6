"""Each text is encoded once in a run: over pieces, over metrics of one model, whoever comes first."""

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
    """Six items of six systems, the last of which gives the reference itself; five rows a piece."""
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


def scored(specs: str, rows: OutputRows, workers: int = 1) -> dict[str, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountedWarning)
        return score_rows(parse_metrics(specs), rows, workers=workers).scores


def alone(specs: str, rows: OutputRows) -> dict[str, np.ndarray]:
    """Each metric by itself, on all rows as one batch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountedWarning)
        return {m.spec: m.score(rows.to_batch(m.needs)) for m in parse_metrics(specs)}


def texts_of(rows: OutputRows, *names: str) -> set[str]:
    flat = [text for own in rows.frame["references"].to_list() for text in own]
    columns = {"references": flat, "output": rows.frame["output"], "source": rows.frame["source"]}
    return {text for name in names for text in columns[name]}


@pytest.fixture(params=["comet", "embedding", "bertscore"])
def family(request, comet_folder, bert, monkeypatch):
    """Metrics of one model, a list that gets every text it encodes, and the fields that they read."""
    from metassay.metrics.neural import bertscore, comet, sentence_encoders

    seen: list[str] = []
    owner, name = {
        "comet": (comet.SeparateNetwork, "encode"),
        "embedding": (sentence_encoders.TransformerSentenceEncoder, "encode"),
        "bertscore": (bertscore.TokenEncoder, "tokenize"),
    }[request.param]
    real = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda own, texts: seen.extend(texts) or real(own, texts))
    if request.param == "comet":
        return (
            f"comet(model={comet_folder('regression_metric')[0]})",
            seen,
            ("output", "references", "source"),
        )
    if request.param == "embedding":
        names = ("embedding_cosine", "embedding_cosine_src")
        return (
            ",".join(f"{name}(model={bert[0]})" for name in names),
            seen,
            ("output", "references", "source"),
        )
    parts = ",".join(f"bertscore(model={bert[0]},layer=2,part_of={part})" for part in ("f1", "recall"))
    return parts, seen, ("output", "references")


def test_a_text_is_encoded_once_over_pieces_and_metrics(family, rows) -> None:
    specs, seen, fields = family
    assert len(list(rows.split_into_batches())) == 8
    found = scored(specs, rows, workers=3)
    assert Counter(seen) == Counter(texts_of(rows, *fields))
    for spec, scores in alone(specs, rows).items():
        assert scores.std() > 0.001
        assert found[spec] == pytest.approx(scores, abs=1e-6)


def test_scores_do_not_depend_on_the_order_of_pieces_or_on_what_else_is_asked(family, rows) -> None:
    specs, _, _ = family
    whole = scored(specs, rows)
    for metric in parse_metrics(specs):
        pieces = list(rows.split_into_batches())[::-1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CountedWarning)
            backwards = [metric.score(piece.to_batch(metric.needs)) for piece in pieces]
        assert (np.concatenate(backwards[::-1]) == whole[metric.spec]).all()


def test_what_does_not_fit_into_memory_is_kept_in_files(family, rows, monkeypatch) -> None:
    specs, seen, fields = family
    whole = scored(specs, rows)
    seen.clear()
    spilled = []
    real = np.memmap
    monkeypatch.setattr(np, "memmap", lambda *a, **named: spilled.append(1) or real(*a, **named))
    monkeypatch.setattr(text_vectors, "MAX_BYTES_IN_MEMORY", 0)
    again = scored(specs, rows)
    assert spilled
    assert Counter(seen) == Counter(texts_of(rows, *fields))
    for spec, scores in whole.items():
        assert (again[spec] == scores).all()


def test_groups_of_bertscore_share_the_texts_that_several_hold(bert, rows, monkeypatch) -> None:
    from metassay.metrics.neural import bertscore

    spec = f"bertscore(model={bert[0]},layer=2)"
    expected = alone(spec, rows)[spec]
    seen: list[str] = []
    real = bertscore.TokenEncoder.tokenize
    monkeypatch.setattr(
        bertscore.TokenEncoder, "tokenize", lambda own, texts: seen.extend(texts) or real(own, texts)
    )
    monkeypatch.setattr(bertscore, "MAX_VECTOR_BYTES", {"cpu": 4 * 16 * 200})
    assert alone(spec, rows)[spec] == pytest.approx(expected, abs=1e-6)
    assert Counter(seen) == Counter(texts_of(rows, "output", "references"))


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
    expected = alone(specs, rows)
    monkeypatch.setattr(batches, "BATCH_ROWS", 36)
    read: list[tuple[str, ...]] = []
    real = UnifiedNetwork.join_texts
    monkeypatch.setattr(
        UnifiedNetwork,
        "join_texts",
        lambda own, inputs, shared: read.extend(inputs) or real(own, inputs, shared),
    )
    found = scored(specs, rows)
    wanted = set()
    for output, source, references in rows.frame.select("output", "source", "references").iter_rows():
        wanted.add((output, source))
        wanted |= {(output, own) for own in references} | {(output, source, own) for own in references}
    assert Counter(read) == Counter(wanted)
    for spec, scores in expected.items():
        assert found[spec] == pytest.approx(scores, abs=1e-6)


def test_directions_of_bartscore_share_their_passes(tiny, torch, transformers, rows, monkeypatch) -> None:
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
    real = BartNetwork.compute_likelihoods
    monkeypatch.setattr(
        BartNetwork, "compute_likelihoods", lambda own, pairs: read.extend(pairs) or real(own, pairs)
    )
    batch = rows.select([0, 1, 2]).to_batch(frozenset({"output", "references"}))
    made = {
        direction: parse_metric(f"bartscore(model={folder},direction={direction})").score(batch)
        for direction in ("f", "precision", "recall")
    }
    assert max(Counter(read).values()) == 1
    assert made["f"] == pytest.approx((made["precision"] + made["recall"]) / 2)


def test_each_metric_says_what_was_cut_though_another_did_the_work(comet_folder, bert) -> None:
    folder, _ = comet_folder("unified_metric", layer_transformation="sparsemax_patch")
    long = "the cat " * 30
    batch = Batch.of([long, "birds"], [["a"], ["a"]], source=["a", "a"])
    families = [
        [f"unite_src(model={folder})", f"comet_qe(model={folder})"],
        [f"bertscore(model={bert[0]},layer=2,part_of={part})" for part in ("f1", "recall")],
        [f"{name}(model={bert[0]})" for name in ("embedding_cosine", "embedding_cosine_src")],
    ]
    for specs in families:
        for spec in specs:
            with pytest.warns(CountedWarning, match="1 inputs were longer"):
                parse_metric(spec).score(batch)
