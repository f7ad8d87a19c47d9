"""The part of the SARIF 2.1.0 schema that our logs use, written from the standard and closed.

Every object forbids keys that it does not list, so a misspelled one fails, as it would with the whole schema
(sections 3.14 to 3.56 of the standard name these).
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def _object(required: str, **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _list(items: Schema, *, least: int = 0) -> Schema:
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": least == 0}


TEXT: Schema = {"type": "string"}
POSITIVE: Schema = {"type": "integer", "minimum": 1}
INDEX: Schema = {"type": "integer", "minimum": -1}
LEVEL: Schema = {"enum": ["none", "note", "warning", "error"]}
URI: Schema = {"type": "string", "format": "uri-reference", "pattern": r"^[^\s\\]+$"}
MESSAGE = _object("text", text=TEXT, markdown=TEXT)
ARTIFACT_LOCATION = _object("uri", uri=URI, uriBaseId=TEXT)
REGION = _object("startLine", startLine=POSITIVE, startColumn=POSITIVE, endLine=POSITIVE, endColumn=POSITIVE)
LOCATION = _object(
    "physicalLocation",
    physicalLocation=_object("artifactLocation", artifactLocation=ARTIFACT_LOCATION, region=REGION),
)
RULE = _object(
    "id",
    id=TEXT,
    name=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
    defaultConfiguration=_object("", level=LEVEL),
    properties={"type": "object", "properties": {"tags": _list(TEXT)}},
)
FIX = _object(
    "artifactChanges",
    description=MESSAGE,
    artifactChanges=_list(
        _object(
            "artifactLocation replacements",
            artifactLocation=ARTIFACT_LOCATION,
            replacements=_list(
                _object("deletedRegion", deletedRegion=REGION, insertedContent=_object("", text=TEXT)),
                least=1,
            ),
        ),
        least=1,
    ),
)
RESULT = _object(
    "message",
    ruleId=TEXT,
    ruleIndex=INDEX,
    level=LEVEL,
    message=MESSAGE,
    locations=_list(LOCATION),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    suppressions=_list(_object("kind", kind={"enum": ["inSource", "external"]}, justification=TEXT)),
    fixes=_list(FIX),
    properties={"type": "object"},
)
INVOCATION = _object(
    "executionSuccessful",
    executionSuccessful={"type": "boolean"},
    toolExecutionNotifications=_list(
        _object("message", level=LEVEL, message=MESSAGE, locations=_list(LOCATION))
    ),
)
RUN = _object(
    "tool",
    tool=_object(
        "driver", driver=_object("name", name=TEXT, version=TEXT, semanticVersion=TEXT, rules=_list(RULE))
    ),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    originalUriBaseIds={"type": "object", "additionalProperties": _object("uri", uri=URI)},
    invocations=_list(INVOCATION),
    results=_list(RESULT),
)
LOG: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object("version runs", **{"$schema": URI}, version={"const": "2.1.0"}, runs=_list(RUN, least=1)),
}
