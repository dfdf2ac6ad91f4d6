"""The original libraries as oracles of our neural metrics, in an environment of their own."""
