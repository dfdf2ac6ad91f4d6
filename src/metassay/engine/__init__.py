"""Running metrics over batches."""
