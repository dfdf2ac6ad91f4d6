"""Mutation testing: draws small changes to the source at random and checks that a test notices each."""
