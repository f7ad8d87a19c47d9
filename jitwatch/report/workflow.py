"""Workflow commands, which GitHub Actions turns into annotations of lines."""

from __future__ import annotations

Properties = dict[str, "str | int"]


def workflow_command(name: str, properties: Properties, text: str) -> str:
    """``::warning file=a.py,line=3::text``, escaped."""
    listed = ",".join(f"{key}={_escape_property(str(value))}" for key, value in properties.items())
    return f"::{name} {listed}::{_escape(text)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
