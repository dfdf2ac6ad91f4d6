"""Why a perturbation cannot be applied to outputs in a language."""

from __future__ import annotations

from metassay.errors import InputError
from metassay.perturbations.base import AnyPerturbation
from metassay.tasks.base import OutputKind
from metassay.text.languages import get_base_language
from metassay.text.words import WITHOUT_SPACES

_HOW_TO_NAME_LANGUAGE = "--language en, in Python language='en'"


def explain_why_not_applicable(
    perturbation: AnyPerturbation, language: str | None, *, requested: bool, strict_resources: bool
) -> str | None:
    """Return why a perturbation (a rule that makes outputs worse) cannot be applied to outputs in a language,
    or None if it can.

    It is an error if the user requested the perturbation and the language is unknown, and with
    `strict_resources` if a dictionary is missing.
    """
    # Documents are moved as they are, in any language.
    if perturbation.output_kind is OutputKind.RANKING:
        return None
    if perturbation.languages is None:
        reason = _explain_if_language_lacks_spaces(perturbation, language)
        if reason is not None or language is None:
            return reason
        return _explain_missing_resource(perturbation, language, strict=strict_resources)
    if language is None:
        if requested:
            raise InputError(
                f"{perturbation.spec} needs to know the language of the outputs.",
                remedy=f"Name it: {_HOW_TO_NAME_LANGUAGE}.",
            )
        return (
            "The language is unknown, so perturbations that need it were left out. Name it with "
            f"{_HOW_TO_NAME_LANGUAGE}"
        )
    if language not in perturbation.languages:
        supported = ", ".join(sorted(perturbation.languages))
        return f"{perturbation.spec} does not know the language {language}; it knows {supported}"
    return _explain_missing_resource(perturbation, language, strict=strict_resources)


def _explain_if_language_lacks_spaces(perturbation: AnyPerturbation, language: str | None) -> str | None:
    """Return why a perturbation that needs spaces between words does not apply to a language, or None if it
    does apply.
    """
    has_spaces = get_base_language(language) not in WITHOUT_SPACES
    if has_spaces or not perturbation.needs_spaces:
        return None
    return f"{perturbation.spec} does not apply to {language}, which is written without spaces"


def _explain_missing_resource(perturbation: AnyPerturbation, language: str, *, strict: bool) -> str | None:
    """Return which dictionary or package must be installed before a perturbation can be applied, or None if
    none is missing.
    """
    missing = perturbation.get_installation_hint_for_language(language)
    if missing is None:
        return None
    if strict:
        raise InputError(f"{perturbation.spec} lacks a resource for {language}.", remedy=missing)
    return f"{perturbation.spec} does not apply to {language}: {missing}"
