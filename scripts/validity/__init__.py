"""Are perturbed outputs worse? Pairs drawn from texts written for the purpose, read blind by two readers.

    python -m scripts.validity.draw OUT       draws pairs of every perturbation, without its name
    python -m scripts.validity.tally OUT      merges both readings into `benchmarks/readings` and counts them

A reader sees `id, original, changed` and writes `id, verdict (worse, equal, better), grammatical (yes, no)`.
"""
