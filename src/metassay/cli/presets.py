"""Presets: the options of a command as a paper used them (`--preset 003`).

A preset stands for arguments that are inserted before those of the user, so that the user's own options win.
A run folder records these options, not the preset.
"""

from __future__ import annotations

from collections.abc import Sequence

from metassay.errors import InputError, UnknownName

PRESET_OPTION = "--preset"
_LEXICAL_METRICS = "nltk_bleu,chrf,rouge1,rouge2,rougel,meteor"
_TRANSLATION_RULES = "removal,insertion,swapping,synonym,pronoun,entity,negation,negation_removal"
_SPEECH_METRICS = "wer,mer,wil,wip,cer"
_RANKING_METRICS = (
    "map,rprec,recip_rank,iprec_at_recall_0.00,iprec_at_recall_0.10,iprec_at_recall_0.20,iprec_at_recall_0.30,"
    "iprec_at_recall_0.40,p_5,p_10,p_15,p_20,p_30,recall_5,recall_10,recall_15,recall_20,recall_30,ndcg_cut_5,"
    "ndcg_cut_10,ndcg_cut_15,ndcg_cut_20,ndcg_cut_30"
)
# Arguments by command and preset. The numbers are those of the papers in docs/presets.md.
PRESETS: dict[str, dict[str, tuple[str, ...]]] = {
    "assay": {
        "000": (
            *("--metrics", _LEXICAL_METRICS, "--perturbations", _TRANSLATION_RULES),
            *("--preprocess", "paper", "--agreement", "tau_ap"),
        ),
        "000-asr": (
            *("--metrics", _SPEECH_METRICS, "--perturbations", "removal,insertion,swapping,phonetic"),
            *("--preprocess", "paper", "--agreement", "tau_ap"),
        ),
        "000-ranking": (
            *("--metrics", _RANKING_METRICS, "--perturbations", "rank_swapping"),
            *("--all-pairs", "--agreement", "tau_ap"),
        ),
        "002": (
            *("--metrics", _LEXICAL_METRICS, "--perturbations", "removal_20"),
            *("--agreement", "weighted_tau"),
        ),
        "002-asr": (
            *("--metrics", _SPEECH_METRICS, "--perturbations", "removal_20"),
            *("--agreement", "weighted_tau"),
        ),
        "002-ranking": (
            *("--metrics", _RANKING_METRICS, "--perturbations", "shuffle"),
            *("--all-pairs", "--agreement", "weighted_tau"),
        ),
    },
    "aggregate": {"001": ("--metrics", "bleu,chrf", "--resamples", "1000", "--size", "1000")},
    "rank": {
        "003": (
            *("--meta", "pa,spa", "--method", "permutation", "--permutations", "1000"),
            *("--significance", "perm-inputs", "--draws", "1000", "--analysis", "discrimination,stability"),
        )
    },
    "depend": {"004": ("--bootstraps", "200")},
}


def expand_preset(command_name: str, arguments: Sequence[str]) -> list[str]:
    """Replace `--preset NAME` in the arguments by the options that the preset stands for."""
    names: list[str] = []
    remaining: list[str] = []
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        # What follows are files, even if one is called `--preset`.
        if argument == "--":
            remaining += arguments[position:]
            break
        if argument == PRESET_OPTION:
            if position + 1 == len(arguments):
                raise InputError(
                    f"{PRESET_OPTION} names no preset.",
                    remedy=f"Use one of: {', '.join(PRESETS[command_name])}.",
                )
            names.append(arguments[position + 1])
            position += 1
        elif argument.startswith(f"{PRESET_OPTION}="):
            names.append(argument.partition("=")[2])
        else:
            remaining.append(argument)
        position += 1
    if len(names) > 1:
        raise InputError(f"{PRESET_OPTION} was given more than once.")
    if not names:
        return list(arguments)
    presets = PRESETS[command_name]
    if names[0] not in presets:
        raise UnknownName("preset", names[0], presets)
    return [*presets[names[0]], *remaining]


def describe_preset_option(command_name: str) -> tuple[str, str]:
    """Return the flags and the help text of `--preset`."""
    return f"{PRESET_OPTION} NAME", f"Options as in a paper: {', '.join(PRESETS[command_name])}."
