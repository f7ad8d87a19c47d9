"""A tensor-parallel model whose ranks meet the same token counts in step, and the measuring of its stalls."""
