"""Where dictionaries and language models are, and how to get those that are not here.

Looked for in this order: folders in the environment variable `METASSAY_RESOURCES`, Python packages, the
system's dictionaries, NLTK's data folders.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import logging
import os
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Folder = Path | zipfile.Path

USER_FOLDERS = "METASSAY_RESOURCES"
_SYSTEM = {
    "wordnet": (
        "/usr/share/wordnet",
        "/usr/local/share/wordnet",
        "/opt/homebrew/opt/wordnet/dict",
        "/usr/local/opt/wordnet/dict",
    ),
    "mythes": (
        "/usr/share/mythes",
        "/usr/share/myspell/dicts",
        "/usr/lib/libreoffice/share/extensions/dict-{language}",
        "/Applications/LibreOffice.app/Contents/Resources/extensions/dict-{language}",
    ),
}


@dataclass(frozen=True)
class Resource:
    """A dictionary or a model that some perturbation or metric uses."""

    name: str
    language: str
    purpose: str
    locate: Callable[[], str | None]
    """Where it is, in words for people; None where it is missing."""
    get: dict[str, str]
    """How to install it: by `debian`, `macos`, `pip`."""

    @property
    def remedy(self) -> str:
        """One line that says how to get it."""
        ways = "; ".join(f"{system}: {command}" for system, command in self.get.items())
        return f"{self.name} is missing. Get it with {ways}"


def wordnet_folder() -> Folder | None:
    """The folder with Princeton WordNet's database files (`data.noun`, `index.noun`, `noun.exc` …)."""
    places = [place / sub for place in _user_folders() for sub in ("wordnet", ".")]
    places += [Path(place) for place in _SYSTEM["wordnet"]]
    for root in _nltk_folders():
        places.append(root / "corpora" / "wordnet")
        archive = root / "corpora" / "wordnet.zip"
        if archive.is_file():
            inside = zipfile.Path(archive, "wordnet/")
            if (inside / "data.noun").is_file():
                return inside
    return next((place for place in places if (place / "data.noun").is_file()), None)


def thesaurus_file(language: str) -> Path | None:
    """The MyThes thesaurus of a language, as LibreOffice and Debian's `mythes-*` packages carry it."""
    folders = [*_user_folders(), *(Path(place.format(language=language)) for place in _SYSTEM["mythes"])]
    for folder in folders:
        found = sorted(file for file in folder.glob(f"th_{language}_*.dat") if file.is_file())
        if found:
            return found[0]
    return None


def has_package(name: str) -> bool:
    """Whether a Python package can be imported."""
    return importlib.util.find_spec(name) is not None


@functools.cache
def spacy_model(language: str) -> str | None:
    """The name of an installed spaCy model of this language that can find named entities, largest first."""
    if not has_package("spacy"):
        return None
    from spacy.util import get_installed_models

    known = [name for name in get_installed_models() if name.startswith(f"{language}_core_")]
    sizes = ("trf", "lg", "md", "sm")
    return next((name for size in sizes for name in sorted(known) if name.endswith(size)), None)


def spacy_entities(texts: Sequence[str], language: str) -> list[list[tuple[int, int, str]]]:
    """Names by an installed spaCy model; other types than persons, places and organisations are left out."""
    types = {"PERSON": "PER", "PER": "PER", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC", "ORG": "ORG"}
    return [
        [(e.start_char, e.end_char, types[e.label_]) for e in document.ents if e.label_ in types]
        for document in _loaded_model(language).pipe(texts)
    ]


@functools.cache
def _loaded_model(language: str) -> Any:
    import spacy

    logging.getLogger("spacy").setLevel(logging.ERROR)
    return spacy.load(spacy_model(language) or "")


def kept(name: str, make: Callable[[], bytes]) -> bytes:
    """What takes long to make, from the user's caches, where it lies after its checksum; else made anew."""
    place = Path(os.devnull, name)  # where the user has no home, nothing is kept
    with suppress(RuntimeError):
        place = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "metassay", name)
    with suppress(OSError):
        told, _, content = place.read_bytes().partition(b"\n")
        if told == _sum(content):
            return content
    content = make()
    temporary = place.with_name(f".{name}.{os.getpid()}.part")
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(b"%b\n%b" % (_sum(content), content))
        temporary.replace(place)
    with suppress(OSError):
        temporary.unlink(missing_ok=True)
    return content


