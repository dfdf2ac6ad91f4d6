"""Broken input for everything that reads: files, specs, settings, run folders. `make fuzz` runs it."""
