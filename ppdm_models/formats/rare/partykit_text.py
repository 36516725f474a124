"""What R's partykit and party print of a tree: ``[2] x <= 1.9: setosa (n = 50, err = 0.0%)``, ``2)*  weights = 50``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import is_json
from treewarden.ppdm_models.formats.common.json_layout import UnwritableError, opened_plainly
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    features_named,
    grown,
    summed,
    unique,
)
from treewarden.ppdm_models.formats.common.printed_trees import (
    NUMBERS_SPREAD,
    NUMERIC,
    SETS,
    PrintedBranch,
    PrintedRow,
    agreed,
    amount,
    as_float,
    check_class_numbers,
    lines_of,
    nested,
    printed_test,
    readings,
    tests,
    with_rest,
)
from treewarden.ppdm_models.formats.rare._rpart_printed import printed_set
from treewarden.ppdm_models.semantics.consistency import is_whole
from treewarden.ppdm_models.semantics.support import checked
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.predicate import Predicate, features_of
from treewarden.ppdm_models.tree.tree import (
    Learner,
    Node,
    Quality,
    Task,
    Tree,
)

AS_JSON = (
    "write the object as JSON in R: parts <- list(nodes = lapply(as.list(partykit::node_party(model)), "
    'function(node) node[intersect(names(node), c("id", "split", "kids"))]), variables = names(model$data), '
    "levels = Filter(Negate(is.null), lapply(model$data, levels)), target = all.vars(terms(model))[1], "
    'counts = as.data.frame(table(data.frame(node = model$fitted[["(fitted)"]], '
    'class = model$fitted[["(response)"]])))); '
    'jsonlite::write_json(parts, "model.json", digits = NA, force = TRUE)'
)
OPERATORS = (" <= ", " > ", " < ", " >= ", " in ", " == ")
NODE = re.compile(r"((?:\|   )*)\[(\d{1,9})\] (.*)")
PARTY_LEAF = re.compile(r"( *)(\d{1,9})\)\*  weights = (\S+) *")
PARTY_SPLIT = re.compile(r"( *)(\d{1,9})\) (.*)")
LEAF = re.compile(r"(.*) \(([nw]) = ([^\s,()]+)(?:, err = ([^\s%,()]+)(%?))?\)")
MODEL = re.compile(r"(?m)^(?:\|   )*\[\d+\] .*: n = \d+\r?$")
STATISTIC = re.compile(r"(?m); criterion = .*, statistic = ")
TESTED = ("the test statistics of its splits",)
REST = (
    "test statistics, errors that are rounded too far to be counts, the columns that were "
    "offered, and other text that the same tree does not need"
)
RESPONSE = re.compile(r"(?:Response:  ?(.*?)|(\S+) ~ .*)\s*")


@dataclass(frozen=True, slots=True)
class PrintedLeaf:
    """What stands at a leaf: nothing, where party prints no prediction."""

    label: str | None
    records: float | None = None
    error: float | None = None
    is_percent: bool = False
    is_weight: bool = False


class Partykit(Format):
    """One printed tree; its thresholds are rounded."""

    how_to_export = "print it again in R"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        marks = (b"Fitted party:", b"Conditional inference tree with")
        return not is_json(data) and any(mark in data for mark in marks)

    def open(self, data: bytes, source: str) -> Opened:
        tree = _read(data, source)
        is_party = b")*  weights" in data
        return opened_plainly(
            data,
            tree,
            (),
            form="partykit_text",
            write=lambda: _plain_text(tree, is_party=is_party),
            read=lambda plain: _read(plain, source),
            difference=REST,
        )


def _read(data: bytes, source: str) -> Tree:
    lines = lines_of(data, source)
    if b"Model-based recursive" in data or MODEL.search("\n".join(lines)):
        raise TreeFormatError(
            source,
            "this is a model-based tree, whose leaves contain regressions; "
            "give a tree with constant leaves",
        )
    is_party = b")*  weights" in data
    rows, leaves = _party(lines, source) if is_party else _partykit(lines, source)
    children = nested(rows, source)
    if not is_party:  # its first row is the root; party prints none
        children = children[:-1]
    ways: dict[int, list[Branch]] = {place: [] for place in range(len(rows) + 1)}
    ways |= _ways(rows, children, leaves, source)
    root = len(rows) if is_party else 0
    nodes = grown(root, lambda place: _draft(place, rows, ways, leaves), source)
    if len(nodes) != len(rows) + is_party:
        raise TreeFormatError(source, "a line does not belong to a split")
    tree = _judged(nodes, {str(place): leaf for place, leaf in leaves.items()}, lines, source)
    return replace(tree, unused=TESTED) if is_party and STATISTIC.search("\n".join(lines)) else tree


def _partykit(lines: Sequence[str], source: str) -> tuple[list[PrintedRow], dict[int, PrintedLeaf]]:
    rows = []
    for place, line in enumerate(lines, start=1):
        found = NODE.fullmatch(line)
        if found:
            rows.append(PrintedRow(place, len(found[1]) // 4, found[3]))
        elif rows and line.strip():
            break
    if not rows or rows[0].depth or not rows[0].text.startswith("root"):
        raise TreeFormatError(source, "the line '[1] root' is missing")
    only = rows[0].text.removeprefix("root: ")
    return rows, {0: _leaf(only, f"{source}:{rows[0].line}")} if len(rows) == 1 else {}


def _party(lines: Sequence[str], source: str) -> tuple[list[PrintedRow], dict[int, PrintedLeaf]]:
    """Return a row per branch; what follows a branch as its only line, ``2)*  weights = 50``, is its leaf."""
    rows: list[PrintedRow] = []
    leaves: dict[int, PrintedLeaf] = {}
    for place, line in enumerate(lines, start=1):
        leaf, split = PARTY_LEAF.fullmatch(line), PARTY_SPLIT.fullmatch(line)
        if leaf:
            above = len(rows) - 1
            depth = rows[above].depth + 1 if rows else 0
            if len(leaf[1]) != 2 * depth or above in leaves:
                raise TreeFormatError(f"{source}:{place}", "a leaf does not follow a branch")
            leaves[above if rows else 0] = PrintedLeaf(None, amount(leaf[3], f"{source}:{place}"))
        elif split:
            test = split[3].rpartition("; criterion = ")[0] or split[3]
            rows.append(PrintedRow(place, len(split[1]) // 2, test.strip()))
    if not rows and not leaves:
        raise TreeFormatError(source, "there is no tree below its heading")
    return rows, leaves


def _ways(
    rows: Sequence[PrintedRow],
    children: Sequence[Sequence[int]],
    leaves: dict[int, PrintedLeaf],
    source: str,
) -> dict[int, list[Branch]]:
    """Return the branches of each node; fills in the leaves that stand on the lines of their tests."""
    printed = set(leaves)
    ways: dict[int, list[Branch]] = {}
    for parent, below in enumerate(children):
        if not below:
            continue
        where = f"{source}:{rows[below[0]].line}"
        if len(below) < 2:
            raise TreeFormatError(where, "a split has only one branch")
        if parent in printed:
            raise TreeFormatError(where, "there is a split below a leaf")
        said = [
            _branch_readings(rows[place].text, bool(children[place]) or place in printed)
            for place in below
        ]
        _refuse_order(said, where)
        split = agreed(said, where)
        for place, printed_branch in zip(below, split, strict=True):
            if printed_branch.rest is not None:
                leaves[place] = _leaf(printed_branch.rest, f"{source}:{rows[place].line}")
        predicates: list[Predicate] = tests(split, where, _values)
        ways[parent] = [Branch(place, test) for place, test in zip(below, predicates, strict=True)]
    return ways


def _refuse_order(branches: Sequence[Sequence[PrintedBranch]], where: str) -> None:
    """Refuse a split that compares levels of an ordered factor, whose order is not printed."""
    sides = [
        {
            (printed_branch.feature, printed_branch.value)
            for printed_branch in branch
            if printed_branch.operator in NUMERIC and as_float(printed_branch.value) is None
        }
        for branch in branches
    ]
    both = sorted(set.intersection(*sides), key=lambda pair: len(pair[0]))
    if both and not any(
        printed_branch.operator in SETS for branch in branches for printed_branch in branch
    ):
        problem = f"{both[0][0][:60]!r} is an ordered factor, and print() does not show the order of its levels"
        raise TreeFormatError(where, f"{problem}; {AS_JSON}")


def _branch_readings(text: str, is_inner: bool) -> list[PrintedBranch]:
    if is_inner:
        return list(readings(text, OPERATORS))
    return list(
        with_rest(text, OPERATORS, ": ", lambda tail: tail == "*" or bool(LEAF.fullmatch(tail)))
    )


def _values(text: str) -> tuple[str, ...]:
    inner = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    return printed_set(inner, ", ")


def _leaf(text: str, where: str) -> PrintedLeaf:
    found = LEAF.fullmatch(text)
    if not found:
        if text != "*":
            raise TreeFormatError(where, "this leaf has no prediction and number of records")
        return PrintedLeaf(None)
    label, kind, records, error, percent = found.groups()
    wrong = None if error is None else amount(error, where)
    return PrintedLeaf(label.strip(), amount(records, where), wrong, bool(percent), kind == "w")


def _draft(
    place: int,
    rows: Sequence[PrintedRow],
    ways: dict[int, list[Branch]],
    leaves: dict[int, PrintedLeaf],
) -> Draft:
    leaf = leaves.get(place)
    line = rows[place].line if place < len(rows) else None
    records = None if leaf is None else leaf.records
    return Draft(str(place), tuple(ways[place]), records=records, line=line)


def _judged(
    nodes: tuple[Node, ...], leaves: dict[str, PrintedLeaf], lines: Sequence[str], source: str
) -> Tree:
    ends = [leaves[node.name] for node in nodes if node.is_leaf]
    is_class = any(leaf.is_percent for leaf in ends) or all(leaf.label is None for leaf in ends)
    labels = [leaf.label for leaf in ends if leaf.label is not None]
    if not is_class and any(as_float(label) is None for label in labels):
        is_class = True
    classes = unique(dict.fromkeys(labels), "classes", source, limits.CLASSES) if is_class else ()
    check_class_numbers(len(ends), len(classes), source)
    counted = [_counts(leaf, classes) for leaf in ends] if is_class else []
    notes = [f"{source}: {note}" for note in _notes(labels, is_class)]
    described = []
    position = 0
    for node in nodes:
        if node.is_leaf:
            leaf = ends[position]
            score = leaf.label if is_class or leaf.label is None else as_float(leaf.label)
            counts = counted[position] if is_class else None
            node = replace(node, score=score, class_counts=counts)
            position += 1
        described.append(node)
    names = list(dict.fromkeys(name for node in nodes for name in features_of(node.test)))
    tree = Tree(
        nodes=summed(described),
        features=features_named(names, nodes, source),
        target=_target(lines),
        classes=classes,
        task=Task.CLASSIFICATION if is_class else Task.REGRESSION,
        learner=Learner(),
        quality=_quality(ends, any(counted)),
        source=source,
        notes=tuple(notes),
        unused=() if is_class or all(leaf.error is None for leaf in ends) else NUMBERS_SPREAD,
    )
    return checked(tree)


def _counts(leaf: PrintedLeaf, classes: tuple[str, ...]) -> tuple[float | None, ...] | None:
    """Return n x err, where the digits printed tell it exactly, as the records of other classes."""
    if leaf.records is None or leaf.error is None or leaf.label is None or not leaf.is_percent:
        return None
    slack = leaf.records * 0.0005 + 1e-9
    if slack >= 0.25 or leaf.error > 100:
        return None
    errors = leaf.records * leaf.error / 100
    if abs(errors - round(errors)) > slack:
        return None
    wrong = float(round(errors))
    rest = None if wrong else 0.0  # the others may be of a class that no leaf predicts
    return tuple(leaf.records - wrong if name == leaf.label else rest for name in classes)


def _quality(ends: Sequence[PrintedLeaf], has_counts: bool) -> Quality:
    records = [leaf.records for leaf in ends if leaf.records is not None]
    if not records:
        return Quality.ABSENT
    if any(leaf.is_weight for leaf in ends) or not all(map(is_whole, records)):
        return Quality.WEIGHTED
    return Quality.DERIVED if has_counts else Quality.EXACT


def _notes(labels: Sequence[str], is_class: bool) -> list[str]:
    notes = [
        "thresholds are rounded in the text, so the tests are approximate",
        "the text does not show where missing values go",
    ]
    if not labels:
        notes.append("the leaves publish no prediction, only how many records they hold")
    elif is_class:
        notes.append("the text does not contain classes that no leaf predicts")
    return notes


def _target(lines: Sequence[str]) -> str:
    for line in lines[:50]:
        found = RESPONSE.fullmatch(line.strip()[:200])
        if found and (found[1] or found[2]):
            return str(found[1] or found[2]).strip()
    return ""


# A tree printed with what it holds and nothing else.


def _plain_text(tree: Tree, *, is_party: bool) -> bytes:
    """Return what R prints of a tree, without test statistics and errors that no tree holds.

    Raises:
        UnwritableError: its leaves hold what is not printed with all digits, or weights.
    """
    body = list(_party_lines(tree) if is_party else _partykit_lines(tree))
    if is_party:
        head = [f"\t Conditional inference tree with {tree.leaf_count} terminal nodes", ""]
        head += [f"Response:  {tree.target} ", ""] if tree.target else []
    else:
        head = ["Model formula:", f"{tree.target} ~ .", ""] if tree.target else []
        head.append("Fitted party:")
    return "\n".join([*head, *body, ""]).encode("utf-8", "surrogatepass")


def _party_lines(tree: Tree) -> Iterator[str]:
    """Yield a line for each branch, behind the number of the node that it leaves, and one for each leaf."""
    depths = _depths(tree)
    for node in tree.nodes:
        if node.parent is not None:
            yield f"{'  ' * (depths[node.index] - 1)}{node.parent + 1}) {_printed(node, '==', braces=True)}"
        if node.is_leaf:
            records = number_text(node.records or 0.0)
            yield f"{'  ' * depths[node.index]}{node.index + 1})*  weights = {records} "


def _partykit_lines(tree: Tree) -> Iterator[str]:
    depths = _depths(tree)
    for node in tree.nodes:
        test = "root" if node.parent is None else _printed(node, "in", braces=False)
        end = f": {_printed_leaf(tree, node)}" if node.is_leaf else ""
        yield f"{'|   ' * depths[node.index]}[{node.index + 1}] {test}{end}"


def _depths(tree: Tree) -> list[int]:
    depths = [0] * len(tree.nodes)
    for node in tree.nodes:
        if node.parent is not None:
            depths[node.index] = depths[node.parent] + 1
    return depths


def _printed(node: Node, sign: str, *, braces: bool) -> str:
    feature, operator, values = printed_test(node.test)
    if operator != "in":
        return f"{feature} {operator} {values[0]}"
    listed = ", ".join(values)
    return f"{feature} {sign} {{{listed}}}" if braces else f"{feature} {sign} {listed}"


def _printed_leaf(tree: Tree, node: Node) -> str:
    """Return the label and the records of a leaf, and the share of other classes where it is known."""
    if node.score is None:
        return "*"
    if tree.quality is Quality.WEIGHTED:
        raise UnwritableError("weights of records")
    label = node.score if isinstance(node.score, str) else repr(node.score)
    records, counts = node.records or 0.0, node.class_counts
    error = ""
    if counts is not None and records:
        wrong = records - (counts[tree.classes.index(str(node.score))] or 0.0)
        error = f", err = {number_text(100 * wrong / records)}%"
    return f"{label} (n = {number_text(records)}{error})"


FORMAT = Partykit()
