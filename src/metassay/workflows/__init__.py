"""The public verbs."""
