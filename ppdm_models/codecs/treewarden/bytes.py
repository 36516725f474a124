"""Turns bytes into our own document: strict JSON, bounded depth, every complaint with its node."""

from __future__ import annotations

from pydantic import ValidationError

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.json import read_json
from treewarden.ppdm_models.codecs.treewarden.document import TreeDocument
from treewarden.ppdm_models.errors import TreeFormatError

DEPTH = 2 * limits.TEST_DEPTH + 6
"""The deepest nesting: the document, its nodes, a node, and the parts of its test."""


def read_document(data: bytes, source: str) -> TreeDocument:
    """Return the document in the bytes.

    Raises:
        TreeFormatError: not JSON, a key stands twice, a number is none, it nests too deep, or it has another shape.
    """
    raw = read_json(data, source, depth=DEPTH)
    try:
        return TreeDocument.model_validate_json(data.removeprefix(b"\xef\xbb\xbf"))
    except ValidationError as error:
        raise _as_format_error(error, raw, source) from error


def _as_format_error(error: ValidationError, raw: object, source: str) -> TreeFormatError:
    """Return the first complaint, with the node it is about."""
    first = error.errors(include_url=False)[0]
    place = list(first["loc"])
    where = source
    if (
        place[:1] == ["nodes"]
        and len(place) > 1
        and isinstance(raw, dict)
        and isinstance(place[1], int)
    ):
        node = raw["nodes"][place[1]]
        name = node.get("id", place[1]) if isinstance(node, dict) else place[1]
        where, place = f"{source}: node {name!r}", place[2:]
    said = first["msg"][:1].lower() + first["msg"][1:]
    path = ".".join(map(str, place))
    shown = (
        repr(first["input"])[:80]
        if isinstance(first["input"], str | int | float | bool | None)
        else ""
    )
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return TreeFormatError(
        where, f"{path + ': ' if path else ''}{said}{f', not {shown}' if shown else ''}{more}"
    )
