"""Are the worse copies worse? Texts written for the purpose, pairs drawn from them, two blind readings.

    python -m scripts.validity.draw OUT       pairs of every method, shuffled, without the method's name
    python -m scripts.validity.tally OUT      both readings, as the table that metassay carries

A reader sees `id, original, changed` and writes `id, verdict (worse, equal, better), grammatical (yes, no)`.
"""
