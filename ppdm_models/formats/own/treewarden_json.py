"""treewarden's own JSON: a flat list of nodes with everything a tree can publish (treewarden.schema.json)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from pydantic import ValidationError

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import OutputError, TreeFormatError, toml_words
from treewarden.ppdm_models.formats import Format, Opened, Writer
from treewarden.ppdm_models.formats.common.json import lines_of_entries, read_json
from treewarden.ppdm_models.formats.common.origin import MOST_SIGNS, is_class_name
from treewarden.ppdm_models.formats.own._document import LearnerEntry, NodeEntry, TreeDocument
from treewarden.ppdm_models.formats.own._entries import (
    odd_treatments,
    test_of,
    treatment_of,
    written,
)
from treewarden.ppdm_models.semantics.partition import PartitionProblem, problems
from treewarden.ppdm_models.semantics.support import checked
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.nodes import WHERE_BANDS, Impurity
from treewarden.ppdm_models.tree.predicate import (
    Always,
    MissingTest,
    Never,
    NumericTest,
    Predicate,
    Unknown,
    atoms,
)
from treewarden.ppdm_models.tree.privacy_claim import read_claim
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind, odd_names
from treewarden.ppdm_models.tree.tree import (
    Band,
    Criterion,
    Feature,
    Learner,
    Node,
    NoTrueChild,
    Task,
    Tree,
)


class TreewardenJson(Format, Writer):
    """One object per file; children that overlap or leave gaps are an error."""

    how_to_export = "correct it, or write it again with treewarden convert"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        return data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and b'"treewarden-tree"' in data

    def open(self, data: bytes, source: str) -> Opened:
        tree = _read(data, source)
        leaks = (*odd_names(tree), *odd_treatments(tree), *surplus_texts(tree))
        return Opened(tree, leaks)

    def write(self, model: Model) -> bytes:
        if not isinstance(model, Tree):
            raise OutputError(
                model.source,
                "treewarden's JSON can hold only one tree, and this is an ensemble; convert to another format, such "
                "as pmml",
            )
        for problem in problems(model):
            if problem.kind != "skipped" and not _is_allowed(problem, model):
                raise OutputError(
                    model.source, f"{problem.describe(model)}; only PMML can hold such a tree"
                )
        return written(model)


def _read(data: bytes, source: str) -> Tree:
    tree = tree_of(read_document(data, source), source)
    lines = lines_of_entries(data, "nodes")
    if len(lines) == len(tree.nodes):
        placed = zip(tree.nodes, lines, strict=True)
        tree = replace(tree, nodes=tuple(replace(node, line=line) for node, line in placed))
    tree = checked(tree)
    partition_problems = [problem for problem in problems(tree) if not _is_allowed(problem, tree)]
    wrong = next((problem for problem in partition_problems if problem.kind != "skipped"), None)
    if wrong is not None:
        raise TreeFormatError(tree.where(tree.nodes[wrong.node]), wrong.words(tree))
    if partition_problems:
        note = f"{partition_problems[0].describe(tree)} ({len(partition_problems)} such nodes)"
        tree = replace(tree, notes=(*tree.notes, note))
    return tree


def _is_allowed(problem: PartitionProblem, tree: Tree) -> bool:
    """A record that no child takes is none where the parent then predicts."""
    return problem.kind == "gap" and tree.no_true_child is NoTrueChild.LAST_PREDICTION


FORMAT = TreewardenJson()


# Turns our own document into a tree.


def tree_of(document: TreeDocument, source: str) -> Tree:
    """Return the tree that a document describes; whether children split their node is not looked at.

    Raises:
        TreeFormatError: the nodes are no tree, or name classes, features or nodes that are not there.
    """
    for what, names in (
        ("classes", document.classes),
        ("features", tuple(feature.name for feature in document.features)),
        ("nodes", tuple(node.id for node in document.nodes)),
        *((f"values of {feature.name!r}", feature.values) for feature in document.features),
    ):
        if len(set(names)) < len(names):
            seen: set[str] = set()
            twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]  # add gives None
            raise TreeFormatError(source, f"two {what} are called {twice!r}")
    if (document.task is Task.CLASSIFICATION) != bool(document.classes):
        raise TreeFormatError(
            source,
            f"a {document.task} tree cannot have {len(document.classes)} classes; "
            "correct task or classes",
        )
    features = tuple(
        Feature(
            entry.name,
            entry.type == "numeric",
            entry.values,
            entry.single,
            tuple(treatment_of(item, entry, source) for item in entry.treatments or ()),
        )
        for entry in document.features
    )
    return Tree(
        nodes=_nodes(document, {feature.name: feature for feature in features}, source),
        features=features,
        target=document.target,
        classes=document.classes,
        task=document.task,
        learner=_learner(document.learner),
        quality=document.quality,
        missing=document.missing,
        no_true_child=document.no_true_child,
        source=source,
        format="treewarden_json",
    )


def _learner(entry: LearnerEntry) -> Learner:
    claim = None if entry.claim is None else read_claim(entry.claim, "the file")
    said = entry.model_dump(exclude={"lists_columns", "draws_cuts", "claim"})
    learner = Learner(**said, draws_cuts=bool(entry.draws_cuts), claim=claim)
    listed = learner.usually_lists_columns if entry.lists_columns is None else entry.lists_columns
    return replace(learner, lists_columns=listed)


def _nodes(document: TreeDocument, features: dict[str, Feature], source: str) -> tuple[Node, ...]:
    position = {entry.id: index for index, entry in enumerate(document.nodes)}
    below: list[list[int]] = [[] for _ in document.nodes]
    depths = [0] * len(document.nodes)
    for index, entry in enumerate(document.nodes):
        where = f"{source}: node {entry.id!r}"
        if (entry.parent is None) != (index == 0):
            raise TreeFormatError(
                where,
                "has no parent" if index else "comes first, so it cannot have a parent",
            )
        if entry.parent is None:
            continue
        parent = position.get(entry.parent)
        if parent is None or parent >= index:
            problem = (
                "is not in the file"
                if parent is None
                else "does not come before it; write a parent before its children"
            )
            raise TreeFormatError(where, f"its parent {entry.parent!r} {problem}")
        below[parent].append(index)
        depths[index] = depths[parent] + 1
        if depths[index] > limits.DEPTH:
            raise TreeFormatError(
                where,
                f"nodes nest more than {limits.DEPTH} deep, which is the limit; "
                "train shallower trees",
            )
    classes = frozenset(document.classes)
    with_numbers = sum(
        bool(entry.class_counts or entry.class_shares or entry.bands) for entry in document.nodes
    )
    if with_numbers * len(classes) > limits.CLASS_NUMBERS:
        raise TreeFormatError(
            source,
            f"{len(classes):,} classes at {with_numbers:,} nodes are too many; "
            "train a smaller tree",
        )
    return tuple(
        _node(
            entry,
            index,
            position,
            children=tuple(below[index]),
            document=document,
            features=features,
            class_names=classes,
            where=f"{source}: node {entry.id!r}",
        )
        for index, entry in enumerate(document.nodes)
    )


def _node(
    entry: NodeEntry,
    index: int,
    position: dict[str, int],
    children: tuple[int, ...],
    document: TreeDocument,
    features: dict[str, Feature],
    class_names: frozenset[str],
    where: str,
) -> Node:
    default = None if entry.default_child is None else position.get(entry.default_child, -1)
    if default is not None and default not in children:
        raise TreeFormatError(
            where, f"its default_child {entry.default_child!r} is not one of its children"
        )
    if document.task is Task.REGRESSION and isinstance(entry.score, str):
        raise TreeFormatError(
            where, f"the score {entry.score!r} is not a number, but the tree predicts numbers"
        )
    if document.classes and entry.score is not None and entry.score not in class_names:
        raise TreeFormatError(where, f"the score {entry.score!r} is not one of the classes")
    counts, shares = entry.class_counts, entry.class_shares
    for numbers in (counts, shares, entry.bands):
        unknown = [label for label in numbers or {} if label not in class_names]
        if unknown:
            raise TreeFormatError(
                where,
                f"{unknown[0]!r} is not a class; the classes are "
                f"{', '.join(map(repr, document.classes[:12]))}",
            )
    if counts is not None and shares is not None:
        raise TreeFormatError(
            where, "gives both class_counts and class_shares; leave the shares out"
        )
    if shares is not None and (
        len(shares) < len(document.classes) or abs(math.fsum(shares.values()) - 1) > 1e-3
    ):
        raise TreeFormatError(where, "class_shares must give every class a share, and sum to 1")
    bands = _bands(entry, document.classes, children, where)
    return Node(
        index=index,
        name=entry.id,
        parent=None if entry.parent is None else position[entry.parent],
        children=children,
        test=_test(entry, features, where),
        score=entry.score,
        records=entry.records,
        class_counts=None
        if counts is None
        else tuple(counts.get(label) for label in document.classes),
        class_shares=None if shares is None else tuple(shares[label] for label in document.classes),
        bands=bands,
        default_child=default,
        impurity=_impurity(entry, where),
    )


def _impurity(entry: NodeEntry, where: str) -> Impurity | None:
    impurity_entry = entry.impurity
    if impurity_entry is None:
        return None
    if impurity_entry.low > impurity_entry.high:
        raise TreeFormatError(
            where, f"its impurity is empty: {impurity_entry.low} to {impurity_entry.high}"
        )
    return Impurity(Criterion(impurity_entry.criterion), impurity_entry.low, impurity_entry.high)


def _bands(
    entry: NodeEntry, classes: tuple[str, ...], children: tuple[int, ...], where: str
) -> tuple[Band | None, ...] | None:
    if entry.bands is None:
        return None
    if children or entry.class_counts is not None or entry.class_shares is not None:
        raise TreeFormatError(where, WHERE_BANDS)
    for label, band in entry.bands.items():
        if band is not None and band[0] > band[1]:
            raise TreeFormatError(where, f"the band of {label!r} is empty: {band[0]} to {band[1]}")
    return tuple(entry.bands.get(label) for label in classes)


def _test(entry: NodeEntry, features: dict[str, Feature], where: str) -> Predicate:
    try:
        test = test_of(entry.test)
    except ValueError as error:
        raise TreeFormatError(where, str(error)) from error
    for atom in atoms(test):
        if isinstance(atom, Always | Never | Unknown):
            continue
        feature = features.get(atom.feature)
        if feature is None:
            raise TreeFormatError(where, f"tests the unknown feature {atom.feature!r}")
        if not isinstance(atom, MissingTest) and feature.numeric != isinstance(atom, NumericTest):
            kind = "numeric" if feature.numeric else "categorical"
            raise TreeFormatError(
                where, f"the test does not fit the {kind} feature {atom.feature!r}"
            )
    return test


# What our own JSON declares and no node of its tree has: values of a number, classes that nobody is in.


def surplus_texts(tree: Tree) -> Iterator[Leak]:
    """Yield what is declared in words that no node needs: nobody could judge it."""
    for feature in tree.features:
        listed = _listed_numbers(feature) if feature.numeric else 0
        if listed:
            what = (
                f"{listed} values declared for a number: the list discloses values of the table, and no "
                "test needs it; remove it"
            )
            yield Leak(LeakKind.UNKNOWN, "/features", what)
    predicted = {node.score for node in tree.nodes}
    for node in tree.nodes:
        numbers = node.class_counts or node.class_shares or ()
        predicted |= {name for name, number in zip(tree.classes, numbers, strict=False) if number}
        bands = zip(tree.classes, node.bands or (), strict=False)
        predicted |= {name for name, band in bands if band is not None and band[1]}
    odd = sum(name not in predicted and not is_class_name(name) for name in tree.classes)
    if odd:
        what = f"{odd} classes that no node predicts or counts, with names of more than a few words: check them"
        yield Leak(LeakKind.UNKNOWN, "/classes", what)


def _listed_numbers(feature: Feature) -> int:
    """Return how many values of a number are listed, beyond a few that stand for a missing or invalid one."""
    valid = len(feature.values) + sum(len(treatment.values) for treatment in feature.treatments)
    signs = sum(len(treatment.invalid) + len(treatment.missing) for treatment in feature.treatments)
    return valid + (signs if signs > MOST_SIGNS else 0)


# Turns bytes into our own document: strict JSON, bounded depth, every complaint with its node.

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
    said = toml_words(first)
    path = ".".join(map(str, place))
    shown = (
        repr(first["input"])[:80]
        if isinstance(first["input"], str | int | float | bool | None)
        and first["type"] not in ("extra_forbidden", "missing")
        else ""
    )
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return TreeFormatError(
        where, f"{path + ': ' if path else ''}{said}{f', not {shown}' if shown else ''}{more}"
    )
