"""What commands print: `assay`, `score`, and commands without a page; the rest is with their page."""
