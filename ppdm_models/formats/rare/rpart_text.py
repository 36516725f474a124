"""What R's rpart prints of a tree: ``node), split, n, loss, yval, (yprob)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    unique,
)
from treewarden.ppdm_models.formats.common.printed_trees import (
    NUMBERS_SPREAD,
    PrintedBranch,
    agreed,
    as_float,
    lines_of,
    named_classes,
    printed_test,
    readings,
    tests,
)
from treewarden.ppdm_models.formats.rare._rpart_printed import (
    CLASS_HEADER,
    NOT_TOLD,
    NUMBER_HEADER,
    FieldSplit,
    RpartRow,
    printed_set,
    rows_of,
)
from treewarden.ppdm_models.semantics.consistency import is_whole
from treewarden.ppdm_models.semantics.support import checked
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.predicate import Always, Predicate, features_of
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Learner, Missing, Node, Quality, Task, Tree

OPERATORS = ("<", ">=", "=")

REST = "deviances, digits and blanks, and other text that the same tree does not need"
SHARE_DECIMALS = 12
PRIORS = "rpart chose them under weights, priors or losses"


@dataclass(frozen=True, slots=True)
class Settled:
    """A node whose line has one meaning left."""

    row: RpartRow
    way: FieldSplit


class RpartText(Format):
    """One printed tree; its thresholds are rounded, and its surrogate splits are not printed."""

    how_to_export = "print it again in R"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        return not is_json(data) and b"node), split, n, " in data

    def open(self, data: bytes, source: str) -> Opened:
        tree = _read(data, source)
        return opened_plainly(
            data,
            tree,
            (),
            form="rpart_text",
            write=lambda: _plain_text(tree),
            read=lambda plain: _read(plain, source),
            difference=REST,
        )


def _read(data: bytes, source: str) -> Tree:
    is_class, rows = rows_of(lines_of(data, source), source)
    tests_of, settled = _settled(rows, source)
    classes, notes = _classes(settled, source) if is_class else ((), [])
    nodes = grown(1, lambda number: _draft(number, settled, tests_of), source)
    if len(nodes) < len(rows):
        raise TreeFormatError(source, "a printed node has no parent")
    names = list(dict.fromkeys(name for node in nodes for name in features_of(node.test)))
    tree = Tree(
        nodes=nodes,
        features=features_named(names, nodes, source),
        target="",
        classes=classes,
        task=Task.CLASSIFICATION if is_class else Task.REGRESSION,
        learner=Learner(tool=Tool.RPART),
        missing=_missing(nodes),
        source=source,
        notes=(
            f"{source}: thresholds are rounded in the text, so the regions are approximate",
            f"{source}: surrogate splits are not printed, so the path of missing values is unknown",
            *notes,
        ),
        unused=() if is_class else _unused(settled),
    )
    return checked(_with_counts(tree, settled) if is_class else _scored(tree, settled))


def _unused(settled: Mapping[int, Settled]) -> tuple[str, ...]:
    return NUMBERS_SPREAD if any(node.way.loss is not None for node in settled.values()) else ()


def _missing(nodes: Sequence[Node]) -> Missing:
    """Records that no child holds have stopped for want of a value: so rpart does with usesurrogate below 2."""
    for node in nodes:
        below = sum(nodes[child].records or 0.0 for child in node.children)
        if node.children and below < (node.records or 0.0):
            return Missing.LAST_PREDICTION
    return Missing.NONE


def _settled(
    rows: Mapping[int, RpartRow], source: str
) -> tuple[dict[int, Predicate], dict[int, Settled]]:
    """Return the test of each node, and the one way to read its line."""
    if 1 not in rows:
        raise TreeFormatError(source, "node 1 is missing")
    labels = {row.ways[0].value for row in rows.values() if len(row.ways) == 1}
    root = [way for way in rows[1].ways if way.test == "root"]
    if len(root) != 1:
        raise TreeFormatError(f"{source}:{rows[1].line}", "the first node is not 'root'")
    tests_of: dict[int, Predicate] = {1: Always()}
    settled = {1: Settled(rows[1], root[0])}
    for number, row in rows.items():
        pair = (2 * number, 2 * number + 1)
        if row.is_leaf:
            continue
        where = f"{source}:{row.line}"
        if any(child not in rows for child in pair):
            raise TreeFormatError(where, f"node {number} is not a leaf, but a child is not printed")
        split = agreed([_readings(rows[child], labels) for child in pair], where)
        predicates = tests(split, where, lambda text: printed_set(text, ","))
        for child, printed_branch, test in zip(pair, split, predicates, strict=True):
            tests_of[child] = test
            settled[child] = Settled(rows[child], rows[child].ways[int(printed_branch.rest or 0)])
    return tests_of, settled


def _readings(row: RpartRow, labels: set[str]) -> list[PrintedBranch]:
    likely = [place for place, way in enumerate(row.ways) if way.value in labels]
    return [
        replace(printed_branch, rest=str(place))
        for place in likely or range(len(row.ways))
        for printed_branch in readings(row.ways[place].test, OPERATORS)
    ]


def _draft(number: int, settled: Mapping[int, Settled], tests_of: Mapping[int, Predicate]) -> Draft:
    node = settled[number]
    children = () if node.row.is_leaf else (2 * number, 2 * number + 1)
    return Draft(
        str(number),
        tuple(Branch(child, tests_of[child]) for child in children),
        records=float(node.way.records),
    )


def _scored(tree: Tree, settled: Mapping[int, Settled]) -> Tree:
    nodes = [
        replace(
            node,
            score=as_float(settled[int(node.name)].way.value),
            line=settled[int(node.name)].row.line,
        )
        for node in tree.nodes
    ]
    return replace(tree, nodes=tuple(nodes))


def _classes(settled: Mapping[int, Settled], source: str) -> tuple[tuple[str, ...], list[str]]:
    widths = {len(node.row.shares) for node in settled.values()}
    if len(widths) != 1:
        raise TreeFormatError(source, "its nodes have different numbers of classes")
    seen = [(node.row.shares, node.way.value) for node in settled.values()]
    names = named_classes(widths.pop(), seen)
    if names is not None:
        return unique(names, "classes", source, limits.CLASSES), []
    labels = dict.fromkeys(node.way.value for node in settled.values())
    note = (
        f"{source}: labels do not follow the largest share (a loss matrix), so it is unknown which "
        "classes the shares belong to"
    )
    return unique(labels, "classes", source, limits.CLASSES), [note]


def _with_counts(tree: Tree, settled: Mapping[int, Settled]) -> Tree:
    """Return the tree with labels and, where records x shares is whole at every node, class counts."""
    is_known = all(len(node.row.shares) == len(tree.classes) for node in settled.values())
    has_names = is_known and not any("loss matrix" in note for note in tree.notes)
    found = {number: _counts(node) for number, node in settled.items()}
    is_people = has_names and all(counts is not None for counts in found.values())
    nodes: list[Node] = []
    for node in tree.nodes:
        one = settled[int(node.name)]
        shares = _normalised(one.row.shares) if has_names and not is_people else None
        nodes.append(
            replace(
                node,
                score=one.way.value,
                line=one.row.line,
                class_counts=found[one.row.number] if is_people else None,
                class_shares=shares,
            )
        )
    if is_people:
        return replace(tree, nodes=tuple(nodes), quality=Quality.DERIVED)
    if not has_names:
        return replace(tree, nodes=tuple(nodes), label_reason=PRIORS)
    note = f"{tree.source}: n x yprob is not whole (weights, priors or losses), so only n counts people"
    return replace(
        tree,
        nodes=tuple(nodes),
        quality=Quality.WEIGHTED,
        notes=(*tree.notes, note),
        label_reason=PRIORS,
    )


def _normalised(shares: Sequence[float]) -> tuple[float, ...] | None:
    total = sum(shares)
    return tuple(share / total for share in shares) if total > 0 else None


def _counts(node: Settled) -> tuple[float, ...] | None:
    """Return n x yprob where that is whole within the digits printed, and tells apart one record."""
    records, shares = node.way.records, node.row.shares
    slack = 0.5 * records * 10.0 ** -min(node.row.decimals, 15) + 1e-6
    products = [records * share for share in shares]
    rounded = tuple(float(round(product)) for product in products)
    near = all(abs(a - b) <= slack for a, b in zip(products, rounded, strict=True))
    if slack >= 0.25 or not near or sum(rounded) != records:
        return None
    if node.way.loss is None or not is_whole(node.way.loss):
        return None
    return rounded


def _plain_text(tree: Tree) -> bytes:
    """Return what R prints of a tree, with what the tree holds and no deviances.

    Raises:
        UnwritableError: its class shares are not those of its counts, so that no tree holds what was printed.
    """
    is_class = bool(tree.classes)
    if is_class and not tree.has_people:
        raise UnwritableError("shares of classes under weights, priors or losses")
    header = CLASS_HEADER if is_class else NUMBER_HEADER
    lines = [header, "      * denotes terminal node", ""]
    depths = [0] * len(tree.nodes)
    for node in tree.nodes:
        if node.parent is not None:
            depths[node.index] = depths[node.parent] + 1
        test = "root" if node.parent is None else _printed(node)
        words = [f"{node.name})", test, number_text(node.records or 0.0), *_value(tree, node)]
        lines.append("  " * depths[node.index] + " ".join(words) + (" *" if node.is_leaf else ""))
    return "\n".join([*lines, ""]).encode("utf-8", "surrogatepass")


def _printed(node: Node) -> str:
    feature, operator, values = printed_test(node.test)
    if operator == "in":
        return f"{feature}={','.join(values)}"
    return f"{feature}{operator} {values[0]}"


def _value(tree: Tree, node: Node) -> list[str]:
    """Return the errors of a node, its label and its class shares; of a tree of numbers no deviance."""
    if not tree.classes:
        return [NOT_TOLD, repr(node.score)]
    counts = [count or 0.0 for count in node.class_counts or ()]
    total = sum(counts)
    if not total or not isinstance(node.score, str):
        raise UnwritableError("a node without records")
    if node.score not in tree.classes:  # it is tied wherever it is printed
        raise UnwritableError("a label whose class is not known")
    wrong = total - counts[tree.classes.index(node.score)]
    shares = " ".join(f"{count / total:.{SHARE_DECIMALS}f}" for count in counts)
    return [number_text(wrong), node.score, f"({shares})"]


FORMAT = RpartText()
