"""Further questions about a ranking of metrics, one file each."""
