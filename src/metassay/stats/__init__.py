"""Statistics on plain arrays: rank correlation, contingency tables, resampling, clustering."""
