"""The rows of a Spark table as nodes: counts at each one, categories as numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.node_order import Branch, Draft, belongs, compared, grown
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.predicate import Predicate
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Learner,
    Missing,
    Node,
    Task,
    Tree,
)

UNUSED = -1
SQUARES_ROUNDING = 2.0**-40
"""How far sums of squares may be off, relatively: each record's square rounds once."""


def nodes_of(
    rows: Sequence[JsonPart], names: Sequence[str], classes: tuple[str, ...], source: str
) -> tuple[Node, ...]:
    """Return the nodes of one tree; node 0 is the root.

    ``impurityStats`` are the records of each class (or weights, see ``are_weighed``); for a regression their number,
    the sum of their targets and the sum of the squares.

    Raises:
        TreeFormatError: a row is malformed, or the rows form no tree.
    """
    by_id: dict[int, JsonPart] = {}
    for row in rows:
        number = row["id"].whole()
        if number in by_id:
            raise row.refused(f"node {number} occurs twice")
        by_id[number] = row

    def draft_of(number: int) -> Draft:
        row = by_id.get(number)
        if row is None:
            raise rows[0].refused(f"node {number} is missing")
        return _draft(row, names, classes)

    return grown(0, draft_of, source)


def are_weighed(rows: Sequence[JsonPart], classes: tuple[str, ...]) -> bool:
    """Whether the statistics of some node do not sum to its number of records: the records had weights."""
    for row in rows:
        counted = _raw_count(row)
        stats = row["impurityStats"].numbers()
        total = math.fsum(stats) if classes else stats[0]
        if counted is not None and counted != total:
            return True
    return False


def _draft(row: JsonPart, names: Sequence[str], classes: tuple[str, ...]) -> Draft:
    stats = row["impurityStats"]
    numbers = tuple(item.amount() for item in stats) if classes else stats.numbers()
    if len(numbers) != (len(classes) or 3):
        raise stats.refused(f"has {len(numbers)} numbers, but {len(classes) or 3} are expected")
    counted = _raw_count(row)
    if counted is None and not classes:
        counted = stats.at(0).amount()
    prediction = row["prediction"]
    score: str | float = prediction.number()
    if classes:
        if score not in range(len(classes)):
            raise prediction.refused("this is not the number of a class")
        score = classes[int(score)]
    return Draft(
        name=str(row["id"].whole()),
        branches=_branches(row, names),
        score=score,
        records=counted,
        class_counts=numbers if classes else None,
        spread=None if classes else _spread(stats.numbers()),
    )


def _spread(stats: Sequence[float]) -> tuple[float, float] | None:
    """Return between which ends the mean squared distance from the mean lies.

    ``stats`` are how many records there are, the sum of their numbers and that of the squares.
    """
    count, total, squares = stats
    if count <= 0:
        return None
    found = squares / count - (total / count) ** 2
    room = SQUARES_ROUNDING * (abs(squares) / count + (total / count) ** 2)
    return max(found - room, 0.0), max(found + room, 0.0)


def _raw_count(row: JsonPart) -> float | None:
    """Return how many records there were, where the version of Spark says so."""
    json_part = row.get("rawCount")
    return None if json_part is None or json_part.value == UNUSED else json_part.amount()


def _branches(row: JsonPart, names: Sequence[str]) -> tuple[Branch, ...]:
    left, right = row["leftChild"].whole(low=UNUSED), row["rightChild"].whole(low=UNUSED)
    if (left == UNUSED) != (right == UNUSED):
        raise row.refused("the node has only one child")
    if left == UNUSED:
        return ()
    split = row["split"]
    place, listed = split["featureIndex"], split["leftCategoriesOrThreshold"]
    if place.whole() >= len(names):
        raise place.refused("this is not the number of a feature")
    name = names[place.whole()]
    categories = split["numCategories"].whole(low=UNUSED, high=limits.FEATURES)
    if categories == UNUSED:
        if len(listed) != 1:
            raise listed.refused(f"has {len(listed)} thresholds, but one is expected")
        no_more, predicate = compared(name, "<=", listed.at(0).number())
        return Branch(left, no_more), Branch(right, predicate, takes_missing=True)
    to_left, is_left, is_right = _categories(listed, categories, name)
    return Branch(left, is_left, to_left), Branch(right, is_right, not to_left)


