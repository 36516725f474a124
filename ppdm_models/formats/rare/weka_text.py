"""What Weka prints for J48, REPTree, RandomTree and Id3."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import is_json
from treewarden.ppdm_models.formats.common.json_layout import (
    UnwritableError,
    opened_plainly,
    same_predictions,
)
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
    PrintedBranch,
    PrintedRow,
    agreed,
    as_float,
    check_class_numbers,
    lines_of,
    nested,
    printed_test,
    readings,
    tests,
    with_rest,
)
from treewarden.ppdm_models.formats.rare._weka import (
    OTHERS,
    TREES,
    WekaLeaf,
    class_counts,
    header_leaks,
    is_regression,
    matrix_of,
    read_leaf,
)
from treewarden.ppdm_models.semantics.consistency import is_whole
from treewarden.ppdm_models.semantics.support import checked
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import (
    Learner,
    Missing,
    Node,
    Quality,
    Task,
    Tree,
    completed,
)

REST = "the evaluation, options and sizes around the tree, and other text that the same tree does not need"
OPERATORS = (" <= ", " > ", " < ", " >= ", " = ", " != ")
RULE = re.compile(r"[-=]{3,}")
KNOWN = [name.encode() for name in (*TREES, *OTHERS)]
HEADER = rb"(?:" + b"|".join(map(re.escape, KNOWN)) + rb")[ \d]*(?:trees.*)?\r?$"
FIRST_LINE, LATER_LINE = re.compile(rb"(?m)" + HEADER), re.compile(rb"(?m)\n" + HEADER)


class Weka(Format):
    """One tree per file; what is printed around it may stay."""

    how_to_export = "print it again in Weka"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        if is_json(data):
            return False
        return (FIRST_LINE.match(data) or LATER_LINE.search(data)) is not None

    def open(self, data: bytes, source: str) -> Opened:
        lines = lines_of(data, source)
        kind, rows = _body(lines, source)
        tree = _WekaReader(lines, kind, rows, source).tree()
        return opened_plainly(
            data,
            tree,
            header_leaks(lines),
            form="weka_text",
            write=lambda: _plain_text(tree, kind),
            read=lambda plain: _read(plain, source),
            is_same=lambda one, two: same_predictions(_completed(one), _completed(two)),
            difference=REST,
        )


def _read(data: bytes, source: str) -> Tree:
    lines = lines_of(data, source)
    return _WekaReader(lines, *_body(lines, source), source).tree()


def _body(lines: Sequence[str], source: str) -> tuple[str, list[PrintedRow]]:
    """Return the learner and the lines of its tree."""
    starts = [place for place, line in enumerate(lines) if line.strip() in TREES]
    for line in lines:
        other = next((what for name, what in OTHERS.items() if line.startswith(name)), None)
        if other:
            raise TreeFormatError(source, f"{other}; give a J48, REPTree, RandomTree or Id3 tree")
    if len(starts) != 1:
        raise TreeFormatError(
            source, f"the file contains {len(starts)} trees; give one tree per file"
        )
    rows: list[PrintedRow] = []
    for place in range(starts[0] + 1, len(lines)):
        line = lines[place]
        if not line.strip() and rows:
            break
        if line.strip() and not RULE.fullmatch(line.strip()):
            rows.append(_row(line, place + 1))
    if not rows:
        raise TreeFormatError(f"{source}:{starts[0] + 1}", "there is no tree below this line")
    return lines[starts[0]].strip(), rows


def _row(line: str, number: int) -> PrintedRow:
    depth = 0
    while line.startswith(("|  ", "|   ")):
        line, depth = line[4:] if line.startswith("|   ") else line[3:], depth + 1
    return PrintedRow(number, depth, line)


class _WekaReader:
    """Reads the rows of one tree; what is known of the classes grows on the way."""

    def __init__(
        self, lines: Sequence[str], kind: str, rows: list[PrintedRow], source: str
    ) -> None:
        self.kind, self.rows, self.source = kind, rows, source
        self.separator = TREES[kind]
        self.children = nested(rows, source)
        matrix = matrix_of(lines)
        self.printed = None if matrix is None else matrix.classes
        self.is_regression = is_regression(lines) and matrix is None
        self.values: dict[str, dict[str, None]] = {}
        self.lone = len(rows) == 1 and rows[0].text.startswith(self.separator.strip())

    def tree(self) -> Tree:
        leaves: dict[int, WekaLeaf] = {}
        ways: dict[int, list[Branch]] = {}
        parents = [
            len(self.rows),
            *(place for place, below in enumerate(self.children[:-1]) if below),
        ]
        if self.lone:
            leaves[len(self.rows)] = self._leaf(self.rows[0].text.strip().removeprefix(":"), 0)
            self.children[-1], parents = [], []
        for parent in parents:
            ways[parent] = self._split(parent, leaves)
        classes = () if self.is_regression else self._classes(leaves)
        check_class_numbers(len(leaves), len(classes), self.source)
        nodes = grown(
            len(self.rows), lambda place: self._draft(place, ways, leaves, classes), self.source
        )
        return self._judged(nodes, classes)

    def _split(self, parent: int, leaves: dict[int, WekaLeaf]) -> list[Branch]:
        below = self.children[parent]
        where = f"{self.source}:{self.rows[below[0]].line}"
        split = agreed([self._branches_printed(place) for place in below], where)
        if len(split) < 2:
            raise TreeFormatError(where, "a split has only one branch")
        for place, printed_branch in zip(below, split, strict=True):
            if printed_branch.rest is not None:
                leaves[place] = self._leaf(printed_branch.rest, place)
        predicates = tests(split, where, lambda value: (value,))
        self._learn_values(split)
        return [Branch(place, test) for place, test in zip(below, predicates, strict=True)]

    def _branches_printed(self, place: int) -> list[PrintedBranch]:
        text = self.rows[place].text
        if self.children[place]:
            return list(readings(text, OPERATORS))
        return list(with_rest(text, OPERATORS, self.separator, self._is_leaf))

    def _is_leaf(self, text: str) -> bool:
        leaf = read_leaf(text, self.source)
        if not leaf.label or (self.kind != "Id3" and leaf.records is None):
            return False
        if self.is_regression:
            return as_float(leaf.label) is not None
        is_empty = self.kind == "Id3" and leaf.label == "null"
        return self.printed is None or leaf.label in self.printed or is_empty

    def _leaf(self, text: str, place: int) -> WekaLeaf:
        where = f"{self.source}:{self.rows[place].line}"
        leaf = WekaLeaf(text.strip()) if self.kind == "Id3" else read_leaf(text, where)
        is_wrong = (leaf.errors or 0.0) > (leaf.records or 0.0) and not self.is_regression
        if is_wrong or not leaf.label:
            raise TreeFormatError(where, "a leaf has more errors than records, or no label")
        return leaf

    def _learn_values(self, split: Sequence[PrintedBranch]) -> None:
        """A split with one branch per value lists all values of the attribute."""
        if all(printed_branch.operator == "=" for printed_branch in split):
            known = self.values.setdefault(split[0].feature, {})
            known.update(dict.fromkeys(printed_branch.value for printed_branch in split))

    def _classes(self, leaves: Mapping[int, WekaLeaf]) -> tuple[str, ...]:
        labels = dict.fromkeys(leaf.label for leaf in leaves.values())
        if self.kind == "Id3" and "null" not in (self.printed or ()):
            labels.pop("null", None)
        could_be_numbers = self.kind in ("REPTree", "RandomTree") and not self.printed
        if could_be_numbers and all(as_float(label) is not None for label in labels):
            problem = (
                "the text does not state whether the leaves hold classes or numbers; add the evaluation "
                "below the tree"
            )
            raise TreeFormatError(self.source, problem)
        unknown = [label for label in labels if self.printed and label not in self.printed]
        if unknown:
            raise TreeFormatError(
                self.source, f"{unknown[0][:60]!r} is not a class of the confusion matrix"
            )
        return unique(self.printed or labels, "classes", self.source, limits.CLASSES)

    def _draft(
        self,
        place: int,
        ways: Mapping[int, list[Branch]],
        leaves: Mapping[int, WekaLeaf],
        classes: tuple[str, ...],
    ) -> Draft:
        line = self.rows[0 if place == len(self.rows) else place].line
        name = "root" if place == len(self.rows) else f"line {line}"
        if place not in leaves:
            return Draft(name, tuple(ways[place]), line=line)
        leaf = leaves[place]
        if self.is_regression:
            return Draft(name, score=as_float(leaf.label), records=leaf.records, line=line)
        label = leaf.label if leaf.label in classes else None
        counts = class_counts(leaf, classes, label, are_all=self.printed is not None)
        return Draft(name, score=label, records=leaf.records, class_counts=counts, line=line)

    def _judged(self, nodes: tuple[Node, ...], classes: tuple[str, ...]) -> Tree:
        printed = [node.records for node in nodes if node.is_leaf and node.records is not None]
        is_whole_tree = all(map(is_whole, printed))
        quality = Quality.EXACT if is_whole_tree else Quality.WEIGHTED
        names = dict.fromkeys(said for node in nodes for said in _names(node))
        values = {name: tuple(known) for name, known in self.values.items()}
        tree = Tree(
            nodes=summed(nodes),
            features=features_named(list(names), nodes, self.source, values=values),
            target="",
            classes=classes,
            task=Task.REGRESSION if self.is_regression else Task.CLASSIFICATION,
            learner=Learner(all_features=self.kind != "RandomTree", tool=Tool.WEKA),
            quality=quality if printed else Quality.ABSENT,
            missing=Missing.NULL_PREDICTION if self.kind == "Id3" else Missing.WEIGHTED_CONFIDENCE,
            source=self.source,
            notes=tuple(self._notes(nodes, is_whole_tree)),
            unused=NUMBERS_SPREAD if self.is_regression else (),
        )
        return checked(tree)

    def _notes(self, nodes: Sequence[Node], is_whole_tree: bool) -> list[str]:
        notes = []
        if self.kind in ("REPTree", "RandomTree"):
            notes.append("thresholds are printed with two decimals, so the regions are approximate")
        if not is_whole_tree:
            notes.append(
                "records with missing values are split over branches, so the counts are fractions"
            )
        empty = sum(node.is_leaf and node.records == 0 for node in nodes)
        if empty:
            notes.append(
                f"{empty} leaves have no training record, so they have the label of the node above"
            )
        if self.printed is None and not self.is_regression:
            notes.append("the text does not contain classes that no leaf predicts")
        return [f"{self.source}: {note}" for note in notes]


def _names(node: Node) -> list[str]:
    from_test = getattr(node.test, "feature", None)
    return [from_test] if isinstance(from_test, str) else []


# A tree printed with what it holds and nothing else.


def _completed(model: Model) -> Model:
    """Return a tree with its classes in the order of the alphabet, and counts that follow from the others."""
    assert isinstance(model, Tree)
    classes = tuple(sorted(model.classes))
    places = [model.classes.index(name) for name in classes]
    nodes = []
    for node in model.nodes:
        counts = node.class_counts
        if counts is not None:
            full = completed(counts, node.records)
            counts = tuple(full[place] for place in places)
        nodes.append(replace(node, class_counts=counts))
    return replace(model, nodes=tuple(nodes), classes=classes)


def _plain_text(tree: Tree, kind: str) -> bytes:
    """Return what Weka prints of a tree, and nothing around it.

    Raises:
        UnwritableError: it predicts numbers, which only the evaluation below it would say.
    """
    if tree.task is Task.REGRESSION:
        raise UnwritableError(
            "a tree of numbers, which only its evaluation distinguishes from a tree of classes"
        )
    separator = TREES[kind]
    lines = [kind, "-" * len(kind), ""]
    depths = [0] * len(tree.nodes)
    for node in tree.nodes:
        end = f"{separator}{_printed_leaf(tree, node, kind)}" if node.is_leaf else ""
        if node.parent is None:
            lines += [end] if end else []
            continue
        depths[node.index] = depths[node.parent] + 1
        feature, operator, values = printed_test(node.test)
        sign = "=" if operator == "in" else operator
        if len(values) > 1:
            raise UnwritableError("a set of values")
        lines.append(f"{'|   ' * (depths[node.index] - 1)}{feature} {sign} {values[0]}{end}")
    return "\n".join([*lines, ""]).encode("utf-8", "surrogatepass")


def _printed_leaf(tree: Tree, node: Node, kind: str) -> str:
    """Return the label of a leaf, how many records it holds, and how many of other classes."""
    if kind == "Id3":
        return "null" if node.score is None else str(node.score)
    label, counts, records = str(node.score), node.class_counts, node.records
    if node.score is None or counts is None or records is None:
        raise UnwritableError("a leaf whose records are not counted")
    wrong = records - (counts[tree.classes.index(label)] or 0.0)
    errors = f"/{number_text(wrong)}" if wrong else ""
    return f"{label} ({number_text(records)}{errors})"


FORMAT = Weka()
