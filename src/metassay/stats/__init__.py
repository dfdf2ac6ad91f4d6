"""Statistics on plain arrays: rank agreement, contingency tables, resampling, clustering."""
