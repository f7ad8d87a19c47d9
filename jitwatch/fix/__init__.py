"""Lossless edits: what a finding proposes becomes bytes in a file, and nothing else changes.

``changes``     the remedies a rule can propose: data, no bytes
``plan``        from the changes of one kernel to edits, or the reason why there are none
``constants``   whether a constexpr can become a run-time argument
``decorators``  edits of a jit decorator's lists and of an autotuner's key
``signatures``  edits of a parameter's declaration
``launches``    edits of the arguments of launches
``reading``     a file's syntax tree, by what these look for in it
``brackets``    a bracketed, comma-separated list, whatever it is: add to it, take from it
``tokens``      tokens with byte offsets
``layout``      where a decorator breaks when it grows too long for its line
``text``        edits applied to bytes
``passes``      all findings' edits, again and again until nothing is left to do
``files``       written whole or not at all
``proof``       verdicts of ``jitwatch verify`` on what is to be applied
``summary``     what was fixed, in words
``command``     what ``jitwatch lint --fix`` does with its options
"""

from __future__ import annotations
