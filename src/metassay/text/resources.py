"""Dictionaries and models that perturbations and metrics use: where they are, and how to get missing ones.

They are looked for in this order: folders in the environment variable `METASSAY_RESOURCES`, Python packages,
the dictionaries of the system, the data folders of NLTK.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from metassay.text.spacy_models import find_spacy_model

Folder = Path | zipfile.Path

FOLDERS_VARIABLE = "METASSAY_RESOURCES"
_WORDNET_FOLDERS = (
    "/usr/share/wordnet",
    "/usr/local/share/wordnet",
    "/opt/homebrew/opt/wordnet/dict",
    "/usr/local/opt/wordnet/dict",
)
_THESAURUS_FOLDERS = (
    "/usr/share/mythes",
    "/usr/share/myspell/dicts",
    "/usr/lib/libreoffice/share/extensions/dict-{language}",
    "/Applications/LibreOffice.app/Contents/Resources/extensions/dict-{language}",
)


@dataclass(frozen=True)
class Resource:
    """A dictionary or model that some metrics or perturbations need for a language, and how to install it."""

    name: str
    language: str
    purpose: str
    """The perturbations or metrics that use it."""
    locate: Callable[[], str | None]
    """Returns where it is, in words for people; None if it is missing."""
    commands: dict[str, str]
    """How to install it: by `debian`, `macos`, `pip` or `any`."""

    @property
    def remedy(self) -> str:
        """A line that says how to install the resource."""
        commands = "; ".join(f"{system}: {command}" for system, command in self.commands.items())
        return f"{self.name} is missing. Get it with {commands}"


def list_resources() -> tuple[Resource, ...]:
    """Return all dictionaries and models that metassay can use."""
    return (
        Resource(
            "WordNet",
            "en",
            "synonym",
            lambda: _convert_path_to_text(find_wordnet_folder()),
            {
                "debian": "apt install wordnet-base",
                "macos": "brew install wordnet",
                "pip": "pip install nltk && python -m nltk.downloader wordnet",
            },
        ),
        Resource(
            "OpenThesaurus",
            "de",
            "synonym",
            lambda: _convert_path_to_text(find_thesaurus_file("de")),
            {
                "debian": "apt install mythes-de",
                "macos": "brew install --cask libreoffice",
                "any": f"a th_de_DE_v2.dat in a folder named by {FOLDERS_VARIABLE}",
            },
        ),
        Resource(
            "Russian thesaurus",
            "ru",
            "synonym",
            lambda: _convert_path_to_text(find_thesaurus_file("ru")),
            {
                "debian": "apt install mythes-ru",
                "macos": "brew install --cask libreoffice",
                "any": f"a th_ru_RU_v2.dat in a folder named by {FOLDERS_VARIABLE}",
            },
        ),
        _describe_python_package("simplemma", "en", "entity"),
        _describe_python_package("simplemma", "de", "synonym, entity"),
        _describe_python_package("HanTa", "en", "negation, entity"),
        _describe_python_package("HanTa", "de", "entity"),
        _describe_python_package("natasha", "ru", "entity"),
        _describe_python_package("pymorphy3", "ru", "synonym, entity"),
        _describe_python_package("jieba", "zh", "removal, insertion, swapping, untranslated"),
        _describe_python_package("fugashi", "ja", "removal, insertion, swapping, untranslated"),
        *(_describe_spacy_model(language) for language in ("en", "de", "ru")),
    )


def find_dictionary_or_model(resource_name: str, language: str) -> Resource:
    """Find a dictionary or model by its name and language."""
    for resource in list_resources():
        if (resource.name, resource.language) == (resource_name, language):
            return resource
    raise KeyError(resource_name, language)


def describe_missing_resource(*names: str, language: str) -> str | None:
    """Say how to install the first of the given dictionaries or models that is missing. Returns None if all
    are installed.
    """
    for name in names:
        resource = find_dictionary_or_model(name, language)
        if resource.locate() is None:
            return resource.remedy
    return None


def list_resource_versions(languages: Iterable[str]) -> dict[str, str | None]:
    """Return the versions of all dictionaries and models for some languages, with None for those that are
    missing.

    The version of files is a hash of their content, that of packages their location in words (`locate`).
    """
    requested_languages = set(languages)
    versions = {}
    for resource in list_resources():
        if resource.language in requested_languages:
            versions[f"{resource.name} ({resource.language})"] = _hash_files_at_location(resource.locate())
    return versions


def find_wordnet_folder() -> Folder | None:
    """Return the folder with the files of Princeton WordNet (`data.noun`, `index.noun` …)."""
    folders = [user_folder / name for user_folder in _list_user_folders() for name in ("wordnet", ".")]
    folders += [Path(folder) for folder in _WORDNET_FOLDERS]
    for nltk_folder in _list_nltk_folders():
        folders.append(nltk_folder / "corpora" / "wordnet")
        archive = nltk_folder / "corpora" / "wordnet.zip"
        # NLTK downloads WordNet as an archive, and reads it without unpacking.
        if archive.is_file():
            folder_in_archive = zipfile.Path(archive, "wordnet/")
            if (folder_in_archive / "data.noun").is_file():
                return folder_in_archive
    for folder in folders:
        if (folder / "data.noun").is_file():
            return folder
    return None


def find_thesaurus_file(language: str) -> Path | None:
    """Return the thesaurus file of a language that LibreOffice or Debian has installed, or None if there is
    none.
    """
    system_folders = [Path(folder.format(language=language)) for folder in _THESAURUS_FOLDERS]
    for folder in [*_list_user_folders(), *system_folders]:
        files = sorted(file for file in folder.glob(f"th_{language}_*.dat") if file.is_file())
        if files:
            return files[0]
    return None


def is_package_installed(package: str) -> bool:
    """Return whether a Python package is installed."""
    return importlib.util.find_spec(package) is not None


def _hash_files_at_location(location: str | None) -> str | None:
    """Return a hash of the files at a path. Other locations, such as the name of a package, are returned as
    they are.
    """
    if location is None:
        return None
    # A folder inside an archive is not a path on disk. The archive as a whole is hashed.
    archive, extension, _ = location.partition(".zip/")
    path = Path(f"{archive}.zip" if extension else location)
    if not path.exists():
        return location
    files = [path] if path.is_file() else sorted(file for file in path.iterdir() if file.is_file())
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        status = file.stat()
        digest.update(f"{file.name}\0".encode())
        digest.update(_hash_file_cached(file, status.st_size, status.st_mtime_ns))
    return digest.hexdigest()


@functools.lru_cache(maxsize=256)
def _hash_file_cached(file: Path, file_size: int, modification_time: int) -> bytes:
    """Return a hash of the content of a file. It is computed again only if the size or the modification time
    changes.
    """
    del file_size, modification_time
    return hashlib.blake2b(file.read_bytes()).digest()


def _describe_python_package(package: str, language: str, purpose: str) -> Resource:
    """Describe a Python package that perturbations need for a language."""
    location = f"Python package {package}"
    return Resource(
        package,
        language,
        purpose,
        lambda: location if is_package_installed(package) else None,
        {"pip": f"pip install 'metassay[{language}]'"},
    )


def _describe_spacy_model(language: str) -> Resource:
    """Describe the spaCy model for a language."""
    genre = "web" if language == "en" else "news"
    return Resource(
        "spaCy model",
        language,
        "entity (better)",
        lambda: find_spacy_model(language),
        {"pip": f"pip install spacy && python -m spacy download {language}_core_{genre}_sm"},
    )


def _convert_path_to_text(path: Folder | None) -> str | None:
    """Convert a path to text, and leave None as it is."""
    return None if path is None else str(path)


def _list_user_folders() -> list[Path]:
    """List the folders with dictionaries that the user has named in an environment variable."""
    folders = os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)
    return [Path(folder) for folder in folders if folder]


def _list_nltk_folders() -> Iterator[Path]:
    """Yield the folders where NLTK looks for its data, without importing NLTK."""
    for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep):
        if folder:
            yield Path(folder)
    yield Path.home() / "nltk_data"
    for prefix in (sys.prefix, "/usr", "/usr/local"):
        for folder in ("nltk_data", "share/nltk_data", "lib/nltk_data"):
            yield Path(prefix) / folder
