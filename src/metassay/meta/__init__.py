"""Questions about metrics, one module each: how accurate, in which context, compared with whom."""
