"""Read files into validated data sets."""
