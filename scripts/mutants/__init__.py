"""Small changes to the source that tests must notice."""
