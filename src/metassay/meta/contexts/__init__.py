"""What a metric is worth in each context, and whether that changes (000, 002)."""
