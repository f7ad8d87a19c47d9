"""What runs in a worker process: imports the user's kernel and compiles it, without launching anything.

Standard library, Triton, and the parts of jitwatch that import neither rich nor libcst: the interpreter may be
another environment's, which has no jitwatch of its own.

``main``       the loop: a JSON line in, a JSON line out
``importing``  finds the kernel's JITFunction in the user's module
``constants``  rebuilds compile-time values from what the event file could keep of them
``launching``  on a device, launches both forms to time them
``compiling``  hands Triton's compiler a signature instead of arguments
"""
