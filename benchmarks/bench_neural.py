"""Compare neural metrics with a straightforward loop on one device, with random weights of real size.

    PYTHONPATH=src python benchmarks/bench_neural.py --device cuda [--only comet,unite] [--small]
    PYTHONPATH=src python benchmarks/bench_neural.py --only comet --quick   (ours in bfloat16 alone)

Needs torch, transformers and numpy alone. 1,000 items with 20 outputs and 4 worse copies of each, made up
of a random vocabulary; XLM-R-large under COMET and UniTE, RoBERTa-large under BERTScore, RemBERT as in
BLEURT-20, mT5-large under MetricX. The loop takes rows in order of source length, 16 at a time (64 for
BERTScore), and encodes all that each row needs, as the originals do; it is timed on a sample of the rows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metassay.metrics.neural.base import NetworkInput

XLM_R = {
    "model_type": "xlm-roberta",
    "vocab_size": 250_002,
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "max_position_embeddings": 514,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "pad_token_id": 1,
}
REM_BERT = {
    "model_type": "bleurt",
    "vocab_size": 250_300,
    "embedding_size": 256,
    "hidden_size": 1152,
    "num_hidden_layers": 32,
    "num_attention_heads": 18,
    "intermediate_size": 4608,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
}
MT5 = {
    "model_type": "mt5",
    "vocab_size": 250_112,
    "d_model": 1024,
    "d_kv": 64,
    "d_ff": 2816,
    "num_layers": 24,
    "num_decoder_layers": 24,
    "num_heads": 16,
    "feed_forward_proj": "gated-gelu",
    "pad_token_id": 0,
    "decoder_start_token_id": 0,
}
TARGETS = {"comet float32": 7, "comet bfloat16": 40, "bertscore float32": 1.7}


def shrink_config(config: dict) -> dict:
    """Return the same architecture, small enough for a CPU."""
    small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    small |= {"embedding_size": 32, "d_model": 64, "d_ff": 128, "num_layers": 2, "num_decoder_layers": 2}
    small |= {"num_heads": 4, "d_kv": 16}
    return {**config, **{name: value for name, value in small.items() if name in config}}


def draw_word_pieces(count: int, rng: random.Random) -> list[str]:
    """Draw distinct random strings of letters, as in a vocabulary."""
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 6)))] = None
    return list(found)


def write_tokenizer(folder: Path, special: Sequence[str], size: int) -> list[str]:
    """Write a Unigram tokenizer with a random vocabulary, in the format of real ones; returns its words."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, processors

    words = draw_word_pieces(size - len(special) - 30_000, random.Random(0))
    known = set(words)
    inner = [piece for piece in draw_word_pieces(40_000, random.Random(1)) if piece not in known][:20_000]
    letters = list("▁abcdefghijklmnopqrstuvwxyz.,:")
    vocabulary = [(token, 0.0) for token in special]
    vocabulary += [(f"▁{word}", -10.0) for word in words] + [(piece, -11.0) for piece in inner]
    vocabulary += [(letter, -14.0) for letter in letters]
    made = tokenizers.Tokenizer(models.Unigram(vocabulary, unk_id=3))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.add_special_tokens(list(special))
    first, last = special[0], special[2]
    if "<s>" in special or "[CLS]" in special:
        made.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}", special_tokens=[(first, 0), (last, 2)]
        )
    else:
        made.post_processor = processors.TemplateProcessing(single=f"$A {last}", special_tokens=[(last, 2)])
    made.save(str(folder / "tokenizer.json"))
    return words


def make_cases(words: Sequence[str], items: int, systems: int, copies: int) -> list[NetworkInput]:
    """Make outputs that differ from the reference in a third of the words, and perturbed outputs."""
    rng = random.Random(0)
    found: list[NetworkInput] = []
    for _ in range(items):
        length = max(4, min(150, int(rng.lognormvariate(3.5, 0.5))))
        source, reference = (" ".join(rng.choices(words, k=length)) for _ in range(2))
        for _ in range(systems):
            output = [rng.choice(words) if rng.random() < 1 / 3 else word for word in reference.split()]
            found.append(NetworkInput(" ".join(output), source, reference))
            for _ in range(copies):
                worse = list(output)
                worse[rng.randrange(len(worse))] = rng.choice(words)
                found.append(NetworkInput(" ".join(worse), source, reference))
    return found


