"""Texts: words, tokens, taggers and dictionaries."""
