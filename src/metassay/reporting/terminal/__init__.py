"""What commands print in the terminal. For commands with a report page, except `assay` and `score`, this is
in the module of the page.
"""
