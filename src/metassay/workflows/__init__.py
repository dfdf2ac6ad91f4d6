"""The public functions of metassay, such as `assay` and `rank`, and the steps that they consist of."""
