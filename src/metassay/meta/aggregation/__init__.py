"""Corpus, segment and bootstrap scores of systems, and how they agree with each other and with humans."""
