"""The commands, one module each: `run_NAME_command` and an `EXAMPLE` that can be typed as it is."""
