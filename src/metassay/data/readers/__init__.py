"""One file per input format; `registry` tells them apart."""
