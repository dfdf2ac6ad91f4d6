"""The official implementation of each metric, as a function of one output and its references."""

from __future__ import annotations

import functools
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import jiwer
import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.tokenize import NLTKWordTokenizer
from nltk.translate.bleu_score import corpus_bleu, sentence_bleu
from nltk.translate.meteor_score import meteor_score
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF, TER

Oracle = Callable[[str, Sequence[str]], float]

SACREBLEU = {
    "bleu": BLEU(effective_order=True),
    "bleu(tokenizer=intl)": BLEU(effective_order=True, tokenize="intl"),
    "bleu(tokenizer=zh)": BLEU(effective_order=True, tokenize="zh"),
    "bleu(tokenizer=char)": BLEU(effective_order=True, tokenize="char"),
    "bleu(tokenizer=none)": BLEU(effective_order=True, tokenize="none"),
    "bleu(lowercase=true)": BLEU(effective_order=True, lowercase=True),
    "bleu(smoothing=floor)": BLEU(effective_order=True, smooth_method="floor"),
    "bleu(smoothing=add-k,smooth_value=2)": BLEU(effective_order=True, smooth_method="add-k", smooth_value=2),
    "bleu(smoothing=none)": BLEU(effective_order=True, smooth_method="none"),
    "bleu(order=2)": BLEU(effective_order=True, max_ngram_order=2),
    "chrf": CHRF(),
    "chrf(word_order=2)": CHRF(word_order=2),
    "chrf(word_order=2,lowercase=true)": CHRF(word_order=2, lowercase=True),
    "chrf(whitespace=true)": CHRF(whitespace=True),
    "chrf(eps_smoothing=true)": CHRF(eps_smoothing=True),
    "chrf(char_order=3,word_order=1,beta=1)": CHRF(char_order=3, word_order=1, beta=1),
    "ter": TER(),
    "ter(case_sensitive=true)": TER(case_sensitive=True),
    "ter(normalized=true,asian_support=true)": TER(normalized=True, asian_support=True),
    "ter(no_punct=true)": TER(no_punct=True),
}
"""Scorers of sacrebleu by our spec; single outputs are scored with the effective order."""

ROUGE = {
    "rouge1": ("rouge1", False),
    "rouge2": ("rouge2", False),
    "rougel": ("rougeL", False),
    "rouge1(stemming=true)": ("rouge1", True),
    "rouge2(stemming=true)": ("rouge2", True),
    "rougel(stemming=true)": ("rougeL", True),
}
JIWER = ("wer", "mer", "wil", "wip", "cer")
TRANSLATION = (*SACREBLEU, *ROUGE, "meteor", "nltk_bleu", "nltk_bleu(tokenizer=whitespace)")
MAIN = ("bleu", "chrf", "chrf(word_order=2)", "ter", *ROUGE, "meteor", "nltk_bleu")
"""Those that must agree on every output of the real data."""


@functools.cache
def get_oracle(spec: str) -> Oracle:
    """Return the function that computes the official score of one output, for a spec of ours."""
    if spec in SACREBLEU:
        return lambda output, references: float(SACREBLEU[spec].sentence_score(output, references).score)
    if spec in ROUGE:
        kind, stemming = ROUGE[spec]
        return lambda output, references: _rouge(output, tuple(references), stemming=stemming)[kind]
    if spec in JIWER:
        return _jiwer(spec)
    if spec == "meteor":
        return _meteor
    return _nltk_bleu(str.split if "whitespace" in spec else NLTKWordTokenizer().tokenize)


def compute_official_corpus_score(spec: str, outputs: Sequence[str], references: Sequence[str]) -> float:
    """Compute the official score of a corpus with one reference per output."""
    if spec in SACREBLEU:
        scorer = SACREBLEU[spec]
        if isinstance(scorer, BLEU):
            scorer = BLEU(
                lowercase=scorer.lowercase,
                tokenize=spec.partition("tokenizer=")[2].strip(")") or "13a",
                smooth_method=scorer.smooth_method,
                smooth_value=scorer.smooth_value,
                max_ngram_order=scorer.max_ngram_order,
            )
        return float(scorer.corpus_score(list(outputs), [list(references)]).score)
    if spec in JIWER:
        return float(getattr(jiwer, spec)(list(references), list(outputs)))
    tokenize = str.split if "whitespace" in spec else NLTKWordTokenizer().tokenize
    return float(corpus_bleu([[tokenize(r)] for r in references], [tokenize(o) for o in outputs]))


@functools.lru_cache(maxsize=1 << 18)
def _rouge(output: str, references: tuple[str, ...], *, stemming: bool) -> dict[str, float]:
    """All three at once, for tokens and stems take most of the time."""
    found = _rouge_scorer(stemming=stemming).score_multi(references, output)
    return {kind: float(score.fmeasure) for kind, score in found.items()}


@functools.cache
def _rouge_scorer(*, stemming: bool) -> RougeScorer:
    return RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=stemming)


def _jiwer(spec: str) -> Oracle:
    measure = getattr(jiwer, spec)
    return lambda output, references: float(measure(references[0], output))


def _nltk_bleu(tokenize: Callable[[str], list[str]]) -> Oracle:
    def score(output: str, references: Sequence[str]) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on every output without 4-gram matches
            return float(sentence_bleu([tokenize(r) for r in references], tokenize(output)))

    return score


def _meteor(output: str, references: Sequence[str]) -> float:
    tokens = [reference.split() for reference in references]
    return float(meteor_score(tokens, output.split(), wordnet=open_nltk_wordnet()))


@functools.cache
def open_nltk_wordnet() -> WordNetCorpusReader:
    """NLTK's own reader on the system's WordNet, in a folder of the shape that NLTK accepts."""
    folder = Path(tempfile.mkdtemp()) / "corpora" / "wordnet"
    shutil.copytree("/usr/share/wordnet", folder)
    (folder / "lexnames").write_text("".join(f"{i:02d}\tfile.{i}\t1\n" for i in range(45)))
    (folder / "index.sense").write_text("")
    nltk.data.path.insert(0, str(folder.parents[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on the absence of other languages
        return WordNetCorpusReader(nltk.data.find("corpora/wordnet"), None)
