"""How well metrics agree with human scores."""
