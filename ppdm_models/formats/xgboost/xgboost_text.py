"""XGBoost dumps as text (``dump_model`` without a format): one line per node, with or without statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.xgboost._nested import ensemble_of, telling_names

TREE = re.compile(r"booster\[(\d{1,7})\]:")
NODE = re.compile(r"(\t*)(\d{1,9}):(.*)", re.DOTALL)
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
STATISTICS = rf"(?:,gain=(?P<gain>{NUMBER}|[+-]?inf|-?nan))?(?:,cover=(?P<cover>{NUMBER}))?"
LEAF = re.compile(rf"leaf=(?P<leaf>{NUMBER}|\[[^\[\]]*\]){STATISTICS}")
SPLIT = re.compile(
    r"\[(?P<split>.*)\] yes=(?P<yes>\d{1,9}),no=(?P<no>\d{1,9})(?:,missing=(?P<missing>\d{1,9}))?"
    + STATISTICS,
    re.DOTALL,
)
COMPARED = re.compile(rf"(?P<name>.+)<(?P<end>{NUMBER}|-?inf)", re.DOTALL)
LISTED = re.compile(r"(?P<name>.+):\{(?P<codes>\d{1,9}(?:,\d{1,9})*)\}", re.DOTALL)
LARGEST = 3.5e38
"""What stands for infinity, which no 32-bit number is: it is refused as out of range."""

Raw = dict[str, object]


class XgboostText(Format):
    """Reads dumps; they say neither the objective nor the base score, so that nothing is predicted."""

    how_to_export = "save the model itself with booster.save_model('model.json')"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        return data.startswith(b"booster[0]:")

    def open(self, data: bytes, source: str) -> Opened:
        try:
            lines = data.decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            raise TreeFormatError(source, "this is not UTF-8 text; dump it again") from error
        model = ensemble_of(list(_trees(lines, source)), source)
        return Opened(model, telling_names(model))


def _trees(lines: list[str], source: str) -> Iterator[Raw]:
    """Yield each tree nested, as a dump in JSON has it."""
    nodes: dict[int, tuple[Raw, int]] = {}
    trees = 0
    for number, line in enumerate(lines, 1):
        line = line.removesuffix("\r")
        where = f"{source}:{number}"
        opened = TREE.fullmatch(line)
        if opened is not None:
            if int(opened[1]) != trees:
                raise TreeFormatError(
                    where, f"this is tree {opened[1]}, but tree {trees} is expected"
                )
            if trees:
                yield _nested(nodes, where)
            nodes, trees = {}, trees + 1
            if trees > limits.TREES:
                raise TreeFormatError(
                    where,
                    f"more than {limits.TREES:,} trees, which is the limit; train a "
                    "model with fewer trees",
                )
        elif line.strip():
            node, depth = _node(line, where)
            name = node["nodeid"]
            assert isinstance(name, int)
            if name in nodes:
                raise TreeFormatError(where, f"node {name} occurs twice")
            if len(nodes) >= limits.NODES:
                raise TreeFormatError(
                    where,
                    f"a tree has more than {limits.NODES:,} nodes, which is the "
                    "limit; train a smaller tree",
                )
            nodes[name] = node, depth
    yield _nested(nodes, f"{source}:{len(lines)}")


def _node(line: str, where: str) -> tuple[Raw, int]:
    found = NODE.fullmatch(line)
    leaf = None if found is None else LEAF.fullmatch(found[3])
    split = None if found is None else SPLIT.fullmatch(found[3])
    if found is None or (leaf is None and split is None):
        raise TreeFormatError(where, f"{line[:80]!r} is neither a leaf nor a split")
    node: Raw = {"nodeid": int(found[2])}
    if leaf is not None:
        node["leaf"] = _values(leaf["leaf"], where)
        said = leaf
    else:
        assert split is not None
        said = split
        node |= {key: int(split[key]) for key in ("yes", "no", "missing") if split[key]}
        node |= _test(split["split"])
    if said["cover"] is not None:
        node["cover"] = float(said["cover"])
    return node, len(found[1])


def _values(text: str, where: str) -> object:
    if not text.startswith("["):
        return float(text)
    parts = text[1:-1].split(",")
    if not all(re.fullmatch(NUMBER, part.strip()) for part in parts):
        raise TreeFormatError(where, f"{text[:80]!r} is not a list of numbers")
    return [float(part) for part in parts]


def _test(text: str) -> Raw:
    compared = COMPARED.fullmatch(text)
    if compared is not None:
        end = compared["end"]
        value = (-LARGEST if end.startswith("-") else LARGEST) if "inf" in end else float(end)
        return {"split": compared["name"], "split_condition": value}
    listed = LISTED.fullmatch(text)
    if listed is not None:
        codes = [int(code) for code in listed["codes"].split(",")]
        return {"split": listed["name"], "split_condition": codes}
    return {"split": text}


def _nested(nodes: dict[int, tuple[Raw, int]], where: str) -> Raw:
    """Put the children into their parents; each node must be the child of one, a level deeper."""
    held: set[int] = set()
    for node, depth in nodes.values():
        if "leaf" in node:
            continue
        children = sorted(int(str(node[key])) for key in ("yes", "no"))
        for child in children:
            if child not in nodes or child in held or nodes[child][1] != depth + 1:
                raise TreeFormatError(
                    where,
                    f"node {node['nodeid']} refers to node {child}, which is not printed below it as a child",
                )
            held.add(child)
        node["children"] = [nodes[child][0] for child in children]
    if 0 not in nodes or 0 in held or len(held) != len(nodes) - 1:
        raise TreeFormatError(
            where, "in the tree above this line, not every node can be reached from node 0"
        )
    return nodes[0][0]


FORMAT = XgboostText()