def _sum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).hexdigest().encode()


def known_resources() -> tuple[Resource, ...]:
    """Everything that is looked for, for `metassay list resources`."""
    return (
        Resource(
            "WordNet",
            "en",
            "synonym",
            lambda: _text(wordnet_folder()),
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
            lambda: _text(thesaurus_file("de")),
            {
                "debian": "apt install mythes-de",
                "macos": "brew install --cask libreoffice",
                "any": f"a th_de_DE_v2.dat in a folder named by {USER_FOLDERS}",
            },
        ),
        Resource(
            "Russian thesaurus",
            "ru",
            "synonym",
            lambda: _text(thesaurus_file("ru")),
            {
                "debian": "apt install mythes-ru",
                "macos": "brew install --cask libreoffice",
                "any": f"a th_ru_RU_v2.dat in a folder named by {USER_FOLDERS}",
            },
        ),
        _package("simplemma", "en", "entity", "simplemma", "en"),
        _package("simplemma", "de", "synonym, entity", "simplemma", "de"),
        _package("HanTa", "en", "negation, entity", "HanTa", "en"),
        _package("HanTa", "de", "entity", "HanTa", "de"),
        _package("natasha", "ru", "entity", "natasha", "ru"),
        _package("pymorphy3", "ru", "synonym, entity", "pymorphy3", "ru"),
        _package("jieba", "zh", "words (better)", "jieba", "zh"),
        _package("fugashi", "ja", "words (better)", "fugashi", "ja"),
        *(_spacy(language) for language in ("en", "de", "ru")),
    )


def dictionaries(languages: Iterable[str]) -> dict[str, str | None]:
    """What there is for these languages: of files a hash of their content, of the rest where it is found."""
    known = [r for r in known_resources() if r.language in set(languages)]
    return {f"{r.name} ({r.language})": _content(r.locate()) for r in known}


def _content(place: str | None) -> str | None:
    """Files by what is in them, wherever they lie."""
    path = Path((place or "").partition(".zip/")[0] + ".zip" * (".zip/" in (place or "")))
    if place is None or not path.exists():
        return place
    digest = hashlib.blake2b(digest_size=16)
    for file in [path] if path.is_file() else sorted(file for file in path.iterdir() if file.is_file()):
        known = file.stat()
        digest.update(f"{file.name}\0".encode())
        digest.update(_file_hash(file, known.st_size, known.st_mtime_ns))
    return digest.hexdigest()


@functools.cache
def _file_hash(file: Path, _size: int, _changed: int) -> bytes:
    """Of what a file holds, read again where it changed."""
    return hashlib.blake2b(file.read_bytes()).digest()


def resource(name: str, language: str) -> Resource:
    """The resource with this name for this language."""
    return next(r for r in known_resources() if (r.name, r.language) == (name, language))


def missing(*names: str, language: str) -> str | None:
    """How to get the first of these resources that is not here; None where all are."""
    wanted = (resource(name, language) for name in names)
    return next((r.remedy for r in wanted if r.locate() is None), None)


def _package(name: str, language: str, purpose: str, module: str, extra: str) -> Resource:
    where = f"Python package {module}"
    return Resource(
        name,
        language,
        purpose,
        lambda: where if has_package(module) else None,
        {"pip": f"pip install 'metassay[{extra}]'"},
    )


def _spacy(language: str) -> Resource:
    kind = "web" if language == "en" else "news"
    return Resource(
        "spaCy model",
        language,
        "entity (better)",
        lambda: spacy_model(language),
        {"pip": f"pip install spacy && python -m spacy download {language}_core_{kind}_sm"},
    )


def _text(place: Folder | None) -> str | None:
    return None if place is None else str(place)


def _user_folders() -> list[Path]:
    return [Path(place) for place in os.environ.get(USER_FOLDERS, "").split(os.pathsep) if place]


def _nltk_folders() -> Iterator[Path]:
    """The folders where NLTK looks for its data, without importing it."""
    yield from (Path(place) for place in os.environ.get("NLTK_DATA", "").split(os.pathsep) if place)
    yield Path.home() / "nltk_data"
    for prefix in (sys.prefix, "/usr", "/usr/local"):
        for sub in ("nltk_data", "share/nltk_data", "lib/nltk_data"):
            yield Path(prefix) / sub
