"""Turns results into report pages, sentences, charts, tables and terminal output."""
