"""What the source says: kernels, launches, the role of each parameter."""
