"""From a run to findings: which kernel recompiled, because of which argument, at what cost, and what would end it.

Pure functions over what ``jitwatch.rundir`` read; nothing here knows files, terminals or Triton.

``misses``    the kind of each miss, which are recompiles, races counted once
``causes``    the closest earlier variant of a miss, and the difference to it
``whatif``    what an opt-out would merge, whatever the order of the launches
``plan``      the smallest set of opt-outs that removes the most
``cautions``  what speaks against an opt-out; ``advice`` what to do where none helps
``tuning``    autotuners that tuned again
``findings``  all of it for one run, by kernel
``ranks``     what the ranks of a run cost each other

**Seconds.** The *stall* of a miss is the wall time its launching thread spent in it. ``seconds`` of a kernel is
the stall of all its misses that came from launches, first variants and failures among them (not warm-ups,
preloads or tuning); ``seconds_recompiles`` the part that recompiles caused. Threads that raced on one variant
count once, with the longest stall.
"""

from __future__ import annotations

from jitwatch.analysis.findings import Findings, KernelFindings, analyse
from jitwatch.analysis.misses import Kind, MissEvent

__all__ = ["Findings", "KernelFindings", "Kind", "MissEvent", "analyse"]
