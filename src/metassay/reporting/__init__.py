"""From results to something people like to look at."""
