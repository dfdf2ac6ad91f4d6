"""Judges: agreement with human labels, consistency, biases, and preference for families of systems."""
