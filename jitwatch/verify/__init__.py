"""Proves a remedy harmless: compiles every variant with and without it for a target, and compares the code.

No device is needed and nothing is launched: Triton's own compiler is handed the signature that a launch would
have. The user's module is imported in worker processes only.

``runs``       requests for the remedies of a recorded run
``files``      requests for ``FILE::KERNEL``, with a given or guessed signature (``signatures``) from what
               the kernel does with its arguments (``evidence``, ``flows``, ``uses``)
``prove``      from requests to verdicts
``judge``      the rule: what costs, what is harmless
``figures``    what compiled code amounts to; ``code`` reads it out of PTX, amdgcn and binaries,
               and tells which lines of two differ
``timed``      on a device of the target, what time says of the verdict; ``timing`` measures
``pool``       worker processes; ``worker`` is what runs in them
``verdicts``   the verdict, and the file that keeps a run's
``command``    what ``jitwatch verify`` does with names and options
"""

from __future__ import annotations

from jitwatch.verify.judge import Outcome
from jitwatch.verify.pool import Pool
from jitwatch.verify.prove import verify_remedies
from jitwatch.verify.requests import Change, Form, KernelSource, Request
from jitwatch.verify.verdicts import Verdict, read_verdicts

__all__ = [
    "Change",
    "Form",
    "KernelSource",
    "Outcome",
    "Pool",
    "Request",
    "Verdict",
    "read_verdicts",
    "verify_remedies",
]
