"""Normalisation of speech texts: examples, and properties for any text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metassay.errors import UnknownName
from metassay.text.normalize import SCHEMES, normalize_text


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("He hoped, there would be Stew.", "he hoped there would be stew"),
        ("HELLO BERTIE", "hello bertie"),
        ("it’s O'Brien's", "it's o'brien's"),
        ("well-known and/or mother—in—law", "well known and or mother in law"),
        ("  a\tb\n c  ", "a b c"),
        ("3,000 at 5 %", "3000 at 5"),
        ("rock ' n ' roll", "rock n roll"),
        ("Ärger über naïve Café", "ärger über naïve café"),
        ("...", ""),
    ],
)
def test_english_scheme(raw, plain):
    assert normalize_text(raw, "english") == plain


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("I can't, won't and shouldn't've", "i can not will not and should not have"),
        ("Mr. Smith's colour [coughs] (aside) <noise>", "mister smith is color"),
        ("uh hmm the um the end", "the the end"),
        ("two hundred and five", "205"),
        ("nineteen eighty-four", "1984"),
        ("one oh one", "101"),
        ("oh one two", "oh 12"),
        ("o five", "o 5"),
        ("two o five", "205"),
        ("and five hundred", "and 500"),
        ("five and six", "5 and 6"),
        ("a hundred thousand and one", "a 100001"),
        ("three million two hundred thousand and six", "3200006"),
        ("the twenty-first of May", "the 21st of may"),
        ("ten per cent of 3 million", "10% of 3000000"),
        ("three point one four dollars", "$3.14"),
        ("$1,250.50 and 5%.", "$1250.50 and 5%"),
        ("Café naïve.", "cafe naive"),
        ("she's gone; she'd said", "she has gone she would said"),
        ("one of the nineties, and thousands more", "one of the 90s and 1000s more"),
        ("I cannot", "i cannot"),
        ("twenty one ones", "21 ones"),
        ("this and that", "this and that"),
        ("counselled travelling realise centre grey", "counseled traveling realize center gray"),
    ],
)
def test_whisper_scheme(raw, plain):
    assert normalize_text(raw, "whisper") == plain


@given(st.text(max_size=40))
def test_scheme_none_changes_nothing(text):
    assert normalize_text(text, "none") == text


@given(st.text(max_size=40))
def test_english_is_idempotent_and_leaves_no_punctuation(text):
    once = normalize_text(text, "english")
    assert normalize_text(once, "english") == once
    assert not set(once) & set('.,;:!?"()-')
    assert once == " ".join(once.split())


@settings(deadline=None)
@given(st.text(max_size=60))
def test_every_scheme_accepts_any_text(text):
    for scheme in SCHEMES:
        assert isinstance(normalize_text(text, scheme), str)


def test_an_unknown_scheme_is_an_error_that_lists_the_known_ones():
    with pytest.raises(UnknownName, match="english"):
        normalize_text("a", "englisch")
