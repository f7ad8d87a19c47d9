"""A mixture-of-experts feed-forward layer for Hopper: aligned slots, two grouped GEMMs, one sum.

``reference`` is what it computes, ``launcher`` the checked entry point, ``kernel`` the two GEMMs, ``alignment``
what feeds them, ``before`` the form that recompiles. ``tiles`` and ``routing`` choose, ``tune`` and ``bench``
measure. Nothing is imported here: torch and Triton load with the module that needs them.
"""