class Clock:
    """Measures the seconds of work on the device."""

    def __init__(self, device: str) -> None:
        self.device = device

    def __call__(self, work: Callable[[], object]) -> tuple[float, Any]:
        self.wait()
        start = time.perf_counter()
        made = work()
        self.wait()
        return time.perf_counter() - start, made

    def wait(self) -> None:
        if self.device.startswith("cuda"):
            import torch

            torch.cuda.synchronize()


def measure_peak(device: str, dtype: object, size: int, *, lasting: bool = False) -> float:
    """Measure the floating-point operations per second of one large matrix product.

    `lasting`: for seconds on end, as a device runs that grows warm.
    """
    import torch

    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    clock, times = Clock(device), 30 if device.startswith("cuda") else 2
    if lasting and device.startswith("cuda"):
        times = 2_000 if dtype == torch.bfloat16 else 150
    product = torch.empty_like(a)
    clock(lambda: [torch.matmul(a, b, out=product) for _ in range(3)])
    seconds, _ = clock(lambda: [torch.matmul(a, b, out=product) for _ in range(times)])
    return 2 * size**3 * times / seconds


def count_operations(config: dict, lengths: np.ndarray, layers: int | None = None) -> float:
    """Count the floating-point operations of an encoder's matrix products over texts, without padding."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    per_token = 8 * hidden**2 + 4 * hidden * inner + 4 * lengths * hidden
    return float((layers or config["num_hidden_layers"]) * (lengths * per_token).sum())


def print_rate(what: str, rows: int, seconds: float, loop: float | None, note: str = "") -> None:
    """Print rows per second, and the ratio to the loop."""
    rate = rows / seconds
    ratio = "" if loop is None else f"{rate / loop:7.1f}×"
    target = TARGETS.get(what)
    wanted = "" if target is None or loop is None else f" (goal {target}×)"
    print(f"{what:28s} {rate:10.0f} outputs/s {ratio}{wanted} {note}", flush=True)


# COMET and UniTE: the straightforward loop


def write_comet_checkpoint(folder: Path, config: dict, kind: str) -> dict:
    """Write a checkpoint in the format of COMET with random weights; returns its tensors."""
    import torch
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(0)
    settings = {name: value for name, value in config.items() if name != "model_type"}
    model = AutoModel.from_config(AutoConfig.for_model(config["model_type"], **settings))
    hidden = config["hidden_size"]
    state = {f"encoder.model.{k}": v for k, v in model.state_dict().items() if "pooler" not in k}
    sizes = [(6 if kind == "regression_metric" else 1) * hidden, 3 * hidden, hidden, 1]
    for number, (inside, outside) in enumerate(itertools.pairwise(sizes)):
        state[f"estimator.ff.{3 * number}.weight"] = torch.randn(outside, inside) * inside**-0.5
        state[f"estimator.ff.{3 * number}.bias"] = torch.zeros(outside)
    for k in range(config["num_hidden_layers"] + 1):
        state[f"layerwise_attention.scalar_parameters.{k}"] = torch.randn(1) * 0.3
    state["layerwise_attention.gamma"] = torch.ones(1)
    folder.mkdir()
    settings = {
        "class_identifier": kind,
        "pretrained_model": str(folder.parent / "encoder"),
        "activations": "Tanh",
        "layer_transformation": "softmax",
        "layer_norm": False,
        "input_segments": ["mt", "src", "ref"],
    }
    (folder / "hparams.yaml").write_text(json.dumps(settings), encoding="utf-8")
    torch.save({"state_dict": state, "hyper_parameters": settings}, folder / "model.ckpt")
    return state


class Loop:
    """A program that takes 16 rows at a time: pad, encode, keep all layers, mix, pool, estimate."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self.device = network.runner.device

    def encode(self, sequences: Sequence[Sequence[int]]) -> tuple:
        import torch

        longest = max(map(len, sequences))
        pad = self.network.pad_id
        ids = torch.tensor([[*own, *[pad] * (longest - len(own))] for own in sequences]).to(self.device)
        mask = torch.tensor([[1] * len(own) + [0] * (longest - len(own)) for own in sequences]).to(
            self.device
        )
        made = self.network.encoder(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        weights = torch.tensor(self.network.layer_mix.weights, device=self.device)
        mixed = sum(w * h.float() for w, h in zip(weights, made.hidden_states))
        return mixed, mask

    def vectors(self, texts: Sequence[str]) -> Any:
        tokens = self.network.tokenizer(texts)
        mixed, mask = self.encode([tokens[i].tolist() for i in range(len(texts))])
        return (mixed * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)

    def comet(self, cases: Sequence[NetworkInput]) -> np.ndarray:
        import torch

        from metassay.metrics.neural.comet import build_estimator_input

        def score(rows: Sequence[NetworkInput]) -> list[float]:
            output, source, reference = (self.vectors(list(column)) for column in zip(*rows))
            made = self.network.estimator(build_estimator_input(output, source, reference))
            return made[:, 0].tolist()

        with torch.inference_mode():
            return score_in_order(cases, score, 16)

    def unite(self, cases: Sequence[NetworkInput]) -> np.ndarray:
        import torch

        from metassay.metrics.neural.unified_network import FIELDS_OF_INPUT
        from metassay.metrics.shared_cache import SharedCache

        network = self.network

        def score(rows: Sequence[NetworkInput]) -> list[float]:
            total: Any = 0  # becomes a tensor
            shared = SharedCache()
            for fields in FIELDS_OF_INPUT.values():
                tokens, _ = network.tokenize_and_join_texts(
                    [tuple(getattr(row, field) for field in fields) for row in rows], shared
                )
                mixed, _ = self.encode([tokens[i].tolist() for i in range(len(rows))])
                total = total + network.estimator(mixed[:, 0])[:, 0]
            return (total / 3).tolist()

        with torch.inference_mode():
            return score_in_order(cases, score, 16)


def score_in_order(
    cases: Sequence[NetworkInput], score: Callable[[Sequence[NetworkInput]], list[float]], size: int
) -> np.ndarray:
    """Score rows in the order of source length, some at a time, as COMET does."""
    order = sorted(range(len(cases)), key=lambda row: len(cases[row][1]))
    found = np.empty(len(cases))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        found[rows] = score([cases[row] for row in rows])
    return found


def bench_comet(run: Run) -> None:
    from metassay.metrics.neural.comet import SeparateNetwork
    from metassay.metrics.neural.comet_checkpoint import find_comet_files
    from metassay.metrics.shared_cache import SharedCache

    config = run.config(XLM_R)
    run.encoder(config)
    write_comet_checkpoint(run.folder / "comet", config, "regression_metric")
    files = find_comet_files(str(run.folder / "comet"))
    sample = run.sample(run.loop_rows)
    loop_rate, reference = None, None
    for dtype in ("float32", "bfloat16"):
        network = SeparateNetwork(files, dtype)
        run.clock(lambda network=network: Loop(network).comet(sample[:64]))
        seconds, slow = run.clock(lambda network=network: Loop(network).comet(sample))
        print_rate(f"loop of 16, {dtype}", len(sample), seconds, None, f"{len(sample)} rows")
        loop_rate = loop_rate or len(sample) / seconds
        again = network.score(sample, SharedCache()).scores
        difference = np.abs(again - slow).max()
        print(f"    loop and ours differ by at most {difference:.1e} (deviation of scores {slow.std():.2g})")
        if reference is None:
            reference = again
        else:
            print(f"    loop: {compare_precision(slow, reference)}")
            print(f"    ours: {compare_precision(again, reference)}")
        if not (run.quick and dtype == "float32"):
            time_comet(run, network, config, dtype, loop_rate)
        del network
    if run.compile:
        os.environ["METASSAY_COMPILE"] = "1"
        time_comet(run, SeparateNetwork(files, "bfloat16"), config, "bfloat16", loop_rate)
        os.environ.pop("METASSAY_COMPILE")


def time_comet(run: Run, network: Any, config: dict, dtype: str, loop_rate: float) -> None:
    """Time all cases from end to end, then each step: finding distinct texts, tokenising, encoding."""
    from metassay.metrics.shared_cache import SharedCache

    cases = run.cases
    first, _ = run.clock(lambda: network.score(cases[: run.warm], SharedCache()))
    network.score(cases[: run.warm], SharedCache())
    seconds, _ = run.clock(lambda: network.score(cases, SharedCache()))
    sorting, texts = run.clock(lambda: list(dict.fromkeys(text for case in cases for text in case)))
    tokenising, tokens = run.clock(lambda: network.tokenizer(texts))
    encoding, _ = run.clock(
        lambda: network.runner.compute_vector_per_text(tokens, network.encode_batch, pad_id=network.pad_id)
    )
    work = count_operations(config, tokens.lengths) / run.peaks[dtype]
    lasting = count_operations(config, tokens.lengths) / run.lasting[dtype]
    compiled = ", compiled" if os.environ.get("METASSAY_COMPILE") == "1" else ""
    print_rate(
        f"comet {dtype}",
        len(cases),
        seconds,
        loop_rate,
        f"{work / seconds:.0%} of the {dtype} peak{compiled}",
    )
    way = network.packed_encoder.attend.__name__ if network.packed_encoder is not None else "padded"
    print(
        f"    encoding alone {encoding:.2f} s: {work / encoding:.0%} of the peak, {lasting / encoding:.0%} "
        f"of the lasting one; end to end {seconds:.2f} s; tokenising alone {tokenising:.2f} s, distinct "
        f"texts {sorting:.2f} s; first call {first:.1f} s"
    )
    size = f"batches of {network.runner.token_budget:,} ({way})"
    print(f"    {len(texts):,} texts, {len(tokens.ids):,} tokens, {size}", flush=True)
    if network.packed_encoder is not None and dtype != "float32":
        usual, tried = network.runner.token_budget, {}
        for budget in (32_768, 65_536, 262_144, 524_288):
            network.runner.token_budget = budget
            tried[budget], _ = run.clock(
                lambda: network.runner.compute_vector_per_text(
                    tokens, network.encode_batch, pad_id=network.pad_id
                )
            )
        network.runner.token_budget = usual
        shown = ", ".join(f"{budget:,}: {seconds:.2f} s" for budget, seconds in tried.items())
        print(f"    encoding alone in other batches: {shown}", flush=True)


def compare_precision(scores: np.ndarray, reference: np.ndarray) -> str:
    """Describe how far scores in half precision are from those in float32."""
    pearson = np.corrcoef(scores, reference)[0, 1]
    apart = np.abs(scores - reference)
    return (
        f"from our float32 by at most {apart.max():.1e}, {apart.mean():.1e} on average (deviation of scores "
        f"{reference.std():.2g}), Pearson {pearson:.5f}"
    )


def bench_unite(run: Run) -> None:
    from metassay.metrics.neural.comet_checkpoint import find_comet_files
    from metassay.metrics.neural.unified_network import UnifiedNetwork
    from metassay.metrics.shared_cache import SharedCache

    config = run.config(XLM_R)
    run.encoder(config)
    write_comet_checkpoint(run.folder / "unite", config, "unified_metric")
    files = find_comet_files(str(run.folder / "unite"))
    cases, sample = run.sample(run.joint_rows), run.sample(run.loop_rows // 2)
    loop_rate = None
    for dtype in ("float32", "bfloat16"):
        network = UnifiedNetwork(files, dtype)
        run.clock(lambda network=network: Loop(network).unite(sample[:64]))
        seconds, slow = run.clock(lambda network=network: Loop(network).unite(sample))
        print_rate(f"loop of 16, {dtype}", len(sample), seconds, None)
        loop_rate = loop_rate or len(sample) / seconds

        def ours(chosen: Sequence[NetworkInput], network: Any = network) -> np.ndarray:
            return network.average_scores_over_input_kinds(
                chosen, ("src", "ref", "all"), SharedCache()
            ).scores

        run.clock(lambda ours=ours: ours(sample[: run.warm]))
        seconds, _ = run.clock(lambda ours=ours: ours(cases))
        difference = np.abs(ours(sample) - slow).max()
        print_rate(f"unite {dtype}", len(cases), seconds, loop_rate, f"differs by at most {difference:.1e}")


def bench_bertscore(run: Run) -> None:
    import torch
    from safetensors.torch import save_file
    from transformers import AutoConfig, AutoModel

    from metassay.metrics.neural.bertscore import TokenEncoder, score_text_pairs
    from metassay.metrics.shared_cache import SharedCache

    config = run.config({**XLM_R, "vocab_size": 50_265})
    layers = min(17, config["num_hidden_layers"])
    folder = run.folder / "bertscore"
    folder.mkdir()
    words = write_tokenizer(folder, ("<s>", "<pad>", "</s>", "<unk>"), config["vocab_size"])
    settings = {name: value for name, value in config.items() if name != "model_type"}
    model = AutoModel.from_config(AutoConfig.for_model(config["model_type"], **settings))
    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    every = make_cases(words, run.items, run.systems, 0)
    pairs = [(output, reference) for output, _, reference in every]
    sample = random.Random(1).sample(pairs, min(len(pairs), run.loop_rows * 2))
    loop_rate = None

    def loop(network: TokenEncoder, chosen: Sequence[tuple[str, str]]) -> np.ndarray:
        found = []
        for start in range(0, len(chosen), 64):
            sides = []
            for column in zip(*chosen[start : start + 64]):
                tokens = network.tokenize(column)
                ids = torch.from_numpy(tokens.pad_texts(np.arange(len(column)), network.pad_id)).to(
                    run.device
                )
                mask = (torch.arange(ids.shape[1]) < torch.from_numpy(tokens.lengths)[:, None]).to(run.device)
                states = network.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state.float()
                weight = mask & (ids != 0) & (ids != 2)
                sides.append((states / states.norm(dim=-1, keepdim=True), mask, weight.float()))
            (a, a_mask, a_weight), (b, b_mask, b_weight) = sides
            cosines = torch.bmm(a, b.transpose(1, 2)) * (a_mask[:, :, None] & b_mask[:, None, :])
            precision = (cosines.max(2).values * a_weight).sum(1) / a_weight.sum(1)
            recall = (cosines.max(1).values * b_weight).sum(1) / b_weight.sum(1)
            found += (2 * precision * recall / (precision + recall)).tolist()
        return np.array(found)

    for dtype in ("float32", "bfloat16"):
        network = TokenEncoder(folder, "bertscore", layers, dtype)
        with torch.inference_mode():
            run.clock(lambda network=network: loop(network, sample[:128]))
            seconds, slow = run.clock(lambda network=network: loop(network, sample))
        print_rate(f"loop of 64, {dtype}", len(sample), seconds, None)
        own_rate = len(sample) / seconds
        loop_rate = loop_rate or own_rate
        run.clock(lambda network=network: score_text_pairs(network, sample[:1000], None, SharedCache()))
        seconds, _ = run.clock(lambda network=network: score_text_pairs(network, pairs, None, SharedCache()))
        difference = np.abs(score_text_pairs(network, sample, None, SharedCache()).scores[:, 2] - slow).max()
        note = f"differs by at most {difference:.1e}; {len(pairs) / seconds / own_rate:.1f}× the {dtype} loop"
        print_rate(f"bertscore {dtype}", len(pairs), seconds, loop_rate, note)


def bench_bleurt(run: Run) -> None:
    import torch
    from safetensors.torch import save_file
    from transformers import RemBertConfig, RemBertModel

    from metassay.metrics.neural.bleurt import BleurtNetwork

    config = run.config(REM_BERT)
    folder = run.folder / "bleurt"
    folder.mkdir()
    words = write_tokenizer(folder, ("[CLS]", "[PAD]", "[SEP]", "[UNK]"), config["vocab_size"])
    settings = {k: v for k, v in config.items() if k not in {"model_type", "embedding_size"}}
    model = RemBertModel(
        RemBertConfig(**settings, input_embedding_size=config["embedding_size"], pad_token_id=0)
    )
    state = {f"bleurt.{k}": v.contiguous() for k, v in model.state_dict().items()}
    state["classifier.weight"], state["classifier.bias"] = (
        torch.randn(1, config["hidden_size"]),
        torch.zeros(1),
    )
    save_file(state, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    cases = make_cases(words, run.items, 1 + run.joint_rows // run.items, 0)[: run.joint_rows]
    pairs = [(reference, output) for output, _, reference in cases]
    time_joint_inputs(run, "bleurt", pairs, lambda dtype: BleurtNetwork(folder, "bleurt", dtype, None))


def bench_metricx(run: Run) -> None:
    from safetensors.torch import save_file
    from transformers import MT5Config, MT5ForConditionalGeneration

    from metassay.metrics.neural.metricx import MetricXNetwork, format_metricx_input

    config = run.config(MT5)
    folder = run.folder / "metricx"
    folder.mkdir()
    words = write_tokenizer(folder, ("<pad>", "<s>", "</s>", "<unk>"), config["vocab_size"])
    model = MT5ForConditionalGeneration(MT5Config(**{k: v for k, v in config.items() if k != "model_type"}))
    state = {k: v.clone().contiguous() for k, v in model.state_dict().items()}
    save_file(state, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    cases = make_cases(words, run.items, 1 + run.joint_rows // run.items, 0)[: run.joint_rows]
    texts = [format_metricx_input("24", case) for case in cases]
    time_joint_inputs(
        run, "metricx", texts, lambda dtype: MetricXNetwork(str(folder), str(folder), "24", dtype)
    )


def time_joint_inputs(run: Run, name: str, inputs: Sequence, load: Callable[[str], Any]) -> None:
    """Time a metric that reads its inputs jointly, so that nothing is shared and only batching helps."""
    sample = list(inputs[: run.loop_rows // 2])
    loop_rate, reference = None, None
    for dtype in ("float32", "bfloat16"):
        network = load(dtype)
        full = network.runner.token_budget

        def loop(chosen: Sequence, network: Any = network, full: int = full) -> np.ndarray:
            packs = network.runner.packs_texts
            network.runner.packs_texts = False
            network.runner.token_budget = 10**9  # whatever the 16 are, they are one padded batch
            starts = range(0, len(chosen), 16)
            parts = [network.score(chosen[start : start + 16]).scores for start in starts]
            network.runner.token_budget, network.runner.packs_texts = full, packs
            return np.concatenate(parts)

        run.clock(lambda loop=loop: loop(sample[:64]))
        seconds, slow = run.clock(lambda loop=loop: loop(sample))
        print_rate(f"loop of 16, {dtype}", len(sample), seconds, None)
        loop_rate = loop_rate or len(sample) / seconds
        run.clock(lambda network=network: network.score(sample[: run.warm]))
        seconds, _ = run.clock(lambda network=network: network.score(inputs))
        again = network.score(sample).scores
        difference = np.abs(again - slow).max()
        print_rate(f"{name} {dtype}", len(inputs), seconds, loop_rate, f"differs by at most {difference:.1e}")
        if reference is None:
            reference = again
        else:
            print(f"    loop: {compare_precision(slow, reference)}")
            print(f"    ours: {compare_precision(again, reference)}")
        del network


class Run:
    """Options and data that all parts of the benchmark share."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        import torch

        self.device, self.folder, self.small = options.device, folder, options.small
        self.quick = options.quick
        self.compile = not options.no_compile
        self.clock = Clock(self.device)
        self.items, self.systems, self.copies = (20, 3, 2) if self.small else (1000, 20, 4)
        self.loop_rows = 64 if self.small else 2048
        self.joint_rows = 128 if self.small else 8192
        self.warm = 100 if self.small else 4000
        size = 512 if self.small else 8192
        self.peaks = {
            name: measure_peak(self.device, getattr(torch, name), size) for name in ("float32", "bfloat16")
        }
        self.lasting = {
            name: measure_peak(self.device, getattr(torch, name), size, lasting=True) for name in self.peaks
        }
        shown = ", ".join(
            f"{name} {value / 1e12:.1f} (for seconds on end {self.lasting[name] / 1e12:.1f})"
            for name, value in self.peaks.items()
        )
        print(f"measured matrix-product peak, TFLOP/s at {size}: {shown}", flush=True)
        self.cases: list[NetworkInput] = []

    def config(self, config: dict) -> dict:
        return shrink_config(config) if self.small else config

    def encoder(self, config: dict) -> None:
        """Return the folder of an encoder and cases in its vocabulary, made once."""
        folder = self.folder / "encoder"
        if not folder.exists():
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
            special = ("<s>", "<pad>", "</s>", "<unk>")
            words = write_tokenizer(folder, special, config["vocab_size"])
            self.cases = make_cases(words, self.items, self.systems, self.copies)

    def sample(self, rows: int) -> list[NetworkInput]:
        return random.Random(1).sample(self.cases, min(rows, len(self.cases)))


PARTS = {
    "comet": bench_comet,
    "bertscore": bench_bertscore,
    "unite": bench_unite,
    "bleurt": bench_bleurt,
    "metricx": bench_metricx,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", default=None)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--small", action="store_true", help="tiny models and data: does it run?")
    parser.add_argument("--quick", action="store_true", help="COMET: time ours in bfloat16 alone")
    parser.add_argument("--no-compile", action="store_true", help="COMET: not with torch.compile, too")
    options = parser.parse_args()
    try:
        import torch
        import transformers
    except ImportError:
        print("torch and transformers are not installed: pip install 'metassay[neural]'")
        return
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    options.small = options.small or not (options.device or torch.cuda.is_available())
    options.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    os.environ["METASSAY_DEVICE"] = options.device
    name = torch.cuda.get_device_name() if options.device.startswith("cuda") else "CPU"
    print(f"{name}, torch {torch.__version__}, transformers {transformers.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options, Path(folder))
        for part in options.only.split(","):
            start = time.perf_counter()
            PARTS[part](run)
            print(f"    ({part} took {time.perf_counter() - start:.0f} s in all)", flush=True)


if __name__ == "__main__":
    main()
