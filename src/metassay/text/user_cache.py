"""Files that take long to compute, kept in the user's cache folder between runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def load_cached_file_or_compute(file_name: str, compute_content: Callable[[], bytes]) -> bytes:
    """Return the content of a file in the user's cache folder. If it is missing or damaged, the content is
    computed and stored.

    The cache is optional: if it cannot be read or written, the content is computed every time.
    """
    file = _find_cache_folder() / file_name
    with suppress(OSError):
        checksum, _, content = file.read_bytes().partition(b"\n")
        if checksum == _compute_checksum(content):
            return content
    content = compute_content()
    temporary_file = file.with_name(f".{file_name}.{os.getpid()}.part")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary_file.write_bytes(b"%b\n%b" % (_compute_checksum(content), content))
        temporary_file.replace(file)
    with suppress(OSError):
        temporary_file.unlink(missing_ok=True)
    return content


def _find_cache_folder() -> Path:
    """Return the folder in which files of this user are cached."""
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home directory
        return Path(os.devnull)
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache", "metassay")


def _compute_checksum(content: bytes) -> bytes:
    """Compute the checksum of a cached file."""
    return hashlib.blake2b(content, digest_size=16).hexdigest().encode()
