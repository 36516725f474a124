"""Reference page of the JSON report's schema: every key of every part, with its type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from docs._ext.words import escaped, paragraphs, table
from treewarden.reports.document.packing import json_schema

Part = Mapping[str, Any]


def schema_page() -> str:
    """Return the page of the schema."""
    schema = json.loads(json_schema())
    parts = schema["$defs"]
    return "\n".join(
        [
            "# Schema of the JSON report\n",
            "What `--format json` prints. [The JSON report](../../json.md) explains the keys, and this page lists "
            "them with their types. The JSON Schema is the file "
            "{download}`audit.schema.json <../../../reports/document/audit.schema.json>`.\n",
            _section("The document", schema),
            *(_section(name, parts[name]) for name in sorted(parts)),
        ]
    )


def _section(name: str, part: Part) -> str:
    told = paragraphs(part.get("description"))
    required = part.get("required", ())
    rows = [
        (f"`{key}`", _type(said), "yes" if key in required else "no", _default(said))
        for key, said in part.get("properties", {}).items()
    ]
    listed = table(("Key", "Type", "Required", "Default"), rows) if rows else ""
    return f"## {name}\n\n{told}\n\n{listed}\n"


def _type(said: Part) -> str:
    """Return a type in words; a part of the schema links to its section."""
    if "$ref" in said:
        name = said["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in said:
        return " or ".join(_type(each) for each in said["anyOf"])
    if "const" in said or "enum" in said:
        return ", ".join(f"`{json.dumps(each)}`" for each in said.get("enum", [said.get("const")]))
    kind = said.get("type", "anything")
    if kind == "array":
        inner = said.get("prefixItems") or [said.get("items", {})]
        return f"list of {', '.join(_type(each) for each in inner)}"
    if kind == "object" and isinstance(said.get("additionalProperties"), dict):
        return f"object of {_type(said['additionalProperties'])}"
    return escaped(kind if isinstance(kind, str) else " or ".join(kind))


def _default(said: Part) -> str:
    return f"`{json.dumps(said['default'])}`" if "default" in said else ""
