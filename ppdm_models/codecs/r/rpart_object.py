"""An rpart object as jsonlite writes it: scalars as lists of one, matrices without names, nodes without numbers.

``toJSON(model, force = TRUE)`` drops what R keeps beside a value: the names of nodes and splits, the levels of factors.
Nodes stand in preorder, so their numbers follow; the variable of a split that was taken stands in the frame; those of
competing and surrogate splits are lost, and are called ``""`` here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treewarden.ppdm_models.codecs.common.part import Part

LEAF = "<leaf>"
SPLIT = ("count", "ncat", "improve", "index", "adj")
LARGEST = 2**60
SINGLE = ("control", "parms")


def named(root: Part) -> Part:
    """Return the object with each thing under its name.

    Raises:
        TreeFormatError: a row is too short, or the frame is no tree in preorder.
    """
    value = dict(root.entries())
    document: dict[str, object] = {key: part.value for key, part in value.items()}
    if "method" in value:
        document["method"] = _single(value["method"])
    for key in SINGLE:
        if key in value and value[key].is_object:
            kept = ("prior", "loss")
            document[key] = {
                name: part.value if name in kept else _single(part)
                for name, part in value[key].entries()
            }
    frame = root["frame"]
    rows = [dict(part.entries()) for part in frame]
    plain: list[dict[str, object]] = [
        {name: part.value for name, part in row.items()} for row in rows
    ]
    if any("node" not in row for row in rows):
        leaves = [part["var"].text() == LEAF for part in frame]
        numbers = _preorder(leaves, frame)
        plain = [{**row, "node": number} for row, number in zip(plain, numbers, strict=True)]
    if all("yval2" in row for row in rows):
        document.setdefault("yval2", [row["yval2"] for row in plain])
    document["frame"] = plain
    splits = root.get("splits")
    if splits is not None and splits.is_list and any(part.is_list for part in splits):
        document["splits"] = list(_named_splits(splits, frame))
    return Part(document, root.source)


def _single(part: Part) -> object:
    return part.at(0).value if part.is_list and len(part) == 1 else part.value


def _preorder(leaves: Sequence[bool], frame: Part) -> list[int]:
    """Return rpart's numbers of nodes in preorder: 1 is the root, 2k and 2k + 1 are below k."""
    waiting, numbers = [1], []
    for is_leaf in leaves:
        if not waiting or waiting[-1] > LARGEST:
            raise frame.refused("its rows have no numbers of nodes, and are no tree in preorder")
        number = waiting.pop()
        numbers.append(number)
        if not is_leaf:
            waiting += [2 * number + 1, 2 * number]
    if waiting:
        raise frame.refused("its rows have no numbers of nodes, and are no tree in preorder")
    return numbers


def _named_splits(splits: Part, frame: Part) -> Iterator[dict[str, object]]:
    """Yield the rows of a matrix as objects; the first of each node has the variable of its row in the frame."""
    variables: list[str] = []
    for part in frame:
        variable = part["var"].text()
        if variable != LEAF:
            others = part["ncompete"].whole(high=1000) + part["nsurrogate"].whole(high=1000)
            variables += [variable, *[""] * others]
    for place, row in enumerate(splits):
        if len(row) < len(SPLIT) - 1:
            raise row.refused(f"{len(row)} numbers, where a split has {', '.join(SPLIT)}")
        numbers = dict(zip(SPLIT, (item.value for item in row), strict=False))
        yield {"var": variables[place] if place < len(variables) else "", **numbers}
