"""Benchmarks: not part of the suite but for their own tests with loose bounds."""
