"""Turns bytes into our own document: strict JSON, bounded depth, every complaint with its node."""

from __future__ import annotations

import json

from pydantic import ValidationError

from ppdm_models import limits
from ppdm_models.errors import TreeFormatError
from ppdm_models.formats._treewarden_document import TreeDocument


def read_document(data: bytes, source: str) -> TreeDocument:
    """Return the document in the bytes.

    Raises:
        TreeFormatError: not JSON, a key stands twice, a number is none, it nests too deep, or it has another shape.
    """
    try:
        text = data.decode("utf-8-sig")
        raw = json.loads(text, object_pairs_hook=_without_twins, parse_constant=_no_constant)
        _check_depth(raw)
    except RecursionError as error:
        raise TreeFormatError(
            source, "the JSON nests too deep; a tree is a flat list of nodes"
        ) from error
    except (ValueError, UnicodeDecodeError) as error:
        raise TreeFormatError(source, f"not JSON that can be read ({error})") from error
    try:
        return TreeDocument.model_validate_json(text)
    except ValidationError as error:
        raise _as_format_error(error, raw, source) from error


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:80]!r} stands twice in one object")
    return found


def _no_constant(token: str) -> object:
    raise ValueError(f"{token} is no number in JSON")


def _check_depth(raw: object) -> None:
    """Refuse what nests deeper than the deepest test allows, without recursion."""
    layer = [raw]
    for _ in range(2 * limits.TEST_DEPTH + 6):
        layer = [
            inner
            for outer in layer
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not layer:
            return
    raise ValueError(f"it nests too deep; a test may nest {limits.TEST_DEPTH} deep")


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
