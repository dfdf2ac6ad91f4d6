"""metassay: which evaluation metric can you trust, here?"""

__version__ = "0.1.0"
