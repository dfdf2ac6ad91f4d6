"""Accuracy of metrics in each context, tests of differences, and recommendations."""
