"""The settings that hold for a path, in the words of the configuration file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from jitwatch.lint.config import KEYS, Configuration
from jitwatch.lint.registry import all_rules


def settings_lines(path: str, configuration: Configuration) -> Iterator[str]:
    """Yield where the settings come from, their values as TOML, and which rules run."""
    is_folder = os.path.isdir(path)
    settings = configuration.of(path) if is_folder else configuration.of_file(path)
    yield f"# {path}: " + (
        f"from {settings.source}" if settings.source else "no configuration file, defaults"
    )
    for key in KEYS:
        value = getattr(settings, key.replace("-", "_"))
        if key == "per-file-ignores":
            inner = ", ".join(f"{json.dumps(pattern)} = {json.dumps(codes)}" for pattern, codes in value)
            yield f"{key} = {{ {inner} }}" if inner else f"{key} = {{}}"
        else:
            yield f"{key} = {json.dumps(value)}"
    codes = settings.chosen if is_folder else settings.codes_for(path)
    for code, rule in all_rules().items():
        yield f"# {code} {rule.name}: {'on' if code in codes else 'off'}"