def _categories(listed: JsonPart, size: int, name: str) -> tuple[bool, Predicate, Predicate]:
    """Return where unseen and missing values go (left?), and the tests of both sides.

    Spark keeps the smaller side (the left one up to half the categories); whatever is not in it goes the other way.
    """
    numbers = [item.number() for item in listed]
    if any(number not in range(size) for number in numbers):
        raise listed.refused(f"a category is not a number below {size}")
    left = [str(int(number)) for number in numbers]
    if len(numbers) <= size / 2:
        inside, outside = belongs(name, left)
        return False, inside, outside
    inside, outside = belongs(name, sorted({str(code) for code in range(size)} - set(left)))
    return True, outside, inside


# The rows of Spark's node tables, tree by tree, and the trees that they make.


def groups_of(
    rows: Sequence[JsonPart], is_single: bool, metadata: JsonPart
) -> list[list[JsonPart]]:
    """Return the rows of each tree, in the order of the trees' numbers.

    Raises:
        TreeFormatError: there are no rows, or too many trees.
    """
    groups: dict[int, list[JsonPart]] = {}
    for row in rows:
        number, node = (0, row) if is_single else (row["treeID"].whole(), row["nodeData"])
        groups.setdefault(number, []).append(node)
    if not 0 < len(groups) <= limits.TREES:
        raise metadata.refused(
            f"contains {len(groups):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    return [group for _, group in sorted(groups.items())]


def used_features(groups: Sequence[Sequence[JsonPart]]) -> int:
    """Return how many features there are at least: up to the last one that a split asks."""
    return 1 + max(
        row["split"]["featureIndex"].whole(low=-1, high=limits.FEATURES - 1)
        for rows in groups
        for row in rows
    )


def tree_of(
    nodes: tuple[Node, ...],
    rows: Sequence[JsonPart],
    features: tuple[Feature, ...],
    predicted: tuple[str, tuple[str, ...]],
    learner: Learner,
    source: str,
) -> Tree:
    """Return a tree of its nodes and their rows; ``predicted`` are the name of the target and its classes."""
    target, classes = predicted
    weighed = are_weighed(rows, classes)
    if weighed:
        nodes = tuple(_as_outputs(node) for node in nodes)
    tree = with_support(
        Tree(
            nodes=nodes,
            features=features,
            target=target,
            classes=classes,
            task=Task.CLASSIFICATION if classes else Task.REGRESSION,
            learner=learner,
            missing=Missing.DEFAULT_CHILD,
            source=source,
        )
    )
    if not weighed:
        return tree
    note = (
        f"{source}: records had weights, so class shares are shares of weights, and "
        "counts are counts of records"
    )
    unused = ("the weighted class numbers and impurities of its nodes",) if classes else ()
    return replace(tree, notes=(*tree.notes, note), unused=unused)


def _as_outputs(node: Node) -> Node:
    """Return a node whose class numbers are weights: kept for predictions, not as counts."""
    weights = [weight or 0.0 for weight in node.class_counts or ()]
    total = sum(weights)
    if not total:
        return replace(node, class_counts=None)
    return replace(node, class_counts=None, outputs=tuple(weight / total for weight in weights))


# The nodes of a tree as Spark prints them: an "If" and its "Else" at one depth, what follows one step deeper.

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
ASKED = re.compile(
    rf"(?P<side>If|Else) \(feature (?P<feature>\d{{1,6}}) (?:(?P<sign><=|>) (?P<end>{NUMBER}|-?Infinity)"
    r"|(?P<set>in|not in) \{(?P<codes>[^{}]*)\})\)"
)
PREDICTED = re.compile(rf"Predict: (?P<value>{NUMBER})")
OPPOSITE = {"<=": ">", "in": "not in"}


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """One line: how far it is moved in, what it says, and where it stands."""

    indent: int
    words: str
    where: str


@dataclass(frozen=True, slots=True)
class PrintedTest:
    """What an "If" asks: the feature, the sign that it is asked with, and what it is compared with."""

    feature: str
    sign: str
    value: str


def printed_nodes(lines: Sequence[PrintedLine], source: str) -> tuple[Node, ...]:
    """Return the nodes of a tree, in the order of its lines.

    A value that is missing goes right, as it is more than every threshold. A category that is in no set goes right,
    too: where Spark keeps the right side's categories instead it goes left, which the text does not tell.

    Raises:
        TreeFormatError: a line is no part of a tree, or stands where none can.
    """
    if not lines:
        raise TreeFormatError(source, "a tree has no nodes")
    drafts = _drafts(lines, source)
    return grown(0, lambda index: drafts[index], source)


def _drafts(lines: Sequence[PrintedLine], source: str) -> list[Draft]:
    drafts: list[Draft] = []
    printed_tests: dict[int, PrintedTest] = {}
    at = 0
    # what is still to come: the other side of a question (its node), or a node at an indent
    pending: list[tuple[int, int | None]] = [(lines[0].indent, None)]
    while pending:
        indent, question = pending.pop()
        if at >= len(lines):
            raise TreeFormatError(source, "the tree is incomplete")
        line = lines[at]
        if line.indent != indent:
            raise TreeFormatError(
                line.where, f"the line is indented by {line.indent}, not by {indent}"
            )
        if question is None:
            _node(line, len(drafts), drafts, printed_tests, pending)
        else:
            printed_test = printed_tests[question]
            _check_other_side(line, printed_test)
            drafts[question] = _question(
                drafts[question].name, printed_test, question + 1, len(drafts), line
            )
            pending.append((indent + 1, None))
        at += 1
        if len(drafts) > limits.NODES or len(pending) > limits.DEPTH + 1:
            raise TreeFormatError(
                line.where, "the tree is deeper or larger than the limits; train a smaller tree"
            )
    if at < len(lines):
        raise TreeFormatError(lines[at].where, "this line follows the end of the tree")
    return drafts


def _node(
    line: PrintedLine,
    here: int,
    drafts: list[Draft],
    test_of_node: dict[int, PrintedTest],
    pending: list[tuple[int, int | None]],
) -> None:
    predicted = PREDICTED.fullmatch(line.words)
    if predicted is not None:
        drafts.append(Draft(name=f"n{here}", score=_number(predicted["value"], line)))
        return
    printed_test = _read_test(line, "If")
    test_of_node[here] = printed_test
    drafts.append(Draft(name=f"n{here}"))
    pending.append((line.indent, here))
    pending.append((line.indent + 1, None))


def _read_test(line: PrintedLine, side: str) -> PrintedTest:
    found = ASKED.fullmatch(line.words)
    if found is None or found["side"] != side:
        raise TreeFormatError(
            line.where, f"the line is {line.words[:80]!r}, but {side!r} is expected"
        )
    sign = found["sign"] or found["set"]
    return PrintedTest(f"f{int(found['feature'])}", sign, found["end"] or found["codes"] or "")


def _check_other_side(line: PrintedLine, left: PrintedTest) -> None:
    """Check that the other side asks the opposite."""
    right = _read_test(line, "Else")
    if right != PrintedTest(left.feature, OPPOSITE.get(left.sign, ""), left.value):
        raise TreeFormatError(line.where, f"{line.words[:80]!r} is not the Else of its If")


def _question(name: str, left: PrintedTest, yes: int, no: int, line: PrintedLine) -> Draft:
    one, other = _tests(left, line)
    return Draft(name=name, branches=(Branch(yes, one), Branch(no, other, takes_missing=True)))


def _tests(left: PrintedTest, line: PrintedLine) -> tuple[Predicate, Predicate]:
    if left.sign == "<=":
        end = left.value
        value = math.copysign(math.inf, -1 if end[0] == "-" else 1) if "Inf" in end else float(end)
        return compared(left.feature, "<=", value)
    codes = [_number(text, line) for text in left.value.split(",")] if left.value else []
    if not all(code.is_integer() and 0 <= code < limits.CLASS_NUMBERS for code in codes):
        raise TreeFormatError(line.where, "a category is not a whole number")
    return belongs(left.feature, [str(int(code)) for code in codes])


def _number(text: str, line: PrintedLine) -> float:
    value = float(text) if re.fullmatch(NUMBER, text) else math.nan
    if not math.isfinite(value):
        raise TreeFormatError(line.where, f"{text[:40]!r} is not a finite number")
    return value
