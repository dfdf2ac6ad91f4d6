"""Can a judge be trusted here, and whom does it favour? Arrays in, results out."""
