"""Tasks: what a data set is about, as values. Nobody compares their names; every room asks the value."""
