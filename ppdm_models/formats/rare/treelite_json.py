"""Treelite's JSON, versions 3 and 4: ensembles taken over from scikit-learn, LightGBM and XGBoost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_part
from treewarden.ppdm_models.formats.common.json_layout import opened_plainly, plain_json
from treewarden.ppdm_models.formats.common.node_order import bounded, features_named, simplest
from treewarden.ppdm_models.formats.rare._treelite import (
    REST,
    TreeliteHeader,
    bootstrapped,
    nodes_of,
    plain_document,
    read_header,
)
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Member, Model
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Node,
    Quality,
    Task,
    Tree,
)


class TreeliteJson(Format):
    """What ``Model.dump_as_json`` writes; features and classes have numbers, no names."""

    how_to_export = "write it again with model.dump_as_json()"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        return (
            opens_json(data) == b"{"
            and b'"average_tree_output"' in data
            and b'"task_type"' in data
            and b'"trees"' in data
        )

    def open(self, data: bytes, source: str) -> Opened:
        document = read_part(data, source)
        model = _read(document)
        return opened_plainly(
            data,
            model,
            (),
            form="treelite_json",
            write=lambda: plain_json(plain_document(document)),
            read=lambda plain: _read(read_part(plain, source)),
            difference=REST,
        )


def _read(document: JsonPart) -> Model:
    source = document.source
    parts = document["trees"]
    if not 0 < len(parts) <= limits.TREES:
        raise parts.refused(
            f"contains {len(parts):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    header = read_header(document, len(parts))
    widths = [header.width if output is None else 1 for output in header.outputs]
    forest = bounded(
        (nodes_of(part, width, header) for part, width in zip(parts, widths, strict=True)),
        source,
    )
    names = [f"f{index}" for index in range(header.features)]
    tested = (node for nodes in forest for node in nodes)
    features = features_named(names, tested, source, single=header.single)
    trees = [_tree(nodes, features, header, index, parts) for index, nodes in enumerate(forest)]
    return simplest(_ensemble(header, trees, features, source))


def _tree(
    nodes: tuple[Node, ...],
    features: tuple[Feature, ...],
    header: TreeliteHeader,
    index: int,
    parts: JsonPart,
) -> Tree:
    """Return a tree; its vectors are shares of the classes where each sums to 1 and no draws were weighed."""
    vector = header.outputs[index] is None and bool(header.classes)
    leaves = [node.outputs or () for node in nodes if node.is_leaf]
    shares = (
        vector
        and header.average
        and all(min(leaf) >= 0 and abs(math.fsum(leaf) - 1) < 1e-6 for leaf in leaves)
    )
    bare = Tree(
        nodes=nodes,
        features=features,
        target="",
        task=Task.REGRESSION,
        missing=Missing.DEFAULT_CHILD,
        source=parts.source,
        format="treelite_json",
    )
    if not shares:
        return _by_hessian(with_support(bare), parts.at(index))
    weighed = bootstrapped(parts.at(index))
    labelled = replace(
        bare,
        nodes=tuple(_labelled(node, header.classes, not weighed) for node in nodes),
        classes=header.classes,
        task=Task.CLASSIFICATION,
    )
    if not weighed:
        return with_support(labelled)
    note = f"{parts.at(index).where}: its shares are of weighted draws, its counts of records"
    unused = ("the weighted class shares of its leaves", "the gains of its splits")
    return replace(with_support(labelled), notes=(note,), unused=unused)


def _labelled(node: Node, classes: tuple[str, ...], as_shares: bool) -> Node:
    if node.outputs is None:
        return node
    label = classes[node.outputs.index(max(node.outputs))]
    return replace(node, score=label, class_shares=node.outputs if as_shares else None)


def _by_hessian(tree: Tree, part: JsonPart) -> Tree:
    """Without record counts, the sums of second derivatives are all that tells of support."""
    if tree.quality is not Quality.ABSENT or part["nodes"].at(0).get("sum_hess") is None:
        return tree
    note = f"{part.where}: publishes sums of second derivatives (sum_hess), which bound the counts"
    return replace(tree, quality=Quality.HESSIAN, notes=(*tree.notes, note))


def _ensemble(
    header: TreeliteHeader, trees: Sequence[Tree], features: tuple[Feature, ...], source: str
) -> Ensemble:
    turns = Counter(header.outputs)
    weights = [
        header.factor / (turns[output] if header.average else 1) for output in header.outputs
    ]
    alone = header.width == 1 and bool(header.classes) and header.link is not Link.LOGISTIC
    if alone:  # one score is the share of the second class
        trees = [replace(tree, nodes=tuple(map(_two_sided, tree.nodes))) for tree in trees]
    notes = [f"{source}: does not name its features, so they are named f0, f1, ..."]
    if header.classes:
        notes.append(f"{source}: does not name its classes, so their numbers are used")
    several = header.width > 1
    return Ensemble(
        members=tuple(
            Member(tree, weight=weight, output=output if several else None, name=str(index))
            for index, (tree, weight, output) in enumerate(
                zip(trees, weights, header.outputs, strict=True)
            )
        ),
        combination=Combination.WEIGHTED_SUM,
        features=features,
        target="",
        classes=header.classes,
        task=Task.CLASSIFICATION if header.classes else Task.REGRESSION,
        base=(1 - header.base[0], header.base[0]) if alone else header.base,
        link=header.link,
        source=source,
        format="treelite_json",
        notes=tuple(notes),
    )


def _two_sided(node: Node) -> Node:
    if not isinstance(node.score, float):
        return node
    return replace(node, outputs=(-node.score, node.score), score=None)


FORMAT = TreeliteJson()
