"""What H2O's trees make together: which class each adds to, how their sum is read, where it starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.grow import unique
from treewarden.ppdm_models.codecs.common.part import Part
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Member
from treewarden.ppdm_models.tree.tree import Feature, Missing, Node, Task, Tree

LINKS = {"identity": Link.IDENTITY, "logit": Link.LOGISTIC, "log": Link.EXP, "tweedie": Link.EXP}


def bare_tree(nodes: tuple[Node, ...], features: tuple[Feature, ...], source: str) -> Tree:
    """Return a tree without counts understood, whose missing values have a side."""
    return Tree(
        nodes=nodes,
        features=features,
        target="",
        task=Task.REGRESSION,
        missing=Missing.DEFAULT_CHILD,
        source=source,
        format="h2o_json",
    )


def ensemble_of(
    document: Part, params: Part, trees: Sequence[Tree], features: tuple[Feature, ...]
) -> Ensemble:
    """Return the ensemble; ``document`` has the names of the trees, ``params`` what PrintMojo says of the model.

    Raises:
        TreeFormatError: a tree is for an unknown class, or something is not said.
    """
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
        target="",
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
