"""The levels of all tests and intervals, and the accuracy of a coin."""

# A difference with a p-value of at most this is significant.
SIGNIFICANCE_LEVEL = 0.05
# The share of intervals that contain the true value.
CONFIDENCE_LEVEL = 0.95
# The accuracy of a coin that chooses the better of two outputs.
COIN_ACCURACY = 0.5
