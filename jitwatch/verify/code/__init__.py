"""Reads what Triton's compiler produced: assembly text and binaries."""
