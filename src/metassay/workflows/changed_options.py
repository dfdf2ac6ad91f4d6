"""Find out whether two runs were made with the same options, so that their results can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.errors import InputError, InputLocation, format_path_for_user, shorten_text
from metassay.store.run_folder import RunFolder, read_manifest

# These options decide how precisely something is measured, how outputs are grouped, or what is computed
# besides. Metrics and contexts are compared by name. Another seed draws other perturbed outputs of the same
# kind, which the comparison treats as chance. Every other option changes what is measured.
OPTIONS_WITHOUT_INFLUENCE = {
    "agreement",
    "analysis",
    "cluster",
    "context",
    "contexts",
    "draws",
    "epsilon",
    "family",
    "holm",
    "judge",
    "meta",
    "metrics",
    "minimum_items",
    "minimum_segments",
    "permutations",
    "repeats",
    "resamples",
    "seed",
    "test",
}


def reject_runs_with_other_options(earlier_run: RunFolder, later_run: RunFolder) -> None:
    """Raise an error if two runs of one command differ in an option that changes what is measured. A
    difference between their results would say nothing about a metric or judge.
    """
    changes = [
        *_describe_changed_options(read_configuration(earlier_run), read_configuration(later_run)),
        *_describe_changed_tokenizers(_read_tokenizers(earlier_run), _read_tokenizers(later_run)),
    ]
    if changes:
        raise InputError(
            f"this run cannot be compared with {format_path_for_user(earlier_run.path)}, because it was made"
            f" with other options ({'; '.join(changes)}).",
            location=InputLocation(file=str(later_run.path)),
            remedy="Repeat one of the runs with the options of the other.",
        )


def read_configuration(run_folder: RunFolder) -> Mapping[str, Any]:
    """Return the options that the manifest of a run records. Somebody may have edited the manifest."""
    configuration = run_folder.identity.get("configuration")
    return configuration if isinstance(configuration, dict) else {}


def _describe_changed_options(
    earlier_configuration: Mapping[str, Any], later_configuration: Mapping[str, Any]
) -> list[str]:
    """Describe each option that changes what is measured and differs, such as `ties: strict before, half
    now`.
    """
    changes = []
    for name, before in earlier_configuration.items():
        if name in OPTIONS_WITHOUT_INFLUENCE or name not in later_configuration:
            continue
        after = later_configuration[name]
        # Without a human score, a run only lacks the agreement of its metrics with people.
        if name == "human" and None in (before, after):
            continue
        if _sort_if_list(before) != _sort_if_list(after):
            changes.append(
                f"{name}: {_format_option_value(before)} before, {_format_option_value(after)} now"
            )
    return changes


def _read_tokenizers(run_folder: RunFolder) -> dict[str, str]:
    """Return the tokenizer of each metric that has one. It may depend on the language and on what is
    installed.
    """
    signatures = read_manifest(run_folder.path).get("metrics")
    tokenizers = {}
    for metric, signature in signatures.items() if isinstance(signatures, dict) else ():
        for part in str(signature).split("|"):
            name, _, value = part.partition(":")
            if name == "tokenizer":
                tokenizers[metric] = value
    return tokenizers


def _describe_changed_tokenizers(
    earlier_tokenizers: Mapping[str, str], later_tokenizers: Mapping[str, str]
) -> list[str]:
    """Describe each metric of both runs that splits texts into words in another way."""
    changes = []
    for metric, before in earlier_tokenizers.items():
        after = later_tokenizers.get(metric, before)
        if before != after:
            changes.append(f"tokenizer of {metric}: {before} before, {after} now")
    return changes


def _sort_if_list(value: Any) -> Any:
    """Sort a list of names, whose order has no influence. Other values are returned unchanged."""
    return sorted(map(str, value)) if isinstance(value, list) else value


def _format_option_value(value: Any) -> str:
    """Write the value of an option as text."""
    if isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, list):
        text = ", ".join(map(str, value)) or "none"
    elif isinstance(value, dict):
        text = ", ".join(f"{key} {part}" for key, part in value.items() if part is not None)
    else:
        text = "not given" if value is None else str(value)
    return shorten_text(text, 40)
