"""Run folders and the score cache: files that are complete or absent, on this machine or at an address."""
