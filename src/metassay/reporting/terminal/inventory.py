"""What `metassay list`, `metassay models` and `metassay cache` print."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metassay.reporting.terminal.blocks import Block, Line, Row, Table
from metassay.results.cache import CacheContent
from metassay.results.list import ListContent
from metassay.results.models import InstalledModel, ModelsContent

LISTED_LANGUAGES = 4
"""Up to this many languages are all named; of more, the first three and their number."""


def describe_list(result: ListContent) -> list[Block]:
    """Describe what is installed of one kind, for example metrics."""
    rows = [msgspec.to_builtins(entry) for entry in result.entries]
    name_column = next(iter(rows[0]))
    return [Table(rows, most_important=(name_column, "what", "task", "better", "default"))]


def describe_models(result: ModelsContent) -> list[Block]:
    """Describe the neural models on this machine."""
    if not result.models:
        return [Line(f"No model was found in {' or '.join(result.searched)}.")]
    folders: list[Block] = [Line(f"{model.model}: {model.folder}") for model in result.models]
    return [Table([_build_model_row(model) for model in result.models]), *folders]


def _build_model_row(model: InstalledModel) -> Row:
    licence = model.licence
    if model.commercial_use is False:
        licence = f"{licence} (non-commercial)"
    return {
        "model": model.model,
        "metrics": model.metrics,
        "megabytes": model.megabytes,
        "weights": model.weights,
        "licence": licence,
        "languages": _shorten_languages(model.languages),
        "note": model.note,
    }


def _shorten_languages(codes: Sequence[str] | None) -> str | None:
    if codes is None:
        return None
    if len(codes) <= LISTED_LANGUAGES:
        return ", ".join(codes)
    return f"{len(codes)}: {', '.join(codes[:3])} …"


def describe_cache(result: CacheContent, action: str) -> list[Block]:
    """Describe the score cache after `info`, `prune` or `verify`."""
    outcome = ""
    if result.broken:
        outcome = f"Damaged and moved away: {len(result.broken)}. "
    elif action == "prune":
        outcome = f"Removed: {result.removed}. "
    elif action == "verify":
        outcome = "All are intact. "
    rows = [msgspec.structs.asdict(metric) for metric in result.metrics]
    megabytes = result.bytes / 1e6
    return [Table(rows), Line(f"{outcome}{result.folder} holds {result.parts} parts, {megabytes:,.1f} MB.")]
