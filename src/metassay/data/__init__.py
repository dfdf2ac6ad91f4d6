"""From files to data sets, validated once."""
