"""What `metassay list`, `metassay models` and `metassay cache` print."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metassay.reporting.terminal.blocks import Block, Line, Row, Table
from metassay.results.cache import CacheContent
from metassay.results.list import ListContent
from metassay.results.models import InstalledModel, ModelsContent

# Up to this many languages are all named; of more, the first three and their number.
LISTED_LANGUAGES = 4


def describe_installed_components(list_result: ListContent) -> list[Block]:
    """Describe for the terminal which metrics, perturbations or readers are installed."""
    rows = [msgspec.to_builtins(entry) for entry in list_result.listed_entries]
    name_column = next(iter(rows[0]))
    return [Table(rows, most_important=(name_column, "what", "task", "better", "default"))]


def describe_installed_models(models_result: ModelsContent) -> list[Block]:
    """Describe for the terminal which neural models are on this machine."""
    if not models_result.models:
        return [Line(f"No model was found in {' or '.join(models_result.searched)}.")]
    folders: list[Block] = [Line(f"{model.model}: {model.folder}") for model in models_result.models]
    return [Table([_build_model_row(model) for model in models_result.models]), *folders]


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
        "languages": _join_language_codes(model.languages),
        "note": model.note,
    }


def _join_language_codes(codes: Sequence[str] | None) -> str | None:
    if codes is None:
        return None
    if len(codes) <= LISTED_LANGUAGES:
        return ", ".join(codes)
    return f"{len(codes)}: {', '.join(codes[:3])} …"


def describe_score_cache(cache_result: CacheContent, action: str) -> list[Block]:
    """Describe for the terminal what the score cache contains after it was listed, reduced or checked."""
    outcome = ""
    if cache_result.broken:
        outcome = f"Damaged and moved away: {len(cache_result.broken)}. "
    elif action == "prune":
        outcome = f"Removed: {cache_result.removed}. "
    elif action == "verify":
        outcome = "All are intact. "
    rows = [msgspec.structs.asdict(metric) for metric in cache_result.metrics]
    megabytes = cache_result.bytes / 1e6
    return [
        Table(rows),
        Line(f"{outcome}{cache_result.folder} holds {cache_result.parts} parts, {megabytes:,.1f} MB."),
    ]
