"""Asking language models: prompts, answers kept on disk, servers and models on this machine."""
