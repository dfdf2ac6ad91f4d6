"""Score outputs with metrics, batch by batch: on this machine or on a Ray cluster."""
