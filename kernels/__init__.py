"""Worked targets: real kernels before and after, each in a folder of its own."""
