"""The commands, one module each: the function `run_NAME` and an `EXAMPLE` that can be typed as it is."""
