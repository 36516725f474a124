"""PMML, the Data Mining Group's XML: TreeModel of versions 3 and 4 (read), 4.4 (written)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from lxml import etree

from ppdm_models.consistency import is_whole
from ppdm_models.errors import TreeFormatError
from ppdm_models.formats import Format
from ppdm_models.formats._pmml_fields import read_fields
from ppdm_models.formats._pmml_learner import extensions, read_learner
from ppdm_models.formats._pmml_nodes import read_nodes
from ppdm_models.formats._pmml_write import written
from ppdm_models.formats._xml import children, first, line_of, name_of, parse
from ppdm_models.partition import Problem, problems
from ppdm_models.support import REASONS, checked, with_support
from ppdm_models.tree import Missing, NoTrueChild, Quality, Task, Tree, count_of

Choice = TypeVar("Choice")

MISSING = {
    "none": Missing.NONE,
    "lastPrediction": Missing.LAST_PREDICTION,
    "nullPrediction": Missing.NULL_PREDICTION,
    "defaultChild": Missing.DEFAULT_CHILD,
    "weightedConfidence": Missing.WEIGHTED_CONFIDENCE,
    "aggregateNodes": Missing.AGGREGATE_NODES,
}
NO_TRUE_CHILD = {
    "returnNullPrediction": NoTrueChild.NULL_PREDICTION,
    "returnLastPrediction": NoTrueChild.LAST_PREDICTION,
}

ONE_TREE = "give a file that holds one decision tree"
RULES = {
    "overlap": "the first child whose test holds takes it",
    "gap": "the tree makes no prediction for it",
    "skipped": "they were not checked",
}


class Pmml(Format):
    """One TreeModel, alone in the file or the only segment of a MiningModel."""

    def sniff(self, data: bytes) -> bool:
        looks_like_xml = data[:64].lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0").startswith(b"<")
        return looks_like_xml and any(
            "PMML".encode(code) in data for code in ("ascii", "utf-16-le", "utf-16-be")
        )

    def read(self, data: bytes, source: str) -> Tree:
        root = parse(data, source)
        if name_of(root) != "PMML":
            name = name_of(root) or str(root.tag)
            raise TreeFormatError(
                f"{source}:{line_of(root)}", f"no PMML: the root element is {name!r}"
            )
        models = _tree_model(root, source)
        return _noted(_judged(_raw(root, models, source), models[-1], source))

    def write(self, tree: Tree) -> bytes:
        return written(tree)


def _tree_model(root: etree._Element, source: str) -> list[etree._Element]:
    """Return the tree model, with the mining model around it first if there is one."""
    tree_model = list(children(root, "TreeModel"))
    if len(tree_model) == 1:
        return tree_model
    if len(tree_model) > 1:
        raise _refused(
            tree_model[1],
            source,
            f"{len(tree_model)} TreeModels in one file; give one tree per file",
        )
    mining = first(root, "MiningModel")
    if mining is None:
        others = ", ".join(
            sorted({name_of(child) for child in root if name_of(child).endswith("Model")})
        )
        raise TreeFormatError(
            source,
            f"no TreeModel in this PMML{f' (found {others})' if others else ''}; {ONE_TREE}",
        )
    return [mining, _only_segment(mining, source)]


def _only_segment(mining: etree._Element, source: str) -> etree._Element:
    trees = [element for element in mining.iter(etree.Element) if name_of(element) == "TreeModel"]
    if not trees:
        found = sorted(
            {
                name_of(element)
                for element in mining.iter(etree.Element)
                if name_of(element).endswith("Model")
            }
        )
        raise _refused(
            mining, source, f"no TreeModel in this PMML (found {', '.join(found)}); {ONE_TREE}"
        )
    if len(trees) > 1:
        raise _refused(
            mining,
            source,
            f"an ensemble of {len(trees)} trees; not supported yet, give a single tree",
        )
    segmentation = first(mining, "Segmentation")
    segments = [] if segmentation is None else list(children(segmentation, "Segment"))
    segment = trees[0].getparent()
    if len(segments) != 1 or segment is not segments[0]:
        raise _refused(
            mining, source, "a tree among other models; not supported yet, give the tree alone"
        )
    if first(segment, "True") is None:
        raise _refused(
            segment, source, "the tree's segment has a condition of its own; give the tree alone"
        )
    return trees[0]


def _refused(element: etree._Element, source: str, problem: str) -> TreeFormatError:
    return TreeFormatError(f"{source}:{line_of(element)}", problem)


def _raw(root: etree._Element, models: list[etree._Element], source: str) -> Tree:
    """Return the tree with its numbers as the file has them."""
    model = models[-1]
    fields = read_fields(root, models, lambda element, problem: _refused(element, source, problem))
    function = model.get("functionName") or models[0].get("functionName")
    if function not in list(Task):
        raise _refused(model, source, f"functionName is {function!r}; have {', '.join(Task)}")
    own = "quality" in extensions(model)
    nodes, classes = read_nodes(model, fields, Task(function), source, own)
    tree = Tree(
        nodes=nodes,
        features=tuple(fields.features.values()),
        target=fields.target,
        classes=classes,
        task=Task(function),
        missing=_strategy(model, "missingValueStrategy", "none", MISSING, source),
        no_true_child=_strategy(
            model, "noTrueChildStrategy", "returnNullPrediction", NO_TRUE_CHILD, source
        ),
        source=source,
        format="pmml",
    )
    try:
        return replace(tree, learner=read_learner(root, model, count_of(tree.root)))
    except ValueError as error:
        raise _refused(model, source, f"an extension of the TreeModel is wrong: {error}") from error


def _strategy(
    model: etree._Element, attribute: str, default: str, known: dict[str, Choice], source: str
) -> Choice:
    by_extension = [
        item.get("value") for item in children(model, "Extension") if item.get("name") == attribute
    ]
    said = model.get(attribute) or next(iter(by_extension), None) or default
    if said not in known:
        raise _refused(model, source, f"unknown {attribute} {said!r}; have {', '.join(known)}")
    return known[said]


def _judged(tree: Tree, model: etree._Element, source: str) -> Tree:
    """Return the tree with its numbers understood: by our own word for it where the file has one."""
    said = extensions(model).get("quality")
    if said is None:
        return with_support(tree)
    if said not in list(Quality):
        raise _refused(model, source, f"unknown quality {said!r}; have {', '.join(Quality)}")
    nodes = []
    for node in tree.nodes:
        as_shares = node.class_shares is not None and node.class_counts == node.class_shares
        nodes.append(replace(node, class_counts=None) if as_shares else node)
    own = replace(tree, nodes=tuple(nodes), quality=Quality(said))
    numbers = [
        number
        for node in nodes
        for number in (node.records, *(node.class_counts or ()))
        if number is not None
    ]
    if own.has_people and not all(map(is_whole, numbers)):
        note = f"{source}: says {said}, but {REASONS[Quality.WEIGHTED]}"
        return replace(own, quality=Quality.WEIGHTED, notes=(*own.notes, note))
    return checked(own)


def _noted(tree: Tree) -> Tree:
    found = list(problems(tree))
    notes = [
        _note(tree, [problem for problem in found if problem.kind == kind], rule)
        for kind, rule in RULES.items()
        if kind != "gap" or tree.no_true_child is NoTrueChild.NULL_PREDICTION
    ]
    return replace(tree, notes=(*tree.notes, *(note for note in notes if note)))


def _note(tree: Tree, found: Iterable[Problem], rule: str) -> str:
    found = list(found)
    if not found:
        return ""
    more = f" (and {len(found) - 1} more such nodes)" if len(found) > 1 else ""
    return f"{found[0].describe(tree)}; {rule}{more}"


FORMAT = Pmml()
