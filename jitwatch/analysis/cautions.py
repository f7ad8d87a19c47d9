"""What makes an opt-out doubtful, as far as names and classes tell. They prove nothing in either direction: the
report asks for a proof whenever it proposes a change, and warns where one of these hints speaks against it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from jitwatch.specialization import ArgumentClass, Parameter

VECTOR_HINT = re.compile(
    r"stride|pitch|(^|_)ld[a-d]?$|width|hidden|head_?(dim|size)|(^|_)(dim|cols?|columns|inner|numel|n|d|k)$"
    r"|n_?elements|(^|_)n_?cols|feature|vocab",
    re.IGNORECASE,
)
"""Names of what usually multiplies an index, or bounds one along the contiguous axis: vectorised loads live on
its divisibility. ``vector_add`` with an unspecialised length: 372 -> 1031 us; layer_norm 1.42x -> 0.72x
(pytorch/helion#2426). A row count (``num_tokens``) masks whole rows and loses nothing."""

BLOCK_HINT = re.compile(r"block|tile|group|warps|stages|unroll|(^|_)(bm|bn|bk)$", re.IGNORECASE)
"""Names of constexprs that shape tensors in the kernel: these cannot become run-time arguments."""


def caution(parameter: Parameter, classes: Collection[ArgumentClass]) -> str | None:
    """Why this argument's divisibility may carry the kernel's speed, or None where nothing hints at it."""
    if any(each.is_pointer for each in classes):
        return "its alignment lets loads and stores be wide"
    if not parameter.constexpr and VECTOR_HINT.search(parameter.name):
        return "its divisibility may let loads and stores be wide"
    if parameter.constexpr:
        return "the compiler may unroll or fold by its value"
    return None


def shapes_blocks(parameter: Parameter, classes: Collection[ArgumentClass]) -> bool:
    """A constexpr that looks like a block's shape: by its name, or since all its values are powers of two."""
    if not parameter.constexpr:
        return False
    values = [json.loads(each.folded or "null") for each in classes]
    powers = all(isinstance(value, int) and value > 0 and value & (value - 1) == 0 for value in values)
    return powers or bool(BLOCK_HINT.search(parameter.name))
