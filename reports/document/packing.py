"""The JSON of a report, and its reader: long lists are tables, and each place of a finding is told once, by its number.

A ``Document`` holds a tree as one record a node and a finding's places as one record each, which repeats names, paths
and fingerprints thousands of times. On disk (``treewarden-report/2``) a list of like records is a table: ``fields`` are
its columns, ``rows`` their values, and ``same`` what all records share. ``places`` of the report are those of all
findings. What follows from the rest is null. The reader gives the same document again, and reads
``treewarden-report/1`` too, where every list is written out, as ``to_dict()`` of the Python interface does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from treewarden.reports.document.document import SCHEMA, Document, finding_id
from treewarden.reports.document.parts import in_lines

PACKED = "treewarden-report/2"
Values = dict[str, Any]
"""A record as JSON has it."""
MOST_PATHS = 500_000_000
"""So many characters of paths are read of one tree: a few bytes of a hostile file can stand for many."""
MOST_VALUES = 20_000_000
"""So many values are read in all, counting those that rows share for each row: more than reports of version 1 hold."""
PER_VALUE = 64
"""So many characters of a text count as one value."""
SHORTEST_SHARED = 8
"""So many characters a path must share with the path above it for this to be said in place of them."""
PLACE = ("kind", "tree", "index", "path", "node", "line", "profile", "leaf")
"""The keys of a place that tell which one it is; the others say what was read there."""
ALONG = " and "


def document_bytes(document: Document) -> bytes:
    """Return a report as JSON for other programs: each field, each item of a list and each row has a line; ASCII."""
    return in_lines(pack(document.model_dump(mode="json", by_alias=True))).encode("ascii")


class UnreadableReportError(ValueError):
    """What is no report in JSON: the place that shows it, and what is wrong there."""


def read_document(data: bytes) -> Document:
    """Return the document that a report in JSON holds, of this version or an earlier one.

    Raises:
        UnreadableReportError: it is no such report.
    """
    try:
        values = json.loads(data)
        if isinstance(values, dict) and values.get("schema") == PACKED:
            values = unpack(values)
        return Document.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "file"
        raise UnreadableReportError(f"{place}: {first['msg'].lower()}") from error
    except json.JSONDecodeError as error:
        raise UnreadableReportError(f"file: {error.msg} in line {error.lineno}") from error
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        problem = "the report is damaged or too large; write it again"
        raise UnreadableReportError(f"file: {problem}") from error


def pack(values: Values) -> Values:
    """Return the values of a document with its long lists as tables."""
    places = _PlaceTable(values["tree"])
    packed: Values = {}
    for name, value in values.items():
        if name == "findings":
            packed[name] = [{**finding, "where": places.rows_of(finding)} for finding in value]
            packed["places"] = table_of(places.rows)
        elif name == "tree":
            packed[name] = pack_tree(value)
        elif name == "repair" and value is not None:
            packed[name] = {**value, **_in_sides(value, pack_tree)}
        else:
            packed[name] = value
    packed["schema"] = PACKED
    return packed


def unpack(values: Values) -> Values:
    """Return the values of a document from those that ``pack`` made of them.

    Raises:
        KeyError, IndexError, TypeError, AttributeError, ValueError: they were not made by it, or hold too much.
    """
    room = _Room(MOST_VALUES)
    tree = unpack_tree(values["tree"], room=room)
    places = records_of(values["places"], room)
    sizes = [_size_of(place) for place in places]
    unpacked = {name: value for name, value in values.items() if name != "places"}
    unpacked["schema"], unpacked["tree"] = SCHEMA, tree
    unpacked["findings"] = [
        {**finding, "where": _where_of(finding, places, tree, (sizes, room))}
        for finding in values["findings"]
    ]
    if unpacked.get("repair") is not None:
        sides = _in_sides(values["repair"], lambda nodes: unpack_tree(nodes, room=room))
        unpacked["repair"] = {**values["repair"], **sides}
    return unpacked


class _Room:
    """How many values may still be written out: a short table of a hostile file can stand for any number."""

    def __init__(self, values: int) -> None:
        self.values = values

    def take(self, values: int) -> None:
        """Take room for some values.

        Raises:
            ValueError: there is none left.
        """
        self.values -= values
        if self.values < 0:
            raise ValueError(
                f"the report is too large when unpacked: more than {MOST_VALUES:,} values"
            )


def _size_of(value: object) -> int:
    """Return how many values are in a value of JSON, at any depth; a long text is several."""
    if isinstance(value, str):
        return 1 + len(value) // PER_VALUE
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [*value, *value.values()]
    elif isinstance(value, list):
        parts = value
    return 1 + sum(map(_size_of, parts))


# Tables: any list of records with the same keys.


def table_of(records: Sequence[Values], **more: object) -> Values | list[Values]:
    """Return records with the same keys as a table; an empty list stays one. ``more`` stands beside its rows."""
    if not records:
        return []
    first = records[0]
    same = {
        key: value
        for key, value in first.items()
        if all(record[key] == value and type(record[key]) is type(value) for record in records)
    }
    fields = [key for key in first if key not in same]
    rows = [[record[key] for key in fields] for record in records]
    return {"same": same, "fields": fields, **more, "rows": rows}


def records_of(table: Values | list[Values], room: _Room | None = None) -> list[Values]:
    """Return the records of a table, or of a list that is written out.

    Raises:
        ValueError: there is no ``room`` for them.
    """
    if isinstance(table, list):
        return table
    same, fields, rows = table["same"], table["fields"], table["rows"]
    if room is not None:
        room.take((_size_of(same) + _size_of(fields)) * len(rows))
    return [{**same, **dict(zip(fields, row, strict=True))} for row in rows]


# Trees: what follows from the node's number, from its test or from the node above it is null.


def pack_tree(nodes: Sequence[Values]) -> Values | list[Values]:
    """Return the nodes of a tree as a table; ``clauses`` of it are the sets of checks that rows name by number."""
    sets: dict[tuple[str, ...], int] = {}
    records = []
    for number, node in enumerate(nodes):
        clauses = tuple(node["clauses"])
        records.append(
            {
                **node,
                **{
                    key: None for key, value in _implied(node, number).items() if node[key] == value
                },
                "path": _path_from(_path_above(node, nodes), node),
                "clauses": sets.setdefault(clauses, len(sets)) if clauses else None,
            }
        )
    return table_of(records, clauses=list(map(list, sets)))


def unpack_tree(
    table: Values | list[Values], most: int = MOST_PATHS, room: _Room | None = None
) -> list[Values]:
    """Return the nodes of a tree from what ``pack_tree`` made of them.

    Raises:
        ValueError: their paths have more than ``most`` characters, or there is no ``room`` for what they hold.
    """
    if isinstance(table, list):
        return table
    nodes: list[Values] = []
    characters = 0
    sizes = [_size_of(clauses) for clauses in table["clauses"]]
    for number, node in enumerate(records_of(table, room)):
        path, clauses = _path_of(_path_above(node, nodes), node), node["clauses"]
        if room is not None and clauses is not None:
            room.take(sizes[clauses])
        characters += len(path)
        if characters > most:
            raise ValueError("its paths are too long")
        nodes.append(
            {
                **node,
                **{
                    key: value for key, value in _implied(node, number).items() if node[key] is None
                },
                "path": path,
                "clauses": [] if clauses is None else table["clauses"][clauses],
            }
        )
        nodes[-1]["name"] = str(nodes[-1]["index"]) if node["name"] is None else node["name"]
    return nodes


def _implied(node: Values, number: int) -> Values:
    """Return what a node says where nothing else is written."""
    records = node["records"]
    return {
        "index": number,
        "name": str(number if node["index"] is None else node["index"]),
        "exact": node["test"],
        "records_text": f"{records:,}" if isinstance(records, int) else None,
    }


def _path_above(node: Values, nodes: Sequence[Values]) -> str | None:
    """Return the path of the node above; None where there is none, or not before this one."""
    parent, number = node["parent"], node["index"]
    if not isinstance(parent, int) or not 0 <= parent < len(nodes):
        return None
    if nodes[parent]["index"] != parent or (number is not None and parent >= number):
        return None
    return str(nodes[parent]["path"])


def _path_from(above: str | None, node: Values) -> object:
    """Return a path by the one above: null where the test follows it, else how much of that stays, and what then."""
    path = node["path"]
    if above is None:
        return path
    if path == _longer(above, node["test"]):
        return None
    shared = next(
        (at for at, (old, new) in enumerate(zip(above, path, strict=False)) if old != new),
        min(len(above), len(path)),
    )
    return [shared, path[shared:]] if shared >= SHORTEST_SHARED else path


def _path_of(above: str | None, node: Values) -> str:
    path = node["path"]
    if isinstance(path, str):
        return path
    if above is None:
        raise KeyError("path")
    return _longer(above, node["test"]) if path is None else above[: path[0]] + path[1]


def _longer(above: str, test: str) -> str:
    return f"{above}{ALONG}{test}" if above else test


# Places: those in the tree of the report by the node's number, and each once.


class _PlaceTable:
    """The places that findings name, each once, and their numbers."""

    def __init__(self, nodes: Sequence[Values]) -> None:
        self.rows: list[Values] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._nodes = nodes
        self._by_name = {node["name"]: at for at, node in reversed([*enumerate(nodes)])}

    def rows_of(self, finding: Values) -> Values | list[Values]:
        """Return the places of a finding as a table: the number of each, and what was read there."""
        return table_of([self._row(finding, place) for place in finding["where"]])

    def _row(self, finding: Values, place: Values) -> Values:
        value = place["value"]
        implied = finding_id(_key_of(finding), place["leaf"])
        return {
            "place": self._number(place),
            "low": value["low"],
            "high": None if value["high"] == value["low"] else value["high"],
            "text": value["text"],
            "reason": value["reason"],
            "note": place["note"],
            "id": None if place["id"] == implied else place["id"],
            "accepted": place["accepted"],
        }

    def _number(self, place: Values) -> int:
        key = tuple(place[name] for name in PLACE)
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            self.rows.append(self._short(place))
        return self._numbers[key]

    def _short(self, place: Values) -> Values:
        at = self._by_name.get(place["node"])
        told = [place["path"], place["node"], place["line"]]
        is_drawn = at is not None and told == _told_of(self._nodes[at])
        return {
            "kind": place["kind"],
            "tree": place["tree"],
            "at": at if is_drawn else None,
            "elsewhere": None if is_drawn else told,
            "index": None if is_drawn and place["index"] == at else place["index"],
            "profile": place["profile"],
            "leaf": place["leaf"],
        }


def _told_of(node: Values) -> list[object]:
    """Return what places say of their node: its path, its name and its line."""
    return [node["path"], node["name"], node["line"]]


def _key_of(finding: Values) -> str:
    """Return what names a finding: its check, with the release or adversary that it is about."""
    return f"{finding['clause']}, {finding['of']}" if finding["of"] else str(finding["clause"])


def _where_of(
    finding: Values,
    places: Sequence[Values],
    tree: Sequence[Values],
    bound: tuple[Sequence[int], _Room],
) -> list[Values]:
    """Return the places of a finding in full; ``bound`` is the size of each place, and how much room there is."""
    if isinstance(finding["where"], list):
        return finding["where"]
    where = []
    sizes, room = bound
    for row in records_of(finding["where"], room):
        room.take(sizes[row["place"]])
        place = {**places[row["place"]]}
        at, elsewhere = place.pop("at"), place.pop("elsewhere")
        told = elsewhere if at is None else _told_of(tree[at])
        place |= dict(zip(("path", "node", "line"), told, strict=True))
        place["index"] = at if place["index"] is None else place["index"]
        low = row["low"]
        high = low if row["high"] is None else row["high"]
        value = {"low": low, "high": high, "text": row["text"], "reason": row["reason"]}
        known = finding_id(_key_of(finding), place["leaf"])
        read = {"note": row["note"], "id": row["id"] or known, "accepted": row["accepted"]}
        where.append({**place, "value": value, **read})
    return where


def _in_sides(repair: Mapping[str, Any], change: Any) -> Values:  # noqa: ANN401 - either direction
    """Return the two sides of a repair with their trees changed."""
    return {
        name: None
        if repair[name] is None
        else {**repair[name], "tree": change(repair[name]["tree"])}
        for name in ("before", "after")
    }


# The schema: both forms are valid by it.


def json_schema() -> bytes:
    """Return the JSON Schema of reports, as it is kept in ``audit.schema.json``."""
    said = Document.model_json_schema(mode="serialization", by_alias=True)
    nodes, where = said["properties"]["tree"], said["$defs"]["Finding"]["properties"]["where"]
    side = said["$defs"]["Side"]["properties"]
    said["$defs"]["Table"] = TABLE_SCHEMA
    table = {"$ref": "#/$defs/Table"}
    said["properties"] |= {
        "schema": {"enum": [SCHEMA, PACKED], "type": "string"},
        "tree": {"anyOf": [nodes, table]},
        "places": {"anyOf": [table, {"type": "array", "maxItems": 0}]},
    }
    side["tree"] = {"anyOf": [side["tree"], table]}
    said["$defs"]["Finding"]["properties"]["where"] = {"anyOf": [where, table]}
    said = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{PACKED.replace('/', ':')}",
        **said,
    }
    # The definition keeps the name under which it was published.
    said = json.loads(re.sub(r"\bStatedRequest\b", "Asked", json.dumps(said)))
    return (json.dumps(said, indent=1, sort_keys=True) + "\n").encode()


TABLE_SCHEMA = {
    "title": "Table",
    "type": "object",
    "description": (
        "Records with the same keys: each row has the values of `fields`, and all have those of `same`. Of a tree, "
        "`clauses` are the sets of checks that rows name by number."
    ),
    "properties": {
        "same": {"type": "object"},
        "fields": {"type": "array", "items": {"type": "string"}},
        "clauses": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        "rows": {"type": "array", "items": {"type": "array"}},
    },
    "required": ["same", "fields", "rows"],
    "additionalProperties": False,
}
