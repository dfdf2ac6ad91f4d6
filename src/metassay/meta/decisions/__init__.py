"""What a metric is worth for decisions: labels saved, estimates from few labels, what a difference means."""
