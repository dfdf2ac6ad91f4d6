"""Text below the tasks: random streams, normalisation, words, tokenisers, dictionaries."""
