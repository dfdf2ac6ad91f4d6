"""Makes the sample that comes with metassay: `python -m scripts.make_sample` from the repository's root.

Every text in `corpus/` and `queries.txt` was written for this project. Real programs translate and recognise
it (Apertium; espeak-ng read aloud to pocketsphinx); the other systems are the noise channels described in
`src/metassay/sample/README.md`. The same versions of those programs give the same files again.
"""
