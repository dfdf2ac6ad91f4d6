"""Perturbations: rules that make an output worse."""
