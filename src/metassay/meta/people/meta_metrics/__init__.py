"""What "agrees with people" can mean: the meta-metrics."""
