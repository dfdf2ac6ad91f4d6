"""What perturbations know of each language."""
