"""A two-layer decoder with random weights, served in continuous batches: small, but every part is real."""
