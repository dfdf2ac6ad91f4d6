"""Corpus, segment and bootstrap scores, and which of them agrees with people."""
