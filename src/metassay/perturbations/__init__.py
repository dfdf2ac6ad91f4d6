"""Every way to make an output worse."""
