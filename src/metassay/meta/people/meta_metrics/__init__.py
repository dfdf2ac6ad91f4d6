"""Meta-metrics: measures of how well metrics agree with human scores, one file each.

`registry` finds them by name; packages add more through the entry point `metassay.meta_metrics`.
"""
