"""H2O's trees as JSON: what PrintMojo writes (with record counts), and the arrays of H2OTree (without)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ppdm_models import limits
from ppdm_models.archive import is_archive
from ppdm_models.ensemble import Combination, Ensemble, Link, Member, Model
from ppdm_models.errors import TreeFormatError
from ppdm_models.formats import Format
from ppdm_models.formats._grow import bounded, features_named, simplest, unique
from ppdm_models.formats._h2o_nodes import Column, nodes_of_arrays, nodes_of_mojo
from ppdm_models.formats._json import opens_json
from ppdm_models.formats._part import Part, read_part
from ppdm_models.leaks import Leak, LeakKind
from ppdm_models.support import with_support
from ppdm_models.tree import Feature, Missing, Node, Quality, Task, Tree

LINKS = {"identity": Link.IDENTITY, "logit": Link.LOGISTIC, "log": Link.EXP, "tweedie": Link.EXP}


class H2oJson(Format):
    """A whole model as PrintMojo prints it, or one tree as H2OTree holds it."""

    def sniff(self, data: bytes) -> bool:
        if opens_json(data) != b"{":
            return _is_mojo(data)
        if b'"algo_full_name"' in data:
            return True
        mojo = b'"n_tree_groups"' in data and b'"trees"' in data
        return mojo or (b'"root_node_id"' in data and b'"left_children"' in data)

    def read(self, data: bytes, source: str) -> Model:
        if _is_mojo(data):
            raise TreeFormatError(
                source, "an H2O MOJO archive; give what PrintMojo --format json makes of it"
            )
        if b'"algo_full_name"' in data:
            raise TreeFormatError(
                source, "the details of an H2O model, which hold no tree; give what PrintMojo makes"
            )
        document = read_part(data, source)
        return _one_tree(document) if document.get("left_children") else simplest(_mojo(document))

    def leaks(self, data: bytes, source: str) -> tuple[Leak, ...]:
        model = read_part(data, source).get("model_id")
        if model is None:
            return ()
        return (Leak(LeakKind.IDENTIFIER, model.pointer, "the server's name for the model"),)


def _is_mojo(data: bytes) -> bool:
    return is_archive(data) and b"model.ini" in data and b"trees/" in data


def _one_tree(document: Part) -> Tree:
    nodes = nodes_of_arrays(document)
    names = list(dict.fromkeys(part.text() for part in document["features"] if part.value))
    unique(names, "features", document.source, limits.FEATURES)
    said = document.get("tree_class")
    of = "" if said is None else f", for class {said.text()!r}"
    number = document["tree_number"].whole()
    note = f"{document.source}: tree number {number} of a model{of}; what the others add is not in the file"
    return replace(
        _bare(nodes, features_named(names, nodes, document.source), document.source),
        quality=Quality.ABSENT,
        notes=(note,),
    )


def _mojo(document: Part) -> Ensemble:
    params, parts = document["params"], document["trees"]
    if not 0 < len(parts) <= limits.TREES:
        raise parts.refused(f"{len(parts):,} trees; give 1 to {limits.TREES:,}")
    columns: dict[int, Column] = {}
    for part in document["domainValues"]:
        labels = unique((item.label() for item in part["values"]), "categories", part.where, 10**6)
        columns[part["colId"].whole()] = Column(part["colName"].text(), labels)
    forest = bounded((nodes_of_mojo(part["root"], columns) for part in parts), document.source)
    names = list(dict.fromkeys(column.name for _, column in sorted(columns.items())))
    unique(names, "features", document.source, limits.FEATURES)
    values = {column.name: column.labels for column in columns.values() if column.labels}
    tested = (node for nodes in forest for node in nodes)
    features = features_named(names, tested, document.source, values=values)
    trees = [with_support(_bare(nodes, features, document.source)) for nodes in forest]
    return _ensemble(document, params, trees, features)


def _bare(nodes: tuple[Node, ...], features: tuple[Feature, ...], source: str) -> Tree:
    return Tree(
        nodes=nodes,
        features=features,
        target="target",
        task=Task.REGRESSION,
        missing=Missing.DEFAULT_CHILD,
        source=source,
        format="h2o_json",
    )


def _ensemble(
    document: Part, params: Part, trees: list[Tree], features: tuple[Feature, ...]
) -> Ensemble:
    labels = params.get("class_labels")
    classes = (
        unique((item.label() for item in labels), "classes", document.source, limits.CLASSES)
        if labels is not None and params["classifier"].flag()
        else ()
    )
    outputs = [_output(part["name"].text(), classes, part) for part in document["trees"]]
    groups, size = params["n_tree_groups"].whole(), params["n_trees_in_group"].whole()
    forest = params["algo"].text() == "drf"
    one_sided = len(classes) == 2 and size == 1
    if forest and one_sided:  # one score is the share of the first class
        trees = [replace(tree, nodes=tuple(map(_two_sided, tree.nodes))) for tree in trees]
    turns = Counter(None if one_sided else output for output in outputs)
    notes, link = [], _link(params, forest, classes)
    if groups * size != len(trees):
        notes.append(
            f"{document.source}: {len(trees)} of the model's {groups * size} trees; it predicts with all of them"
        )
        link = Link.UNKNOWN
    start = params.get("base_score")
    base = (0.0 if start is None or forest else start.number(),)
    return Ensemble(
        members=tuple(
            Member(
                tree,
                weight=1 / turns[None if one_sided else output] if forest else 1.0,
                output=None if one_sided else output,
                name=part["name"].text(),
            )
            for tree, output, part in zip(trees, outputs, document["trees"], strict=True)
        ),
        combination=Combination.WEIGHTED_SUM,
        features=features,
        target="target",
        classes=classes,
        task=Task.CLASSIFICATION if classes else Task.REGRESSION,
        base=base if any(base) else (),
        link=link,
        resampled=True if forest else None,
        source=document.source,
        format="h2o_json",
        notes=tuple(notes),
    )


def _output(name: str, classes: tuple[str, ...], part: Part) -> int | None:
    """Return the class whose score a tree adds to: ``Tree 0, Class setosa``."""
    _, found, label = name.partition(", Class ")
    if not found or not classes:
        return None
    if label not in classes:
        raise part.refused(f"the unknown class {label[:80]!r}")
    return classes.index(label)


def _link(params: Part, forest: bool, classes: tuple[str, ...]) -> Link:
    if forest:
        return Link.IDENTITY
    if params["algo"].text() != "gbm":
        return Link.UNKNOWN
    if len(classes) > 2:
        return Link.SOFTMAX
    said = params.get("link_function")
    return Link.UNKNOWN if said is None else LINKS.get(said.text(), Link.UNKNOWN)


def _two_sided(node: Node) -> Node:
    if not isinstance(node.score, float):
        return node
    return replace(node, outputs=(node.score, 1 - node.score), score=None)


FORMAT = H2oJson()
