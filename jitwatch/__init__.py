"""jitwatch: find the Triton kernels that recompile, name the argument, end it, and keep it ended.

Importing this package imports nothing else: the command line, the pytest plugin and the code inside a
watched process each pay only for what they use.
"""

__version__ = "0.1.0"
