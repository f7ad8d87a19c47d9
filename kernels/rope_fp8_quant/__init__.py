"""Inverse rotary embedding and per-chunk fp8 quantization of attention heads, before and after.

``reference`` is what it computes, ``before`` the form that recompiles, ``kernel`` ours, ``launcher`` the
checked entry point, ``bench`` the table of the README. Nothing is imported here: torch and Triton load with
the module that needs them.
"""
