"""Models in memory: each is loaded once, and used by one thread at a time."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
Network = TypeVar("Network")

# Held while a model loads or scores: it uses all cores, or the whole GPU, for one batch at a time.
MODEL_LOCK = threading.RLock()
# Models of one kind that stay in memory.
MAX_LOADED_MODELS = 16


def cache_loaded_models(load_model: Callable[P, Network]) -> Callable[P, Network]:
    """Decorate a function that loads a model. Each model is then loaded only once per process."""
    cached_load = functools.lru_cache(maxsize=MAX_LOADED_MODELS)(load_model)

    @functools.wraps(load_model)
    def load_or_reuse(*args: P.args, **kwargs: P.kwargs) -> Network:
        with MODEL_LOCK:
            return cached_load(*args, **kwargs)  # type: ignore[arg-type]

    return load_or_reuse
