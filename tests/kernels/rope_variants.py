"""Counts the variants Triton's own binder asks for over a range of token counts; nothing compiles or launches."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from triton.runtime import jit

from jitwatch.kernels.rope_fp8_quant import before, kernel, reference
from jitwatch.runtime import offline

FORMS = {"before": before.launch, "kernel": kernel.launch}


class Keys:
    """The miss hook of Triton: notes the key of a launch and drops the launch, before any compile."""

    def __init__(self) -> None:
        self.token_counts: dict[str, list[int]] = defaultdict(list)
        self.tokens = 0

    def install(self) -> None:
        """Take the hook's place, where this release keeps it."""
        knobs = getattr(__import__("triton"), "knobs", None)
        if knobs is None:
            jit.JITFunction.cache_hook = self
        else:
            knobs.runtime.jit_cache_hook = self

    def __call__(self, *, key: str, **_: Any) -> bool:
        """Note the key. True tells Triton to leave it at that."""
        self.token_counts[key].append(self.tokens)
        return True


def count(
    form: str, groups: int, heads: int, packed: bool, tokens: Iterable[int], shift: int
) -> dict[str, list[int]]:
    """Token counts of each variant by its key, for o, positions and outputs as a server would pass them.

    ``shift``: values by which the positions start past their allocation, as a slice of a batch does.
    """
    keys = Keys()
    keys.install()
    most = max(tokens)
    width = heads // groups * reference.HEAD
    chunks = width // (reference.HEAD if packed else reference.CHUNK)
    o = torch.empty(most, heads, reference.HEAD, dtype=torch.bfloat16)
    positions = torch.empty(most + shift, dtype=torch.int64)[shift:]
    cache = torch.empty(1, reference.ROTARY)
    values = torch.empty(groups * most * width, dtype=torch.float8_e4m3fn)
    scales = torch.empty(groups * chunks * (most + 3), dtype=torch.int32 if packed else torch.float32)
    for keys.tokens in tokens:
        rows = -(-keys.tokens // reference.SCALE_ALIGNMENT) * reference.SCALE_ALIGNMENT
        FORMS[form](
            o[: keys.tokens],
            positions[: keys.tokens],
            cache,
            values[: groups * keys.tokens * width].view(groups, keys.tokens, width),
            scales[: groups * chunks * rows].view(groups, chunks, rows),
        )
    return dict(keys.token_counts)


def main() -> None:
    """Answer questions given as JSON, ``[form, groups, heads, packed, most tokens, shift]`` each, a line each."""
    parser = argparse.ArgumentParser(description="Count the variants of the inverse-RoPE target")
    parser.add_argument("questions", type=json.loads)
    questions = parser.parse_args().questions
    offline.activate("cuda:90", execute=False)
    for form, groups, heads, packed, most, shift in questions:
        print(json.dumps(count(form, groups, heads, packed, range(1, most + 1), shift)))


if __name__ == "__main__":
    main()
